package registry

import (
	"cmp"
	"context"
	"fmt"
	"net/http"
	"net/netip"
	"time"

	"vnfm/mgmtdriver"
	"vnfm/mgmtdriver/ssh"
)

// Name is the name by which VNFDs know the driver.
const Name = "mgmt-drivers-private-registry"

// Config are the options of the driver; the zero value of each means its default.
type Config struct {
	SSHPort    uint16        // of the VM; default 22
	BootTime   time.Duration // in which a new VM has to let one log in; default 15 min
	JobTime    time.Duration // that installing Docker, and loading or pulling the image, may take each; default 45 min
	AnswerTime time.Duration // in which the registry has to answer; default 150 s
	PutTime    time.Duration // that one call gives to the transfer of the image; default 40 s
}

// Driver makes private registries. It may be used by many goroutines.
type Driver struct {
	pool   *ssh.Pool
	config Config
}

// New returns a driver that connects to VMs with a pool.
func New(pool *ssh.Pool, config Config) *Driver {
	config.SSHPort = cmp.Or(config.SSHPort, ssh.DefaultPort)
	config.BootTime = cmp.Or(config.BootTime, 15*time.Minute)
	config.JobTime = cmp.Or(config.JobTime, 45*time.Minute)
	config.AnswerTime = cmp.Or(config.AnswerTime, 150*time.Second)
	return &Driver{pool: pool, config: config}
}

// Steps implements [mgmtdriver.Driver].
func (d *Driver) Steps(hook mgmtdriver.Hook) []mgmtdriver.Step {
	switch hook {
	case mgmtdriver.InstantiateEnd, mgmtdriver.HealEnd:
		return []mgmtdriver.Step{
			d.step("await", (*site).await),
			d.step("examine", (*site).examine),
			d.step("docker", (*site).installDocker),
			d.step("transfer", (*site).transferImage),
			d.step("image", (*site).haveImage),
			d.step("run", (*site).run),
			d.step("answer", (*site).answer),
		}
	default:
		return nil
	}
}

// Check implements [mgmtdriver.Driver].
func (d *Driver) Check(ctx context.Context, call *mgmtdriver.Call) error {
	p, err := ofCall(call)
	if err != nil {
		return err
	}
	switch call.Hook {
	case mgmtdriver.InstantiateEnd, mgmtdriver.HealEnd:
		return cmp.Or(call.CheckPort(pointer+"/ssh_cp_name", p.sshCpName), checkArchive(ctx, call.Package, p.imagePath))
	case mgmtdriver.ScaleStart, mgmtdriver.ScaleEnd, mgmtdriver.ScaleToLevelStart, mgmtdriver.ScaleToLevelEnd:
		return &mgmtdriver.Invalid{Detail: "a private registry cannot be scaled"}
	default:
		return nil
	}
}

// site is the registry of a call.
type site struct {
	*params
	driver *Driver
	call   *mgmtdriver.Call
	host   *ssh.Host
}

// step makes a step of something that is done at a site.
func (d *Driver) step(name string, do func(*site, context.Context) (mgmtdriver.Result, error)) mgmtdriver.Step {
	return mgmtdriver.StepAt(name, d.open, do)
}

func (d *Driver) open(call *mgmtdriver.Call) (*site, error) {
	p, err := ofCall(call)
	if err != nil {
		return nil, err
	}
	target, err := p.target(call, d.config.SSHPort)
	if err != nil {
		return nil, err
	}
	return &site{params: p, driver: d, call: call, host: d.pool.Host(call, target, ssh.NewRedactor(p.proxy.Secrets()...))}, nil
}

// target finds the VM: the VNFC that has the connection point, or else the only one of the VNF, whose floating IP address has its name.
func (p *params) target(call *mgmtdriver.Call, port uint16) (ssh.Target, error) {
	var found []ssh.Target
	add := func(vnfc *mgmtdriver.Vnfc, at mgmtdriver.Port) {
		if len(at.Addresses) > 0 {
			found = append(found, p.login.Target(vnfc.VduID, vnfc, netip.AddrPortFrom(at.Addresses[0], port)))
		}
	}
	for i := range call.After {
		if at, ok := call.After[i].Port(p.sshCpName); ok {
			add(&call.After[i], at)
		}
	}
	if len(found) == 0 && len(call.After) == 1 {
		for _, at := range call.Ports {
			if at.Name == p.sshCpName {
				add(&call.After[0], at)
			}
		}
	}
	if len(found) == 1 {
		return found[0], nil
	}
	detail := "Failed to get IP address for Private registry VM: there is no connection point %s with an address"
	if len(found) > 1 {
		detail = "a private registry is one VM, but the connection point %s belongs to several"
	}
	return ssh.Target{}, &mgmtdriver.Failure{Title: "VM has no address", Status: http.StatusUnprocessableEntity, Detail: fmt.Sprintf(detail, p.sshCpName)}
}

// await waits until the VM lets one log in.
func (s *site) await(ctx context.Context) (mgmtdriver.Result, error) {
	return ssh.Await(ctx, s.call, []*ssh.Host{s.host}, s.driver.config.BootTime)
}

// drive does a job of root; the result is that of a step that still waits until it has ended.
func (s *site) drive(ctx context.Context, job ssh.Job, what string) (mgmtdriver.Result, error) {
	job.Root = true
	return s.host.DriveWithin(ctx, s.call, job, what, s.driver.config.JobTime)
}

// failure is one that names the host.
func (s *site) failure(format string, args ...any) error {
	return &mgmtdriver.Failure{Title: "Private registry could not be set up", Detail: s.host.String() + ": " + s.host.Redactor().Redact(fmt.Sprintf(format, args...))}
}
