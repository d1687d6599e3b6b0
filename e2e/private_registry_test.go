//go:build e2e

package e2e

import (
	"encoding/json"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"vnfm/mgmtdriver/registry/registrytest"
)

// withFile builds a sample package with a file more.
func withFile(t *testing.T, sample, name string, content []byte) string {
	t.Helper()
	folder := filepath.Join(t.TempDir(), filepath.Base(sample))
	if err := os.CopyFS(folder, os.DirFS(sample)); err != nil {
		t.Fatal(err)
	}
	path := filepath.Join(folder, name)
	if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(path, content, 0o600); err != nil {
		t.Fatal(err)
	}
	return buildSample(t, folder)
}

// registryVnf is a VNF that is a private registry.
type registryVnf struct {
	t          *testing.T
	cloud      *cloud
	instanceID string
}

// vm is its machine.
func (r *registryVnf) vm() (vnfcID string, vm node) {
	r.t.Helper()
	all := (&kubernetes{t: r.t, cloud: r.cloud, instanceID: r.instanceID}).nodes("PrivateRegistryVDU")
	if len(all) != 1 {
		r.t.Fatalf("the registry has the machines %v", all)
	}
	for vnfcID, vm = range all {
	}
	return vnfcID, vm
}

// answers checks that the registry is one, and that it takes images: an upload begins. It returns where it is.
func (r *registryVnf) answers() string {
	r.t.Helper()
	_, vm := r.vm()
	server := vm.address + ":5000"
	client := &http.Client{Timeout: 20 * time.Second}
	defer client.CloseIdleConnections()
	for path, want := range map[string]int{"/v2/": http.StatusOK, "/v2/app/blobs/uploads/": http.StatusAccepted} {
		method := http.MethodGet
		if want == http.StatusAccepted {
			method = http.MethodPost
		}
		request, err := http.NewRequestWithContext(r.t.Context(), method, "http://"+server+path, nil)
		if err != nil {
			r.t.Fatal(err)
		}
		response, err := client.Do(request)
		if err != nil {
			r.t.Fatal(err)
		}
		_ = response.Body.Close()
		if response.StatusCode != want || response.Header.Get("Docker-Distribution-Api-Version") != "registry/2.0" {
			r.t.Errorf("%s %s: %s, %v", method, path, response.Status, response.Header)
		}
	}
	if _, err := os.Stat(hostsDir() + "/fs/vms/" + vm.server + "/root/home/ubuntu/registry/docker/registry/v2"); err != nil {
		r.t.Errorf("the registry does not keep its images in the home of ubuntu: %v", err)
	}
	return server
}

func (r *registryVnf) completed(kind string) {
	r.t.Helper()
	began := time.Now()
	completed(r.t, lastOperation(r.t, r.instanceID, kind))
	r.t.Logf("%s took %s", kind, time.Since(began).Round(time.Second))
	if surprises, err := os.ReadFile(clustersDir() + "/surprises"); err == nil {
		r.t.Fatalf("surprises:\n%s", surprises)
	}
}

// TestPrivateRegistry makes a private registry of a server of the real OpenStack, and a cluster that gets images from it and from another
// one, which has TLS and logins. Both are Debian's docker-registry.
func TestPrivateRegistry(t *testing.T) {
	if testing.Short() {
		t.Skip("short")
	}
	startHosts(t)
	r := &registryVnf{t: t, cloud: openCloud(t)}
	network, _ := r.cloud.network(t, "net0")
	replace := strings.NewReplacer("NETWORK_ID", network, "VIM_ID", registerVim(t))
	image := registrytest.Archive("registry:latest")
	pkg := onboard(t, withFile(t, "../samples/private-registry", "Files/images/private_registry.tar", image))
	r.instanceID = createInstance(t, pkg.VnfdID)
	request := replace.Replace(string(readFile(t, "../samples/private-registry/params/private_registry_param_file.json")))
	with := func(path string) string {
		return writeFile(t, "instantiate.json", strings.Replace(request, `"ssh_cp_name"`, `"image_path": "`+path+`",
			"proxy": {"http_proxy": "http://me:geheim-of-proxy@10.10.0.1:3128", "no_proxy": "10.10.0.0/24"}, "ssh_cp_name"`, 1))
	}
	if out := refused(t, "vnflcm", "instantiate", r.instanceID, with("Files/images/none.tar")); !strings.Contains(out, "image_path in the additionalParams is invalid") {
		t.Errorf("a missing image is refused with %s", out)
	}
	openstack(t, "vnflcm", "instantiate", r.instanceID, with("Files/images/private_registry.tar"))
	r.completed("INSTANTIATE")
	r.answers()
	vnfcID, former := r.vm()
	openstack(t, "vnflcm", "heal", "--vnfc-instance", vnfcID, "--", r.instanceID)
	r.completed("HEAL")
	r.answers()
	if _, healed := r.vm(); healed.server == former.server || healed.address != former.address {
		t.Errorf("%+v was healed and is %+v", former, healed)
	}
	openstack(t, "vnflcm", "heal", r.instanceID)
	r.completed("HEAL")

	clusterUses(t, r.answers())

	openstack(t, "vnflcm", "terminate", r.instanceID)
	r.completed("TERMINATE")
	if left := r.cloud.stacks(t, r.instanceID); len(left) > 0 {
		t.Errorf("stacks are left: %v", left)
	}
	for _, secret := range []string{"geheim-of-proxy", safePassword} {
		if strings.Contains(string(readFile(t, os.Getenv("E2E_DIR")+"/vnfm.log")), secret) {
			t.Errorf("the log of the server tells the secret %s", secret)
		}
	}
}

// clusterUses lets a cluster use a registry and the one with TLS, also when it is scaled and healed, and while that refuses it.
func clusterUses(t *testing.T, plain string) {
	t.Helper()
	right, wrong := t.TempDir(), t.TempDir()
	ca := authority(t, right)
	authority(t, wrong)
	safe := &safeRegistry{t: t, dir: t.TempDir()}
	t.Cleanup(safe.stop)
	safe.start(right, safePassword)
	k := &kubernetes{t: t, cloud: openCloud(t), flavour: "simple", masters: 1, seen: map[string]bool{}, traces: map[string]string{}}
	k.instanceID = createInstance(t, onboard(t, withFile(t, "../samples/kubernetes", "Files/registry.crt", []byte(ca))).VnfdID)
	registries, err := json.Marshal([]map[string]string{
		{"connection_type": "0", "server": plain},
		{"connection_type": "1", "server": safeServer, "username": safeUser, "password": safePassword, "certificate_path": "Files/registry.crt",
			"hosts_string": "10.10.0.1 registry.example"},
	})
	if err != nil {
		t.Fatal(err)
	}
	network, _ := k.cloud.network(t, "net0")
	params := string(readFile(t, "../samples/kubernetes/params/simple_kubernetes_param_file.json"))
	k.request = strings.NewReplacer("NETWORK_ID", network, "VIM_ID", k.vimID(), `"script_path"`,
		`"private_registry_connection_info": `+string(registries)+`, "script_path"`).Replace(params)
	openstack(t, "vnflcm", "instantiate", k.instanceID, writeFile(t, "instantiate.json", k.request))
	k.completed("INSTANTIATE")
	k.canPull(plain, 3)

	safe.start(right, "another")
	openstack(t, "vnflcm", "scale", "--type", "SCALE_OUT", "--aspect-id", "worker_instance", "--number-of-steps", "1", k.instanceID)
	op := lastOperation(t, k.instanceID, "SCALE")
	if said := failed(t, op); !strings.Contains(said, "Failed to login Docker private registry") || !strings.Contains(said, "https://"+safeServer) {
		t.Errorf("a wrong login fails with %s", said)
	}
	safe.start(wrong, safePassword)
	client(t, "vnflcm", "op", "retry", op)
	if said := failed(t, op); !strings.Contains(said, "SSL certificate problem") || !strings.Contains(said, "worker") {
		t.Errorf("another authority fails with %s", said)
	}
	safe.start(right, safePassword)
	client(t, "vnflcm", "op", "retry", op)
	k.completed("SCALE")
	k.canPull(plain, 4)

	for id := range k.nodes("workerNode") {
		openstack(t, "vnflcm", "heal", "--vnfc-instance", id, "--", k.instanceID)
		k.completed("HEAL")
		break
	}
	k.canPull(plain, 4)
	openstack(t, "vnflcm", "terminate", k.instanceID)
	k.completed("TERMINATE")
}

// vimID is the VIM that the servers are of.
func (k *kubernetes) vimID() string {
	k.t.Helper()
	for _, row := range openstackJSON[[]map[string]any](k.t, "vim", "list") {
		if row["Type"] == "openstack" {
			return row["ID"].(string)
		}
	}
	k.t.Fatal("no VIM is registered")
	return ""
}

// canPull asks both registries on every node, in the way that its containerd is told to.
func (k *kubernetes) canPull(plain string, nodes int) {
	k.t.Helper()
	all := k.nodes("")
	if len(all) != nodes {
		k.t.Errorf("%d nodes, not %d", len(all), nodes)
	}
	const certs = "/etc/containerd/certs.d/"
	for _, n := range all {
		if config := n.file(k.t, certs+plain+"/hosts.toml"); !strings.Contains(config, `"http://`+plain+`"`) {
			k.t.Errorf("%s knows of %s: %s", n.name, plain, config)
		}
		if config := n.file(k.t, certs+safeServer+"/hosts.toml"); !strings.Contains(config, certs+safeServer+"/ca.crt") {
			k.t.Errorf("%s knows of %s: %s", n.name, safeServer, config)
		}
		for _, curl := range []string{"http://" + plain + "/v2/", "--cacert " + certs + safeServer + "/ca.crt -u " + safeUser + ":" + safePassword + " https://" + safeServer + "/v2/"} {
			ssh := exec.CommandContext(k.t.Context(), "sshpass", "-p", "ubuntu", "ssh", "-q", "-o", "StrictHostKeyChecking=no", "-o", "UserKnownHostsFile=/dev/null",
				"ubuntu@"+n.address, "/etc/testbed/responses/curl.real -fsS -m 20 "+curl)
			if out, err := ssh.CombinedOutput(); err != nil || strings.TrimSpace(string(out)) != "{}" {
				k.t.Errorf("%s: curl %s: %v: %s", n.name, curl, err, out)
			}
		}
	}
}
