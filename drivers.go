package main

import (
	"context"
	"io"
	"log/slog"
	"time"

	"vnfm/mgmtdriver"
	"vnfm/mgmtdriver/external"
	"vnfm/mgmtdriver/kube"
	"vnfm/mgmtdriver/kubernetes"
	"vnfm/mgmtdriver/kubespray"
	"vnfm/mgmtdriver/registry"
	"vnfm/mgmtdriver/ssh"
	"vnfm/server/telemetry"
)

// nodeFlags are the options of the management drivers that log in to VMs.
type nodeFlags struct {
	SSHPort    uint16        `default:"22" env:"VNFM_NODE_SSH_PORT" help:"SSH port of the VMs that management drivers work on. Default: 22."`
	BootTime   time.Duration `default:"15m" env:"VNFM_NODE_BOOT_TIME" help:"Time in which a new VM has to let a management driver log in. Default: 15m."`
	ScriptTime time.Duration `default:"45m" env:"VNFM_NODE_SCRIPT_TIME" help:"Time that an installation script may take on a VM. Default: 45m."`
	DrainTime  time.Duration `default:"5m" env:"VNFM_NODE_DRAIN_TIME" help:"Time that the pods of a Kubernetes node have to leave it before it goes. Default: 5m."`
	Together   int           `default:"32" env:"VNFM_NODE_TOGETHER" help:"VMs of one VNF that a management driver works on at once. Default: 32."`
}

// drivers are the management drivers: those that are built in and those that are programs, which come first. The connections to VMs must be
// closed.
func (f *serveFlags) drivers(ctx context.Context, telemetry *telemetry.Telemetry, logger *slog.Logger) (mgmtdriver.Drivers, io.Closer, error) {
	drivers, err := external.Start(ctx, f.MgmtDriver, external.Config{Logger: logger})
	if err != nil {
		return nil, nil, err
	}
	pool := ssh.NewPool(ssh.Config{Observe: telemetry.SSHAction})
	nodes := kube.Config{
		SSHPort: f.Node.SSHPort, BootTime: f.Node.BootTime, InstallTime: f.Node.ScriptTime, DrainTime: f.Node.DrainTime, Together: f.Node.Together,
	}
	builtIn := map[string]mgmtdriver.Driver{
		kubernetes.Name: kubernetes.New(pool, nodes),
		kubespray.Name:  kubespray.New(pool, nodes),
		registry.Name:   registry.New(pool, registry.Config{SSHPort: f.Node.SSHPort, BootTime: f.Node.BootTime, JobTime: f.Node.ScriptTime}),
	}
	for name, driver := range builtIn {
		if _, taken := drivers[name]; !taken {
			drivers[name] = driver
		}
	}
	return drivers, pool, nil
}
