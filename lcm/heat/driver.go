package heat

import (
	"context"
	"crypto/x509"
	"log/slog"
	"time"

	"vnfm/lcm"
	"vnfm/lcm/userdata"
	"vnfm/lcm/userdata/python"
)

// Config are the options of a [Driver]; the zero value of each means its default.
type Config struct {
	Timeout      time.Duration // of one call; default 30 s
	StackTimeout time.Duration // in which Heat has to make or change a stack; default 60 min
	Logger       *slog.Logger  // default: the default logger
	// Authorities are those that certificates of VIMs without authorities of their own have to be from. Default: those of the system.
	Authorities *x509.CertPool
	// Observe is told of each call of a service, which goes on with the context returned; end is called after it. Default: nobody.
	Observe func(ctx context.Context, service, method string) (calling context.Context, end func(error))
}

// Driver makes stacks in any number of VIMs. Its methods may be called concurrently.
type Driver struct {
	config   Config
	sessions sessions
	scripts  *userdata.Scripts
}

var (
	_ lcm.InfraDriver = (*Driver)(nil)
	_ lcm.VimDriver   = (*Driver)(nil)
)

// New returns a driver.
func New(config Config) *Driver {
	if config.Timeout == 0 {
		config.Timeout = 30 * time.Second
	}
	if config.StackTimeout == 0 {
		config.StackTimeout = time.Hour
	}
	if config.Logger == nil {
		config.Logger = slog.Default()
	}
	if config.Observe == nil {
		config.Observe = func(ctx context.Context, _, _ string) (context.Context, func(error)) { return ctx, func(error) {} }
	}
	return &Driver{
		config: config, sessions: sessions{timeout: config.Timeout, trust: config.Authorities, log: config.Logger, observe: config.Observe,
			byAccess: map[fingerprint]*session{}},
		scripts: userdata.NewScripts(python.NewRunner(python.Config{})),
	}
}

// Regions implements [lcm.VimDriver]: it always logs in anew, so that what is registered is known to work.
func (d *Driver) Regions(ctx context.Context, access lcm.VimAccess) ([]string, error) {
	regions, err := d.sessions.regions(ctx, access)
	return regions, atOnce(err)
}
