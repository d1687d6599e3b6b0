package heat

import (
	"bytes"
	"context"
	"crypto/x509"
	"encoding/pem"
	"errors"
	"io"
	"log"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"os"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"vnfm/api/peer/peertest"
	"vnfm/lcm"
	"vnfm/lcm/heat/heattest"
)

const loginPath = `/identity/v3/auth/tokens$`

func TestManyOperationsLogInOnce(t *testing.T) {
	t.Parallel()
	cloud := heattest.Start(t, heattest.Options{})
	driver := New(Config{})
	deployment := planned(t, cloud, "")
	var all sync.WaitGroup
	for range 40 {
		all.Go(func() {
			if _, err := driver.Status(t.Context(), deployment); err != nil {
				t.Error(err)
			}
		})
	}
	all.Wait()
	if logins := cloud.Calls()["POST /identity/v3/auth/tokens"]; logins != 1 {
		t.Errorf("%d logins", logins)
	}
	other := *deployment
	other.Vim.Password = "wrong"
	if _, err := driver.Status(t.Context(), &other); !errors.As(err, new(*lcm.Rejected)) {
		t.Errorf("the login of another password was used: %v", err)
	}
	if kept := len(driver.sessions.byAccess); kept != 1 {
		t.Errorf("%d sessions are kept, want the one that works", kept)
	}
}

func TestTokensAreRenewed(t *testing.T) {
	t.Parallel()
	cloud := heattest.Start(t, heattest.Options{})
	driver := New(Config{})
	deployment := planned(t, cloud, "")
	for range 3 {
		if _, err := driver.Status(t.Context(), deployment); err != nil {
			t.Fatal(err)
		}
		cloud.RevokeTokens()
	}
}

func TestRenewalThatFails(t *testing.T) {
	t.Parallel()
	for _, row := range []struct {
		name   string
		status int
		passes bool
		words  string
	}{
		{"the password was changed", http.StatusUnauthorized, false, "credentials"},
		{"Keystone is overloaded", http.StatusServiceUnavailable, true, "503"},
	} {
		t.Run(row.name, func(t *testing.T) {
			t.Parallel()
			cloud := heattest.Start(t, heattest.Options{})
			driver := New(Config{})
			deployment := planned(t, cloud, "")
			if _, err := driver.Status(t.Context(), deployment); err != nil {
				t.Fatal(err)
			}
			cloud.RevokeTokens()
			if err := cloud.Inject(heattest.Fault{Method: http.MethodPost, Path: loginPath, Times: 1, Status: row.status}); err != nil {
				t.Fatal(err)
			}
			_, err := driver.Status(t.Context(), deployment)
			if err == nil || !strings.Contains(err.Error(), "Keystone") || !strings.Contains(err.Error(), row.words) {
				t.Errorf("error %v does not say %q of Keystone", err, row.words)
			}
			if passes := errors.As(err, new(*lcm.Unavailable)); passes != row.passes {
				t.Errorf("%v: passes %t", err, passes)
			}
			if _, err := driver.Status(t.Context(), deployment); err != nil {
				t.Errorf("afterwards: %v", err)
			}
		})
	}
}

func TestWhoeverWaitsForALoginCanGiveUp(t *testing.T) {
	t.Parallel()
	cloud := heattest.Start(t, heattest.Options{})
	if err := cloud.Inject(heattest.Fault{Path: loginPath, Hang: true}); err != nil {
		t.Fatal(err)
	}
	driver := New(Config{Timeout: time.Hour})
	deployment := planned(t, cloud, "")
	first, cancel := context.WithCancel(t.Context())
	result := make(chan error)
	go func() {
		_, err := driver.Status(first, deployment)
		result <- err
	}()
	second, stop := context.WithTimeout(t.Context(), 50*time.Millisecond)
	defer stop()
	if _, err := driver.Status(second, deployment); !errors.As(err, new(*lcm.Unavailable)) {
		t.Errorf("the one that waits: %v", err)
	}
	cancel()
	if err := <-result; !errors.Is(err, context.Canceled) {
		t.Errorf("the one that logs in: %v", err)
	}
}

func TestAddressesThatAreNoKeystone(t *testing.T) {
	t.Parallel()
	for _, row := range []struct {
		name   string
		status int
		body   string
	}{
		{"a web server without such a page", http.StatusNotFound, "<html>nothing here</html>"},
		{"a web server that shows something for everything", http.StatusOK, "<html>welcome</html>"},
		{"a web server that pretends", http.StatusCreated, "<html>welcome</html>"},
		{"a web server that sends one elsewhere", http.StatusFound, ""},
		{"JSON of somebody else", http.StatusCreated, `{"token": 7}`},
	} {
		t.Run(row.name, func(t *testing.T) {
			t.Parallel()
			server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
				w.Header().Set("Location", "/elsewhere")
				w.WriteHeader(row.status)
				_, _ = w.Write([]byte(row.body))
			}))
			t.Cleanup(server.Close)
			access := lcm.VimAccess{AuthURL: server.URL + "/v3", Username: "u", Password: "geheim", Project: "p",
				ProjectDomain: "Default", UserDomain: "Default"}
			_, err := New(Config{}).Regions(t.Context(), access)
			if !errors.As(err, new(*lcm.Rejected)) || !strings.Contains(err.Error(), server.URL) {
				t.Errorf("error %v (%T)", err, err)
			}
			if strings.Contains(err.Error(), "<html>") || strings.Contains(err.Error(), "geheim") {
				t.Errorf("the error shows too much: %v", err)
			}
		})
	}
}

func TestRegions(t *testing.T) {
	t.Parallel()
	for _, row := range []struct {
		name  string
		fault heattest.Fault
	}{
		{"an administrator asks", heattest.Fault{Path: `/none-such`, Status: http.StatusForbidden}},
		{"a member may not ask and reads the catalog", heattest.Fault{Path: `/regions$`, Status: http.StatusForbidden}},
		{"a Keystone that does not know", heattest.Fault{Path: `/regions$`, Status: http.StatusNotFound}},
	} {
		t.Run(row.name, func(t *testing.T) {
			t.Parallel()
			cloud := heattest.Start(t, heattest.Options{})
			if err := cloud.Inject(row.fault); err != nil {
				t.Fatal(err)
			}
			regions, err := New(Config{}).Regions(t.Context(), accessTo(cloud))
			if err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff([]string{"RegionOne"}, regions); diff != "" {
				t.Errorf("-want +got:\n%s", diff)
			}
		})
	}
}

// overTLS is a cloud whose services have a certificate of an authority of their own, which is returned in PEM.
func overTLS(t *testing.T) (access lcm.VimAccess, authority string) {
	t.Helper()
	cloud, err := heattest.New(heattest.Options{})
	if err != nil {
		t.Fatal(err)
	}
	server := httptest.NewUnstartedServer(cloud.Handler())
	server.Config.ErrorLog = log.New(io.Discard, "", 0)
	server.StartTLS()
	t.Cleanup(func() { server.Close(); cloud.Close() })
	access = accessTo(cloud)
	access.AuthURL = server.URL + "/identity/v3"
	return access, string(pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: server.Certificate().Raw}))
}

func TestCertificatesAreChecked(t *testing.T) {
	t.Parallel()
	access, authority := overTLS(t)
	certFile, _, _ := peertest.Certificate(t)
	other, err := os.ReadFile(certFile)
	if err != nil {
		t.Fatal(err)
	}
	all := x509.NewCertPool()
	all.AppendCertsFromPEM([]byte(authority))
	for _, row := range []struct {
		name     string
		trust    *x509.CertPool
		of       string // the VIM
		skip     bool
		accepted bool
	}{
		{"nobody is trusted who has signed it", nil, "", false, false},
		{"its authority is trusted for all VIMs", all, "", false, true},
		{"its authority is trusted for this VIM", nil, authority, false, true},
		{"one of several is its authority", nil, string(other) + authority, false, true},
		{"the VIM has another authority", all, string(other), false, false},
		{"it is not to be checked", nil, "", true, true},
	} {
		t.Run(row.name, func(t *testing.T) {
			t.Parallel()
			var logged bytes.Buffer
			driver := New(Config{Authorities: row.trust, Logger: slog.New(slog.NewTextHandler(&logged, nil))})
			vim := access
			vim.Authorities, vim.SkipVerify = row.of, row.skip
			_, err := driver.Regions(t.Context(), vim)
			if (err == nil) != row.accepted {
				t.Errorf("accepted %t: %v", row.accepted, err)
			}
			var rejected *lcm.Rejected
			if err != nil && (!errors.As(err, &rejected) || !strings.Contains(err.Error(), vim.AuthURL) || !strings.Contains(err.Error(), "unknown authority")) {
				t.Errorf("the error does not tell which VIM and why: %v", err)
			}
			if warned := strings.Contains(logged.String(), "level=WARN"); warned != row.skip {
				t.Errorf("the log warns: %t: %s", warned, &logged)
			}
		})
	}
}

// A login that was made with some trust is not used by who has another.
func TestSessionsBelongToATrust(t *testing.T) {
	t.Parallel()
	access, authority := overTLS(t)
	driver := New(Config{Logger: slog.New(slog.DiscardHandler)})
	trusting := access
	trusting.Authorities = authority
	careless := access
	careless.SkipVerify = true
	for _, vim := range []lcm.VimAccess{trusting, careless} {
		if _, err := driver.sessions.client(t.Context(), vim, heatService); err != nil {
			t.Fatal(err)
		}
	}
	if _, err := driver.sessions.client(t.Context(), access, heatService); err == nil || !strings.Contains(err.Error(), "certificate") {
		t.Errorf("the session of another trust is used: %v", err)
	}
}

// Whoever registers a VIM says where the server is to call.
func TestVimsThatAreNone(t *testing.T) {
	t.Parallel()
	endless := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		w.WriteHeader(http.StatusCreated)
		_, err := io.WriteString(w, `{"token": "`)
		for filling := []byte(strings.Repeat("a", 1<<20)); err == nil; {
			_, err = w.Write(filling)
		}
	}))
	t.Cleanup(endless.Close)
	for name, row := range map[string]struct{ url, want string }{
		"metadata service":      {"http://169.254.169.254/v3", "not one that this server calls"},
		"link-local":            {"http://[fe80::1]/v3", "not one that this server calls"},
		"answer without an end": {endless.URL + "/v3", "more than"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			access := lcm.VimAccess{AuthURL: row.url, Username: "u", Password: "geheim", Project: "p", ProjectDomain: "Default", UserDomain: "Default"}
			if _, err := New(Config{}).Regions(t.Context(), access); err == nil || !strings.Contains(err.Error(), row.want) {
				t.Errorf("%v, want %q", err, row.want)
			}
		})
	}
}
