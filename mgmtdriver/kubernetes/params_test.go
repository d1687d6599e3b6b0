package kubernetes_test

import (
	"encoding/json"
	"errors"
	"io/fs"
	"strings"
	"testing"

	"vnfm/mgmtdriver"
	"vnfm/mgmtdriver/drivertest"
	"vnfm/mgmtdriver/kube"
	"vnfm/mgmtdriver/kubernetes"
	"vnfm/samples"
)

// guide is the parameter of the user guide, with everything that one can say.
const guide = `{
	"script_path": "Scripts/install_k8s_cluster.sh",
	"vim_name": "kubernetes_vim_complex",
	"master_node": {
		"aspect_id": "master_instance", "ssh_cp_name": "masterNode_CP1", "nic_cp_name": "masterNode_CP1", "username": "ubuntu", "password": "ubuntu",
		"pod_cidr": "192.168.3.0/16", "cluster_cidr": "10.199.187.0/24", "cluster_cp_name": "vip_CP"
	},
	"worker_node": {
		"aspect_id": "worker_instance", "ssh_cp_name": "workerNode_CP2", "nic_cp_name": "workerNode_CP2", "username": "ubuntu", "password": "ubuntu"
	},
	"proxy": {
		"http_proxy": "http://user1:password1@host1:port1", "https_proxy": "https://user2:password2@host2:port2",
		"no_proxy": "192.168.246.0/24,10.0.0.1", "k8s_node_cidr": "10.10.0.0/24"
	},
	"private_registry_connection_info": [
		{"connection_type": "0", "server": "192.168.0.10:5000", "hosts_string": "192.168.0.10 registry.example"},
		{"connection_type": 1, "server": "registry.example", "username": "user", "password": "geheim"}
	]
}`

// What the sample package says of the flavour complex.
var (
	vdus      = []mgmtdriver.Vdu{{ID: "masterNode", AspectID: "master_instance"}, {ID: "workerNode", AspectID: "worker_instance"}}
	portNames = []string{"masterNode_CP1", "vip_CP", "workerNode_CP2"}
)

// sampleParams are the additionalParams of a request of the sample package.
func sampleParams(tb testing.TB, flavour string) map[string]any {
	tb.Helper()
	content, err := fs.ReadFile(samples.Kubernetes(), "params/"+flavour+"_kubernetes_param_file.json")
	if err != nil {
		tb.Fatal(err)
	}
	var request struct{ AdditionalParams map[string]any }
	if err := json.Unmarshal(content, &request); err != nil {
		tb.Fatal(err)
	}
	return request.AdditionalParams
}

func TestRequestsAreChecked(t *testing.T) {
	t.Parallel()
	set := func(path string, value any) func(map[string]any) {
		return func(p map[string]any) {
			names := strings.Split(path, "/")
			for _, name := range names[:len(names)-1] {
				switch inner := p[name].(type) {
				case map[string]any:
					p = inner
				case []any:
					p = inner[1].(map[string]any)
				}
			}
			if name := names[len(names)-1]; value == nil {
				delete(p, name)
			} else {
				p[name] = value
			}
		}
	}
	for _, row := range []struct {
		name      string
		change    func(map[string]any)
		attribute string // "" = the request is right
		says      string
	}{
		{"as in the guide", set("vim_name", "other"), "", ""},
		{"without what may be left out", func(p map[string]any) {
			for _, name := range []string{"vim_name", "proxy", "private_registry_connection_info"} {
				delete(p, name)
			}
			set("master_node/pod_cidr", nil)(p)
			set("master_node/cluster_cidr", nil)(p)
		}, "", ""},
		{"a path that begins with a dot", set("script_path", "./Scripts/install_k8s_cluster.sh"), "", ""},
		{"no script", set("script_path", nil), "/script_path", "The script_path in the additionalParams does not exist."},
		{"a script that the package lacks", set("script_path", "Scripts/none.sh"), "/script_path", `no file "Scripts/none.sh"`},
		{"a script elsewhere", set("script_path", "../../etc/passwd"), "/script_path", "no file"},
		{"no masters", set("master_node", nil), "/master_node", "does not exist"},
		{"masters that are a list", set("master_node", []any{}), "/master_node", "must be an object"},
		{"no port to log in by", set("worker_node/ssh_cp_name", nil), "/worker_node/ssh_cp_name", "does not exist"},
		{"no password", set("master_node/password", ""), "/master_node/password", "does not exist"},
		{"a user that is a command", set("master_node/username", "a b"), "/master_node/username", "not the name of an account"},
		{"a number for a name", set("worker_node/nic_cp_name", 7.0), "/worker_node/nic_cp_name", "must be a string"},
		{"no network for pods", set("master_node/pod_cidr", "192.168.0.0"), "/master_node/pod_cidr", "The pod_cidr in the additionalParams is invalid"},
		{"networks that overlap", set("master_node/cluster_cidr", "192.168.7.0/24"), "/master_node/cluster_cidr", "overlaps"},
		{"no port of the cluster", set("master_node/cluster_cp_name", nil), "/master_node/cluster_cp_name", "does not exist"},
		{"one aspect for all", set("worker_node/aspect_id", "master_instance"), "/worker_node/aspect_id", "different aspects"},
		{"a proxy of two lines", set("proxy/http_proxy", "http://a\nb"), "/proxy/http_proxy", "one line"},
		{"a registry of an unknown kind", set("private_registry_connection_info/connection_type", "2"),
			"/private_registry_connection_info/1/connection_type", "HTTPS"},
		{"a registry without a server", set("private_registry_connection_info/server", nil), "/private_registry_connection_info/1/server", "does not exist"},
		{"a server that is a path", set("private_registry_connection_info/server", "../../etc"), "/private_registry_connection_info/1/server", "not a host"},
		{"a registry at port 0", set("private_registry_connection_info/server", "registry.example:0"), "/private_registry_connection_info/1/server", "1 to 65535"},
		{"a registry at a port that is too large", set("private_registry_connection_info/server", "registry.example:65536"),
			"/private_registry_connection_info/1/server", "1 to 65535"},
		{"a registry twice", set("private_registry_connection_info/server", "192.168.0.10:5000"), "/private_registry_connection_info/1/server", "twice"},
		{"a registry without a password", set("private_registry_connection_info/password", nil),
			"/private_registry_connection_info/1/password", "does not exist"},
		{"a registry without a user", set("private_registry_connection_info/username", nil),
			"/private_registry_connection_info/1/username", "does not exist"},
		{"a certificate that the package lacks", set("private_registry_connection_info/certificate_path", "ca.crt"),
			"/private_registry_connection_info/1/certificate_path", "no file"},
		{"hosts without an address", set("private_registry_connection_info/hosts_string", "a b"), "/private_registry_connection_info/1/hosts_string", "IP address"},
		{"a name that another VIM has", set("vim_name", "taken"), "/vim_name", "already"},
		{"an aspect that the VNFD does not have", set("worker_node/aspect_id", "workers"), "/worker_node/aspect_id", "there are master_instance, worker_instance"},
		{"a port to log in by that the package does not have", set("master_node/ssh_cp_name", "masterNode_FIP"), "/master_node/ssh_cp_name",
			"there are masterNode_CP1, vip_CP, workerNode_CP2"},
		{"a port of the network that the package does not have", set("worker_node/nic_cp_name", "CP2"), "/worker_node/nic_cp_name", `"CP2"`},
		{"a port of the cluster that the package does not have", set("master_node/cluster_cp_name", "vip"), "/master_node/cluster_cp_name", `"vip"`},
		{"a floating IP that the package does not have", set("master_node/cluster_fip_name", "vip_FIP"), "/master_node/cluster_fip_name", `"vip_FIP"`},
	} {
		t.Run(row.name, func(t *testing.T) {
			t.Parallel()
			parameter := map[string]any{}
			if err := json.Unmarshal([]byte(guide), &parameter); err != nil {
				t.Fatal(err)
			}
			row.change(parameter)
			driver := kubernetes.New(nil, kube.Config{})
			err := driver.Check(t.Context(), &mgmtdriver.Call{Hook: mgmtdriver.InstantiateEnd, Package: drivertest.Files{FS: samples.Kubernetes()}, Vdus: vdus, PortNames: portNames,
				Operation: mgmtdriver.Operation{Type: "INSTANTIATE"}, Vims: &drivertest.Vims{Names: []string{"taken"}},
				Instance: mgmtdriver.Instance{AdditionalParams: map[string]any{kubernetes.Parameter: parameter}}})
			expectInvalid(t, err, row.attribute, row.says)
		})
	}
}

func expectInvalid(t *testing.T, err error, attribute, says string) {
	t.Helper()
	var invalid *mgmtdriver.Invalid
	if attribute != "" && !strings.HasPrefix(attribute, "!") {
		attribute = "/additionalParams/" + kubernetes.Parameter + attribute
	}
	attribute = strings.TrimPrefix(attribute, "!")
	switch {
	case attribute == "" && says == "":
		if err != nil {
			t.Errorf("refused: %v", err)
		}
	case !errors.As(err, &invalid) || invalid.Attribute != attribute || !strings.Contains(invalid.Detail, says):
		t.Errorf("got %v, want a refusal of %q with %q", err, attribute, says)
	}
}

func TestLaterRequestsAreChecked(t *testing.T) {
	t.Parallel()
	for _, row := range []struct {
		name       string
		masters    int
		hook       mgmtdriver.Hook
		begin      func(*bed)
		additional map[string]any
		attribute  string
		says       string
	}{
		{"workers scaled out", 3, mgmtdriver.ScaleEnd, func(b *bed) { b.ScaleOut() }, nil, "", ""},
		{"masters scaled", 3, mgmtdriver.ScaleEnd, func(b *bed) {
			b.Begin("SCALE", `{"type": "SCALE_OUT", "aspectId": "master_instance", "numberOfSteps": "1"}`)
		}, nil, "!/aspectId", "only the workers"},
		{"another login", 3, mgmtdriver.ScaleEnd, func(b *bed) { b.ScaleOut() },
			map[string]any{"worker_node_username": "debian", "worker_node_password": "x"}, "", ""},
		{"half of a login", 3, mgmtdriver.ScaleStart, func(b *bed) { b.ScaleIn() },
			map[string]any{"master_node_username": "debian"}, "!/additionalParams/master_node_password", "does not exist"},
		{"an instantiation level", 3, mgmtdriver.ScaleToLevelEnd, func(b *bed) {
			b.Begin("SCALE_TO_LEVEL", `{"instantiationLevelId": "instantiation_level_2"}`)
		}, nil, "!/instantiationLevelId", "aspect of its workers"},
		{"levels of masters", 3, mgmtdriver.ScaleToLevelEnd, func(b *bed) {
			b.Begin("SCALE_TO_LEVEL", `{"scaleInfo": [{"aspectId": "worker_instance", "scaleLevel": 2}, {"aspectId": "master_instance", "scaleLevel": 1}]}`)
		}, nil, "!/scaleInfo/1/aspectId", "only the workers"},
		{"a level of workers", 3, mgmtdriver.ScaleToLevelEnd, func(b *bed) {
			b.Begin("SCALE_TO_LEVEL", `{"scaleInfo": [{"aspectId": "worker_instance", "scaleLevel": 2}]}`)
		}, nil, "", ""},
		{"another flavour", 3, mgmtdriver.ChangeFlavourStart, func(b *bed) { b.Begin("CHANGE_FLAVOUR", `{}`) }, nil, "!/newFlavourId", "cannot be changed"},
		{"the only master healed", 1, mgmtdriver.HealStart, func(b *bed) { b.Heal("11") }, nil, "!/vnfcInstanceId", "The number of Master-Nodes is 1 or less"},
		{"all masters healed", 3, mgmtdriver.HealStart, func(b *bed) { b.Heal("11", "12", "13") }, nil, "!/vnfcInstanceId", "one master at least"},
		{"two masters healed", 3, mgmtdriver.HealStart, func(b *bed) { b.Heal("11", "12", "51") }, nil, "", ""},
		{"the whole healed", 1, mgmtdriver.HealStart, func(b *bed) { b.Heal() }, nil, "", ""},
	} {
		t.Run(row.name, func(t *testing.T) {
			t.Parallel()
			b := newBed(t, setting{masters: row.masters, workers: 1})
			row.begin(b)
			call := b.Call(row.hook)
			call.Operation.AdditionalParams = row.additional
			expectInvalid(t, b.Driver.Check(t.Context(), call), row.attribute, row.says)
		})
	}
}
