package kube

import (
	"cmp"
	"time"

	"vnfm/mgmtdriver/ssh"
)

// Config are the options of drivers of clusters; the zero value of each means its default.
type Config struct {
	SSHPort     uint16        // of all hosts; default 22
	BootTime    time.Duration // in which new VMs have to let one log in; default 15 min
	InstallTime time.Duration // that a script may take on a host, and a playbook for each node; default 45 min
	DrainTime   time.Duration // that pods have to leave a node; default 5 min
	VolumeTime  time.Duration // that a PersistentVolume may take to come or to go, where the driver makes them; default 150 s
	Together    int           // nodes that are worked on at once; default 32
}

// WithDefaults fills in what is not said.
func (c Config) WithDefaults() Config {
	c.SSHPort = cmp.Or(c.SSHPort, ssh.DefaultPort)
	c.BootTime = cmp.Or(c.BootTime, 15*time.Minute)
	c.InstallTime = cmp.Or(c.InstallTime, 45*time.Minute)
	c.DrainTime = cmp.Or(c.DrainTime, 5*time.Minute)
	c.VolumeTime = cmp.Or(c.VolumeTime, 150*time.Second)
	if c.Together < 1 {
		c.Together = ssh.DefaultParallel
	}
	return c
}
