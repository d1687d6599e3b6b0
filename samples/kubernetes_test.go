package samples_test

import (
	"os/exec"
	"strings"
	"testing"
)

// onMachine runs a command on a machine that has an installation script as /install.sh, and returns what it writes.
func onMachine(t *testing.T, script, command string, env ...string) string {
	t.Helper()
	machine := exec.CommandContext(t.Context(), "unshare", "--user", "--map-root-user", "--mount", "bash", "testdata/machine.sh",
		t.TempDir(), script, command)
	machine.Env = append(machine.Environ(), env...)
	output, err := machine.CombinedOutput()
	if err != nil {
		t.Fatalf("%v: %s", err, output)
	}
	return string(output)
}

func needNamespaces(t *testing.T) {
	t.Helper()
	probe := exec.CommandContext(t.Context(), "unshare", "--user", "--map-root-user", "--mount", "mount", "-t", "tmpfs", "tmpfs", "/mnt")
	if output, err := probe.CombinedOutput(); err != nil {
		t.Skipf("this machine gives no namespaces to its users: %s", output)
	}
}

func TestInstallationScript(t *testing.T) {
	t.Parallel()
	needNamespaces(t)
	const (
		masters = "-m 10.10.0.59,10.10.0.78 -i 10.10.0.80 -p 192.168.0.0/16 -a 10.96.0.0/12"
		join    = "K8S_JOIN_TOKEN=abcdef.0123456789abcdef K8S_CERTIFICATE_KEY=geheim-key "
	)
	for _, row := range []struct {
		name, command string
		env           []string
		says, not     []string
	}{
		{"the only master", "bash /install.sh -m 10.10.0.59 -i 10.10.0.59; cat /init.yaml /journal ~/.kube/config", nil,
			[]string{`name: "master59"`, `controlPlaneEndpoint: "10.10.0.59:6443"`, "/calico.yaml\n", "token:", "admin\n", "done"},
			[]string{"haproxy", "reset"}},
		{"the first of several", "K8S_QUIET=1 K8S_CERT_SANS=192.0.2.7 bash /install.sh " + masters + "; cat /init.yaml /etc/haproxy/haproxy.cfg /etc/keepalived/keepalived.conf",
			nil, []string{`controlPlaneEndpoint: "10.10.0.80:16443"`, `podSubnet: "192.168.0.0/16"`, `- "192.0.2.7"`, "server  master59 10.10.0.59:6443 check\n",
				"server  master10-78 10.10.0.78:6443 check\n", "interface ens3", "10.10.0.80/24", "priority 103"}, []string{"token:", "certificate_key:"}},
		{"another master", join + "bash /install.sh " + masters + " -s hash; cat /join.yaml /journal /etc/keepalived/keepalived.conf", []string{"OWN=78"},
			[]string{`name: "master78"`, `certificateKey: "geheim-key"`, `caCertHashes: ["sha256:hash"]`, `advertiseAddress: "10.10.0.78"`, "priority 102", "done"},
			[]string{"kubeadm init --config", "--token"}},
		{"a worker", join + "ha_flag=True K8S_NODE_NAME=worker10-59 bash /install.sh -w 10.10.0.59 -i 10.10.0.80 -s hash; cat /join.yaml /journal", nil,
			[]string{`name: "worker10-59"`, `apiServerEndpoint: "10.10.0.80:16443"`, "hostnamectl set-hostname worker10-59", "done"},
			[]string{"controlPlane", "haproxy", "kubectl get"}},
		{"arguments of old drivers", "bash /install.sh -w 10.10.0.59 -i 10.10.0.80 -t abcdef.0123456789abcdef -s hash; cat /join.yaml", nil,
			[]string{`token: "abcdef.0123456789abcdef"`, `apiServerEndpoint: "10.10.0.80:6443"`}, nil},
		{"preparation, once", "bash /install.sh prepare " + masters + "; echo second >>/journal; bash /install.sh " + masters + "; cat /journal", nil,
			[]string{"install ca-certificates curl gnupg containerd socat conntrack haproxy keepalived", "kubeadm config images pull", "second\nip", "kubeadm init --config"}, nil},
		{"what an attempt has left is removed", "FAIL=1 " + join + "bash /install.sh -w 10.10.0.59 -i 10.10.0.80 -s hash; echo status $?; touch /etc/kubernetes/kubelet.conf; " +
			join + "bash /install.sh -w 10.10.0.59 -i 10.10.0.80 -s hash; cat /journal", nil, []string{"status 1", "start over", "kubeadm reset -f", "done"}, nil},
		{"an attempt that fails leaves no secrets", "FAIL=1 " + join + "bash /install.sh -w 10.10.0.59 -i 10.10.0.80 -s hash; echo status $?; " +
			"grep -rl abcdef.0123456789abcdef /etc /tmp /root /var; ls -A /tmp", nil, []string{"status 1"}, []string{"\n/etc/", "\n/tmp/", "kubernetes-release.key"}},
		{"the administrator's configuration is nobody else's", "bash /install.sh -m 10.10.0.59 -i 10.10.0.59; stat -c '%a %n' ~/.kube ~/.kube/config; ls -A /tmp",
			nil, []string{"700 /root/.kube\n", "600 /root/.kube/config\n"}, []string{"calico.yaml\n"}},
		{"a proxy whose password has signs", `http_proxy='http://u:p%40"s\x@proxy' bash /install.sh prepare -m 10.10.0.59 -i 10.10.0.59
			cat /etc/systemd/system/containerd.service.d/proxy.conf`, nil, []string{`"HTTP_PROXY=http://u:p%%40\"s\\x@proxy"`}, nil},
		{"the control plane gets no proxy", "http_proxy=http://u:geheim@proxy https_proxy=http://proxy bash /install.sh -m 10.10.0.59 -i 10.10.0.59; cat /journal",
			nil, []string{"proxy of kubeadm: none"}, []string{"geheim"}},
		{"cloud-init does not take the hosts back", "mkdir -p /etc/cloud/cloud.cfg.d; bash /install.sh prepare -w 10.10.0.59 -i 10.10.0.59; cat /etc/cloud/cloud.cfg.d/*",
			nil, []string{"preserve_hostname: true\nmanage_etc_hosts: false\n"}, nil},
		{"a proxy and registries", `http_proxy=http://u:geheim@proxy https_proxy=http://proxy HTTP_PRIVATE_REGISTRIES='"a:5000","b"' bash /install.sh prepare -m 10.10.0.59 -i 10.10.0.59
			cat /etc/containerd/config.toml /etc/containerd/certs.d/a:5000/hosts.toml; stat -c %a /etc/systemd/system/containerd.service.d/proxy.conf; cat /journal`, nil,
			[]string{`config_path = "/etc/containerd/certs.d"`, "SystemdCgroup = true", `server = "http://a:5000"`, "\n600\n"}, []string{"geheim"}},
		{"Debian 12", "bash /install.sh prepare -w 10.10.0.59 -i 10.10.0.59; echo status $?", []string{"OS=debian", "OS_VERSION=12"}, []string{"status 0"}, nil},
		{"another system", "bash /install.sh prepare -w 10.10.0.59 -i 10.10.0.59; echo status $?", []string{"OS=fedora", "OS_VERSION=43"},
			[]string{"is not supported", "status 255"}, nil},
		{"no arguments", "bash /install.sh; echo status $?", nil, []string{"must be given", "status 255"}, nil},
	} {
		t.Run(row.name, func(t *testing.T) {
			t.Parallel()
			output := onMachine(t, "kubernetes/Scripts/install_k8s_cluster.sh", row.command, row.env...)
			for _, part := range row.says {
				if !strings.Contains(output, part) {
					t.Errorf("does not say %q:\n%s", part, output)
				}
			}
			for _, part := range row.not {
				if strings.Contains(output, part) {
					t.Errorf("says %q:\n%s", part, output)
				}
			}
		})
	}
}
