package main

import (
	"crypto/tls"
	"encoding/base64"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"strings"
	"testing"
	"time"

	"golang.org/x/crypto/bcrypt"

	"vnfm/api/peer/peertest"
)

// caller is what somebody shows who is let in, and who is not.
type caller struct {
	options     []string
	header      string
	good, wrong string
	away        string // for a token about which nobody can be asked; "" = nobody is asked
}

// callers has people call in every way in which they can prove who they are, and fail to.
func (s *secretive) callers(t *testing.T) {
	t.Helper()
	for name, way := range map[string]caller{"basic": s.basic(t), "keystone": s.keystone(t), "oidc": s.oidc(t)} {
		p := s.serve(append(way.options, "--auth", name, "--log-level", "debug", "--otlp-endpoint", s.collector.URL)...)
		s.watch(p)
		checked := p.client.Transport
		for value, status := range map[string]int{way.good: http.StatusCreated, way.wrong: http.StatusUnauthorized, way.away: http.StatusServiceUnavailable} {
			if value == "" {
				continue
			}
			p.client.Transport = s.through(roundTripper(func(request *http.Request) (*http.Response, error) {
				request = request.Clone(request.Context())
				request.Header.Set(way.header, value)
				return checked.RoundTrip(request)
			}))
			p.expect(status, http.MethodPost, "/vnfpkgm/v1/vnf_packages", map[string]any{}, nil)
		}
		p.terminate()
		s.add("log", []byte(p.log.String()))
	}
}

func (s *secretive) basic(t *testing.T) caller {
	t.Helper()
	hash, err := bcrypt.GenerateFromPassword([]byte(mark("ann")), bcrypt.MinCost)
	if err != nil {
		t.Fatal(err)
	}
	users := peertest.File(t, "ann:"+string(hash)+":p1:admin\n")
	proof := func(password string) string {
		return "Basic " + base64.StdEncoding.EncodeToString([]byte("ann:"+password))
	}
	return caller{options: []string{"--auth-users-file", users}, header: "Authorization", good: proof(mark("ann")), wrong: proof(mark("bob"))}
}

// asked is a service that is asked about tokens. It repeats those that it does not know.
func asked(t *testing.T, known string, answer func(w http.ResponseWriter, r *http.Request)) string {
	t.Helper()
	service := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		body, _ := io.ReadAll(r.Body)
		told := fmt.Sprint(string(body), r.Header)
		switch {
		case strings.Contains(told, mark("away")):
			http.Error(w, told, http.StatusInternalServerError)
		case strings.Contains(told, known):
			answer(w, r)
		case r.Method == http.MethodPost: // RFC 7662
			_ = json.NewEncoder(w).Encode(map[string]any{"active": false, "error_description": told})
		default:
			http.Error(w, told, http.StatusUnauthorized)
		}
	}))
	t.Cleanup(service.Close)
	return service.URL
}

func (s *secretive) keystone(t *testing.T) caller {
	t.Helper()
	url := asked(t, mark("keystone"), func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("X-Subject-Token", r.Header.Get("X-Subject-Token"))
		_ = json.NewEncoder(w).Encode(map[string]any{"token": map[string]any{
			"user": map[string]any{"id": "u1", "name": "ann"}, "project": map[string]any{"id": "p1"}, "roles": []any{map[string]any{"name": "admin"}},
			"expires_at": time.Now().Add(time.Hour).UTC().Format(time.RFC3339)}})
	})
	return caller{options: []string{"--auth-keystone-url", url}, header: "X-Auth-Token", good: mark("keystone"), wrong: mark("unknown"), away: mark("away")}
}

func (s *secretive) oidc(t *testing.T) caller {
	t.Helper()
	url := asked(t, mark("bearer"), func(w http.ResponseWriter, r *http.Request) {
		if _, secret, _ := r.BasicAuth(); secret != mark("introspection") {
			t.Errorf("the server asks with the secret %q", secret)
		}
		_ = json.NewEncoder(w).Encode(map[string]any{"active": true, "sub": "u1", "project": "p1", "roles": []string{"admin"}, "aud": "vnfm",
			"exp": time.Now().Add(time.Hour).Unix()})
	})
	return caller{options: []string{"--auth-oidc-introspection-url", url, "--auth-oidc-client-id", "vnfm",
		"--auth-oidc-client-secret-file", peertest.File(t, mark("introspection"))}, header: "Authorization",
		good: "Bearer " + mark("bearer"), wrong: "Bearer " + mark("unknown"), away: "Bearer " + mark("away")}
}

// alsoFile makes the lines of a file with a key known as secrets.
func (s *secretive) alsoFile(name string) {
	s.evidence.t.Helper()
	content, err := os.ReadFile(name)
	if err != nil {
		s.evidence.t.Fatal(err)
	}
	for line := range strings.Lines(string(content)) {
		if !strings.HasPrefix(line, "-----") {
			s.also(strings.TrimSpace(line))
		}
	}
}

// tls serves with a certificate, to clients of which one does not know its authority.
func (s *secretive) tls(t *testing.T) {
	t.Helper()
	certificate, key, authority := peertest.Certificate(t)
	s.alsoFile(key)
	p := &process{t: t, log: &journal{}, ended: make(chan error, 1)}
	p.command = command(t, "serve", "--database-url", s.database, "--secret-key-file", s.key, "--listen", "127.0.0.1:0", "--log-level", "debug",
		"--log-format", "text", "--tls-cert-file", certificate, "--tls-key-file", key)
	p.command.Stderr = p.log
	if err := p.command.Start(); err != nil {
		t.Fatal(err)
	}
	go func() { p.ended <- p.command.Wait() }()
	t.Cleanup(p.kill)
	p.until("serving", func() bool {
		_, text, found := strings.Cut(p.log.String(), "msg=serving address=")
		p.url, _, _ = strings.Cut(text, " ")
		return found
	})
	s.watch(p)
	for _, config := range []*tls.Config{{RootCAs: authority}, {}} {
		client := &http.Client{Transport: s.through(&http.Transport{TLSClientConfig: config})}
		response, err := client.Get("https://" + p.url + "/vnflcm/v1/vnf_instances")
		if (err == nil) != (config.RootCAs != nil) {
			t.Errorf("got %v", err)
		}
		if err == nil {
			response.Body.Close()
		}
	}
	p.terminate()
	s.add("log", []byte(p.log.String()))
}
