package kubespray

import (
	"encoding/json"
	"net/netip"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"vnfm/mgmtdriver"
	"vnfm/mgmtdriver/kube"
	"vnfm/mgmtdriver/kubespray/spraytest"
	"vnfm/mgmtdriver/param"
)

// What ansible-vault has made of "vnfm_passwords: {master: geheim}" with the password pw123: the fake's way to decrypt is the real one.
func TestVault(t *testing.T) {
	t.Parallel()
	known, err := os.ReadFile("testdata/vault.yml")
	if err != nil {
		t.Fatal(err)
	}
	if plain, err := spraytest.Unvault(known, "pw123"); err != nil || string(plain) != "vnfm_passwords: {master: geheim}\n" {
		t.Fatalf("%q, %v", plain, err)
	}
	for _, content := range []string{"", "a", "fifteen bytes..", "sixteen bytes...", strings.Repeat("ä", 5000)} {
		sealed, err := vaulted([]byte(content), "geheim")
		if err != nil {
			t.Fatal(err)
		}
		if plain, err := spraytest.Unvault(sealed, "geheim"); err != nil || string(plain) != content {
			t.Errorf("%q has become %q, %v", content, plain, err)
		}
		if _, err := spraytest.Unvault(sealed, "geheim2"); err == nil {
			t.Error("another password opens it")
		}
	}
}

// someCluster is one with two masters, a worker and a load balancer.
func someCluster() *site {
	made := func(name, last string, master bool) *kube.Machine {
		return &kube.Machine{Vnfc: &mgmtdriver.Vnfc{ID: "vnfc-" + last, ServerID: "11111111-2222-3333-4444-5555555555" + last}, Master: master, Name: name,
			SSH: netip.MustParseAddr("192.0.2." + last), IP: netip.MustParseAddr("10.0.0." + last)}
	}
	p := &params{
		ansible: ansible{root: "/kubespray", directory: "/kubespray/inventory/mycluster", inventory: "/kubespray/inventory/mycluster/hosts.yaml"},
		master: masterGroup{Group: kube.Group{Login: param.Login{Username: "ubuntu", Password: `m{{ lookup('pipe', 'touch /tmp/owned') }}'"\`}}, pods: netip.MustParsePrefix("192.168.0.0/16"),
			services: netip.MustParsePrefix("10.199.187.0/24")},
		worker: kube.Group{Login: param.Login{Username: "debian", Password: "w: {{ x }} #%}"}},
		proxy:  param.Proxy{HTTP: "http://me:{{geheim}}@proxy:1", HTTPS: "http://proxy:1", NoProxy: "{{ y }}", Nodes: netip.MustParsePrefix("10.0.0.0/24")},
	}
	return &site{params: p, Site: &kube.Site{Machines: &kube.Machines{Masters: []*kube.Machine{made("master11", "11", true), made("master12", "12", true)}, Workers: []*kube.Machine{made("worker51", "51", false)}}},
		front: &front{ssh: netip.MustParseAddr("192.0.2.90"), vnfc: &mgmtdriver.Vnfc{Ports: []mgmtdriver.Port{
			{Name: "externalLB_CP2", Addresses: []netip.Addr{netip.MustParseAddr("10.0.0.90")}}}}}}
}

const probe = `
- hosts: all
  gather_facts: false
  tasks:
    - name: what Ansible has understood
      copy:
        dest: "{{ out }}/{{ inventory_hostname }}"
        content: "{{ {'user': ansible_user, 'password': ansible_password, 'become': ansible_become_password, 'groups': group_names | sort, 'host': ansible_host,
          'ip': ip, 'proxy': http_proxy, 'no_proxy': additional_no_proxy, 'sans': supplementary_addresses_in_ssl_keys, 'mtu': calico_veth_mtu,
          'pods': kube_pods_subnet, 'services': kube_service_addresses, 'check': ansible_ssh_host_key_checking} | to_json }}"
    - name: what fails
      command: "false"
      when: inventory_hostname == 'worker51'
`

// A real Ansible reads what the driver writes, with the password on the standard input of a job, and its output is understood.
func TestRealAnsible(t *testing.T) {
	t.Parallel()
	program, err := exec.LookPath("ansible-playbook")
	if err != nil {
		t.Skip("there is no Ansible")
	}
	dir, c := t.TempDir(), someCluster()
	put := func(name string, content []byte, err error) string {
		t.Helper()
		path := filepath.Join(dir, name)
		if err == nil {
			err = os.WriteFile(path, content, 0o600)
		}
		if err != nil {
			t.Fatal(err)
		}
		return path
	}
	inventory, err := inventoryYAML(c.params, c.All(), 22)
	hosts := put("hosts.yaml", inventory, err)
	vars, err := varsYAML(c, 1450)
	varsPath := put("vars.yaml", vars, err)
	secrets, err := secretsYAML(c.params)
	if err == nil {
		secrets, err = vaulted(secrets, "only-for-this-run")
	}
	sealed := put(".vnfm-sealed-x.yaml", secrets, err)
	if all := string(inventory) + string(vars) + string(secrets); strings.Contains(all, "lookup") || strings.Contains(all, "geheim") {
		t.Errorf("secrets can be read:\n%s", all)
	}
	input, book := put("input", []byte("only-for-this-run\n"), nil), put("probe.yml", []byte(probe), nil)
	out := t.TempDir()
	// As a job does: the file of the standard input is gone when the program begins.
	run := exec.CommandContext(t.Context(), "sh", "-c", `exec <"$1"; rm -f "$1"; shift; exec "$@"`, "sh", input, program, "-i", hosts, "-e", "@"+varsPath, "-e", "@"+sealed,
		"--vault-password-file=/dev/stdin", "-e", "out="+out, "-e", "ansible_connection=local", book)
	run.Env = append(os.Environ(), "HOME="+t.TempDir(), "LC_ALL=C.UTF-8", "ANSIBLE_NOCOLOR=1", "ANSIBLE_STDOUT_CALLBACK=default")
	var stdout, stderr strings.Builder
	run.Stdout, run.Stderr = &stdout, &stderr
	if err := run.Run(); err == nil {
		t.Error("the playbook has not failed")
	}
	told := readReport(stdout.String(), stderr.String()).tell(map[string]string{"worker51": "192.0.2.51"})
	if told != "worker51 (192.0.2.51): TASK [what fails]: non-zero return code" {
		t.Fatalf("told is %q of:\n%s%s", told, stdout.String(), stderr.String())
	}
	for name, want := range map[string]map[string]string{
		"master11": {"user": `"ubuntu"`, "password": quoted(string(c.master.Login.Password)), "become": quoted(string(c.master.Login.Password)), "host": `"192.0.2.11"`,
			"ip": `"10.0.0.11"`, "groups": `["etcd", "k8s_cluster", "kube_control_plane"]`, "proxy": quoted(c.proxy.HTTP), "check": "true",
			"sans": `["192.0.2.90", "10.0.0.90", "192.0.2.11", "192.0.2.12"]`, "mtu": "1430", "pods": `"192.168.0.0/16"`, "services": `"10.199.187.0/24"`},
		"worker51": {"user": `"debian"`, "password": quoted(string(c.worker.Login.Password)), "groups": `["k8s_cluster", "kube_node"]`, "no_proxy": `"{{ y }},10.0.0.0/24"`},
	} {
		content, err := os.ReadFile(filepath.Join(out, name))
		if err != nil {
			t.Fatal(err)
		}
		var got map[string]json.RawMessage
		if err := json.Unmarshal(content, &got); err != nil {
			t.Fatalf("%s: %v", content, err)
		}
		for attribute, value := range want {
			var a, b any
			if json.Unmarshal([]byte(value), &a) != nil || json.Unmarshal(got[attribute], &b) != nil || quoted(a) != quoted(b) {
				t.Errorf("%s: %s is %s, want %s", name, attribute, got[attribute], value)
			}
		}
	}
}

func quoted(value any) string {
	text, _ := json.Marshal(value)
	return string(text)
}
