package kubernetes_test

import (
	"crypto/ed25519"
	"crypto/rand"
	"encoding/json"
	"encoding/pem"
	"net/netip"
	"strings"
	"testing"
	"testing/fstest"
	"time"

	"github.com/google/go-cmp/cmp"
	gossh "golang.org/x/crypto/ssh"

	"vnfm/mgmtdriver"
	"vnfm/mgmtdriver/kubernetes"
	"vnfm/mgmtdriver/kubernetes/kubetest"
	"vnfm/mgmtdriver/ssh/sshtest"
)

// commands tells which commands have run on a machine.
func (b *bed) commands(last, part string) []string {
	var found []string
	for _, entry := range b.VMs[last].Journal() {
		if strings.Contains(entry.Command, part) {
			found = append(found, entry.Command)
		}
	}
	return found
}

func (b *bed) file(last, path string) string {
	content, err := b.VMs[last].ReadFile(path)
	if err != nil {
		return ""
	}
	return string(content)
}

// Scripts that know no phases get what they need as arguments, as they always have.
func TestOldScripts(t *testing.T) {
	t.Parallel()
	b := newBed(t, setting{masters: 3, workers: 2, legacy: true, change: func(p map[string]any) {
		p["helm_installation_script_path"] = "Scripts/install_helm.sh"
	}})
	b.Instantiate()
	b.Must(mgmtdriver.InstantiateEnd)
	if got := b.Nodes(); got != "master11 master12 master13 worker51 worker52" {
		t.Errorf("nodes %s", got)
	}
	n := b.Network
	masters := "-m " + n + "11," + n + "12," + n + "13 -i " + n + vip + " -p 192.168.0.0/16 -a 10.199.187.0/24"
	for last, want := range map[string]string{"11": masters, "12": masters + " -s HASH -t TOKEN -k KEY", "51": "-w " + n + "51 -i " + n + vip + " -s HASH -t TOKEN"} {
		got := b.commands(last, "bash /tmp/install_k8s_cluster.sh")
		if len(got) != 1 || secretsAway(got[0]) != "bash /tmp/install_k8s_cluster.sh "+want {
			t.Errorf("%s: %q", last, got)
		}
	}
	for last, want := range map[string]int{"11": 1, "12": 1, "13": 1, "51": 0} {
		if got := b.commands(last, "bash /tmp/install_helm.sh"); len(got) != want {
			t.Errorf("Helm was installed on %s by %q", last, got)
		}
	}
	b.Healed("12")
	if got := b.commands("12", "bash /tmp/install_helm.sh"); len(got) != 1 {
		t.Errorf("Helm was installed on a healed master by %q", got)
	}
}

// secretsAway puts names in the place of what is different every time.
func secretsAway(command string) string {
	words := strings.Fields(command)
	for i := range words[1:] {
		if name := map[string]string{"-t": "TOKEN", "-s": "HASH", "-k": "KEY"}[words[i]]; name != "" {
			words[i+1] = name
		}
	}
	return strings.Join(words, " ")
}

func TestPrivateRegistries(t *testing.T) {
	t.Parallel()
	registries := func(p map[string]any) {
		p["private_registry_connection_info"] = []any{
			map[string]any{"connection_type": "0", "server": "192.168.0.10:5000", "hosts_string": "192.168.0.10   plain.example"},
			map[string]any{"connection_type": "1", "server": "safe.example", "username": "user", "password": "geheim-registry",
				"certificate_path": "Files/ca.crt"},
		}
	}
	authority := certificate(t)
	t.Run("Docker", func(t *testing.T) {
		t.Parallel()
		b := newBed(t, setting{masters: 1, workers: 1, change: registries, world: kubetest.Options{Docker: true, Password: "geheim-registry"}})
		b.add("Files/ca.crt", authority)
		b.Instantiate()
		b.Must(mgmtdriver.InstantiateEnd)
		b.ScaleOut("52")
		b.Must(mgmtdriver.ScaleEnd)
		b.Healed("51")
		for _, last := range []string{"11", "51", "52"} {
			if got := b.world.View().Logins[b.Network+last]; len(got) != 1 || got[0] != "user@safe.example" {
				t.Errorf("%s is logged in at %q", last, got)
			}
			if !strings.Contains(b.file(last, "/etc/docker/certs.d/safe.example/ca.crt"), authority) {
				t.Errorf("%s lacks the certificate", last)
			}
			if hosts := b.file(last, "/etc/hosts"); strings.Count(hosts, "192.168.0.10 plain.example\n") != 1 {
				t.Errorf("%s has the hosts %s", last, hosts)
			}
		}
		if strings.Contains(b.Log.String(), "geheim-registry") {
			t.Error("the log tells the password")
		}
	})
	t.Run("Docker refuses the password", func(t *testing.T) {
		t.Parallel()
		b := newBed(t, setting{masters: 1, workers: 1, change: registries, world: kubetest.Options{Docker: true, Password: "another"}})
		b.add("Files/ca.crt", authority)
		b.Instantiate()
		b.fails(mgmtdriver.InstantiateEnd, "Failed to login Docker private registry", "unauthorized")
	})
	t.Run("containerd", func(t *testing.T) {
		t.Parallel()
		b := newBed(t, setting{masters: 1, workers: 1, change: registries})
		b.add("Files/ca.crt", authority)
		b.Instantiate()
		b.Must(mgmtdriver.InstantiateEnd)
		for _, last := range []string{"11", "51"} {
			got := map[string]string{
				"plain": b.file(last, "/etc/containerd/certs.d/192.168.0.10:5000/hosts.toml"),
				"safe":  b.file(last, "/etc/containerd/certs.d/safe.example/hosts.toml"),
			}
			want := map[string]string{
				"plain": "server = \"http://192.168.0.10:5000\"\n\n[host.\"http://192.168.0.10:5000\"]\n  capabilities = [\"pull\", \"resolve\"]\n",
				"safe": "server = \"https://safe.example\"\n\n[host.\"https://safe.example\"]\n  capabilities = [\"pull\", \"resolve\"]\n" +
					"  ca = \"/etc/containerd/certs.d/safe.example/ca.crt\"\n",
			}
			if diff := cmp.Diff(want, got); diff != "" {
				t.Errorf("%s (-want +got):\n%s", last, diff)
			}
			var logins struct {
				Auths map[string]struct{ Auth string }
			}
			if err := json.Unmarshal([]byte(b.file(last, "/var/lib/kubelet/config.json")), &logins); err != nil ||
				logins.Auths["safe.example"].Auth != "dXNlcjpnZWhlaW0tcmVnaXN0cnk=" || len(logins.Auths) != 1 {
				t.Errorf("%s: logins %v, %v", last, logins, err)
			}
		}
	})
}

func TestWorkersThatAreKeptApartAreLabelled(t *testing.T) {
	t.Parallel()
	b := newBed(t, setting{masters: 3, workers: 2})
	for i := range b.Vnfcs {
		vnfc := &b.Vnfcs[i]
		vnfc.Host, vnfc.Zone, vnfc.AntiAffinity = "compute-of-"+vnfc.ID, "nova", vnfc.VduID == "workerNode"
	}
	b.Vnfcs[3].GrantedZone = "az1"
	b.Instantiate()
	b.Must(mgmtdriver.InstantiateEnd)
	b.ScaleOut("53")
	b.Added[0].Host, b.After[5].Host = "none", "none" // of a worker that stands alone
	b.Must(mgmtdriver.ScaleEnd)
	b.Heal("52")
	b.Must(mgmtdriver.HealStart)
	for i := range b.Vnfcs {
		if b.Vnfcs[i].ID == "vnfc-52" {
			b.Vnfcs[i].Host = "compute09"
		}
	}
	b.Replaced()
	b.Must(mgmtdriver.HealEnd)
	got := map[string]string{}
	for name, n := range b.world.View().Nodes {
		got[name] = n.Labels["CIS-node"] + " " + n.Labels["kubernetes.io/zone"]
	}
	want := map[string]string{"master11": " ", "master12": " ", "master13": " ", "worker51": "compute-of-vnfc-51 az1", "worker52": "compute09 ", "worker53": " "}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("labels (-want +got):\n%s", diff)
	}
}

// What a script is told goes through its environment, so that nobody on the node can read it.
func TestEnvironmentOfScripts(t *testing.T) {
	t.Parallel()
	for _, row := range []struct {
		name    string
		proxy   map[string]any
		noProxy string // a part of it
	}{
		{"a network that is small", map[string]any{"k8s_node_cidr": "10.10.0.0/30", "no_proxy": "10.0.0.1"},
			"10.0.0.1,192.168.0.0/16,10.199.187.0/24,127.0.0.1,localhost,NET.11,10.10.0.0/30,10.10.0.0,10.10.0.1,10.10.0.2,10.10.0.3"},
		{"a network that is large", map[string]any{"k8s_node_cidr": "10.0.0.0/8"}, "192.168.0.0/16,10.199.187.0/24,127.0.0.1,localhost,NET.11,10.0.0.0/8"},
		{"no network", map[string]any{}, "localhost,NET.11,NET.0/24,NET.0,NET.1,NET.2,"},
		{"services by their names", map[string]any{"k8s_node_cidr": "10.0.0.0/8"}, "10.0.0.0/8,.svc,.cluster.local"},
	} {
		t.Run(row.name, func(t *testing.T) {
			t.Parallel()
			row.proxy["http_proxy"], row.proxy["https_proxy"] = "http://user:geheim-proxy@proxy:8080", "http://proxy:8443"
			b := newBed(t, setting{masters: 1, workers: 1, change: func(p map[string]any) { p["proxy"] = row.proxy }})
			b.Instantiate()
			b.Must(mgmtdriver.InstantiateEnd)
			for _, last := range []string{"11", "51"} {
				env := b.world.Environment(b.Address(last))
				want := strings.ReplaceAll(row.noProxy, "NET.", b.Network)
				if env["http_proxy"] != "http://user:geheim-proxy@proxy:8080" || !strings.Contains(env["no_proxy"], want) {
					t.Errorf("%s: %q\nwant %s", last, env, want)
				}
			}
			if strings.Contains(b.Log.String(), "geheim-proxy") {
				t.Error("the log tells the password of the proxy")
			}
		})
	}
}

// A cluster may be reached from outside through a floating IP address alone.
func TestFloatingAddresses(t *testing.T) {
	t.Parallel()
	b := newBed(t, setting{masters: 3, workers: 1, change: func(p map[string]any) { p["master_node"].(map[string]any)["cluster_fip_name"] = "vip_FIP" }})
	outside := netip.MustParseAddr("192.0.2.7")
	b.Ports = append(b.Ports, mgmtdriver.Port{Name: "vip_FIP", Floating: true, Addresses: []netip.Addr{outside}})
	b.Instantiate()
	b.Must(mgmtdriver.InstantiateEnd)
	if got := b.Vims.Vim.URL; got != "https://192.0.2.7:16443" {
		t.Errorf("VIM at %s", got)
	}
	if env := b.world.Environment(b.Address("12")); env["K8S_CERT_SANS"] != "192.0.2.7" {
		t.Errorf("the certificate is for %q", env)
	}
}

func TestLoginsOfALaterOperation(t *testing.T) {
	t.Parallel()
	b := newBed(t, setting{masters: 1, workers: 1})
	b.Instantiate()
	b.Must(mgmtdriver.InstantiateEnd)
	parameter := b.Params[kubernetes.Parameter].(map[string]any)
	parameter["master_node"].(map[string]any)["password"] = "former"
	b.ScaleOut("52")
	b.Params = map[string]any{kubernetes.Parameter: parameter}
	b.Additional = map[string]any{"master_node_username": "ubuntu", "master_node_password": secret}
	b.Must(mgmtdriver.ScaleEnd)
	if got := b.Nodes(); got != "master11 worker51 worker52" {
		t.Errorf("nodes %s", got)
	}
}

// Machines may let in keys alone, and be reached through another host alone.
func TestKeysAndAJumpHost(t *testing.T) {
	t.Parallel()
	public, private, err := ed25519.GenerateKey(rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	block, err := gossh.MarshalPrivateKey(private, "")
	if err != nil {
		t.Fatal(err)
	}
	authorized, err := gossh.NewPublicKey(public)
	if err != nil {
		t.Fatal(err)
	}
	keys := []string{string(gossh.MarshalAuthorizedKey(authorized))}
	jump := sshtest.Start(t, sshtest.Options{User: "ops", AuthorizedKeys: keys})
	pemKey := string(pem.EncodeToMemory(block))
	b := newBed(t, setting{masters: 1, workers: 2, change: func(p map[string]any) {
		for _, name := range []string{"master_node", "worker_node"} {
			node := p[name].(map[string]any)
			delete(node, "password")
			node["private_key"] = pemKey
			node["jump_host"] = map[string]any{"address": jump.AddrPort().String(), "username": "ops", "private_key": pemKey}
		}
	}})
	b.machine.AuthorizedKeys = keys
	b.Instantiate()
	b.Must(mgmtdriver.InstantiateEnd)
	if got := b.Nodes(); got != "master11 worker51 worker52" {
		t.Errorf("nodes %s", got)
	}
	if err := jump.Close(); err != nil {
		t.Fatal(err)
	}
	b.ScaleOut("53")
	b.waits(mgmtdriver.ScaleEnd, "jump host ("+jump.AddrPort().Addr().String())
	for line := range strings.Lines(pemKey) {
		if strings.Contains(b.Log.String(), strings.TrimSpace(line)) {
			t.Errorf("the log tells %q of the key", line)
		}
	}
}

// waits calls the first step of a hook until it says that it waits for something.
func (b *bed) waits(hook mgmtdriver.Hook, says string) {
	b.T.Helper()
	var result mgmtdriver.Result
	var err error
	for range 1000 {
		result, err = b.Driver.Steps(hook)[0].Do(b.T.Context(), b.Call(hook))
		if err == nil && result.Again && strings.Contains(result.Detail, says) {
			return
		}
		time.Sleep(10 * time.Millisecond)
	}
	b.T.Errorf("it does not wait for %s: %+v, %v", says, result, err)
}

// Manifests that are older than Kubernetes 1.24 relied on it to make a token for every account.
func TestManifestWithoutToken(t *testing.T) {
	t.Parallel()
	b := newBed(t, setting{masters: 1, workers: 1, legacy: true})
	b.Files.(fstest.MapFS)["Scripts/create_admin_token.yaml"] = &fstest.MapFile{Data: []byte(
		"apiVersion: v1\nkind: ServiceAccount\nmetadata:\n  name: admin\n  namespace: kube-system\n  labels: {of: package}\n")}
	b.Instantiate()
	b.Must(mgmtdriver.InstantiateEnd)
	if manifest := b.file("11", "/tmp/create_admin_token.yaml"); strings.Count(manifest, "kind: ServiceAccount\n") != 1 || !strings.Contains(manifest, "of: package") {
		t.Errorf("the manifest is\n%s", manifest)
	}
}
