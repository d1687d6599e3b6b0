package grant_test

import (
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"net/url"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"vnfm/api/peer"
	"vnfm/api/peer/peertest"
	"vnfm/lcm"
	"vnfm/lcm/grant"
	"vnfm/lcm/grant/granttest"
)

func source(t *testing.T, options grant.Options) lcm.GrantSource {
	t.Helper()
	if options.Timeout == 0 {
		options.Timeout = 10 * time.Second
	}
	client, err := options.Source()
	if err != nil {
		t.Fatal(err)
	}
	return client
}

func request() *lcm.GrantRequest {
	return &lcm.GrantRequest{
		VnfInstanceID: "instance", VnfLcmOpOccID: "operation", VnfdID: "vnfd", FlavourID: "simple", Operation: lcm.OpInstantiate,
		AddResources: []lcm.ResourceDefinition{{ID: "1", Type: lcm.ResourceCompute, VduID: "worker", ResourceTemplateID: "worker"}},
		Links:        lcm.GrantRequestLinks{VnfLcmOpOcc: lcm.Link{Href: "/op"}, VnfInstance: lcm.Link{Href: "/vnf"}},
	}
}

// serve answers every request with a function.
func serve(t *testing.T, handler http.HandlerFunc) string {
	t.Helper()
	server := httptest.NewServer(handler)
	t.Cleanup(server.Close)
	return server.URL + granttest.Path
}

func TestRequestAndPoll(t *testing.T) {
	t.Parallel()
	nfvo := granttest.Start(t)
	nfvo.Answer(granttest.Later(1))
	client := source(t, grant.Options{URL: nfvo.URL()})
	answer, err := client.Request(t.Context(), request())
	if err != nil || answer.Grant != nil || answer.Location == "" {
		t.Fatalf("first answer %+v, %v", answer, err)
	}
	location := answer.Location
	if answer, err = client.Poll(t.Context(), location); err != nil || answer.Grant != nil || answer.Location != location {
		t.Fatalf("second answer %+v, %v", answer, err)
	}
	if answer, err = client.Poll(t.Context(), location); err != nil || answer.Grant == nil {
		t.Fatalf("third answer %+v, %v", answer, err)
	}
	if self := answer.Grant.Links.Self.Href; self != nfvo.URL()+"/"+answer.Grant.ID {
		t.Errorf("the grant is at %s", self)
	}
}

func TestHostileAndBrokenAnswers(t *testing.T) {
	t.Parallel()
	const good = `{"id": "g/../1", "_links": {"self": {"href": "javascript:alert(1)"}}}`
	located := func(status int, location string) http.HandlerFunc {
		return func(w http.ResponseWriter, _ *http.Request) {
			w.Header().Set("Location", location)
			w.WriteHeader(status)
		}
	}
	says := func(status int, body string) http.HandlerFunc {
		return func(w http.ResponseWriter, _ *http.Request) {
			w.WriteHeader(status)
			_, _ = io.WriteString(w, body)
		}
	}
	var elsewhere atomic.Int32
	other := serve(t, func(http.ResponseWriter, *http.Request) { elsewhere.Add(1) })
	t.Cleanup(func() {
		if elsewhere.Load() > 0 {
			t.Error("another server was asked")
		}
	})
	for _, row := range []struct {
		name    string
		handler http.HandlerFunc
		status  int // of the failure; 0 = the NFVO is unavailable
		says    string
	}{
		{"202 with a Location on another host", located(202, other), 502, "is not on http://"},
		{"202 with a Location of another scheme", located(202, "file:///etc/passwd"), 502, "is not on http://"},
		{"202 with user information in the Location", located(202, "//me:pw@"+strings.TrimPrefix(other, "http://")), 502, "is not on http://"},
		{"202 without a Location", located(202, ""), 502, "without a Location"},
		{"redirect", located(307, other), 502, "307"},
		{"no JSON", says(201, "geheim"), 502, "no Grant"},
		{"another shape", says(201, `{"id": {"password": "geheim"}}`), 502, "no Grant"},
		{"empty", says(200, ""), 502, "no Grant"},
		{"no id", says(201, "{}"), 502, "no id"},
		{"endless", says(201, `{"id": "`+strings.Repeat("x", 5<<20)), 502, "larger than"},
		{"no problem document", says(403, "<html>no</html>"), 403, "403 Forbidden"},
		{"a long problem", says(403, `{"detail": "`+strings.Repeat("x", 1<<20)+`"}`), 403, "x…"},
		{"unknown grant", says(404, `{"detail": "who are you"}`), 404, "who are you"},
		{"too many requests", says(429, ""), 0, "429"},
		{"server error", says(500, `{"detail": "out of memory"}`), 0, "out of memory"},
		{"connection cut", func(http.ResponseWriter, *http.Request) { panic(http.ErrAbortHandler) }, 0, "cannot be reached"},
		{"cut in the middle", func(w http.ResponseWriter, _ *http.Request) {
			w.Header().Set("Content-Length", "100")
			w.WriteHeader(http.StatusCreated)
			_, _ = io.WriteString(w, `{"id": "1"`)
			panic(http.ErrAbortHandler)
		}, 0, "cannot be reached"},
	} {
		t.Run(row.name, func(t *testing.T) {
			t.Parallel()
			_, err := source(t, grant.Options{URL: serve(t, row.handler)}).Request(t.Context(), request())
			var (
				failed      *lcm.Failure
				unavailable *lcm.Unavailable
			)
			switch {
			case err == nil || !strings.Contains(err.Error(), row.says) || strings.Contains(err.Error(), "geheim") || len(err.Error()) > 3000:
				t.Errorf("error %v, want one with %q", err, row.says)
			case row.status == 0 && !errors.As(err, &unavailable), row.status != 0 && (!errors.As(err, &failed) || failed.Status != row.status):
				t.Errorf("error %T %+v, want one of status %d", err, err, row.status)
			}
		})
	}
	t.Run("poll elsewhere", func(t *testing.T) {
		t.Parallel()
		if _, err := source(t, grant.Options{URL: serve(t, says(200, good))}).Poll(t.Context(), other); !errors.As(err, new(*lcm.Failure)) {
			t.Errorf("error %v", err)
		}
	})
	t.Run("link of the grant", func(t *testing.T) {
		t.Parallel()
		address := serve(t, says(201, good))
		answer, err := source(t, grant.Options{URL: address}).Request(t.Context(), request())
		if err != nil {
			t.Fatal(err)
		}
		if want := address + "/" + url.PathEscape("g/../1"); answer.Grant.Links.Self.Href != want {
			t.Errorf("link %s, want %s", answer.Grant.Links.Self.Href, want)
		}
	})
	t.Run("silence", func(t *testing.T) {
		t.Parallel()
		nfvo := granttest.Start(t)
		nfvo.Answer(granttest.Silence())
		_, err := source(t, grant.Options{URL: nfvo.URL(), Timeout: 50 * time.Millisecond}).Request(t.Context(), request())
		if !errors.As(err, new(*lcm.Unavailable)) {
			t.Errorf("error %v", err)
		}
	})
}

func TestBasic(t *testing.T) {
	t.Parallel()
	nfvo := granttest.New(t)
	address := serve(t, func(w http.ResponseWriter, r *http.Request) {
		if user, password, ok := r.BasicAuth(); !ok || user != "vnfm" || password != "streng geheim" {
			w.WriteHeader(http.StatusUnauthorized)
			return
		}
		nfvo.ServeHTTP(w, r)
	})
	for password, granted := range map[string]bool{"streng geheim\n": true, "falsch": false} {
		client := source(t, grant.Options{URL: address, Access: peer.Access{Username: "vnfm", PasswordFile: peertest.File(t, password)}})
		answer, err := client.Request(t.Context(), request())
		if granted != (err == nil && answer.Grant != nil) || err != nil && strings.Contains(err.Error(), "falsch") {
			t.Errorf("password %q: %+v, %v", password, answer, err)
		}
	}
}

// TestOAuth2 has tokens that the NFVO stops accepting: a new one is fetched, once, and not one for every request.
func TestOAuth2(t *testing.T) {
	t.Parallel()
	nfvo := granttest.New(t)
	var issued, accepted atomic.Int32
	accepted.Store(1)
	tokens := serve(t, func(w http.ResponseWriter, r *http.Request) {
		user, password, _ := r.BasicAuth()
		if err := r.ParseForm(); err != nil || r.Form.Get("grant_type") != "client_credentials" || user != "client" || password != "geheim" {
			w.Header().Set("Content-Type", "application/json")
			w.WriteHeader(http.StatusUnauthorized)
			fmt.Fprintf(w, `{"error": "invalid_client", "error_description": "you sent %s"}`, password)
			return
		}
		w.Header().Set("Content-Type", "application/json")
		fmt.Fprintf(w, `{"access_token": "token-%d", "token_type": "Bearer", "expires_in": 3600}`, issued.Add(1))
	})
	address := serve(t, func(w http.ResponseWriter, r *http.Request) {
		if r.Header.Get("Authorization") != fmt.Sprintf("Bearer token-%d", accepted.Load()) {
			w.WriteHeader(http.StatusUnauthorized)
			return
		}
		nfvo.ServeHTTP(w, r)
	})
	options := grant.Options{URL: address, Access: peer.Access{TokenURL: tokens, ClientID: "client", ClientSecretFile: peertest.File(t, "geheim")}}
	client := source(t, options)
	ask := func(tokens int32) {
		t.Helper()
		if answer, err := client.Request(t.Context(), request()); err != nil || answer.Grant == nil || issued.Load() != tokens {
			t.Errorf("%+v, %v, after %d tokens, want %d", answer, err, issued.Load(), tokens)
		}
	}
	ask(1)
	ask(1)
	accepted.Store(2)
	ask(2)
	accepted.Store(9)
	if _, err := client.Request(t.Context(), request()); !errors.As(err, new(*lcm.Failure)) {
		t.Errorf("tokens that are never accepted: %v", err)
	}

	options.ClientSecretFile = peertest.File(t, "falsch")
	_, err := source(t, options).Request(t.Context(), request())
	if !errors.As(err, new(*lcm.Failure)) || !strings.Contains(err.Error(), "invalid_client") || strings.Contains(err.Error(), "falsch") {
		t.Errorf("wrong secret: %v", err)
	}
	options.TokenURL = serve(t, func(w http.ResponseWriter, _ *http.Request) { w.WriteHeader(http.StatusServiceUnavailable) })
	if _, err := source(t, options).Request(t.Context(), request()); !errors.As(err, new(*lcm.Unavailable)) {
		t.Errorf("token endpoint in trouble: %v", err)
	}
	options.TokenURL = serve(t, func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Location", address)
		w.WriteHeader(http.StatusTemporaryRedirect)
	})
	if _, err := source(t, options).Request(t.Context(), request()); !errors.As(err, new(*lcm.Failure)) {
		t.Errorf("token endpoint that redirects: %v", err)
	}
}
