package kubernetes

import (
	"net/netip"
	"strings"
	"testing"

	"vnfm/mgmtdriver/kube"

	"github.com/google/go-cmp/cmp"
)

func TestNodesOfLargeNetworksHaveDifferentNames(t *testing.T) {
	t.Parallel()
	for _, row := range []struct {
		name    string
		present map[string]string
		masters string
		workers string
		want    string
	}{
		{"the last number of the address", nil, "10.10.0.59", "10.10.0.18 10.10.0.20", "master59 worker18 worker20"},
		{"a number that comes twice", nil, "10.10.0.18", "10.10.0.18 10.10.1.18 10.11.1.18", "master18 worker18 worker1-18 worker10-11-1-18"},
		{"a node that is there keeps its name", map[string]string{"10.10.1.18": "worker18", "10.10.3.4": "other"}, "10.10.0.59", "10.10.0.18 10.10.1.18",
			"master59 worker0-18 worker18"},
		{"IPv6", nil, "2001:db8::1:5", "2001:db8::1:5 2001:db8::2:5", "master-0005 worker-0005 worker-0000000000020005"},
	} {
		c := &site{Site: &kube.Site{Machines: &kube.Machines{}}}
		for _, address := range strings.Fields(row.masters) {
			c.Masters = append(c.Masters, &kube.Machine{Master: true, IP: netip.MustParseAddr(address)})
		}
		for _, address := range strings.Fields(row.workers) {
			c.Workers = append(c.Workers, &kube.Machine{IP: netip.MustParseAddr(address)})
		}
		present := map[netip.Addr]string{}
		for address, name := range row.present {
			present[netip.MustParseAddr(address)] = name
		}
		c.name(present)
		var got []string
		for _, n := range c.All() {
			got = append(got, n.Name)
		}
		if names := strings.Join(got, " "); names != row.want {
			t.Errorf("%s: %s, want %s", row.name, names, row.want)
		}
	}
}

func TestOnlyTheDriversLinesOfHostsChange(t *testing.T) {
	t.Parallel()
	const before = "127.0.0.1 localhost\n10.0.0.1 ten\n10.0.0.100 hundred\n"
	once := withBlock(before, []string{"10.0.0.10 worker10"})
	again := withBlock(withBlock(once, nil)+"10.0.0.7 seven", []string{"10.0.0.1 master1"})
	want := before + "10.0.0.7 seven\n" + hostsBegin + "\n10.0.0.1 master1\n" + hostsEnd + "\n"
	if diff := cmp.Diff(want, again); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
	if twice := withBlock(once, []string{"10.0.0.10 worker10"}); twice != once {
		t.Errorf("written again: %s", twice)
	}
}

func TestBackendsOfHAProxy(t *testing.T) {
	t.Parallel()
	masters := []*kube.Machine{{Name: "master59", IP: netip.MustParseAddr("10.10.0.59")}, {Master: true, IP: netip.MustParseAddr("10.10.0.78")},
		{Name: "master-0007", IP: netip.MustParseAddr("2001:db8::7")}}
	const servers = "    server  master59 10.10.0.59:6443 check\n    server  master78 10.10.0.78:6443 check\n    server  master-0007 [2001:db8::7]:6443 check\n"
	for _, row := range []struct{ name, before, want string }{
		{"servers are replaced where they are", "backend kube-apiserver\n    balance roundrobin\n    server  master31 10.10.0.31:6443 check\n    server  master5 10.10.0.5:6443 check\nlisten stats\n    bind *:1080\n",
			"backend kube-apiserver\n    balance roundrobin\n" + servers + "listen stats\n    bind *:1080\n"},
		{"servers of something else stay", "backend a\n\tserver master59 10.10.0.59:80 check\nbackend b\n\tserver x 10.0.0.1:6443\n",
			"backend a\n\tserver master59 10.10.0.59:80 check\nbackend b\n" + servers},
		{"servers with IPv6 addresses", "backend b\n    server  master5 [2001:db8::5]:6443 check\n", "backend b\n" + servers},
		{"a backend without servers at the end", "frontend f\nbackend b\n", "frontend f\nbackend b\n" + servers},
	} {
		if diff := cmp.Diff(row.want, withBackends(row.before, masters)); diff != "" {
			t.Errorf("%s (-want +got):\n%s", row.name, diff)
		}
	}
}

func TestWhatIsReachedWithoutTheProxy(t *testing.T) {
	t.Parallel()
	p := &params{master: masterGroup{pods: netip.MustParsePrefix("fd00:10::/56"), services: netip.MustParsePrefix("fd00:20::/112")}}
	const want = "fd00:10::/56,fd00:20::/112,127.0.0.1,localhost,2001:db8::9,2001:db8::/64,.svc,.cluster.local"
	if got := p.noProxyFor(netip.MustParseAddr("2001:db8::9"), netip.MustParseAddr("2001:db8::5")); got != want {
		t.Errorf("%s, want %s", got, want)
	}
}
