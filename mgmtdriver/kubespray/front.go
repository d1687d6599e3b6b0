package kubespray

import (
	"context"
	"net/netip"
	"strings"

	"vnfm/mgmtdriver"
	"vnfm/mgmtdriver/balancer"
	"vnfm/mgmtdriver/ssh"
)

// install is the installation of the load balancer.
func (s *site) install() *balancer.Install {
	i := &balancer.Install{Script: s.balancer.scriptPath, Masters: addresses(s.Masters), Workers: addresses(s.Workers)}
	if s.proxy.HTTP != "" || s.proxy.HTTPS != "" {
		i.Env = map[string]string{"http_proxy": s.proxy.HTTP, "https_proxy": s.proxy.HTTPS}
		without := []string{withoutProxy(s.proxy), "127.0.0.1", "localhost"}
		for _, n := range s.All() {
			without = append(without, n.IP.String())
		}
		i.Env["no_proxy"] = strings.TrimPrefix(strings.Join(without, ","), ",")
	}
	return i
}

// installBalancer runs the script of the package on a new load balancer.
func (s *site) installBalancer(ctx context.Context) (mgmtdriver.Result, error) {
	if s.front == nil || !s.front.isNew {
		return mgmtdriver.Done(nil), nil
	}
	host, install := s.balancerHost(), s.install()
	if s.Call.State == nil {
		content, err := mgmtdriver.ReadFile(ctx, s.Call.Package, install.Script)
		if err == nil {
			err = host.Put(ctx, install.File(content))
		}
		if err != nil {
			return mgmtdriver.Result{}, err
		}
	}
	return host.DriveWithin(ctx, s.Call, install.Job(ssh.JobID(s.Call, "balancer")), install.Script, s.Config.InstallTime)
}

// configureBalancer lets the user of a new load balancer work on the cluster with kubectl.
func (s *site) configureBalancer(ctx context.Context) (mgmtdriver.Result, error) {
	if s.front == nil || !s.front.isNew {
		return mgmtdriver.Done(nil), nil
	}
	c, err := s.Open(ctx, s.Masters)
	if err != nil {
		return mgmtdriver.Result{}, err
	}
	config, err := readKubeconfig(ctx, c.Host)
	if err != nil {
		return mgmtdriver.Result{}, err
	}
	content, err := config.at(s.url())
	if err != nil {
		return mgmtdriver.Result{}, err
	}
	host := s.balancerHost()
	if _, err := host.Run(ctx, ssh.Command{Argv: []string{"mkdir", "-p", "-m", "700", ".kube"}}); err != nil {
		return mgmtdriver.Result{}, err
	}
	return mgmtdriver.Done(nil), host.Put(ctx, ssh.File{Path: ".kube/config", Content: ssh.Bytes(content)})
}

// url is where the Kubernetes API answers.
func (s *site) url() string {
	port := uint16(6443)
	if s.front != nil {
		port = balancer.APIPort
	}
	return "https://" + netip.AddrPortFrom(s.address(), port).String()
}

// route makes the load balancer lead to the nodes that there are, or are to stay.
func (s *site) route(ctx context.Context) (mgmtdriver.Result, error) {
	if s.front == nil || s.front.isNew || s.front.goes || s.Whole() || len(s.NewWorkers())+len(s.going()) == 0 {
		return mgmtdriver.Done(nil), nil
	}
	var servers []balancer.Server
	for _, n := range s.All() {
		servers = append(servers, balancer.Server{Name: n.Title(), Address: n.IP})
	}
	return mgmtdriver.Done(nil), balancer.Update(ctx, s.balancerHost(), func(config *balancer.Config) error {
		return config.SetServers(balancer.NodePorts, servers)
	})
}
