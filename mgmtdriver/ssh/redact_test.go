package ssh_test

import (
	"encoding/base64"
	"encoding/json"
	"fmt"
	"net/url"
	"strings"
	"testing"

	"vnfm/mgmtdriver/ssh"
)

func TestRedactor(t *testing.T) {
	t.Parallel()
	const odd = `pa'ss "wörd"&<x>`
	inJSON, err := json.Marshal(odd)
	if err != nil {
		t.Fatal(err)
	}
	key := "-----BEGIN KEY-----\n" + base64.StdEncoding.EncodeToString([]byte("0123456789")) + "\n-----END KEY-----\n"
	secrets := ssh.NewRedactor(odd, "geheim", "geheim-long", ssh.Secret(key), "", "ab")
	for _, row := range []struct{ name, text, want string }{
		{"as it is", "x " + odd + " y", "x *** y"},
		{"quoted for a shell", "x " + ssh.Quote(odd) + " y", "x '***' y"},
		{"in JSON", string(inJSON), `"***"`},
		{"in a query", "?p=" + url.QueryEscape(odd), "?p=***"},
		{"one that begins with another one", "geheim-long geheim", "*** ***"},
		{"a line of a key", "line MDEyMzQ1Njc4OQ== of it", "line *** of it"},
		{"too short to be one", "about", "about"},
	} {
		if got := secrets.Redact(row.text); got != row.want {
			t.Errorf("%s: %q", row.name, got)
		}
	}
	secrets.Add("later")
	if got := secrets.Redact("geheim later"); got != "*** ***" {
		t.Errorf("after another one was added: %q", got)
	}
	for _, nothing := range []*ssh.Redactor{nil, {}} {
		if got := nothing.Redact("text"); got != "text" {
			t.Errorf("without secrets: %q", got)
		}
	}
}

func TestSecretPrintsAsStars(t *testing.T) {
	t.Parallel()
	var params struct{ Password ssh.Secret }
	if err := json.Unmarshal([]byte(`{"password": "geheim"}`), &params); err != nil || string(params.Password) != "geheim" {
		t.Fatalf("read %v, %v", err, string(params.Password) == "geheim")
	}
	written, err := json.Marshal(params)
	if err != nil {
		t.Fatal(err)
	}
	all := fmt.Sprintf("%v %+v %#v %s %q %x %d %s", params, params, params, params.Password, params.Password, params.Password, params.Password, written)
	if strings.Contains(all, "geheim") || strings.Contains(all, fmt.Sprintf("%x", "geheim")) {
		t.Error(all)
	}
}
