package registry_test

import (
	"encoding/json"
	"errors"
	"strings"
	"testing"
	"testing/fstest"

	"vnfm/mgmtdriver"
	"vnfm/mgmtdriver/drivertest"
	"vnfm/mgmtdriver/registry"
	"vnfm/mgmtdriver/registry/registrytest"
)

// sampleParams are those of the request that the specification of the driver has as its example.
const sampleParams = `{
    "private_registry_installation_param": {
      "ssh_cp_name": "CP1",
      "ssh_username": "ubuntu",
      "ssh_password": "ubuntu",
      "image_path": "Files/images/private_registry.tar"
    }
  }`

func expectInvalid(t *testing.T, err error, attribute, says string) {
	t.Helper()
	if attribute == "" {
		if err != nil {
			t.Errorf("refused: %v", err)
		}
		return
	}
	var invalid *mgmtdriver.Invalid
	if !errors.As(err, &invalid) || invalid.Attribute != "/additionalParams/"+registry.Parameter+strings.TrimPrefix(attribute, "!") ||
		!strings.Contains(invalid.Detail, says) {
		t.Errorf("got %v, want a refusal of %q with %q", err, attribute, says)
	}
}

func TestParametersAreChecked(t *testing.T) {
	t.Parallel()
	set := func(name string, value any) func(map[string]any) { return func(p map[string]any) { p[name] = value } }
	for _, row := range []struct {
		name      string
		change    func(map[string]any)
		attribute string // "" = the request is right
		says      string
	}{
		{"the example", func(map[string]any) {}, "", ""},
		{"an image that is pulled", set("image_path", nil), "", ""},
		{"a path that begins with a dot", set("image_path", "./"+imagePath), "", ""},
		{"a port as a text", set("port_no", "8080"), "", ""},
		{"a port as a number", set("port_no", 65535.0), "", ""},
		{"a proxy", set("proxy", map[string]any{"http_proxy": "http://a:1", "no_proxy": "b"}), "", ""},
		{"no connection point", set("ssh_cp_name", nil), "/ssh_cp_name", "The ssh_cp_name in the additionalParams does not exist."},
		{"a connection point that the VNF lacks", set("ssh_cp_name", "CP2"), "/ssh_cp_name", `"CP2"; there are CP1`},
		{"a private key that is none", set("ssh_private_key", "x"), "/ssh_private_key", "no private key"},
		{"no user", set("ssh_username", nil), "/ssh_username", "does not exist"},
		{"a user that is a command", set("ssh_username", "a b"), "/ssh_username", "not the name of an account"},
		{"no password", set("ssh_password", ""), "/ssh_password", "does not exist"},
		{"a port that is none", set("port_no", "0"), "/port_no", "The port_no in the additionalParams is invalid"},
		{"a port beyond the last", set("port_no", 65536.0), "/port_no", "not a port number"},
		{"a port with something after it", set("port_no", "5000/tcp"), "/port_no", "not a port number"},
		{"a port that is no number", set("port_no", true), "/port_no", "must be a string"},
		{"a proxy of two lines", set("proxy", map[string]any{"http_proxy": "http://a\nb"}), "/proxy/http_proxy", "one line"},
		{"an image that the package lacks", set("image_path", "Files/none.tar"), "/image_path", `the VNF package has no file "Files/none.tar"`},
		{"an image elsewhere", set("image_path", "../../etc/passwd"), "/image_path", "no file"},
	} {
		t.Run(row.name, func(t *testing.T) {
			t.Parallel()
			additional := map[string]any{}
			if err := json.Unmarshal([]byte(sampleParams), &additional); err != nil {
				t.Fatal(err)
			}
			row.change(additional[registry.Parameter].(map[string]any))
			for _, hook := range []mgmtdriver.Hook{mgmtdriver.InstantiateEnd, mgmtdriver.HealEnd} {
				err := registry.New(nil, registry.Config{}).Check(t.Context(), &mgmtdriver.Call{Hook: hook, PortNames: []string{"CP1"},
					Package:  drivertest.Files{FS: fstest.MapFS{imagePath: {Data: registrytest.Archive(seenImage)}}},
					Instance: mgmtdriver.Instance{AdditionalParams: additional}})
				expectInvalid(t, err, row.attribute, row.says)
			}
		})
	}
}
