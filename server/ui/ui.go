// Package ui is the operations page: what an operator looks at in a browser, and the decisions about operations that failed. It is HTML that
// works without scripts; with them, what has changed comes by itself.
//
//	pages, err := ui.New(ui.Config{Instances: manager, Operations: manager, Vims: vims, Packages: packages, Gate: gate, Seals: db})
//	for _, route := range pages.Routes() {
//		router.Add(route.Method, route.Path, route.Handler)
//	}
//
// Everything is read and done by the functions that the API uses, on behalf of the caller in the context, and allowed by the same policy.
package ui

import (
	"context"
	"encoding/json"
	"errors"
	"log/slog"
	"net/http"
	"strings"

	"github.com/google/uuid"
	"github.com/labstack/echo/v4"

	"vnfm/api/access"
	"vnfm/lcm"
	"vnfm/server/auth"
	"vnfm/vnfpkg"
)

// Instances is what the pages need of VNF instances. *[lcm.Manager] has it.
type Instances interface {
	Instance(ctx context.Context, id uuid.UUID) (*lcm.VnfInstance, error)
	Instances(ctx context.Context, page lcm.Page) ([]*lcm.VnfInstance, bool, error)
	CountInstances(ctx context.Context) (map[lcm.InstantiationState]int, error)
}

// Operations is what the pages need of operations. *[lcm.Manager] has it.
type Operations interface {
	Operation(ctx context.Context, id uuid.UUID) (*lcm.Operation, error)
	Operations(ctx context.Context, page lcm.Page) ([]*lcm.Operation, bool, error)
	NodeLogs(ctx context.Context, id uuid.UUID) ([]lcm.NodeLog, error)
	CountOperations(ctx context.Context) (map[lcm.OperationState]int, error)
	Retry(ctx context.Context, id uuid.UUID) (*lcm.Operation, error)
	Rollback(ctx context.Context, id uuid.UUID) (*lcm.Operation, error)
	Fail(ctx context.Context, id uuid.UUID) (*lcm.Operation, error)
	Cancel(ctx context.Context, id uuid.UUID, params json.RawMessage) (*lcm.Operation, error)
}

// Packages is what the pages need of VNF packages. *[vnfpkg.Registry] has it.
type Packages interface {
	Packages(ctx context.Context, page vnfpkg.Page) ([]*vnfpkg.Package, bool, error)
	CountPackages(ctx context.Context) (map[vnfpkg.OnboardingState]int, error)
}

// Vims is what the pages need of VIMs. *[lcm.VimRegistry] has it.
type Vims interface {
	VimPage(ctx context.Context, page lcm.Page) ([]*lcm.Vim, bool, error)
	CountVims(ctx context.Context) (int, error)
}

// Seals keeps from browsers what is in the sessions that they bring. *store.Store has it.
type Seals interface {
	Seal(place string, value []byte) []byte
	OpenSealed(place string, sealed []byte) ([]byte, error)
}

// Config is what the pages are made of.
type Config struct {
	Instances  Instances
	Operations Operations
	Packages   Packages
	Vims       Vims
	Gate       *auth.Gate // who may call; nil: everybody
	Seals      Seals      // of sessions; needed with a gate
	// Judge tries credentials, unless somebody guesses them: its own errors are those of try, or that it is too often.
	Judge    func(c echo.Context, offer auth.Offer, try func() error) error
	Secure   bool                              // browsers come by HTTPS
	PageSize int                               // rows of a list; default 50
	Leaving  <-chan struct{}                   // closed when the server is about to stop
	Log      func(c echo.Context) *slog.Logger // of a request
}

// UI are the pages.
type UI struct {
	config Config
	origin *http.CrossOriginProtection
	views  views
}

// Root is where the pages are.
const Root = "/ui"

const defaultPageSize = 50

// New returns the pages.
func New(config Config) (*UI, error) {
	if config.Gate != nil && config.Seals == nil {
		return nil, errors.New("sessions need a seal")
	}
	if config.PageSize == 0 {
		config.PageSize = defaultPageSize
	}
	return &UI{config: config, origin: http.NewCrossOriginProtection(), views: views{all: map[string]*view{}}}, nil
}

// Route is one method of one page. The path is echo's.
type Route struct {
	Method, Path string
	Action       string // what the policy calls it; "": every caller may
	Public       bool   // those who have not signed in may, too
	Stream       bool   // lasts as long as somebody looks at the page
	Handler      echo.HandlerFunc
}

const operationPath = Root + "/operations/:vnfLcmOpOccId"

// Routes are all of them.
func (u *UI) Routes() []Route {
	routes := []Route{
		{Method: http.MethodGet, Path: Root + "/static/:file", Public: true, Handler: u.static},
		{Method: http.MethodGet, Path: signInPath, Public: true, Handler: u.showSignIn},
		{Method: http.MethodPost, Path: signInPath, Public: true, Handler: u.signIn},
		{Method: http.MethodPost, Path: signOutPath, Public: true, Handler: u.signOut},
		{Method: http.MethodPost, Path: operationPath + "/retry", Action: writeOperations, Handler: u.decide(u.config.Operations.Retry)},
		{Method: http.MethodPost, Path: operationPath + "/rollback", Action: writeOperations, Handler: u.decide(u.config.Operations.Rollback)},
		{Method: http.MethodPost, Path: operationPath + "/fail", Action: writeOperations, Handler: u.decide(u.config.Operations.Fail)},
		{Method: http.MethodPost, Path: operationPath + "/cancel", Action: writeOperations, Handler: u.cancel},
	}
	for _, page := range u.pages() {
		routes = append(routes,
			Route{Method: http.MethodGet, Path: page.path, Action: page.action, Handler: u.show(page)},
			Route{Method: http.MethodGet, Path: page.path + "/events", Action: page.action, Stream: true, Handler: u.stream(page)})
	}
	return routes
}

// Has reports whether a path of a URL belongs to the pages.
func Has(path string) bool { return path == Root || strings.HasPrefix(path, Root+"/") }

const (
	readInstances   = "instances:read"
	readOperations  = "operations:read"
	writeOperations = "operations:write"
	readPackages    = "packages:read"
	readVims        = "vims:read"
)

// may reports whether the policy lets the caller do something, and returns a context in which that is done.
func (u *UI) may(ctx context.Context, action string) (context.Context, bool) {
	caller := access.Of(ctx)
	if caller == nil || u.config.Gate == nil {
		return ctx, u.config.Gate == nil
	}
	let, err := u.config.Gate.Allow(caller, action)
	if err != nil {
		return nil, false
	}
	return access.With(ctx, let), true
}

// policy lets a browser load the files of this server alone, run no script of a page itself, and show the pages nowhere but in a window of
// their own.
const policy = "default-src 'none'; script-src 'self'; style-src 'self'; connect-src 'self'; img-src 'self'; form-action 'self'; " +
	"base-uri 'none'; frame-ancestors 'none'"

// Guard protects people: their browser is told what it must not do for others, and what other sites make it send changes nothing.
func (u *UI) Guard(next echo.HandlerFunc) echo.HandlerFunc {
	return func(c echo.Context) error {
		if !Has(c.Request().URL.Path) {
			return next(c)
		}
		header := c.Response().Header()
		header.Set(echo.HeaderContentSecurityPolicy, policy)
		header.Set(echo.HeaderXContentTypeOptions, "nosniff")
		header.Set(echo.HeaderReferrerPolicy, "same-origin")
		header.Set(echo.HeaderCacheControl, "no-store")
		header.Set("Cross-Origin-Opener-Policy", "same-origin")
		header.Set("Cross-Origin-Resource-Policy", "same-origin")
		if err := u.origin.Check(c.Request()); err != nil {
			return &access.Denied{Detail: "another site has sent this request"}
		}
		return next(c)
	}
}
