//go:build e2e

package e2e

import (
	"regexp"
	"slices"
	"strings"
	"testing"
)

// TestVims is the life of a VIM's registration. The client asks /v1.0/vims.json, and finds the id of a name by ?name=…&fields=id.
func TestVims(t *testing.T) {
	if testing.Short() {
		t.Skip("short")
	}
	config := writeFile(t, "vim.yaml", vimConfig)
	made := openstackJSON[map[string]any](t, "vim", "register", "--config-file", config, "--description", "first", "--is-default", "one")
	id := made["id"].(string)
	deleted := false
	t.Cleanup(func() {
		if !deleted {
			openstack(t, "vim", "delete", id)
		}
	})

	if made["status"] != "ACTIVE" || made["is_default"] != true || made["description"] != "first" {
		t.Errorf("the VIM is registered as %v", made)
	}
	for _, name := range []string{"one", id} {
		stdout := openstack(t, "vim", "show", name)
		if !strings.Contains(stdout, id) || !strings.Contains(stdout, region) {
			t.Errorf("vim show %s printed\n%s", name, stdout)
		}
		if strings.Contains(stdout, password) {
			t.Errorf("vim show %s shows the password", name)
		}
	}
	listed := openstackJSON[[]map[string]any](t, "vim", "list")
	if !slices.ContainsFunc(listed, func(row map[string]any) bool {
		return row["ID"] == id && row["Name"] == "one" && row["Status"] == "ACTIVE"
	}) {
		t.Errorf("the VIM is listed as %v", listed)
	}

	// `vim set` without --config-file sends only what is given; with it, vim_project and auth_cred as well.
	openstack(t, "vim", "set", "--name", "two", "--description", "second", "one")
	openstack(t, "vim", "set", "--config-file", config, "two")
	if shown := openstackJSON[map[string]any](t, "vim", "show", "two"); shown["id"] != id || shown["description"] != "second" {
		t.Errorf("after vim set it is %v", shown)
	}

	if out := refused(t, "vim", "register", "--config-file", config, "--is-default", "three"); !strings.Contains(strings.ToLower(out), "default") {
		t.Errorf("a second default VIM is refused with %q", out)
	}
	if out := openstack(t, "vim", "delete", "two"); !strings.Contains(out, "deleted successfully") {
		t.Errorf("vim delete printed %q", out)
	}
	deleted = true
	refused(t, "vim", "show", id)
}

// TestVimThatCannotBeUsed tries VIMs whose registration must fail, with a reason, and leave nothing.
func TestVimThatCannotBeUsed(t *testing.T) {
	if testing.Short() {
		t.Skip("short")
	}
	const credentials = "(?i)credential|password|authenti|log in"
	for _, c := range []struct{ name, old, replacement, reason string }{
		{"wrong password", "password: " + password, "password: wrong", credentials},
		{"unknown project", "project_name: " + project, "project_name: nowhere", credentials},
		{"nobody answers", authURL, "http://127.0.0.1:9/v3", "127.0.0.1:9/"},
		{"no Keystone", authURL, "http://127.0.0.1:9292/v3", "127.0.0.1:9292"},
	} {
		t.Run(c.name, func(t *testing.T) {
			config := writeFile(t, "vim.yaml", strings.Replace(vimConfig, c.old, c.replacement, 1))
			out := refused(t, "vim", "register", "--config-file", config, "broken")
			if !regexp.MustCompile(c.reason).MatchString(out) {
				t.Errorf("the reason does not match %q: %s", c.reason, out)
			}
			for _, row := range openstackJSON[[]map[string]any](t, "vim", "list") {
				if row["Name"] == "broken" {
					t.Error("the VIM is registered all the same")
				}
			}
		})
	}
}
