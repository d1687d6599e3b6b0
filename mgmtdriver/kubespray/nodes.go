package kubespray

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

// front is the load balancer.
type front struct {
	vnfc  *mgmtdriver.Vnfc // nil if its VNFC is not known
	ssh   netip.Addr       // where it is logged in to, and where the Kubernetes API answers
	isNew bool
	goes  bool
}

// findFront finds the load balancer: the VNFC that has its connection point or, if a floating IP address of no VNFC is named, the only one
// that is no node.
func (s *site) findFront() error {
	call := s.Call
	if s.balancer == nil {
		return nil
	}
	name := s.balancer.sshCpName
	var others []*mgmtdriver.Vnfc // that are no nodes
	for _, list := range [][]mgmtdriver.Vnfc{call.After, call.Removed} {
		for i := range list {
			vnfc := &list[i]
			healed := slices.ContainsFunc(others, func(other *mgmtdriver.Vnfc) bool { return other.ID == vnfc.ID })
			if healed || s.master.Has(vnfc) || s.worker.Has(vnfc) {
				continue
			}
			others = append(others, vnfc)
			if port, ok := vnfc.Port(name); ok && len(port.Addresses) > 0 && s.front == nil {
				s.front = &front{vnfc: vnfc, ssh: port.Addresses[0]}
			}
		}
	}
	if i := slices.IndexFunc(call.Ports, func(p mgmtdriver.Port) bool { return p.Name == name && len(p.Addresses) > 0 }); i >= 0 && s.front == nil {
		if s.front = &(front{ssh: call.Ports[i].Addresses[0]}); len(others) == 1 {
			s.front.vnfc = others[0]
		}
	}
	switch {
	case s.front == nil && len(call.Added) > 0:
		return &mgmtdriver.Failure{Title: "Load balancer has no address", Status: http.StatusUnprocessableEntity, Detail: fmt.Sprintf(
			"no VNFC has the connection point %s of external_lb_param, and there is no floating IP address of that name", name)}
	case s.front != nil && s.front.vnfc == nil && len(call.Added) > 0:
		return &mgmtdriver.Failure{Title: "Load balancer is not known", Status: http.StatusUnprocessableEntity, Detail: fmt.Sprintf(
			"%s of external_lb_param is a port of no VNFC, such as a floating IP address, and %d VNFCs are no nodes: give the connection point of the load balancer, or let it be the only one",
			name, len(others))}
	case s.front != nil && s.front.vnfc != nil:
		is := func(v mgmtdriver.Vnfc) bool { return v.ServerID == s.front.vnfc.ServerID }
		s.front.isNew, s.front.goes = slices.ContainsFunc(call.Added, is), slices.ContainsFunc(call.Removed, is)
	}
	return nil
}

// address is where the Kubernetes API answers.
func (s *site) address() netip.Addr {
	if s.front != nil {
		return s.front.ssh
	}
	return s.Masters[0].SSH
}

// going are the workers that go.
func (s *site) going() []*kube.Machine {
	return kube.Filter(s.Removed, func(n *kube.Machine) bool { return !n.Master })
}

// addresses are those of nodes within the cluster.
func addresses(nodes []*kube.Machine) []netip.Addr {
	found := make([]netip.Addr, len(nodes))
	for i, n := range nodes {
		found[i] = n.IP
	}
	return found
}
