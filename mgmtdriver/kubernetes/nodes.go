package kubernetes

import (
	"fmt"
	"net/http"
	"net/netip"
	"slices"

	"vnfm/mgmtdriver"
	"vnfm/mgmtdriver/kube"
)

// groups are the roles of nodes.
func (p *params) groups() kube.Groups { return kube.Groups{Master: &p.master.Group, Worker: &p.worker} }

// ha reports whether the cluster has several masters, behind a virtual address.
func (s *site) ha() bool { return len(s.Masters) > 1 }

// port is that of the Kubernetes API at its address: HAProxy's, or the API server's own.
func (s *site) port() int {
	if s.ha() {
		return 16443
	}
	return 6443
}

// locate finds the addresses of the Kubernetes API.
func (s *site) locate() error {
	if len(s.Masters) == 0 {
		return nil // all is going
	}
	name := s.master.clusterCpName
	if !s.ha() {
		if port, ok := s.Masters[0].Vnfc.Port(name); ok && len(port.Addresses) > 0 {
			s.address = port.Addresses[0]
		}
	}
	find := func(name string) netip.Addr {
		i := slices.IndexFunc(s.Call.Ports, func(p mgmtdriver.Port) bool { return p.Name == name && len(p.Addresses) > 0 })
		if i < 0 {
			return netip.Addr{}
		}
		return s.Call.Ports[i].Addresses[0]
	}
	if !s.address.IsValid() {
		s.address = find(name)
	}
	if !s.address.IsValid() {
		return &mgmtdriver.Failure{Title: "Cluster has no address", Status: http.StatusUnprocessableEntity,
			Detail: fmt.Sprintf("Failed to get the cluster ip: there is no port %s with an address", name)}
	}
	switch fip := s.master.clusterFipName; {
	case fip != "":
		if s.outside = find(fip); !s.outside.IsValid() && !s.ha() {
			s.outside, _ = s.Masters[0].Vnfc.Address(fip)
		}
		if !s.outside.IsValid() {
			return &mgmtdriver.Failure{Title: "Cluster has no floating IP address", Status: http.StatusUnprocessableEntity,
				Detail: fmt.Sprintf("there is no floating IP %s with an address", fip)}
		}
	case !s.ha() && s.Masters[0].SSH != s.Masters[0].IP:
		s.outside = s.Masters[0].SSH
	}
	return nil
}

// name gives every node its name. present are the nodes of the cluster by address: their names stay.
func (s *site) name(present map[netip.Addr]string) {
	taken := map[string]bool{}
	for _, name := range present {
		taken[name] = true
	}
	for _, n := range s.All() {
		if n.Name = present[n.IP]; n.Name == "" {
			n.Name = kube.FreeName(n.Role(), n.IP, taken)
		}
	}
}
