package server_test

import (
	"bytes"
	"crypto/sha256"
	"fmt"
	"io"
	"net/http"
	"net/netip"
	"net/url"
	"strings"
	"testing"
	"testing/fstest"

	"vnfm/api/peer"
	"vnfm/vnfpkg"
)

func TestArtifactsThatAreElsewhere(t *testing.T) {
	t.Parallel()
	b := setup(t)
	content := bytes.Repeat([]byte("driver"), 100)
	large := bytes.Repeat([]byte("large"), 1<<20)
	o := serveFrom(t, nil, func(_ *origin, _ int, w http.ResponseWriter, r *http.Request) {
		switch r.URL.Path {
		case "/driver.bin", "/changed.bin":
			_, _ = w.Write(content)
		case "/large.bin", "/changed-large.bin":
			_, _ = w.Write(large)
		default:
			w.WriteHeader(http.StatusNotFound)
		}
	})
	tree := single("vnfd")
	manifest := "metadata:\n  vnf_product_name: Single\n"
	list := func(name string, content []byte) {
		manifest += fmt.Sprintf("\nSource: %s/%s\nAlgorithm: SHA-256\nHash: %x\n", o.URL, name, sha256.Sum256(content))
	}
	list("driver.bin", content)
	list("changed.bin", []byte("other"))
	list("large.bin", large)
	list("changed-large.bin", []byte("other"))
	list("gone.bin", nil)
	tree["single.mf"] = &fstest.MapFile{Data: []byte(manifest)}
	pkg, _, _ := b.onboardTree(tree)
	if info := b.expect(http.StatusOK, http.MethodGet, pkg, ""); !strings.Contains(string(info.body), `"artifactPath":"`+o.URL+`/driver.bin"`) {
		t.Errorf("additionalArtifacts: %s", info.body)
	}
	if len(o.requests) > 0 {
		t.Error("an artifact was fetched before it was asked for")
	}
	escaped := func(name string) string { return pkg + "/artifacts/" + url.PathEscape(o.URL+"/"+name) }
	for _, row := range []struct {
		name, path string
		status     int
		detail     string
		want       []byte
	}{
		{"as the package says", escaped("driver.bin"), 200, "", content},
		{"as the package says, not escaped", pkg + "/artifacts/" + o.URL + "/driver.bin", 200, "", content},
		{"large", escaped("large.bin"), 200, "", large},
		{"not as the package says", escaped("changed.bin"), 502, "has the hash", nil},
		{"not there", escaped("gone.bin"), 502, "404 Not Found", nil},
		{"not of the package", escaped("none.bin"), 404, "", nil},
	} {
		a := b.expect(row.status, http.MethodGet, row.path, "", "Range", "bytes=0-1")
		if row.want != nil && !bytes.Equal(a.body, row.want) {
			t.Errorf("%s: %.100s", row.name, a.body)
		}
		if row.want == nil && !strings.Contains(a.detail(t), row.detail) {
			t.Errorf("%s: %s", row.name, a.body)
		}
	}
	// What the client has of it must not look like all of it. The test's own client would fail the test.
	response, err := http.Get(b.url + escaped("changed-large.bin"))
	if err != nil {
		t.Fatal(err)
	}
	defer response.Body.Close()
	if _, err := io.Copy(io.Discard, response.Body); err == nil {
		t.Error("a large artifact that is not as the package says came to its end")
	}
	b.packages.Downloads(vnfpkg.Downloads{Policy: peer.Policy{Deny: []netip.Prefix{netip.MustParsePrefix("127.0.0.0/8")}}})
	b.expect(http.StatusForbidden, http.MethodGet, escaped("driver.bin"), "")
}
