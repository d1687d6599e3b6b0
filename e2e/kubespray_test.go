//go:build e2e

package e2e

import (
	"context"
	"fmt"
	"io"
	"net/http"
	"os"
	"os/exec"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
)

// TestKubespray makes a Kubernetes cluster of servers of the real OpenStack with a real Ansible, which runs on one of them and logs in to the others,
// and puts a real HAProxy in front of it, through which the tests connect.
func TestKubespray(t *testing.T) {
	if testing.Short() {
		t.Skip("short")
	}
	startHosts(t, "kubespray/responses")
	s := newKubespray(t)
	k := s.kubernetes

	s.refusedAtOnce()
	openstack(t, "vnflcm", "instantiate", k.instanceID, writeFile(t, "instantiate.json", k.request))
	s.completed("INSTANTIATE")
	s.openNodePort()
	s.check(2)
	first := k.vim()["id"]
	s.kubectlOnTheBalancer()

	s.workerFailsAndTheServerDies()
	s.check(3)

	before := k.nodes("workerNode")
	openstack(t, "vnflcm", "scale", "--type", "SCALE_IN", "--aspect-id", "worker_instance", "--number-of-steps", "1", k.instanceID)
	s.completed("SCALE")
	s.check(2)
	left := k.nodes("workerNode")
	for id, worker := range before {
		if left[id] != worker {
			k.left(worker, "cordon "+worker.name, "drain "+worker.name, "delete node "+worker.name)
		}
	}

	s.workersHeal()
	s.mastersAreRefused()
	if k.vim()["id"] != first {
		t.Error("the cluster has become another VIM")
	}
	s.balancerHeals()

	openstack(t, "vnflcm", "heal", k.instanceID)
	s.completed("HEAL")
	s.openNodePort()
	s.check(2)
	if k.vim()["id"] == first {
		t.Error("the new cluster is the former VIM")
	}

	openstack(t, "vnflcm", "terminate", k.instanceID)
	completed(t, lastOperation(t, k.instanceID, "TERMINATE"))
	if left := k.vims(); len(left) > 0 {
		t.Errorf("left registered: %v", left)
	}
	if _, err := os.Stat(s.onAnsible("inventory/mycluster")); !os.IsNotExist(err) {
		t.Errorf("the inventory is left on the Ansible server: %v", err)
	}
	s.noSecretsAreTold()
}

// kubespray is a VNF that is a Kubernetes cluster, made by the Ansible server.
type kubespray struct {
	*kubernetes
	ansible string // the server
	address string // its address
	port    bool   // the load balancer has a frontend for the node port
}

const (
	kubesprayRoot = "/home/ubuntu/kubespray"
	proxySecret   = "geheim-of-{{proxy}}"
)

func newKubespray(t *testing.T) *kubespray {
	t.Helper()
	k := &kubernetes{t: t, cloud: openCloud(t), flavour: "simple", masters: 1, seen: map[string]bool{}, traces: map[string]string{}, secrets: []string{proxySecret}}
	s := &kubespray{kubernetes: k}
	s.startAnsible()
	nodes, _ := k.cloud.network(t, "net0")
	outside, _ := k.cloud.network(t, "net1")
	params := string(readFile(t, "../samples/kubernetes-kubespray/params/instantiate.json"))
	k.request = strings.NewReplacer("NETWORK_ID", nodes, "EXTERNAL_ID", outside, "VIM_ID", registerVim(t), "ANSIBLE_ADDRESS", s.address,
		`"username": "ansible"`, `"username": "ubuntu"`, `"password": "ansible"`, `"password": "ubuntu"`, "/home/ansible/", "/home/ubuntu/",
		`"ansible": {`, `"proxy": {"http_proxy": "http://me:`+proxySecret+`@10.10.0.1:3128", "https_proxy": "http://10.10.0.1:3128"}, "ansible": {`,
	).Replace(params)
	k.instanceID = createInstance(t, onboard(t, buildSample(t, "../samples/kubernetes-kubespray")).VnfdID)
	return s
}

// refusedAtOnce sends requests whose paths nobody may have.
func (s *kubespray) refusedAtOnce() {
	s.t.Helper()
	for _, path := range []string{"/", "", "/etc", "../../etc", kubesprayRoot + "/inventory/sample"} {
		bad := strings.Replace(s.request, `"`+kubesprayRoot+`/inventory/mycluster"`, `"`+path+`"`, 1)
		if out := refused(s.t, "vnflcm", "instantiate", s.instanceID, writeFile(s.t, "bad.json", bad)); !strings.Contains(out, "transferring_inventory_path") {
			s.t.Errorf("the path %q is refused with %s", path, out)
		}
	}
}

// workerFailsAndTheServerDies scales out while Ansible cannot install workers, and again while the server is killed.
func (s *kubespray) workerFailsAndTheServerDies() {
	s.t.Helper()
	broken := s.onAnsible("broken")
	if err := os.WriteFile(broken, nil, 0o644); err != nil {
		s.t.Fatal(err)
	}
	openstack(s.t, "vnflcm", "scale", "--type", "SCALE_OUT", "--aspect-id", "worker_instance", "--number-of-steps", "1", s.instanceID)
	op := lastOperation(s.t, s.instanceID, "SCALE")
	why := failed(s.t, op)
	for _, part := range []string{"scale.yml", "worker", "TASK [Unpack images]", "no space left on device", s.address} {
		if !strings.Contains(why, part) {
			s.t.Errorf("the error lacks %q: %s", part, why)
		}
	}
	if err := os.Remove(broken); err != nil {
		s.t.Fatal(err)
	}
	_, _, _ = client(s.t, "vnflcm", "op", "retry", op) // which fails after the server has accepted
	eventually(s.t, "scale.yml runs again", func() bool {
		return strings.Contains(s.onHost(s.address, "pgrep -af ansible-playbook || true"), "scale.yml")
	})
	script(s.t, "server", "kill")
	time.Sleep(time.Second)
	script(s.t, "server", "start")
	s.completed("SCALE")
	for _, worker := range s.nodes("workerNode") {
		s.ran(worker, "kubeadm join --config", 1)
	}
}

// workersHeal heals a worker that works, and one that is dead.
func (s *kubespray) workersHeal() {
	s.t.Helper()
	for id, worker := range s.nodes("workerNode") {
		if !s.port {
			s.t.Fatal("the node port is closed")
		}
		openstack(s.t, "server", "stop", worker.server)
		openstack(s.t, "vnflcm", "heal", "--cause", "dead", "--vnfc-instance", id, "--", s.instanceID)
		s.completed("HEAL")
		s.check(2)
		healed := s.nodes("workerNode")[id]
		if healed.server == worker.server || healed.name != worker.name {
			s.t.Errorf("%+v has become %+v", worker, healed)
		}
		s.ran(healed, "kubeadm join --config", 1)
		break
	}
	for id, worker := range s.nodes("workerNode") {
		if s.count(worker, "kubeadm reset") > 0 {
			continue
		}
		openstack(s.t, "vnflcm", "heal", "--cause", "ill", "--vnfc-instance", id, "--", s.instanceID)
		s.completed("HEAL")
		s.check(2)
		s.left(worker, "cordon "+worker.name, "drain "+worker.name, "delete node "+worker.name)
		s.ran(worker, "kubeadm reset -f", 1)
		break
	}
}

func (s *kubespray) mastersAreRefused() {
	s.t.Helper()
	for id := range s.nodes("masterNode") {
		if out := refused(s.t, "vnflcm", "heal", "--vnfc-instance", id, "--", s.instanceID); !strings.Contains(out, "is a master") {
			s.t.Errorf("the heal of a master is refused with %s", out)
		}
	}
}

// balancerHeals replaces the load balancer, which is installed anew.
func (s *kubespray) balancerHeals() {
	s.t.Helper()
	for id, balancer := range s.nodes("externalLB") {
		openstack(s.t, "vnflcm", "heal", "--cause", "ill", "--vnfc-instance", id, "--", s.instanceID)
		s.completed("HEAL")
		if s.nodes("externalLB")[id].server == balancer.server {
			s.t.Error("the load balancer is the same")
		}
	}
	s.openNodePort()
	s.check(2)
	s.kubectlOnTheBalancer()
}

// check compares the cluster with the VNF, and connects to it through the load balancer.
func (s *kubespray) check(workers int) {
	s.t.Helper()
	masters, all := s.nodes("masterNode"), s.nodes("workerNode")
	if len(masters) != s.masters || len(all) != workers {
		s.t.Fatalf("%d masters and %d workers, want %d and %d", len(masters), len(all), s.masters, workers)
	}
	for id, master := range masters {
		all[id] = master
	}
	want, names := map[string]kubeNode{}, []string{}
	for _, n := range all {
		want[n.name] = kubeNode{Address: n.address, Ready: true}
		names = append(names, n.name)
	}
	slices.Sort(names)
	nodes, _ := s.kubeNodes()
	if diff := cmp.Diff(want, nodes); diff != "" {
		s.t.Errorf("VNFCs (-) and nodes (+):\n%s", diff)
	}
	// HAProxy may still find out that a node is up.
	var got []string
	eventually(s.t, "the load balancer leads to "+strings.Join(names, " "), func() bool {
		got = s.answering(4 * len(names))
		return slices.Equal(got, names)
	})
}

// answering are the nodes that answer on the node port, through the load balancer, when it is asked some times.
func (s *kubespray) answering(times int) []string {
	s.t.Helper()
	var names []string
	for range times {
		ctx, cancel := context.WithTimeout(s.t.Context(), 5*time.Second)
		request, err := http.NewRequestWithContext(ctx, http.MethodGet, "http://"+s.kubernetes.address()+":30080/", nil)
		if err != nil {
			s.t.Fatal(err)
		}
		request.Close = true
		name := "nobody"
		if response, err := http.DefaultClient.Do(request); err == nil {
			body, _ := io.ReadAll(response.Body)
			_ = response.Body.Close()
			name = strings.TrimSpace(string(body))
		}
		cancel()
		if !slices.Contains(names, name) {
			names = append(names, name)
		}
	}
	slices.Sort(names)
	return names
}

// openNodePort makes a frontend for the node port, as whoever exposes a service does. What the driver changes later must leave it alone.
func (s *kubespray) openNodePort() {
	s.t.Helper()
	s.onHost(s.kubernetes.address(), `printf 'frontend app\n    bind *:30080\n    default_backend kubernetes-nodeport\n' | sudo tee -a /etc/haproxy/haproxy.cfg >/dev/null &&
		sudo systemctl reload haproxy`)
	s.port = true
}

// kubectlOnTheBalancer works on the cluster where users do.
func (s *kubespray) kubectlOnTheBalancer() {
	s.t.Helper()
	out := s.onHost(s.kubernetes.address(), "kubectl get nodes -o json")
	for _, n := range s.nodes("workerNode") {
		if !strings.Contains(out, `"`+n.name+`"`) {
			s.t.Errorf("kubectl on the load balancer does not know %s: %s", n.name, out)
		}
	}
}

// onHost runs a command on a host, as its user.
func (s *kubespray) onHost(address, command string) string {
	s.t.Helper()
	ctx, cancel := context.WithTimeout(s.t.Context(), time.Minute)
	defer cancel()
	cmd := exec.CommandContext(ctx, "sshpass", "-e", "ssh", "-o", "StrictHostKeyChecking=no", "-o", "UserKnownHostsFile=/dev/null",
		"-o", "LogLevel=ERROR", "ubuntu@"+address, command)
	cmd.Env = append(os.Environ(), "SSHPASS=ubuntu")
	out, err := cmd.CombinedOutput()
	if err != nil {
		s.t.Fatalf("%s on %s: %v\n%s", command, address, err, out)
	}
	return string(out)
}

// completed waits for the last operation of a kind, which has to succeed, and looks at what it has left on the Ansible server.
func (s *kubespray) completed(kind string) {
	s.t.Helper()
	s.kubernetes.completed(kind)
	s.noteAnsible()
	if left := s.onHost(s.address, fmt.Sprintf("ls -A %s/inventory/mycluster", kubesprayRoot)); strings.Contains(left, ".vnfm-sealed-") {
		s.t.Errorf("sealed secrets are left on the Ansible server: %s", left)
	}
}
