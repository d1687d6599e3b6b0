package lcm

import (
	"encoding/base64"
	"encoding/pem"
	"errors"
	"os"
	"strings"
	"testing"

	"vnfm/api/peer/peertest"
)

func TestTrustedCertificates(t *testing.T) {
	t.Parallel()
	certFile, keyFile, _ := peertest.Certificate(t)
	read := func(path string) string {
		content, err := os.ReadFile(path)
		if err != nil {
			t.Fatal(err)
		}
		return string(content)
	}
	certificate, key := read(certFile), read(keyFile)
	block, _ := pem.Decode([]byte(certificate))
	der := base64.StdEncoding.EncodeToString(block.Bytes)
	coded := base64.StdEncoding.EncodeToString([]byte(certificate))
	for _, row := range []struct {
		name  string
		value any
		want  string // what is read
		wrong string // or the attribute that is wrong
	}{
		{"nothing", nil, "", ""},
		{"an empty text takes them away", "", "", ""},
		{"PEM", "# ours\n" + certificate, certificate, ""},
		{"PEM in base64", coded, certificate, ""},
		{"DER in base64, in lines", der[:60] + "\n" + der[60:], certificate, ""},
		{"a list", []any{certificate, der}, certificate + certificate, ""},
		{"a chain", certificate + certificate, certificate + certificate, ""},
		{"words", "trust me", "", "/a"},
		{"a flag", true, "", "/a"},
		{"base64 of nothing", base64.StdEncoding.EncodeToString([]byte("nothing")), "", "/a"},
		{"a key, which has no business there", key, "", "/a"},
		{"half a certificate", certificate[:200], "", "/a"},
		{"one and a half", certificate + certificate[:200], "", "/a"},
		{"damaged", strings.Replace(certificate, certificate[100:104], "AAAA", 1), "", "/a"},
		{"the second of a list", []any{certificate, 7.0}, "", "/a/1"},
	} {
		got, err := certificates("/a", row.value)
		var invalid *InvalidRequest
		wrong := ""
		if errors.As(err, &invalid) {
			wrong = invalid.Attribute
		}
		if got != row.want || wrong != row.wrong || (err != nil) != (row.wrong != "") {
			t.Errorf("%s: %q, %v", row.name, got, err)
		}
		if err != nil && strings.Contains(err.Error(), key[40:80]) {
			t.Errorf("%s: the error shows the key: %v", row.name, err)
		}
	}
}
