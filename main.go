// Command vnfm is a VNF manager: ETSI NFV-SOL 003 northbound, OpenStack southbound, state in PostgreSQL.
package main

import (
	"bytes"
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"log/slog"
	"net/netip"
	"os"
	"os/signal"
	"path/filepath"
	"strings"
	"syscall"
	"time"

	"github.com/alecthomas/kong"

	"vnfm/lcm"
	"vnfm/lcm/grant"
	"vnfm/lcm/heat/heattest"
	"vnfm/mgmtdriver/kubernetes/kubetest"
	"vnfm/mgmtdriver/ssh/sshtest"
	"vnfm/samples"
	"vnfm/samples/demo"
	"vnfm/server/auth"
	"vnfm/server/telemetry"
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
	Secrets      secretsCommand      `cmd:"" help:"Replace the key that seals secrets in the database."`
	Package      packageCommand      `cmd:"" help:"Build and check VNF packages."`
	OpenstackSim openstackSimCommand `cmd:"" name:"openstack-sim" help:"Serve a simulated OpenStack."`
	HashPassword hashPasswordCommand `cmd:"" help:"Print the hash of a password, read from the standard input, for the file of users."`
	Healthcheck  healthcheckCommand  `cmd:"" help:"Ask a server whether it can work, and fail if it cannot."`
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

type hashPasswordCommand struct{}

func (hashPasswordCommand) Run() error {
	password, err := io.ReadAll(io.LimitReader(os.Stdin, 1<<10))
	if err != nil {
		return err
	}
	hash, err := auth.Hash(strings.TrimRight(string(password), "\r\n"))
	if err != nil {
		return err
	}
	fmt.Println(hash)
	return nil
}

type migrateCommand struct {
	databaseFlags
}

func (c *migrateCommand) Run(ctx context.Context) error {
	database, err := c.open(ctx, slog.New(slog.NewTextHandler(os.Stderr, nil)))
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
	Path string `arg:"" type:"path" help:"A CSAR, a zip file with a CSAR and its signature, or a source tree."`
	vnfpkg.TrustOptions
}

func (c *packageValidateCommand) Run(ctx context.Context) error {
	trust, err := c.Trust()
	if err != nil {
		return err
	}
	description, err := vnfpkg.Validate(ctx, c.Path, trust)
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
		return slog.New(telemetry.Logs(slog.NewTextHandler(out, options)))
	}
	return slog.New(telemetry.Logs(slog.NewJSONHandler(io.Writer(out), options)))
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
	SecretKeyFile string `env:"VNFM_SECRET_KEY_FILE" type:"path" placeholder:"FILE" help:"Keys that seal secrets in the database; made if it does not exist. Must be given with a database URL. Default: secret.key in the data directory."`
}

// database is an open database, with the private server behind it if there is one.
type database struct {
	*store.Store
	private *postgres.Private
}

// open connects to the database, starting the private one if needed, and brings it to this version's schema.
func (f *databaseFlags) open(ctx context.Context, logger *slog.Logger) (_ *database, err error) {
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
	keys, err := store.OpenKeyring(keyFile, logger)
	if err != nil {
		return nil, err
	}
	if db.Store, err = store.Open(ctx, store.Config{URL: url, Keys: keys}); err != nil {
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

// slowNodes are simulated nodes of Kubernetes on which one sees what happens when.
var slowNodes = kubetest.Options{PrepareTime: 3 * time.Second, JoinTime: 2 * time.Second}

func (f *simFlags) start(ctx context.Context, logger *slog.Logger, nodes kubetest.Options) (*heattest.Cloud, error) {
	if err := requireLoopback("--sim-listen", f.SimListen); err != nil {
		return nil, err
	}
	delays := heattest.DefaultDelays()
	delays["OS::Nova::Server"] = heattest.Delay{Create: f.SimDelay, Update: f.SimDelay, Delete: f.SimDelay / 2}
	options := heattest.Options{Delays: delays, Logger: logger}
	if f.SimSSHPort != 0 {
		// They also play what the nodes of a Kubernetes cluster do.
		world := kubetest.New(nodes)
		options.VMs = &heattest.SSHVMs{Port: int(f.SimSSHPort), User: "ubuntu", Password: "ubuntu",
			Handler: func(m heattest.Machine) sshtest.Handler { return world.Boot(m.Addresses...) }}
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
	cloud, err := c.start(ctx, c.logger(os.Stderr), slowNodes)
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
	logger := slog.New(slog.NewTextHandler(os.Stderr, &slog.HandlerOptions{Level: slog.LevelWarn}))
	c.SimSSHPort = cmp.Or(c.SimSSHPort, sshtest.DefaultPort)
	nodes := kubetest.Options{PrepareTime: c.SimDelay, JoinTime: c.SimDelay, Tell: func(address netip.Addr, what string) {
		fmt.Printf("%-11s %s\n", address, what)
	}}
	cloud, err := c.start(ctx, logger, nodes)
	if err != nil {
		return err
	}
	defer cloud.Close()

	var serve serveCommand
	if err := kongDefaults(&serve); err != nil {
		return err
	}
	serve.Listen, serve.DatabaseURL, serve.DataDir, serve.SecretKeyFile = c.Listen, "", dir, ""
	serve.Grant, serve.NFVOPackages = grant.Options{}, vnfpkg.NFVOOptions{} // nobody is asked
	serve.Node.SSHPort = c.SimSSHPort
	fmt.Println("start       PostgreSQL, the VNF manager and a simulated OpenStack")
	return serve.serve(ctx, logger, func(ctx context.Context, vims *lcm.VimRegistry) error {
		if err := registerSim(ctx, vims, cloud); err != nil {
			return err
		}
		if err := c.walk(ctx, cloud); err != nil {
			return fmt.Errorf("the walk ended: %w", err)
		}
		if c.Once {
			stop()
			return nil
		}
		fmt.Printf("done        the API is at http://%[1]s, the operations page at http://%[1]s/ui, the simulated OpenStack at %[2]s; Ctrl-C ends it\n", c.Listen, cloud.AuthURL())
		return nil
	})
}

// walk walks through the life of a small VNF, and of one that is a Kubernetes cluster.
func (c *demoCommand) walk(ctx context.Context, cloud *heattest.Cloud) error {
	walk := demo.Walk{
		BaseURL:  "http://" + c.Listen,
		Networks: []string{cloud.NetworkID("net0"), cloud.NetworkID("net1")},
		Subnets:  []string{cloud.SubnetID("net0"), cloud.SubnetID("net1")},
		Spoil: func() {
			cloud.FailResource(heattest.ResourceFault{Type: "OS::Nova::Server", Action: "CREATE", Times: 1, Reason: "No valid host was found."})
		},
		Out: os.Stdout,
	}
	for _, part := range []struct {
		source fs.FS
		run    func(context.Context) error
	}{{samples.TwoVdu(), walk.Run}, {samples.Kubernetes(), walk.RunCluster}} {
		var csar bytes.Buffer
		if err := vnfpkg.BuildFS(ctx, part.source, &csar); err != nil {
			return err
		}
		walk.CSAR = csar.Bytes()
		if err := part.run(ctx); err != nil {
			return err
		}
	}
	return nil
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
