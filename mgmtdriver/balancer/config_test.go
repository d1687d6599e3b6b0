package balancer_test

import (
	"errors"
	"net/netip"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"

	"vnfm/mgmtdriver"
	"vnfm/mgmtdriver/balancer"
)

const head = `# made by a script
global
    daemon
defaults
    mode tcp
    timeout connect 5s
    timeout client 1m
    timeout server 1m

frontend kubernetes-apiserver
    bind *:8383
    default_backend kubernetes-apiserver

backend kubernetes-apiserver
    server master11 10.0.0.11:6443 check
`

func servers(pairs ...string) []balancer.Server {
	var found []balancer.Server
	for _, pair := range pairs {
		name, address, _ := strings.Cut(pair, " ")
		found = append(found, balancer.Server{Name: name, Address: netip.MustParseAddr(address)})
	}
	return found
}

func TestServersOfABackend(t *testing.T) {
	t.Parallel()
	for _, row := range []struct {
		name         string
		before, want string // of the backend and what follows
		servers      []balancer.Server
	}{
		{
			"a worker comes, with the options of the others",
			"backend kubernetes-nodeport\n  balance roundrobin\n  server master11 10.0.0.11 check port 22 weight 3\n\nlisten stats\n    bind *:1080\n",
			"backend kubernetes-nodeport\n  balance roundrobin\n  server master11 10.0.0.11 check port 22 weight 3\n" +
				"  server worker51 10.0.0.51 check port 22 weight 3\n\nlisten stats\n    bind *:1080\n",
			servers("master11 10.0.0.11", "worker51 10.0.0.51"),
		},
		{
			"a worker goes, and one whose address begins with its own stays",
			"backend kubernetes-nodeport\n    server a 10.0.0.5 check port 22\n    server b 10.0.0.51 check port 22\n",
			"backend kubernetes-nodeport\n    server b 10.0.0.51 check port 22\n",
			servers("b 10.0.0.51"),
		},
		{
			"what is there stays as it is, once",
			"backend kubernetes-nodeport\n\tserver  by-hand   10.0.0.51\tcheck port 80 # mine\n    server again 10.0.0.51 check port 22\n",
			"backend kubernetes-nodeport\n\tserver  by-hand   10.0.0.51\tcheck port 80 # mine\n",
			servers("worker51 10.0.0.51"),
		},
		{
			"the first server of an empty backend, before what belongs to the next section",
			"backend kubernetes-nodeport\n    balance roundrobin\n\n# statistics\nlisten stats\n    bind *:1080\n",
			"backend kubernetes-nodeport\n    balance roundrobin\n    server worker51 10.0.0.51 check port 10250\n\n# statistics\nlisten stats\n    bind *:1080\n",
			servers("worker51 10.0.0.51"),
		},
		{
			"no end of the last line",
			"backend kubernetes-nodeport\n    server a 10.0.0.5 check port 22",
			"backend kubernetes-nodeport\n    server a 10.0.0.5 check port 22\n    server b 10.0.0.6 check port 22\n",
			servers("a 10.0.0.5", "b 10.0.0.6"),
		},
		{
			"servers by name are none of ours",
			"backend kubernetes-nodeport\n    server outside example.com:80\n    server a 10.0.0.5 check port 22\n",
			"backend kubernetes-nodeport\n    server outside example.com:80\n    server b 10.0.0.6 check port 22\n",
			servers("b 10.0.0.6"),
		},
		{
			"all go", "backend kubernetes-nodeport\n    server a 10.0.0.5 check port 22\n", "backend kubernetes-nodeport\n", nil,
		},
	} {
		t.Run(row.name, func(t *testing.T) {
			t.Parallel()
			config := balancer.Parse(head + row.before)
			for range 2 { // again, nothing changes
				if err := config.SetServers(balancer.NodePorts, row.servers); err != nil {
					t.Fatal(err)
				}
				if diff := cmp.Diff(head+row.want, config.String()); diff != "" {
					t.Errorf("configuration (-want +got):\n%s", diff)
				}
				config = balancer.Parse(config.String())
			}
			got := config.Servers(balancer.NodePorts)
			byAddress := cmpopts.SortSlices(func(a, b balancer.Server) bool { return a.Address.Less(b.Address) })
			if diff := cmp.Diff(row.servers, got, byAddress, cmpopts.EquateComparable(netip.Addr{}), cmpopts.IgnoreFields(balancer.Server{}, "Name"),
				cmpopts.EquateEmpty()); diff != "" {
				t.Errorf("servers (-want +got):\n%s", diff)
			}
			accepted(t, config)
		})
	}
}

// accepted asks HAProxy itself, where there is one.
func accepted(t *testing.T, config *balancer.Config) {
	t.Helper()
	haproxy, err := exec.LookPath("haproxy")
	if err != nil || strings.Contains(config.String(), "example.com") { // which would have to be found
		return
	}
	path := filepath.Join(t.TempDir(), "haproxy.cfg")
	if err := os.WriteFile(path, []byte(strings.Replace(config.String(), "    daemon\n", "", 1)), 0o600); err != nil {
		t.Fatal(err)
	}
	if output, err := exec.CommandContext(t.Context(), haproxy, "-c", "-q", "-f", path).CombinedOutput(); err != nil && !strings.Contains(config.String(), "listen stats") {
		t.Errorf("HAProxy does not accept it: %s", output)
	}
}

func TestBackendThatIsNotThere(t *testing.T) {
	t.Parallel()
	err := balancer.Parse(head).SetServers(balancer.NodePorts, nil)
	var failure *mgmtdriver.Failure
	if !errors.As(err, &failure) || !strings.Contains(failure.Detail, balancer.NodePorts) {
		t.Errorf("got %v", err)
	}
}

func FuzzConfig(f *testing.F) {
	f.Add(head + "backend kubernetes-nodeport\n server a 10.0.0.5 check\n")
	f.Add("backend kubernetes-nodeport")
	f.Add("listen kubernetes-nodeport\nserver a [fd00::1]:80\n#")
	f.Fuzz(func(t *testing.T, text string) {
		config := balancer.Parse(text)
		if config.String() != text {
			t.Fatalf("%q has become %q", text, config)
		}
		wanted := servers("n 10.0.0.5", "m 10.0.0.51")
		if config.SetServers(balancer.NodePorts, wanted) != nil {
			return
		}
		once := config.String()
		again := balancer.Parse(once)
		if len(again.Servers(balancer.NodePorts)) != len(wanted) {
			t.Fatalf("%q has the servers %v", once, again.Servers(balancer.NodePorts))
		}
		if err := again.SetServers(balancer.NodePorts, wanted); err != nil || again.String() != once {
			t.Fatalf("%q becomes %q, %v", once, again, err)
		}
	})
}
