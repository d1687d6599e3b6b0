package heat

import (
	"bytes"
	"encoding/pem"
	"errors"
	"io"
	"log"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"vnfm/lcm"
	"vnfm/lcm/heat/heattest"
)

// A VIM that names authorities is called over TLS alone, whatever its catalog says.
func TestCatalogWithoutTLS(t *testing.T) {
	t.Parallel()
	cloud, err := heattest.New(heattest.Options{})
	if err != nil {
		t.Fatal(err)
	}
	server := httptest.NewUnstartedServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		r.TLS = nil // the cloud thinks that nobody encrypts anything
		cloud.Handler().ServeHTTP(w, r)
	}))
	server.Config.ErrorLog = log.New(io.Discard, "", 0)
	server.StartTLS()
	t.Cleanup(func() { server.Close(); cloud.Close() })
	vim := accessTo(cloud)
	vim.AuthURL = server.URL + "/identity/v3"
	vim.Authorities = string(pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: server.Certificate().Raw}))
	_, err = New(Config{}).Status(t.Context(), &lcm.Deployment{Vim: vim, StackName: "vnf"})
	if !errors.As(err, new(*lcm.Rejected)) {
		t.Fatalf("%v (%T)", err, err)
	}
	for _, word := range []string{"Heat", vim.AuthURL, "http://" + server.Listener.Addr().String(), "without TLS"} {
		if !strings.Contains(err.Error(), word) {
			t.Errorf("%v does not tell %q", err, word)
		}
	}
}

// Whoever registers a VIM hears at once that its certificate is not accepted; an operation that is on its way waits for a better one.
func TestCertificateThatIsRefusedMayPass(t *testing.T) {
	t.Parallel()
	access, _ := overTLS(t)
	driver := New(Config{})
	if _, err := driver.Regions(t.Context(), access); !errors.As(err, new(*lcm.Rejected)) {
		t.Errorf("a registration: %v (%T)", err, err)
	}
	_, err := driver.Status(t.Context(), &lcm.Deployment{Vim: access, StackName: "vnf"})
	if !errors.As(err, new(*lcm.Unavailable)) || !strings.Contains(err.Error(), "its certificate is not accepted") {
		t.Errorf("an operation: %v (%T)", err, err)
	}
}

func TestAuthoritiesThatAreNone(t *testing.T) {
	t.Parallel()
	cloud := heattest.Start(t, heattest.Options{})
	var logged bytes.Buffer
	access := accessTo(cloud)
	access.NoAuthorities = errors.New("no certificate")
	driver := New(Config{Logger: slog.New(slog.NewTextHandler(&logged, nil))})
	if _, err := driver.Status(t.Context(), &lcm.Deployment{Vim: access, StackName: "vnf"}); err != nil {
		t.Error(err)
	}
	if !strings.Contains(logged.String(), "level=WARN") || !strings.Contains(logged.String(), "no certificate") {
		t.Errorf("the log does not warn: %s", &logged)
	}
}
