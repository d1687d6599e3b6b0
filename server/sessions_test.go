package server_test

import (
	"encoding/base64"
	"fmt"
	"log/slog"
	"net/http"
	"net/url"
	"regexp"
	"strings"
	"sync"
	"testing"
	"time"

	"vnfm/server"
	"vnfm/server/ui"
)

func TestSignInAndOut(t *testing.T) {
	t.Parallel()
	b := guarded(t)
	in := newVisitor(t, b)
	a := in.get("/ui/operations?state=FAILED")
	if want := "/ui/sign-in?next=" + url.QueryEscape("/ui/operations?state=FAILED"); a.StatusCode != http.StatusSeeOther || a.Header.Get("Location") != want {
		t.Fatalf("%s %s, want %s", a.Status, a.Header.Get("Location"), want)
	}
	unknown := in.post("/ui/sign-in", url.Values{"user": {"nobody"}, "password": {"geheim"}})
	wrong := in.post("/ui/sign-in", url.Values{"user": {"nobody"}, "password": {"falsch"}})
	if unknown.StatusCode != http.StatusUnauthorized || string(unknown.body) != string(wrong.body) || strings.Contains(string(wrong.body), "falsch") {
		t.Errorf("an unknown user %s, a wrong password %s, which differ or tell it", unknown.Status, wrong.Status)
	}
	for next, want := range map[string]string{
		"/ui/operations?state=FAILED": "/ui/operations?state=FAILED", "": "/ui", "https://elsewhere.example/ui": "/ui", "//elsewhere.example/ui": "/ui",
		"/vnflcm/v1/vnf_instances": "/ui", `/ui/\elsewhere`: "/ui/%5Celsewhere", "/ui/../..//elsewhere.example": "/ui", "javascript:alert(1)": "/ui",
	} {
		a := in.post("/ui/sign-in", url.Values{"user": {"ann"}, "password": {"geheim"}, "next": {next}})
		if a.StatusCode != http.StatusSeeOther || a.Header.Get("Location") != want {
			t.Errorf("%q leads to %q, want %q", next, a.Header.Get("Location"), want)
		}
	}
	if a := in.get("/ui/vims"); a.StatusCode != http.StatusOK || !strings.Contains(string(a.body), "ann") {
		t.Errorf("%s %s", a.Status, a.body)
	}
	// The session is one of pages alone.
	if a := in.get("/vnflcm/v1/vnf_instances"); a.StatusCode != http.StatusUnauthorized {
		t.Errorf("the API takes the session: %s", a.Status)
	}
	if a := in.post("/ui/sign-out", url.Values{}); a.StatusCode != http.StatusSeeOther || len(in.client.Jar.Cookies(&url.URL{Scheme: "http", Host: "127.0.0.1", Path: "/ui"})) > 0 {
		t.Errorf("%s %s", a.Status, a.Header.Get("Set-Cookie"))
	}
	if a := in.get("/ui/vims"); a.StatusCode != http.StatusSeeOther {
		t.Errorf("signed out, and still there: %s", a.Status)
	}
}

func TestPasswordsThatAreGuessedInTheForm(t *testing.T) {
	t.Parallel()
	b := guarded(t)
	b.as(t, "ann").expect(http.StatusOK, http.MethodGet, "/v1.0/vims", "")
	in := newVisitor(t, b)
	guesses := 0
	for status := http.StatusUnauthorized; status == http.StatusUnauthorized; guesses++ {
		a := in.post("/ui/sign-in", url.Values{"user": {"ann"}, "password": {fmt.Sprint(guesses)}})
		if status = a.StatusCode; status == http.StatusTooManyRequests && (a.Header.Get("Retry-After") == "" || guesses < 20) {
			t.Errorf("guess %d: %s, Retry-After %q", guesses, a.Status, a.Header.Get("Retry-After"))
		}
		if guesses > 1000 {
			t.Fatal("a thousand guesses are judged")
		}
	}
	signedIn(t, b, "ann").get("/ui") // who has been in before
}

// Somebody guesses with the account of a person who has signed in at another process, or before this one has started.
func TestGuessesLockNobodyOutWhoIsSignedIn(t *testing.T) {
	t.Parallel()
	var seals ui.Seals
	b := guardedWith(t, func(config *server.Config) { seals = config.Seals })
	b.until(always("ann"), always(""))
	session := func(password string) string {
		value := fmt.Sprintf(`{"Header": "Authorization", "Value": "Basic %s", "Until": "%s"}`,
			base64.StdEncoding.EncodeToString([]byte("ann:"+password)), time.Now().Add(time.Hour).Format(time.RFC3339))
		return "vnfm=" + base64.RawURLEncoding.EncodeToString(seals.Seal("ui/sessions", []byte(value)))
	}
	for name, row := range map[string]struct {
		password, besides string // the Authorization header
		user              string // "": nobody is let in
	}{
		"a session":                                {"geheim", "", "ann"},
		"a session of before a new password":       {"of last year", "", ""},
		"besides it the token of a proxy":          {"geheim", "Bearer of-a-proxy", "ann"},
		"besides it the password of somebody else": {"geheim", basicOf("rita:geheim"), "rita"},
	} {
		header := []string{"Cookie", session(row.password)}
		if row.besides != "" {
			header = append(header, "Authorization", row.besides)
		}
		a := newVisitor(t, b).do(http.MethodGet, "/ui", nil, header...)
		if in := a.StatusCode == http.StatusOK; in != (row.user != "") || !strings.Contains(string(a.body), row.user) {
			t.Errorf("%s: %s %s", name, a.Status, a.body)
		}
	}
}

func basicOf(login string) string { return "Basic " + base64.StdEncoding.EncodeToString([]byte(login)) }

// lines is a writer that keeps what is logged.
type lines struct {
	mu   sync.Mutex
	text strings.Builder
}

// Write implements [io.Writer].
func (l *lines) Write(p []byte) (int, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.text.Write(p)
}

func (l *lines) String() string {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.text.String()
}

func TestSignInsAreLogged(t *testing.T) {
	t.Parallel()
	logged := &lines{}
	b := guardedWith(t, func(config *server.Config) { config.Logger = slog.New(slog.NewTextHandler(logged, nil)) })
	signedIn(t, b, "ann")
	if !regexp.MustCompile(`level=INFO msg="signed in" requestId=\S+ .*user=ann project=\S+ address=127\.0\.0\.1\n`).MatchString(logged.String()) ||
		strings.Contains(logged.String(), "geheim") {
		t.Errorf("%s", logged)
	}
}

func TestSessionsAreSealed(t *testing.T) {
	t.Parallel()
	var seals ui.Seals
	b := guardedWith(t, func(config *server.Config) {
		config.BehindProxy = true
		seals = config.Seals
	})
	a := newVisitor(t, b).post("/ui/sign-in", url.Values{"user": {"ann"}, "password": {"geheim"}})
	cookie := a.Cookies()[0]
	if cookie.Name != "__Host-vnfm" || !cookie.HttpOnly || !cookie.Secure || cookie.SameSite != http.SameSiteLaxMode || cookie.Path != "/" || cookie.Domain != "" {
		t.Errorf("%+v", cookie)
	}
	sealed, err := base64.RawURLEncoding.DecodeString(cookie.Value)
	if err != nil || strings.Contains(string(sealed), "Basic") || strings.Contains(string(sealed), "geheim") {
		t.Errorf("%q %v", sealed, err)
	}
	session := func(place, name string, until time.Time) string {
		value := fmt.Sprintf(`{"Header": "Authorization", "Value": "Basic %s", "Until": "%s"}`,
			base64.StdEncoding.EncodeToString([]byte(name+":geheim")), until.Format(time.RFC3339))
		return base64.RawURLEncoding.EncodeToString(seals.Seal(place, []byte(value)))
	}
	changed := append([]byte{}, sealed...)
	changed[len(changed)/2] ^= 1
	later := time.Now().Add(time.Hour)
	for name, row := range map[string]struct {
		value string
		good  bool
	}{
		"as given":                  {cookie.Value, true},
		"made by another process":   {session("ui/sessions", "ann", later), true},
		"changed":                   {base64.RawURLEncoding.EncodeToString(changed), false},
		"over":                      {session("ui/sessions", "ann", time.Now().Add(-time.Second)), false},
		"of a user who is gone":     {session("ui/sessions", "nobody", later), false},
		"sealed for something else": {session("elsewhere", "ann", later), false},
		"not sealed":                {base64.RawURLEncoding.EncodeToString([]byte(`{"Header": "Authorization", "Value": "x"}`)), false},
		"no base64":                 {"<script>", false},
		"empty":                     {"", false},
	} {
		a := newVisitor(t, b).do(http.MethodGet, "/ui", nil, "Cookie", "__Host-vnfm="+row.value)
		if good := a.StatusCode == http.StatusOK; good != row.good {
			t.Errorf("%s: %s", name, a.Status)
		}
	}
}
