package lcm

import (
	"bytes"
	"encoding/json"
	"fmt"
	"log/slog"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

func TestMaskHidesSecretsAtAnyDepth(t *testing.T) {
	t.Parallel()
	got := Mask(map[string]any{
		"flavourId": "simple",
		"additionalParams": map[string]any{
			"k8s_cluster_installation_param": map[string]any{
				"script_path": "Scripts/install.sh",
				"master_node": map[string]any{"username": "ubuntu", "password": "geheim", "nic_cp_name": "CP1"},
				"private_registry_connection_info": []any{
					map[string]any{"server": "192.0.2.1:5000", "hostname": "reg", "Password": "geheim"},
				},
			},
			"admin_token":     "geheim",
			"clientSecret":    map[string]any{"anything": "geheim"},
			"empty_password":  nil,
			"tokenEndpoint":   "https://sso.example/token",
			"oidc_token_url":  "https://sso.example/token",
			"numeric":         json.Number("3"),
			"private_key_pem": "geheim",
			"proxy":           []any{"http://user:geheim@proxy:port", "https://user:ge@heim@proxy/a@b", "http://user@proxy:80", "see http://proxy"},
		},
	})
	want := map[string]any{
		"flavourId": "simple",
		"additionalParams": map[string]any{
			"k8s_cluster_installation_param": map[string]any{
				"script_path": "Scripts/install.sh",
				"master_node": map[string]any{"username": "ubuntu", "password": Masked, "nic_cp_name": "CP1"},
				"private_registry_connection_info": []any{
					map[string]any{"server": "192.0.2.1:5000", "hostname": "reg", "Password": Masked},
				},
			},
			"admin_token":     Masked,
			"clientSecret":    Masked,
			"empty_password":  nil,
			"tokenEndpoint":   "https://sso.example/token",
			"oidc_token_url":  "https://sso.example/token",
			"numeric":         json.Number("3"),
			"private_key_pem": Masked,
			"proxy":           []any{"http://user:***@proxy:port", "https://user:***@proxy/a@b", "http://user@proxy:80", "see http://proxy"},
		},
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Error(diff)
	}
}

func TestSecretNeverPrints(t *testing.T) {
	t.Parallel()
	access := VimAccess{Username: "nfv_user", Password: "geheim"}
	encoded, err := json.Marshal(access)
	if err != nil {
		t.Fatal(err)
	}
	var logged bytes.Buffer
	slog.New(slog.NewJSONHandler(&logged, nil)).Info("login", "access", access, "password", access.Password)
	for how, text := range map[string]string{
		"%v": fmt.Sprintf("%v", access), "%+v": fmt.Sprintf("%+v", access), "%#v": fmt.Sprintf("%#v", access),
		"%q": fmt.Sprintf("%q", access.Password), "String": access.Password.String(),
		"JSON": string(encoded), "slog": logged.String(),
	} {
		if strings.Contains(text, "geheim") {
			t.Errorf("%s shows the secret: %s", how, text)
		}
	}
}

func TestRedactTakesSecretsOutOfAText(t *testing.T) {
	t.Parallel()
	params := map[string]any{
		"user": "ubuntu", "password": "pass-1", "empty_password": "", "port_token": 22,
		"nodes": []any{map[string]any{"ssh_password": "pass-2"}}, "credentials": map[string]any{"key": []any{"pass-12"}},
	}
	got := Redact("ubuntu logs in with pass-1, pass-12 or pass-2 on 22", params)
	if want := "ubuntu logs in with ***, *** or *** on 22"; got != want {
		t.Errorf("%q, want %q", got, want)
	}
}
