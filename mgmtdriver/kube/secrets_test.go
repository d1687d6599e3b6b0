package kube_test

import (
	"strings"
	"testing"

	"vnfm/mgmtdriver/kube"
	"vnfm/mgmtdriver/ssh"
)

// What kubeadm says of how to join is not shown, be it by itself or in what Ansible writes of it.
func TestSecretsOfThoseWhoJoin(t *testing.T) {
	t.Parallel()
	const token = "abcdef.0123456789abcdef"
	key := strings.Repeat("0123456789abcdef", 4)
	for _, row := range []struct {
		line  string
		shown bool // it holds none
	}{
		{"kubeadm join 10.0.0.1:6443 --token " + token, false},
		{`    "stdout": "` + token + `",`, false},
		{key, false},
		{"certificate_key: " + key, false},
		{"  kubeadm join 10.0.0.1:6443 --control-plane --certificate-key " + key, false},
		{`        "` + key + `",`, false},
		{`    "stdout": "[upload-certs] Using certificate key:\n` + key + `",`, false},
		{`    "kubeadm_certificate_key": "` + key + `",`, false},
		{`"cmd": "kubeadm join --certificate-key ` + key + ` --v=5",`, false},
		{"--discovery-token-ca-cert-hash sha256:" + key, true},
		{`"checksum": "` + key + `"`, true},
	} {
		for _, progress := range []ssh.Progress{{Stdout: "before\n" + row.line + "\nafter"}, {Stderr: row.line}} {
			known := ssh.NewRedactor()
			kube.LearnSecrets(known, progress)
			if got := known.Redact(row.line); got == row.line != row.shown || !row.shown && (strings.Contains(got, token) || strings.Contains(got, key)) {
				t.Errorf("%s is shown as %s", row.line, got)
			}
		}
	}
}
