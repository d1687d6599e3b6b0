package main

import (
	"context"
	"log/slog"
	"time"

	"vnfm/mgmtdriver"
	"vnfm/mgmtdriver/external"
	"vnfm/mgmtdriver/kubernetes"
	"vnfm/mgmtdriver/ssh"
)

// nodeFlags are the options of the management drivers that log in to VMs.
type nodeFlags struct {
	SSHPort   uint16        `default:"22" env:"VNFM_NODE_SSH_PORT" help:"SSH port of the VMs that management drivers work on. Default: 22."`
	BootTime  time.Duration `default:"15m" env:"VNFM_NODE_BOOT_TIME" help:"Time in which a new VM has to let a management driver log in. Default: 15m."`
	DrainTime time.Duration `default:"5m" env:"VNFM_NODE_DRAIN_TIME" help:"Time that the pods of a Kubernetes node have to leave it before it goes. Default: 5m."`
	Together  int           `default:"32" env:"VNFM_NODE_TOGETHER" help:"VMs of one VNF that a management driver works on at once. Default: 32."`
}

// drivers are the management drivers: those that are built in and those that are programs, which come first.
func (f *serveFlags) drivers(ctx context.Context, pool *ssh.Pool, logger *slog.Logger) (mgmtdriver.Drivers, error) {
	drivers, err := external.Start(ctx, f.MgmtDriver, external.Config{Logger: logger})
	if err != nil {
		return nil, err
	}
	if _, taken := drivers[kubernetes.Name]; !taken {
		drivers[kubernetes.Name] = kubernetes.New(pool, kubernetes.Config{
			SSHPort: f.Node.SSHPort, BootTime: f.Node.BootTime, DrainTime: f.Node.DrainTime, Together: f.Node.Together,
		})
	}
	return drivers, nil
}
