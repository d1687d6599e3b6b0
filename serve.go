package main

import (
	"cmp"
	"context"
	"crypto/tls"
	"crypto/x509"
	"errors"
	"fmt"
	"log/slog"
	"net"
	"net/netip"
	"net/url"
	"os"
	"slices"
	"strings"
	"time"

	"golang.org/x/sync/errgroup"

	"vnfm/api/peer"
	"vnfm/lcm"
	"vnfm/lcm/grant"
	"vnfm/lcm/heat"
	"vnfm/lcm/heat/heattest"
	"vnfm/lcm/notify"
	"vnfm/mgmtdriver"
	"vnfm/server"
	"vnfm/server/auth"
	"vnfm/server/telemetry"
	"vnfm/store"
	"vnfm/vnfpkg"
)

// serveFlags are the options of the server.
type serveFlags struct {
	databaseFlags
	logFlags
	simFlags
	vnfpkg.TrustOptions
	auth.Options
	Listen          string             `default:"127.0.0.1:9890" env:"VNFM_LISTEN" help:"Address of the API. Others than this machine reach it only with --auth, and with TLS or behind a proxy that has it. Default: 127.0.0.1:9890."`
	TLS             auth.TLSOptions    `embed:"" prefix:"tls-" envprefix:"VNFM_TLS_"`
	AuditRetention  time.Duration      `default:"8760h" env:"VNFM_AUDIT_RETENTION" help:"Time for which it is known who has changed what. Default: 8760h (a year)."`
	DrainDelay      time.Duration      `default:"0s" env:"VNFM_DRAIN_DELAY" help:"Time for which the server still answers when it is told to stop, while /readyz says that it is not ready: proxies before several servers then cost no request. Default: 0s."`
	BehindProxy     bool               `env:"VNFM_BEHIND_PROXY" help:"A proxy is in front, which has TLS and tells the addresses of clients in X-Forwarded-For; plain HTTP may be served on an address that others reach."`
	Workers         int                `default:"200" env:"VNFM_WORKERS" help:"Operations that this process carries out at once. Default: 200."`
	MaxPackageBytes int64              `default:"17179869184" env:"VNFM_MAX_PACKAGE_BYTES" help:"Largest VNF package, in bytes. Default: 17179869184 (16 GiB)."`
	PageSize        int                `default:"100" env:"VNFM_PAGE_SIZE" help:"Elements of a list in one answer. Default: 100."`
	RateLimit       float64            `default:"500" env:"VNFM_RATE_LIMIT" help:"Requests per second of one client, on average: of an address, and with --auth of an account; 0 = as many as it likes. Default: 500."`
	VimTimeout      time.Duration      `default:"30s" env:"VNFM_VIM_TIMEOUT" help:"Time in which a VIM has to answer one call. Default: 30s."`
	VimPatience     time.Duration      `default:"5m" env:"VNFM_VIM_PATIENCE" help:"Time that a VIM, or the NFVO, may be out of reach before an operation fails. Default: 5m."`
	MgmtDriver      map[string]string  `name:"mgmt-driver" env:"VNFM_MGMT_DRIVERS" mapsep:"," placeholder:"NAME=PROGRAM" help:"Management driver of that name as a program of its own, see docs/management-drivers.md; may be repeated, or given as a list with commas."`
	VimCA           string             `name:"vim-ca-file" env:"VNFM_VIM_CA_FILE" type:"path" placeholder:"FILE" help:"Certificates (PEM) of authorities that VIMs' certificates may be from, besides those of the system. A VIM that names its own is held to those."`
	StackTimeout    time.Duration      `default:"60m" env:"VNFM_STACK_TIMEOUT" help:"Time in which Heat has to make a stack. Default: 60m."`
	APIRoot         string             `name:"api-root" env:"VNFM_API_ROOT" placeholder:"URL" help:"Address of this server as others see it, the beginning of the links in notifications. Default: http:// and the address of the API."`
	Grant           grant.Options      `embed:"" prefix:"grant-"`
	NFVOPackages    vnfpkg.NFVOOptions `embed:"" prefix:"nfvo-packages-"`
	Callback        callbackFlags      `embed:"" prefix:"callback-" envprefix:"VNFM_CALLBACK_"`
	Peers           peer.Policy        `embed:"" prefix:"peer-" envprefix:"VNFM_PEER_"`
	Node            nodeFlags          `embed:"" prefix:"node-"`

	Traces telemetry.TraceOptions `embed:"" prefix:"otlp-"`
}

// callbackFlags say how notifications are delivered.
type callbackFlags struct {
	peer.TLSFiles
	Test      bool          `default:"true" negatable:"" env:"TEST" help:"Test the callback URI of a subscription with a GET that has to be answered with 204. Default: true."`
	Retention time.Duration `default:"24h" env:"RETENTION" help:"Time for which it is tried to deliver a notification. Default: 24h."`
}

// notifications returns the registry of subscriptions, and the sender of what subscribers are to hear of.
func (f *serveFlags) notifications(db *database, at net.Addr, measured *telemetry.Telemetry, logger *slog.Logger,
) (*notify.Registry, *notify.Sender, error) {
	security, err := f.Callback.Config("--callback-")
	if err != nil {
		return nil, nil, err
	}
	client := f.Peers.Client(security, notify.CallTime)
	scheme := "http://"
	if f.TLS.On() {
		scheme = "https://"
	}
	root := cmp.Or(strings.TrimRight(f.APIRoot, "/"), scheme+at.String())
	registry := notify.NewRegistry(db, notify.RegistryConfig{Client: client, Certificate: f.Callback.CertFile != "", Test: f.Callback.Test})
	sender := notify.NewSender(db, notify.SenderConfig{Client: client, APIRoot: root, Retention: f.Callback.Retention,
		Observe: measured.Delivery, Logger: logger})
	return registry, sender, nil
}

type serveCommand struct {
	serveFlags
	WithOpenstackSim bool `env:"VNFM_WITH_OPENSTACK_SIM" help:"Serve a simulated OpenStack too, as the default VIM."`
}

func (c *serveCommand) Run(ctx context.Context) error {
	logger := c.logger(os.Stderr)
	if !c.WithOpenstackSim {
		return c.serve(ctx, logger, nil)
	}
	cloud, err := c.start(ctx, logger, slowNodes)
	if err != nil {
		return err
	}
	defer cloud.Close()
	return c.serve(ctx, logger, func(ctx context.Context, vims *lcm.VimRegistry) error { return registerSim(ctx, vims, cloud) })
}

// settings is what options name.
type settings struct {
	gate   *auth.Gate  // nil: everybody may call
	tls    *tls.Config // nil: plain HTTP
	grants lcm.GrantSource
	trust  vnfpkg.Trust
	nfvo   *vnfpkg.NFVO
	vims   *x509.CertPool // authorities of VIMs
}

// settings reads what options name, so that mistakes in them show before anything is started.
func (f *serveFlags) settings() (s settings, err error) {
	if s.gate, err = f.Gate(); err != nil {
		return s, err
	}
	if s.tls, err = f.TLS.Config(slog.Default()); err != nil {
		return s, err
	}
	if err := f.checkListen(); err != nil {
		return s, err
	}
	if local, err := isLoopback("--listen", f.Listen); err == nil && !local {
		// Clients are elsewhere, so what they name is not on this machine.
		f.Peers.Deny = append(f.Peers.Deny, netip.MustParsePrefix("127.0.0.0/8"), netip.MustParsePrefix("::1/128"))
	}
	if s.vims, err = peer.Authorities("--vim-ca-file", f.VimCA); err != nil {
		return s, err
	}
	if s.grants, err = f.Grant.Source(); err != nil {
		return s, err
	}
	if s.nfvo, err = f.NFVOPackages.NFVO(); err != nil {
		return s, err
	}
	s.trust, err = f.Trust()
	return s, err
}

// packages returns the registry of VNF packages.
func (f *serveFlags) packages(db *database, drivers mgmtdriver.Drivers, with settings) *vnfpkg.Registry {
	limits := vnfpkg.DefaultLimits()
	limits.ArchiveBytes = f.MaxPackageBytes
	packages := vnfpkg.NewRegistry(db, db, limits, lcm.CheckDrivers(drivers))
	packages.Trust(with.trust)
	packages.Downloads(vnfpkg.Downloads{Policy: f.Peers, NFVO: with.nfvo})
	return packages
}

// telemetry returns what the server is watched by.
func (f *serveFlags) telemetry(ctx context.Context, logger *slog.Logger) (*telemetry.Telemetry, error) {
	slog.SetDefault(logger) // whoever was not given one does not log in another form
	measured := telemetry.New(version)
	return measured, measured.Trace(ctx, f.Traces, logger)
}

// prepare tells a manager who grants operations, and who watches them.
func prepare(manager *lcm.Manager, measured *telemetry.Telemetry, with settings) *lcm.Manager {
	manager.Observe(measured)
	if with.grants != nil {
		manager.ExpectGrants()
	}
	return manager
}

// sendRest sends the traces that are left. A collector that is away holds nobody up for long, and is no failure.
func sendRest(ctx context.Context, measured *telemetry.Telemetry, logger *slog.Logger) {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), 3*time.Second)
	defer cancel()
	if err := measured.Close(ctx); err != nil {
		logger.Warn("the last traces are not delivered", "error", err)
	}
}

// stopTime bounds how long a process that is told to stop takes.
const stopTime = 30 * time.Second

// serve runs the server until ctx ends. ready, if not nil, is called once when it has started.
func (f *serveFlags) serve(ctx context.Context, logger *slog.Logger, ready func(context.Context, *lcm.VimRegistry) error) (err error) {
	with, err := f.settings()
	if err != nil {
		return err
	}
	began := time.Now()
	measured, err := f.telemetry(ctx, logger)
	if err != nil {
		return err
	}
	defer sendRest(ctx, measured, logger)
	drivers, connections, err := f.drivers(ctx, measured, logger)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, connections.Close()) }()
	db, err := f.open(ctx, logger)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, db.Close()) }()

	measured.Watch(ctx, db)
	driver := heat.New(heat.Config{Timeout: f.VimTimeout, StackTimeout: f.StackTimeout, Authorities: with.vims, Observe: measured.VimCall, Logger: logger})
	packages := f.packages(db, drivers, with)
	vims := lcm.NewVimRegistry(db, driver)
	manager := prepare(lcm.NewManager(db, db, packages, vims, driver, drivers), measured, with)
	engine := lcm.NewEngine(db, packages, vims, driver, drivers,
		lcm.EngineConfig{Patience: f.VimPatience, Grants: with.grants, Observer: measured, Logger: logger})
	workers, err := store.NewWorkers(db.Store, engine, packages, store.WorkersConfig{MaxWorkers: f.Workers, AuditRetention: f.AuditRetention, Logger: logger})
	if err != nil {
		return err
	}
	listener, err := (&net.ListenConfig{}).Listen(ctx, "tcp", f.Listen)
	if err != nil {
		return err
	}
	defer func() { _ = listener.Close() }() // unless the server has done it
	subscriptions, sender, err := f.notifications(db, listener.Addr(), measured, logger)
	if err != nil {
		return err
	}
	api, err := server.New(server.Config{
		Instances: manager, Operations: manager, Vims: vims, Packages: packages, Subscriptions: subscriptions,
		Gate: with.gate, Seals: db, TLS: with.tls, Audit: db, DrainDelay: f.DrainDelay,
		Ready: db.Ready, Away: store.Away, Telemetry: measured, Logger: logger, PageSize: f.PageSize,
		RateLimit: f.RateLimit, BehindProxy: f.BehindProxy, Hosts: f.hosts(),
	})
	if err != nil {
		return err
	}
	return together(ctx, workers,
		func(ctx context.Context) error { return api.Serve(ctx, listener) },
		sender.Run,
		func(ctx context.Context) error {
			logger.Info("serving", "address", listener.Addr().String(), "startup", time.Since(began).String())
			if ready == nil {
				return nil
			}
			return ready(ctx, vims)
		})
}

// together does what a server does, until ctx ends or something fails.
func together(ctx context.Context, workers *store.Workers, parts ...func(context.Context) error) error {
	if err := workers.Start(ctx); err != nil {
		return err
	}
	group, serving := errgroup.WithContext(ctx)
	for _, part := range parts {
		group.Go(func() error { return part(serving) })
	}
	err := group.Wait()

	stopping, cancel := context.WithTimeout(context.WithoutCancel(ctx), stopTime)
	defer cancel()
	return errors.Join(err, workers.Stop(stopping))
}

// hosts are the names by which clients may call the server while it does not ask who they are; nil: any.
func (f *serveFlags) hosts() []string {
	if f.On() {
		return nil
	}
	names := []string{"localhost"}
	if root, err := url.Parse(f.APIRoot); err == nil && root.Hostname() != "" {
		names = append(names, root.Hostname())
	}
	return names
}

// checkListen refuses an address that others than this machine reach unless clients have to prove who they are, and what they say is secret.
func (f *serveFlags) checkListen() error {
	if f.AuditRetention <= 0 {
		return errors.New("--audit-retention: it must be longer than nothing")
	}
	if f.Auth == "tls" && f.TLS.ClientCA == "" {
		return errors.New("--auth=tls needs --tls-client-ca-file")
	}
	local, err := isLoopback("--listen", f.Listen)
	switch {
	case err != nil || local:
		return err
	case !f.On():
		return fmt.Errorf("--listen: %s is not a loopback address; without --auth, nobody else may reach it", f.Listen)
	case !f.TLS.On() && !f.BehindProxy:
		return fmt.Errorf("--listen: %s is not a loopback address; it needs --tls-cert-file, or --behind-proxy if a proxy has TLS", f.Listen)
	}
	return nil
}

// isLoopback reports whether only this machine reaches the address that an option gives.
func isLoopback(option, address string) (bool, error) {
	host, _, err := net.SplitHostPort(address)
	if err != nil {
		return false, fmt.Errorf("%s: %w", option, err)
	}
	ip := net.ParseIP(host)
	return host == "localhost" || ip != nil && ip.IsLoopback(), nil
}

// requireLoopback refuses an address that others than this machine reach, for what asks nobody who they are.
func requireLoopback(option, address string) error {
	local, err := isLoopback(option, address)
	if err == nil && !local {
		return fmt.Errorf("%s: %s is not a loopback address, and nobody else may reach it", option, address)
	}
	return err
}

// registerSim makes the simulated OpenStack the default VIM, unless there is a default VIM.
func registerSim(ctx context.Context, vims *lcm.VimRegistry, cloud *heattest.Cloud) error {
	known, err := vims.Vims(ctx)
	if err != nil {
		return err
	}
	if slices.ContainsFunc(known, func(vim *lcm.Vim) bool { return vim.IsDefault }) {
		return nil
	}
	account := cloud.Account()
	_, err = vims.Register(ctx, &lcm.Vim{
		Name:       "openstack-sim",
		Type:       "openstack",
		AuthURL:    cloud.AuthURL(),
		VimProject: map[string]any{"name": account.Project, "project_domain_name": account.Domain},
		AuthCred:   map[string]any{"username": account.User, "password": account.Password, "user_domain_name": account.Domain},
		IsDefault:  true,
	})
	return err
}
