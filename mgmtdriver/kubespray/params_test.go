package kubespray_test

import (
	"encoding/json"
	"errors"
	"testing"

	"vnfm/mgmtdriver"
	"vnfm/mgmtdriver/kubespray"
)

// set changes an attribute of a group; nil removes it.
func set(group, name string, value any) func(map[string]any) {
	return func(p map[string]any) {
		values := p
		if group != "" {
			values = p[group].(map[string]any)
		}
		if value == nil {
			delete(values, name)
		} else {
			values[name] = value
		}
	}
}

func TestRequestsThatAreRefused(t *testing.T) {
	t.Parallel()
	const at = "/additionalParams/k8s_cluster_installation_param"
	inventory := func(path any) func(map[string]any) { return set("ansible", "transferring_inventory_path", path) }
	for _, row := range []struct {
		name      string
		change    func(map[string]any)
		attribute string
	}{
		{"no Ansible server", set("", "ansible", nil), at + "/ansible"},
		{"no masters", set("", "master_node", nil), at + "/master_node"},
		{"workers that are no object", set("", "worker_node", "x"), at + "/worker_node"},
		{"an address that is none", set("ansible", "ip_address", "ansible.example"), at + "/ansible/ip_address"},
		{"no password", set("ansible", "password", ""), at + "/ansible/password"},
		{"a user that is none", set("ansible", "username", "$(reboot)"), at + "/ansible/username"},
		{"no kubespray", set("ansible", "kubespray_root_path", ""), at + "/ansible/kubespray_root_path"},
		{"kubespray in a relative path", set("ansible", "kubespray_root_path", "kubespray"), at + "/ansible/kubespray_root_path"},
		{"kubespray in the root", set("ansible", "kubespray_root_path", "/"), at + "/ansible/kubespray_root_path"},
		{"kubespray in a path that a shell reads", set("ansible", "kubespray_root_path", "/home/x;reboot"), at + "/ansible/kubespray_root_path"},
		{"no inventory", inventory(nil), at + "/ansible/transferring_inventory_path"},
		{"an empty inventory", inventory(""), at + "/ansible/transferring_inventory_path"},
		{"the root as inventory", inventory("/"), at + "/ansible/transferring_inventory_path"},
		{"kubespray itself as inventory", inventory("/home/ansible/kubespray/"), at + "/ansible/transferring_inventory_path"},
		{"an inventory file in kubespray itself", inventory("hosts.yaml"), at + "/ansible/transferring_inventory_path"},
		{"an inventory elsewhere", inventory("/etc/ansible"), at + "/ansible/transferring_inventory_path"},
		{"an inventory that leaves kubespray", inventory("inventory/../../x"), at + "/ansible/transferring_inventory_path"},
		{"the sample of kubespray", inventory("inventory/sample"), at + "/ansible/transferring_inventory_path"},
		{"the home of all inventories", inventory("inventory"), at + "/ansible/transferring_inventory_path"},
		{"an inventory that a shell reads", inventory("inventory/$(reboot)"), at + "/ansible/transferring_inventory_path"},
		{"an inventory with a space", inventory("inventory/my cluster"), at + "/ansible/transferring_inventory_path"},
		{"an inventory in the place of the variables", inventory("inventory/mycluster/vars.yaml"), at + "/ansible/transferring_inventory_path"},
		{"an inventory in the place of the secrets", inventory("inventory/mycluster/.vnfm-sealed-1.yaml"), at + "/ansible/transferring_inventory_path"},
		{"no port", set("worker_node", "ssh_cp_name", nil), at + "/worker_node/ssh_cp_name"},
		{"masters and workers of one aspect", set("master_node", "aspect_id", "worker_instance"), at + "/worker_node/aspect_id"},
		{"a network that is none", set("master_node", "pod_cidr", "192.168.0.0/99"), at + "/master_node/pod_cidr"},
		{"networks that overlap", set("master_node", "cluster_cidr", "192.168.5.0/24"), at + "/master_node/cluster_cidr"},
		{"a load balancer without a script", set("external_lb_param", "script_path", nil), at + "/external_lb_param/script_path"},
		{"a script that the package does not have", set("external_lb_param", "script_path", "Scripts/other.sh"), at + "/external_lb_param/script_path"},
		{"a load balancer without a user", set("external_lb_param", "ssh_username", nil), at + "/external_lb_param/ssh_username"},
		{"a proxy of two lines", set("proxy", "http_proxy", "http://a\nb"), at + "/proxy/http_proxy"},
		{"an aspect that the package does not have", set("worker_node", "aspect_id", "workers"), at + "/worker_node/aspect_id"},
		{"a port that the package does not have", set("master_node", "nic_cp_name", "masterNode_CP9"), at + "/master_node/nic_cp_name"},
		{"a load balancer at a port that the package does not have", set("external_lb_param", "ssh_cp_name", "externalLB_instance"), at + "/external_lb_param/ssh_cp_name"},
		{"a VIM that is there", set("", "vim_name", "taken"), at + "/vim_name"},
	} {
		t.Run(row.name, func(t *testing.T) {
			t.Parallel()
			b := newBed(t, setting{masters: 1, workers: 1, change: row.change})
			b.Vims.Names = []string{"taken"}
			b.Begin("INSTANTIATE", "{}")
			call := b.Asked(mgmtdriver.InstantiateEnd)
			call.Vdus = []mgmtdriver.Vdu{{ID: "masterNode", AspectID: "master_instance"}, {ID: "workerNode", AspectID: "worker_instance"}}
			call.PortNames = []string{"masterNode_CP1", "workerNode_CP2", "externalLB_CP1"}
			expectInvalid(t, b.Driver.Check(t.Context(), call), row.attribute)
		})
	}
}

func expectInvalid(t *testing.T, err error, attribute string) {
	t.Helper()
	var invalid *mgmtdriver.Invalid
	if !errors.As(err, &invalid) || invalid.Attribute != attribute || invalid.Detail == "" {
		t.Errorf("got %v, want a refusal of %s", err, attribute)
	}
}

func TestLaterRequestsThatAreRefused(t *testing.T) {
	t.Parallel()
	for _, row := range []struct {
		name, request string
		hook          mgmtdriver.Hook
		additional    map[string]any
		attribute     string
	}{
		{"scaling of masters", `{"type": "SCALE_OUT", "aspectId": "master_instance"}`, mgmtdriver.ScaleEnd, nil, "/aspectId"},
		{"another level", `{"instantiationLevelId": "instantiation_level_2"}`, mgmtdriver.ScaleToLevelEnd, nil, "/instantiationLevelId"},
		{"masters to another level", `{"scaleInfo": [{"aspectId": "master_instance"}]}`, mgmtdriver.ScaleToLevelEnd, nil, "/scaleInfo/0/aspectId"},
		{"another flavour", `{"newFlavourId": "x"}`, mgmtdriver.ChangeFlavourStart, nil, "/newFlavourId"},
		{"a part of a group", `{"aspectId": "worker_instance"}`, mgmtdriver.ScaleEnd, map[string]any{"worker_node": map[string]any{"password": "x"}},
			"/additionalParams/k8s_cluster_installation_param/worker_node/ssh_cp_name"},
		{"another inventory in the root", `{"aspectId": "worker_instance"}`, mgmtdriver.ScaleEnd, map[string]any{"ansible": map[string]any{
			"ip_address": "192.0.2.1", "username": "a", "password": "b", "kubespray_root_path": "/k", "transferring_inventory_path": "/"}},
			"/additionalParams/k8s_cluster_installation_param/ansible/transferring_inventory_path"},
	} {
		t.Run(row.name, func(t *testing.T) {
			t.Parallel()
			b := newBed(t, setting{masters: 1, workers: 1})
			b.Begin("SCALE", row.request)
			if row.additional != nil {
				b.Additional = map[string]any{kubespray.Parameter: row.additional}
			}
			expectInvalid(t, b.Driver.Check(t.Context(), b.Asked(row.hook)), row.attribute)
		})
	}
}

// The request of the specification is accepted as it stands, but for what it leaves empty.
func TestRequestOfTheSpecification(t *testing.T) {
	t.Parallel()
	const request = `{"script_path": "", "vim_name": "kubernetes_vim",
		"ansible": {"ip_address": "0.0.0.0", "username": "ansible", "password": "ansible", "kubespray_root_path": "/opt/kubespray",
			"transferring_inventory_path": "inventory/mycluster/hosts.ini"},
		"master_node": {"aspect_id": "master_instance", "ssh_cp_name": "masterNode_CP1", "nic_cp_name": "masterNode_CP1", "username": "ubuntu",
			"password": "ubuntu", "pod_cidr": "192.168.3.0/16", "cluster_cidr": "10.199.187.0/24", "cluster_cp_name": "masterNode_CP1"},
		"worker_node": {"aspect_id": "worker_instance", "ssh_cp_name": "workerNode_CP2", "nic_cp_name": "workerNode_CP2", "username": "ubuntu",
			"password": "ubuntu"},
		"proxy": {"http_proxy": "http://user1:password1@host1:port1", "https_proxy": "https://user2:password2@host2:port2",
			"no_proxy": "192.168.246.0/24,10.0.0.1", "k8s_node_cidr": "10.10.0.0/24"},
		"external_lb_param": {"ssh_cp_name": "externalLB_instance", "ssh_username": "ubuntu", "ssh_password": "ubuntu",
			"script_path": "./Scripts/install_external_lb.sh"}}`
	b := newBed(t, setting{masters: 1, workers: 1})
	var cluster map[string]any
	if err := json.Unmarshal([]byte(request), &cluster); err != nil {
		t.Fatal(err)
	}
	b.Params[kubespray.Parameter] = cluster
	b.Begin("INSTANTIATE", "{}")
	if err := b.Driver.Check(t.Context(), b.Asked(mgmtdriver.InstantiateEnd)); err != nil {
		t.Error(err)
	}
}
