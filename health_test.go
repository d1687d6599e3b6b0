package main

import (
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"vnfm/api/peer/peertest"
	"vnfm/store/storetest"
)

// TestHealthcheckAsksTheServerOfItsOwnEnvironment runs both as a container does: with nothing but variables.
func TestHealthcheckAsksTheServerOfItsOwnEnvironment(t *testing.T) {
	t.Parallel()
	certificate, key, _ := peertest.Certificate(t)
	others, _, _ := peertest.Certificate(t)
	secured := []string{"VNFM_TLS_CERT_FILE=" + certificate, "VNFM_TLS_KEY_FILE=" + key}
	for _, row := range []struct {
		name       string
		env, check []string
		wrong      []string // of a check that has to fail, and how
	}{
		{"plain", nil, nil, []string{"VNFM_LISTEN=127.0.0.1:1", "refused"}},
		{"TLS", secured, nil, []string{"VNFM_TLS_CERT_FILE=" + others, "another certificate"}},
		{"TLS with certificates of clients", append(secured, "VNFM_TLS_CLIENT_CA_FILE="+certificate),
			[]string{"VNFM_HEALTHCHECK_CERT_FILE=" + certificate, "VNFM_HEALTHCHECK_KEY_FILE=" + key},
			[]string{"VNFM_HEALTHCHECK_CERT_FILE=" + certificate + "x", "cert-file"}},
	} {
		t.Run(row.name, func(t *testing.T) {
			t.Parallel()
			env := append([]string{"VNFM_LISTEN=" + freeAddress(t), "VNFM_DATABASE_URL=" + storetest.NewURL(t),
				"VNFM_SECRET_KEY_FILE=" + filepath.Join(t.TempDir(), "secret.key")}, row.env...)
			run := func(name string, more ...string) *exec.Cmd {
				cmd := command(t, name)
				cmd.Env = append(append(cmd.Env, env...), more...)
				return cmd
			}
			log := &journal{}
			server := run("serve")
			server.Stderr = log
			if err := server.Start(); err != nil {
				t.Fatal(err)
			}
			defer func() {
				_ = server.Process.Kill()
				_ = server.Wait()
			}()
			var output []byte
			var err error
			for deadline := time.Now().Add(90 * time.Second); time.Now().Before(deadline); time.Sleep(100 * time.Millisecond) {
				if output, err = run("healthcheck", row.check...).CombinedOutput(); err == nil {
					break
				}
			}
			if err != nil {
				t.Fatalf("%v: %s\n%s", err, output, log)
			}
			more := append(row.check, row.wrong[0]) //nolint:gocritic // the last of a name counts
			if output, err = run("healthcheck", more...).CombinedOutput(); err == nil || !strings.Contains(string(output), row.wrong[1]) {
				t.Errorf("%v: %s", err, output)
			}
		})
	}
}
