package samples_test

import (
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"vnfm/mgmtdriver/balancer"
)

func TestScriptOfTheLoadBalancer(t *testing.T) {
	t.Parallel()
	needNamespaces(t)
	const script, install = "kubernetes-kubespray/Scripts/install_external_lb.sh", "mkdir -p /etc/haproxy; bash /install.sh -m 10.0.0.11,10.0.0.12 -w 10.0.0.51,10.0.1.51"
	// Twice, as it is run anew where its machine has not ended the first run.
	output := onMachine(t, script, install+"; "+install+"; cat /journal; echo configuration; cat /etc/haproxy/haproxy.cfg")
	journal, text, _ := strings.Cut(output, "configuration\n")
	for _, part := range []string{"haproxy -c -q -f /etc/haproxy/haproxy.cfg.new\n", "systemctl -q enable haproxy\n", "systemctl restart haproxy\n", "install_external_lb: done\n"} {
		if !strings.Contains(journal, part) {
			t.Errorf("does not say %q:\n%s", part, journal)
		}
	}
	config := balancer.Parse(text)
	if got := len(config.Servers(balancer.NodePorts)); got != 4 {
		t.Errorf("%d servers for node ports:\n%s", got, text)
	}
	for _, server := range []string{"server worker-10-0-0-51 10.0.0.51 ", "server worker-10-0-1-51 10.0.1.51 "} {
		if strings.Count(text, server) != 1 {
			t.Errorf("no %q:\n%s", server, text)
		}
	}
	if strings.Count(text, ":6443 check\n") != 2 || strings.Count(text, "bind *:8383\n") != 1 {
		t.Errorf("the Kubernetes API:\n%s", text)
	}
	if haproxy, err := exec.LookPath("haproxy"); err == nil {
		path := filepath.Join(t.TempDir(), "haproxy.cfg")
		if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
		if said, err := exec.CommandContext(t.Context(), haproxy, "-c", "-q", "-f", path).CombinedOutput(); err != nil {
			t.Errorf("HAProxy does not accept it: %s\n%s", said, text)
		}
	}
	for _, arguments := range []string{"", "-m 10.0.0.11", "-m 10.0.0.11 -w 'x;reboot'"} {
		if said := onMachine(t, script, "bash /install.sh "+arguments+"; echo status $?"); !strings.Contains(said, "status 255") {
			t.Errorf("%q: %s", arguments, said)
		}
	}
}
