//go:build e2e

package e2e

import (
	"bytes"
	"crypto/tls"
	"crypto/x509"
	"encoding/json"
	"io"
	"net/http"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
)

// kubernetes is a VNF that is a Kubernetes cluster.
type kubernetes struct {
	t          *testing.T
	cloud      *cloud
	instanceID string
	request    string
	flavour    string
	masters    int
	secrets    []string          // that the request has
	registry   string            // that nodes are to know; "" = none
	seen       map[string]bool   // servers that have been nodes
	traces     map[string]string // what installing has left on hosts that are gone now
}

// What a user adds to the request of the flavour complex, whose secrets are nobody else's.
const (
	registryServer = "registry.example:5000"
	withSecrets    = `"proxy": {"http_proxy": "http://me:geheim-of-proxy@10.10.0.1:3128", "https_proxy": "http://me:geheim-of-proxy@10.10.0.1:3128"},
		"private_registry_connection_info": [{"connection_type": "0", "server": "` + registryServer + `", "username": "me", "password": "geheim-of-registry",
			"hosts_string": "10.10.0.1 registry.example"}],
		"script_path"`
)

// newKubernetes onboards the sample package and makes an instance, with the request that the package has for a flavour.
func newKubernetes(t *testing.T, flavour string, masters int) *kubernetes {
	t.Helper()
	k := &kubernetes{t: t, cloud: openCloud(t), flavour: flavour, masters: masters, seen: map[string]bool{}, traces: map[string]string{}}
	network, _ := k.cloud.network(t, "net0")
	params := string(readFile(t, "../samples/kubernetes/params/"+flavour+"_kubernetes_param_file.json"))
	k.request = strings.NewReplacer("NETWORK_ID", network, "VIM_ID", registerVim(t)).Replace(params)
	if flavour == "complex" {
		k.request = strings.Replace(k.request, `"script_path"`, withSecrets, 1)
		k.secrets, k.registry = []string{"geheim-of-proxy", "geheim-of-registry"}, registryServer
		playProxy(t)
	}
	k.instanceID = createInstance(t, onboard(t, buildSample(t, "../samples/kubernetes")).VnfdID)
	return k
}

// store is what the cluster keeps, as far as the tests read it.
type store struct {
	CA, Admin, Bearer string
	Tokens, Keys      []string
	Members           []struct{ Name string }
}

// stores are those of all clusters that there have been since the hosts were started.
func (k *kubernetes) stores() []store {
	k.t.Helper()
	paths, err := filepath.Glob(clustersDir() + "/*/state.json")
	if err != nil {
		k.t.Fatal(err)
	}
	found := make([]store, len(paths))
	for i, path := range paths {
		if err := json.Unmarshal(readFile(k.t, path), &found[i]); err != nil {
			k.t.Fatal(err)
		}
	}
	return found
}

// completed waits for the last operation of a kind, which has to succeed.
func (k *kubernetes) completed(kind string) {
	k.t.Helper()
	began := time.Now()
	completed(k.t, lastOperation(k.t, k.instanceID, kind))
	k.t.Logf("%s took %s", kind, time.Since(began).Round(time.Second))
	k.noteHosts()
	if surprises, err := os.ReadFile(clustersDir() + "/surprises"); err == nil {
		k.t.Errorf("surprises:\n%s", surprises)
	}
}

// vims are the VIMs of the type kubernetes, as the client lists them.
func (k *kubernetes) vims() []map[string]any {
	k.t.Helper()
	rows := openstackJSON[[]map[string]any](k.t, "vim", "list")
	return slices.DeleteFunc(rows, func(row map[string]any) bool { return row["Type"] != "kubernetes" })
}

// vim is the cluster as it is registered, and as the instance shows it.
func (k *kubernetes) vim() map[string]any {
	k.t.Helper()
	rows := k.vims()
	if len(rows) != 1 {
		k.t.Fatalf("registered are %v", rows)
	}
	shown := openstackJSON[map[string]any](k.t, "vim", "show", rows[0]["Name"].(string))
	instance, err := json.Marshal(openstackJSON[map[string]any](k.t, "vnflcm", "show", k.instanceID)["VIM Connection Info"])
	if err != nil {
		k.t.Fatal(err)
	}
	for _, part := range []string{shown["id"].(string), shown["auth_url"].(string), "kubernetes"} {
		if !strings.Contains(string(instance), part) {
			k.t.Errorf("the VIM connection info lacks %s: %s", part, instance)
		}
	}
	return shown
}

// address is that of the Kubernetes API.
func (k *kubernetes) address() string {
	k.t.Helper()
	url, _ := k.registered()
	return url[strings.LastIndexByte(url, '/')+1 : strings.LastIndexByte(url, ':')]
}

// registered is the VIM of the cluster, as its API shows it.
func (k *kubernetes) registered() (url, authority string) {
	k.t.Helper()
	type vim struct {
		AuthURL  string            `json:"auth_url"`
		AuthCred map[string]string `json:"auth_cred"`
	}
	list := read[struct{ Vims []vim }](k.t, "/v1.0/vims?type=kubernetes").Vims
	if len(list) != 1 || list[0].AuthCred["bearer_token"] != "***" {
		k.t.Fatalf("registered are %v", list)
	}
	return list[0].AuthURL, list[0].AuthCred["ssl_ca_cert"]
}

// kubeNode is a node as the cluster knows it.
type kubeNode struct {
	Address string
	Ready   bool
	Host    string // compute host, by its label
}

// kubeNodes are those that the Kubernetes API tells whoever knows the VIM: where it is, and its authority. The tests have the token from the
// cluster, since the server tells it nobody. members are those of etcd.
func (k *kubernetes) kubeNodes() (nodes map[string]kubeNode, members []string) {
	k.t.Helper()
	var list struct {
		Items []struct {
			Metadata struct {
				Name   string
				Labels map[string]string
			}
			Status struct {
				Addresses  []struct{ Address string }
				Conditions []struct{ Status string }
			}
		}
	}
	known := k.ask(http.MethodGet, "/api/v1/nodes", nil, &list)
	for _, m := range known.Members {
		members = append(members, m.Name)
	}
	slices.Sort(members)
	nodes = map[string]kubeNode{}
	for _, item := range list.Items {
		nodes[item.Metadata.Name] = kubeNode{item.Status.Addresses[0].Address, item.Status.Conditions[0].Status == "True", item.Metadata.Labels["CIS-node"]}
	}
	return nodes, members
}

// ask asks the Kubernetes API. It returns the store of the cluster, from which the tests have the token.
func (k *kubernetes) ask(method, path string, question, into any) store {
	k.t.Helper()
	url, authority := k.registered()
	authorities := x509.NewCertPool()
	if !authorities.AppendCertsFromPEM([]byte(authority)) {
		k.t.Fatalf("the authority of the VIM is %q", authority)
	}
	stores := k.stores()
	i := slices.IndexFunc(stores, func(s store) bool { return strings.TrimSpace(s.CA) == strings.TrimSpace(authority) })
	if i < 0 {
		k.t.Fatalf("no cluster has the authority\n%s", authority)
	}
	var body io.Reader
	if question != nil {
		text, err := json.Marshal(question)
		if err != nil {
			k.t.Fatal(err)
		}
		body = bytes.NewReader(text)
	}
	request, err := http.NewRequestWithContext(k.t.Context(), method, url+path, body)
	if err != nil {
		k.t.Fatal(err)
	}
	request.Header.Set("Authorization", "Bearer "+stores[i].Bearer)
	client := &http.Client{Timeout: time.Minute, Transport: &http.Transport{TLSClientConfig: &tls.Config{RootCAs: authorities, MinVersion: tls.VersionTLS12}}}
	defer client.CloseIdleConnections()
	response, err := client.Do(request)
	if err != nil {
		k.t.Fatal(err)
	}
	defer response.Body.Close()
	if err := json.NewDecoder(response.Body).Decode(into); err != nil || response.StatusCode >= http.StatusBadRequest {
		k.t.Fatalf("%s %s: %s: %v, %v", method, request.URL, response.Status, into, err)
	}
	return stores[i]
}

// check compares the cluster with the VNF.
func (k *kubernetes) check(workers int) {
	k.t.Helper()
	masters := k.nodes("masterNode")
	all := k.nodes("")
	if len(masters) != k.masters || len(all) != k.masters+workers {
		k.t.Fatalf("%d masters of %d nodes, want %d and %d workers", len(masters), len(all), k.masters, workers)
	}
	want := map[string]kubeNode{}
	var members []string
	for _, n := range all {
		kube := kubeNode{Address: n.address, Ready: true}
		if k.flavour == "podaffinity" && n.vdu == "workerNode" {
			kube.Host = n.host
		}
		want[n.name] = kube
		if n.vdu == "masterNode" {
			members = append(members, n.name)
		}
	}
	slices.Sort(members)
	nodes, etcd := k.kubeNodes()
	if diff := cmp.Diff(want, nodes); diff != "" {
		k.t.Errorf("VNFCs (-) and nodes (+):\n%s", diff)
	}
	if diff := cmp.Diff(members, etcd); diff != "" {
		k.t.Errorf("masters (-) and members of etcd (+):\n%s", diff)
	}
	for _, n := range all {
		k.checkFiles(n, all)
	}
}

// checkFiles checks what a node is told of the others.
func (k *kubernetes) checkFiles(n node, all map[string]node) {
	k.t.Helper()
	var hosts, balanced []string
	for _, other := range all {
		hosts = append(hosts, other.address+" "+other.name)
		if other.vdu == "masterNode" {
			balanced = append(balanced, "server "+other.name+" "+other.address+":6443 check")
		}
	}
	if k.registry != "" {
		hosts = append(hosts, "10.10.0.1 registry.example")
		if config := n.file(k.t, "/etc/containerd/certs.d/"+k.registry+"/hosts.toml"); !strings.Contains(config, `"http://`+k.registry+`"`) {
			k.t.Errorf("%s knows of the registry:\n%s", n.name, config)
		}
		if login := n.file(k.t, "/var/lib/kubelet/config.json"); !strings.Contains(login, k.registry) {
			k.t.Errorf("%s logs in at registries with %s", n.name, login)
		}
		if !strings.Contains(n.file(k.t, "/etc/systemd/system/containerd.service.d/proxy.conf"), "HTTP_PROXY=http://me:geheim-of-proxy@") {
			k.t.Errorf("containerd on %s does not know the proxy", n.name)
		}
	}
	_, block, _ := strings.Cut(n.file(k.t, "/etc/hosts"), "# begin of the nodes of the Kubernetes cluster\n")
	block, _, _ = strings.Cut(block, "# end of")
	if diff := sameLines(hosts, block); diff != "" {
		k.t.Errorf("hosts of %s:\n%s", n.name, diff)
	}
	if n.vdu != "masterNode" || k.masters == 1 {
		return
	}
	_, backend, _ := strings.Cut(n.file(k.t, "/etc/haproxy/haproxy.cfg"), "option tcp-check\n")
	if diff := sameLines(balanced, backend); diff != "" {
		k.t.Errorf("load balancer of %s:\n%s", n.name, diff)
	}
}

// sameLines compares lines with those of a text, in any order and with any white space.
func sameLines(want []string, text string) string {
	var got []string
	for line := range strings.Lines(text) {
		if words := strings.Fields(line); len(words) > 0 {
			got = append(got, strings.Join(words, " "))
		}
	}
	slices.Sort(want)
	slices.Sort(got)
	return cmp.Diff(want, got)
}
