// Command vnfm is a VNF manager: ETSI NFV-SOL 003 northbound, OpenStack southbound, state in PostgreSQL.
package main

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net"
	"os"
	"os/signal"
	"path/filepath"
	"slices"
	"syscall"
	"time"

	"github.com/alecthomas/kong"
	"golang.org/x/sync/errgroup"

	"vnfm/lcm"
	"vnfm/lcm/grant"
	"vnfm/lcm/heat"
	"vnfm/lcm/heat/heattest"
	"vnfm/mgmtdriver/external"
	"vnfm/samples"
	"vnfm/samples/demo"
	"vnfm/server"
	"vnfm/store"
	"vnfm/store/postgres"
	"vnfm/vnfpkg"
)

// version is set when the binary is built.
var version = "unknown"

// commands are the subcommands of vnfm.
type commands struct {
	Serve        serveCommand        `cmd:"" help:"Serve the API and carry operations out."`
	Demo         demoCommand         `cmd:"" help:"Serve with a simulated OpenStack and walk through the life of a VNF."`
	Migrate      migrateCommand      `cmd:"" help:"Bring the database to the schema of this version, and end."`
	Package      packageCommand      `cmd:"" help:"Build and check VNF packages."`
	OpenstackSim openstackSimCommand `cmd:"" name:"openstack-sim" help:"Serve a simulated OpenStack."`
	Version      versionCommand      `cmd:"" help:"Print the version."`
}

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	parsed := kong.Parse(&commands{},
		kong.Name("vnfm"),
		kong.Description("A VNF manager for OpenStack with the interfaces of ETSI NFV-SOL 003 v2.6.1."),
		kong.Vars{"datadir": defaultDataDir()},
		kong.BindTo(ctx, (*context.Context)(nil)),
	)
	parsed.FatalIfErrorf(parsed.Run())
}

type versionCommand struct{}

func (versionCommand) Run() error {
	fmt.Println("vnfm", version)
	return nil
}

type migrateCommand struct {
	databaseFlags
}

func (c *migrateCommand) Run(ctx context.Context) error {
	database, err := c.open(ctx)
	if err != nil {
		return err
	}
	return database.Close()
}

type packageCommand struct {
	Build    packageBuildCommand    `cmd:"" help:"Make a CSAR from a source tree, with the hashes of its files."`
	Validate packageValidateCommand `cmd:"" help:"Check a CSAR, or a source tree, as onboarding does."`
}

type packageBuildCommand struct {
	Dir    string `arg:"" type:"existingdir" help:"The source tree."`
	Output string `short:"o" type:"path" help:"The CSAR to write. Default: the name of the source tree with .csar."`
}

func (c *packageBuildCommand) Run(ctx context.Context) error {
	if c.Output == "" {
		c.Output = filepath.Base(filepath.Clean(c.Dir)) + ".csar"
	}
	if err := vnfpkg.BuildFile(ctx, c.Dir, c.Output); err != nil {
		return err
	}
	fmt.Println(c.Output)
	return nil
}

type packageValidateCommand struct {
	Path string `arg:"" type:"path" help:"A CSAR or a source tree."`
}

func (c *packageValidateCommand) Run(ctx context.Context) error {
	description, err := vnfpkg.Validate(ctx, c.Path)
	if err != nil {
		return fmt.Errorf("%s: %w", c.Path, err)
	}
	fmt.Printf("%s is a valid VNF package: %s %s %s, VNFD %s\n", c.Path, description.Provider, description.ProductName,
		description.SoftwareVersion, description.VnfdID)
	return nil
}

// logFlags say what is logged.
type logFlags struct {
	LogLevel  slog.Level `default:"info" env:"VNFM_LOG_LEVEL" help:"Least level that is logged: debug, info, warn or error. Default: info."`
	LogFormat string     `default:"auto" enum:"auto,json,text" env:"VNFM_LOG_FORMAT" help:"Form of the log: json, text, or auto = text on a terminal. Default: auto."`
}

func (f *logFlags) logger(out *os.File) *slog.Logger {
	options := &slog.HandlerOptions{Level: f.LogLevel}
	if f.LogFormat == "text" || (f.LogFormat == "auto" && isTerminal(out)) {
		return slog.New(slog.NewTextHandler(out, options))
	}
	return slog.New(slog.NewJSONHandler(io.Writer(out), options))
}

func isTerminal(file *os.File) bool {
	info, err := file.Stat()
	return err == nil && info.Mode()&os.ModeCharDevice != 0
}

// defaultDataDir is where data is kept when nothing else is said: $XDG_DATA_HOME/vnfm. The home of root is closed to the account that
// PostgreSQL has to run as.
func defaultDataDir() string {
	if dir := os.Getenv("XDG_DATA_HOME"); dir != "" {
		return filepath.Join(dir, "vnfm")
	}
	if os.Geteuid() == 0 {
		return "/var/lib/vnfm"
	}
	home, err := os.UserHomeDir()
	if err != nil {
		return "/var/lib/vnfm"
	}
	return filepath.Join(home, ".local", "share", "vnfm")
}

// databaseFlags say where the state is kept.
type databaseFlags struct {
	DatabaseURL   string `env:"VNFM_DATABASE_URL" placeholder:"URL" help:"PostgreSQL, as postgres://user:password@host/database. Default: a private server under the data directory."`
	DataDir       string `default:"${datadir}" env:"VNFM_DATA_DIR" type:"path" help:"Directory of the private PostgreSQL and its key. Default: $XDG_DATA_HOME/vnfm, or /var/lib/vnfm for root."`
	SecretKeyFile string `env:"VNFM_SECRET_KEY_FILE" type:"path" placeholder:"FILE" help:"Key that seals secrets in the database; made if it does not exist. Must be given with a database URL. Default: secret.key in the data directory."`
}

// database is an open database, with the private server behind it if there is one.
type database struct {
	*store.Store
	private *postgres.Private
}

// open connects to the database, starting the private one if needed, and brings it to this version's schema.
func (f *databaseFlags) open(ctx context.Context) (_ *database, err error) {
	db := &database{}
	defer func() {
		if err != nil {
			err = errors.Join(err, db.Close())
		}
	}()
	url := f.DatabaseURL
	if url == "" {
		if db.private, err = postgres.StartPrivate(ctx, filepath.Join(f.DataDir, "postgres")); err != nil {
			return nil, err
		}
		url = db.private.URL()
	}
	keyFile := f.SecretKeyFile
	switch {
	case keyFile != "":
	case f.DatabaseURL != "":
		return nil, errors.New("--secret-key-file (VNFM_SECRET_KEY_FILE) must name the key of the database that --database-url names")
	default:
		keyFile = filepath.Join(f.DataDir, "secret.key")
	}
	key, err := store.LoadOrCreateKey(keyFile)
	if err != nil {
		return nil, err
	}
	if db.Store, err = store.Open(ctx, store.Config{URL: url, Keys: []store.Key{key}}); err != nil {
		return nil, err
	}
	return db, db.Migrate(ctx)
}

// Close ends the connections and stops the private server.
func (d *database) Close() error {
	if d.Store != nil {
		d.Store.Close()
	}
	if d.private != nil {
		return d.private.Stop()
	}
	return nil
}

// simFlags say how the simulated OpenStack is served.
type simFlags struct {
	SimListen  string        `default:"127.0.0.1:9891" env:"VNFM_SIM_LISTEN" help:"Address of the simulated OpenStack, a loopback address. Default: 127.0.0.1:9891."`
	SimDelay   time.Duration `default:"1s" env:"VNFM_SIM_DELAY" help:"Time that the simulated OpenStack takes to make a server. Default: 1s."`
	SimSSHPort uint16        `env:"VNFM_SIM_SSH_PORT" help:"Port at which every simulated server answers SSH and SFTP (ubuntu, password ubuntu), on addresses of its own below 127.0.0.0/8. Default: 0, not at all."`
}

func (f *simFlags) start(ctx context.Context, logger *slog.Logger) (*heattest.Cloud, error) {
	if err := requireLoopback("--sim-listen", f.SimListen); err != nil {
		return nil, err
	}
	delays := heattest.DefaultDelays()
	delays["OS::Nova::Server"] = heattest.Delay{Create: f.SimDelay, Update: f.SimDelay, Delete: f.SimDelay / 2}
	options := heattest.Options{Delays: delays, Logger: logger}
	if f.SimSSHPort != 0 {
		options.VMs = &heattest.SSHVMs{Port: int(f.SimSSHPort), User: "ubuntu", Password: "ubuntu"}
	}
	cloud, err := heattest.New(options)
	if err != nil {
		return nil, err
	}
	if err := cloud.Listen(ctx, f.SimListen); err != nil {
		cloud.Close()
		return nil, fmt.Errorf("serve the simulated OpenStack: %w", err)
	}
	return cloud, nil
}

type openstackSimCommand struct {
	logFlags
	simFlags
}

func (c *openstackSimCommand) Run(ctx context.Context) error {
	cloud, err := c.start(ctx, c.logger(os.Stderr))
	if err != nil {
		return err
	}
	defer cloud.Close()
	account := cloud.Account()
	fmt.Printf("auth_url %s, user %s, password %s, project %s, domain %s\n",
		cloud.AuthURL(), account.User, account.Password, account.Project, account.Domain)
	<-ctx.Done()
	return nil
}

// serveFlags are the options of the server.
type serveFlags struct {
	databaseFlags
	logFlags
	simFlags
	Listen          string            `default:"127.0.0.1:9890" env:"VNFM_LISTEN" help:"Address of the API, a loopback address. Default: 127.0.0.1:9890."`
	Workers         int               `default:"200" env:"VNFM_WORKERS" help:"Operations that this process carries out at once. Default: 200."`
	MaxPackageBytes int64             `default:"17179869184" env:"VNFM_MAX_PACKAGE_BYTES" help:"Largest VNF package, in bytes. Default: 17179869184 (16 GiB)."`
	PageSize        int               `default:"100" env:"VNFM_PAGE_SIZE" help:"Elements of a list in one answer. Default: 100."`
	VimTimeout      time.Duration     `default:"30s" env:"VNFM_VIM_TIMEOUT" help:"Time in which a VIM has to answer one call. Default: 30s."`
	VimPatience     time.Duration     `default:"5m" env:"VNFM_VIM_PATIENCE" help:"Time that a VIM, or the NFVO, may be out of reach before an operation fails. Default: 5m."`
	MgmtDriver      map[string]string `name:"mgmt-driver" env:"VNFM_MGMT_DRIVERS" mapsep:"," placeholder:"NAME=PROGRAM" help:"Management driver of that name as a program of its own, see docs/management-drivers.md; may be repeated, or given as a list with commas."`
	StackTimeout    time.Duration     `default:"60m" env:"VNFM_STACK_TIMEOUT" help:"Time in which Heat has to make a stack. Default: 60m."`
	Grant           grant.Options     `embed:"" prefix:"grant-"`
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
	cloud, err := c.start(ctx, logger)
	if err != nil {
		return err
	}
	defer cloud.Close()
	return c.serve(ctx, logger, func(ctx context.Context, vims *lcm.VimRegistry) error { return registerSim(ctx, vims, cloud) })
}

// stopTime bounds how long a process that is told to stop takes.
const stopTime = 30 * time.Second

// serve runs the server until ctx ends. ready, if not nil, is called once when it has started.
func (f *serveFlags) serve(ctx context.Context, logger *slog.Logger, ready func(context.Context, *lcm.VimRegistry) error) (err error) {
	if err := requireLoopback("--listen", f.Listen); err != nil {
		return err
	}
	grants, err := f.Grant.Source()
	if err != nil {
		return err
	}
	began := time.Now()
	drivers, err := external.Start(ctx, f.MgmtDriver, external.Config{Logger: logger})
	if err != nil {
		return err
	}
	db, err := f.open(ctx)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, db.Close()) }()

	driver := heat.New(heat.Config{Timeout: f.VimTimeout, StackTimeout: f.StackTimeout, Logger: logger})
	limits := vnfpkg.DefaultLimits()
	limits.ArchiveBytes = f.MaxPackageBytes
	packages := vnfpkg.NewRegistry(db, db, limits, lcm.CheckDrivers(drivers))
	vims := lcm.NewVimRegistry(db, driver)
	manager := lcm.NewManager(db, db, packages, vims, driver, drivers)
	engine := lcm.NewEngine(db, packages, vims, driver, drivers,
		lcm.EngineConfig{Patience: f.VimPatience, Grants: grants, Logger: logger})
	if grants != nil {
		manager.ExpectGrants()
	}
	workers, err := store.NewWorkers(db.Store, engine, packages, store.WorkersConfig{MaxWorkers: f.Workers, Logger: logger})
	if err != nil {
		return err
	}
	api, err := server.New(server.Config{
		Instances: manager, Operations: manager, Vims: vims, Packages: packages, Ready: db.Ready, Away: store.Away, Logger: logger, PageSize: f.PageSize,
	})
	if err != nil {
		return err
	}

	listener, err := (&net.ListenConfig{}).Listen(ctx, "tcp", f.Listen)
	if err != nil {
		return err
	}
	if err := workers.Start(ctx); err != nil {
		return errors.Join(err, listener.Close())
	}
	group, serving := errgroup.WithContext(ctx)
	group.Go(func() error { return api.Serve(serving, listener) })
	logger.Info("serving", "address", listener.Addr().String(), "startup", time.Since(began).String())
	if ready != nil {
		group.Go(func() error { return ready(serving, vims) })
	}
	err = group.Wait()

	stopping, cancel := context.WithTimeout(context.WithoutCancel(ctx), stopTime)
	defer cancel()
	return errors.Join(err, workers.Stop(stopping))
}

// requireLoopback refuses an address that others than this machine reach, since clients do not have to authenticate yet.
func requireLoopback(option, address string) error {
	host, _, err := net.SplitHostPort(address)
	if err != nil {
		return fmt.Errorf("%s: %w", option, err)
	}
	if ip := net.ParseIP(host); host != "localhost" && (ip == nil || !ip.IsLoopback()) {
		return fmt.Errorf("%s: %s is not a loopback address; clients do not authenticate, so nobody else may reach it", option, address)
	}
	return nil
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

type demoCommand struct {
	Listen string `default:"127.0.0.1:9890" env:"VNFM_LISTEN" help:"Address of the API, a loopback address. Default: 127.0.0.1:9890."`
	Once   bool   `help:"End after the walk."`
	simFlags
}

func (c *demoCommand) Run(ctx context.Context) (err error) {
	ctx, stop := context.WithCancel(ctx)
	defer stop()
	dir, err := os.MkdirTemp("", "vnfm-demo-")
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, os.RemoveAll(dir)) }()
	var csar bytes.Buffer
	if err := vnfpkg.BuildFS(ctx, samples.TwoVdu(), &csar); err != nil {
		return err
	}
	logger := slog.New(slog.NewTextHandler(os.Stderr, &slog.HandlerOptions{Level: slog.LevelWarn}))
	cloud, err := c.start(ctx, logger)
	if err != nil {
		return err
	}
	defer cloud.Close()

	var serve serveCommand
	if err := kongDefaults(&serve); err != nil {
		return err
	}
	serve.Listen, serve.DatabaseURL, serve.DataDir, serve.SecretKeyFile = c.Listen, "", dir, ""
	serve.Grant = grant.Options{} // nobody is asked
	fmt.Println("start       PostgreSQL, the VNF manager and a simulated OpenStack")
	return serve.serve(ctx, logger, func(ctx context.Context, vims *lcm.VimRegistry) error {
		if err := registerSim(ctx, vims, cloud); err != nil {
			return err
		}
		walk := demo.Walk{
			BaseURL:  "http://" + c.Listen,
			CSAR:     csar.Bytes(),
			Networks: []string{cloud.NetworkID("net0"), cloud.NetworkID("net1")},
			Subnets:  []string{cloud.SubnetID("net0"), cloud.SubnetID("net1")},
			Spoil: func() {
				cloud.FailResource(heattest.ResourceFault{Type: "OS::Nova::Server", Action: "CREATE", Times: 1, Reason: "No valid host was found."})
			},
			Out: os.Stdout,
		}
		if err := walk.Run(ctx); err != nil {
			return fmt.Errorf("the walk ended: %w", err)
		}
		if c.Once {
			stop()
			return nil
		}
		fmt.Printf("done        the API is at http://%s, the simulated OpenStack at %s; Ctrl-C ends it\n", c.Listen, cloud.AuthURL())
		return nil
	})
}

// kongDefaults fills a command with the defaults of its flags and the environment.
func kongDefaults(command any) error {
	parser, err := kong.New(command, kong.Vars{"datadir": defaultDataDir()})
	if err != nil {
		return err
	}
	_, err = parser.Parse(nil)
	return err
}
