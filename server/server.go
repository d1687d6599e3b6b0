package server

import (
	"context"
	"crypto/tls"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"net"
	"net/http"
	"time"

	"github.com/google/uuid"
	"github.com/labstack/echo/v4"
	"golang.org/x/sync/errgroup"

	"vnfm/lcm"
	"vnfm/server/auth"
	"vnfm/server/telemetry"
	"vnfm/server/ui"
	"vnfm/vnfpkg"
)

// InstanceManager is what the server needs of VNF instances. *[lcm.Manager] has it.
type InstanceManager interface {
	ui.Instances
	CreateInstance(ctx context.Context, request lcm.CreateRequest) (*lcm.VnfInstance, error)
	DeleteInstance(ctx context.Context, id uuid.UUID) error
}

// OperationManager is what the server needs of operations. *[lcm.Manager] has it.
type OperationManager interface {
	ui.Operations
	Instantiate(ctx context.Context, instanceID uuid.UUID, params json.RawMessage) (*lcm.Operation, error)
	Scale(ctx context.Context, instanceID uuid.UUID, params json.RawMessage) (*lcm.Operation, error)
	ScaleToLevel(ctx context.Context, instanceID uuid.UUID, params json.RawMessage) (*lcm.Operation, error)
	ChangeFlavour(ctx context.Context, instanceID uuid.UUID, params json.RawMessage) (*lcm.Operation, error)
	Heal(ctx context.Context, instanceID uuid.UUID, params json.RawMessage) (*lcm.Operation, error)
	ChangeExtConn(ctx context.Context, instanceID uuid.UUID, params json.RawMessage) (*lcm.Operation, error)
	Terminate(ctx context.Context, instanceID uuid.UUID, params json.RawMessage) (*lcm.Operation, error)
	Operate(ctx context.Context, instanceID uuid.UUID, params json.RawMessage) (*lcm.Operation, error)
	Modify(ctx context.Context, instanceID uuid.UUID, params json.RawMessage, versions []int64) (*lcm.Operation, error)
}

// VimRegistry is what the server needs of VIMs. *[lcm.VimRegistry] has it.
type VimRegistry interface {
	ui.Vims
	Register(ctx context.Context, vim *lcm.Vim) (*lcm.Vim, error)
	Vim(ctx context.Context, id uuid.UUID) (*lcm.Vim, error)
	Vims(ctx context.Context) ([]*lcm.Vim, error)
	Update(ctx context.Context, id uuid.UUID, change lcm.VimChange) (*lcm.Vim, error)
	Delete(ctx context.Context, id uuid.UUID) error
}

// Config is what a server is made of.
type Config struct {
	Instances     InstanceManager
	Operations    OperationManager
	Vims          VimRegistry
	Packages      *vnfpkg.Registry
	Subscriptions SubscriptionRegistry
	Gate          *auth.Gate                      // who may call; nil: everybody
	Seals         ui.Seals                        // of sessions of people in browsers; needed with a gate
	TLS           *tls.Config                     // nil: none
	Audit         AuditLog                        // nil: nobody remembers
	Ready         func(ctx context.Context) error // why the server cannot work now; nil: it can
	Away          func(err error) bool            // whether an error says that the database is away for a while; default: none does
	PageSize      int                             // elements of a list in one answer; default 100
	RateLimit     float64                         // requests a second of one client; 0 = as many as it likes
	BehindProxy   bool                            // a proxy is in front, which tells the addresses of clients
	Hosts         []string                        // names by which clients may call it, besides addresses; nil: any
	Patience      time.Duration                   // with a client that sends or takes nothing; default 1 minute
	DrainDelay    time.Duration                   // between saying that the server is not ready any more and its end; default none
	Deadline      time.Duration                   // of a request that moves no package content; default 1 minute
	Telemetry     *telemetry.Telemetry            // default: one of its own, without traces
	Logger        *slog.Logger                    // default: the default logger
}

// Server answers HTTP requests.
type Server struct {
	config    Config
	echo      *echo.Echo
	validator *validator
	leaving   chan struct{} // closed when the server is about to stop
	pages     *ui.UI
	pageOf    map[string]ui.Route // by method and path
	pace      *pace
	places    *concurrency
	guesses   *guesses

	instances, operations, packages     collection
	lcmSubscriptions, pkgmSubscriptions collection
	auditEvents                         collection
}

const (
	maxJSONBytes      = 4 << 20 // of a request body; user data and parameters can be large
	maxURIBytes       = 16 << 10
	maxHeaderBytes    = 64 << 10 // of a request, its URI included; more than that Go itself refuses with 431
	readHeaderTimeout = 10 * time.Second
	idleTimeout       = 2 * time.Minute
)

// New returns a server.
func New(config Config) (*Server, error) {
	if config.PageSize == 0 {
		config.PageSize = 100
	}
	if config.Patience == 0 {
		config.Patience = time.Minute
	}
	if config.Deadline == 0 {
		config.Deadline = time.Minute
	}
	if config.Away == nil {
		config.Away = func(error) bool { return false }
	}
	if config.Logger == nil {
		config.Logger = slog.Default()
	}
	validator, err := newValidator()
	if err != nil {
		return nil, fmt.Errorf("load the OpenAPI documents: %w", err)
	}
	if config.Telemetry == nil {
		config.Telemetry = telemetry.New("unknown")
	}
	s := &Server{config: config, echo: echo.New(), validator: validator, leaving: make(chan struct{})}
	s.pace, s.places, s.guesses = newPace(config.RateLimit), newConcurrency(config.Patience), newGuesses()
	s.instances = validator.collectionOf("/vnflcm/v1/vnf_instances",
		[]string{"vnfConfigurableProperties", "vimConnectionInfo", "instantiatedVnfInfo", "metadata", "extensions"})
	s.operations = validator.collectionOf("/vnflcm/v1/vnf_lcm_op_occs",
		[]string{"operationParams", "error", "resourceChanges", "changedInfo", "changedExtConnectivity", "progress"})
	s.packages = validator.collectionOf("/vnfpkgm/v1/vnf_packages",
		[]string{"softwareImages", "additionalArtifacts", "userDefinedData"})
	s.lcmSubscriptions = validator.collectionOf("/vnflcm/v1/subscriptions", nil)
	s.pkgmSubscriptions = validator.collectionOf("/vnfpkgm/v1/subscriptions", nil)
	s.auditEvents = validator.collectionOf("/audit/v1/events", nil)
	s.echo.IPExtractor = direct
	if config.BehindProxy {
		s.echo.IPExtractor = proxied
	}
	s.echo.HideBanner, s.echo.HidePort = true, true
	s.echo.HTTPErrorHandler = s.writeProblem
	s.echo.Pre(tidy)
	if err := s.addPages(); err != nil {
		return nil, err
	}
	s.echo.Use(s.observe, s.recoverPanics, s.pages.Guard, s.named, s.pacedByAddress, s.patient, s.prompt, s.checkVersion, limitURI, s.authenticate, s.paced, s.placed,
		s.audit, s.authorize, s.negotiate, s.validate)
	for _, route := range s.routes() {
		s.echo.Add(route.method, route.path, route.handler)
		if route.method == http.MethodGet {
			s.echo.Add(http.MethodHead, route.path, route.handler) // net/http leaves the body out
		}
	}
	return s, nil
}

// Handler returns the server as a handler, for tests and for use below another server.
func (s *Server) Handler() http.Handler { return s.echo }

// Routes returns the method and the path of every route, the path as the OpenAPI documents write it.
func (s *Server) Routes() []string {
	var routes []string
	for _, route := range s.routes() {
		documented := s.validator.routes[route.method+" "+route.path]
		if documented == nil {
			routes = append(routes, route.method+" "+route.path)
			continue
		}
		routes = append(routes, route.method+" "+documented.Path)
	}
	return routes
}

// Serve answers requests on a listener until ctx ends, and then those that have come already.
func (s *Server) Serve(ctx context.Context, listener net.Listener) error {
	server := &http.Server{
		Handler:           s.echo,
		ReadHeaderTimeout: readHeaderTimeout,
		IdleTimeout:       idleTimeout,
		MaxHeaderBytes:    maxHeaderBytes,
		TLSConfig:         s.config.TLS,
		ConnState:         newConnections().changed,
		ErrorLog:          slog.NewLogLogger(s.config.Logger.Handler(), slog.LevelDebug),
	}
	group, serving := errgroup.WithContext(ctx)
	group.Go(func() error {
		serve := server.Serve
		if server.TLSConfig != nil {
			serve = func(listener net.Listener) error { return server.ServeTLS(listener, "", "") }
		}
		if err := serve(listener); !errors.Is(err, http.ErrServerClosed) {
			return err
		}
		return nil
	})
	group.Go(func() error {
		<-serving.Done()
		if ctx.Err() != nil {
			s.leave()
		}
		return shutDown(context.WithoutCancel(ctx), server)
	})
	return group.Wait()
}

// leave tells proxies that the server is about to stop, and goes on answering until they know: connections that wait to be taken when it
// stops are lost, and with them requests that a proxy cannot repeat.
func (s *Server) leave() {
	close(s.leaving)
	<-time.After(s.config.DrainDelay)
}

// drainTime is how long a request that is being answered may still take when the server stops. An upload that takes longer is cut
// off, and its package returns to CREATED.
const drainTime = 10 * time.Second

func shutDown(ctx context.Context, server *http.Server) error {
	ctx, cancel := context.WithTimeout(ctx, drainTime)
	defer cancel()
	if err := server.Shutdown(ctx); errors.Is(err, context.DeadlineExceeded) {
		return server.Close()
	} else if err != nil {
		return err
	}
	return nil
}
