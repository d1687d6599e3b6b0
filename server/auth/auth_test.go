package auth_test

import (
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"net/http/httptest"
	"os"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/go-jose/go-jose/v4"
	"github.com/go-jose/go-jose/v4/jwt"
	"github.com/google/go-cmp/cmp"

	"vnfm/api/access"
	"vnfm/api/peer/peertest"
	"vnfm/server/auth"
)

// gate returns what lets requests in; the options must be right.
func gate(t *testing.T, options auth.Options) *auth.Gate {
	t.Helper()
	found, err := options.Gate()
	if err != nil {
		t.Fatal(err)
	}
	return found
}

// ask is a request with one header.
func ask(t *testing.T, header, value string) *http.Request {
	t.Helper()
	request := httptest.NewRequestWithContext(t.Context(), http.MethodGet, "/", nil)
	request.Header.Set(header, value)
	return request
}

// refusedAs checks of which kind an error is, and that it does not hold a secret.
func refusedAs(t *testing.T, err error, status int, secret string) {
	t.Helper()
	got := http.StatusOK
	switch {
	case errors.As(err, new(*auth.Refused)):
		got = http.StatusUnauthorized
	case errors.As(err, new(*access.Denied)):
		got = http.StatusForbidden
	case errors.As(err, new(*auth.Unavailable)):
		got = http.StatusServiceUnavailable
	}
	if got != status || err != nil && secret != "" && strings.Contains(err.Error(), secret) {
		t.Errorf("error %v is one for status %d, want %d without %q", err, got, status, secret)
	}
}

// allows reports whether a caller may do something.
func allows(g *auth.Gate, caller *access.Caller, action string) bool {
	_, err := g.Allow(caller, action)
	return err == nil
}

// everywhere reports whether it may do so in all projects.
func everywhere(g *auth.Gate, caller *access.Caller, action string) bool {
	let, err := g.Allow(caller, action)
	return err == nil && let.Everywhere
}

// identity is the Identity service of OpenStack as far as it tells whose a token is.
type identity struct {
	asked  atomic.Int64
	mu     sync.Mutex
	tokens map[string]string // what it says of them
	status int               // 0 = as it should
}

func (i *identity) ServeHTTP(response http.ResponseWriter, request *http.Request) {
	i.asked.Add(1)
	i.mu.Lock()
	defer i.mu.Unlock()
	token := request.Header.Get("X-Subject-Token")
	said, known := i.tokens[token]
	switch {
	case i.status != 0:
		response.WriteHeader(i.status)
	case request.URL.Path != "/identity/v3/auth/tokens" || request.Header.Get("X-Auth-Token") != token || !known:
		http.Error(response, `{"error": {"code": 401, "message": "no `+token+`"}}`, http.StatusUnauthorized)
	default:
		response.Header().Set("X-Subject-Token", token)
		fmt.Fprint(response, said)
	}
}

// tokenOf is what Keystone says of a token.
func tokenOf(project, role string, until time.Time) string {
	scope := ""
	if project != "" {
		scope = `"project": {"id": "` + project + `", "name": "demo", "domain": {"id": "default", "name": "Default"}},`
	}
	return `{"token": {"methods": ["password"], ` + scope + `"user": {"id": "u1", "name": "ann", "domain": {"id": "default", "name": "Default"}},
		"roles": [{"id": "r1", "name": "` + role + `"}], "expires_at": "` + until.UTC().Format("2006-01-02T15:04:05.000000Z") + `"}}`
}

func TestKeystone(t *testing.T) {
	t.Parallel()
	soon := time.Now().Add(time.Hour)
	keystone := &identity{tokens: map[string]string{
		"good": tokenOf("p1", "member", soon), "unscoped": tokenOf("", "member", soon), "system": tokenOf("", "admin", soon),
		"short": tokenOf("p1", "member", time.Now().Add(-time.Second)),
	}}
	server := httptest.NewServer(keystone)
	t.Cleanup(server.Close)
	g := gate(t, auth.Options{Auth: "keystone", KeystoneURL: server.URL + "/identity/"})
	if want := `Keystone uri="` + server.URL + `/identity/v3"`; g.Challenge() != want {
		t.Errorf("challenge %s, want %s", g.Challenge(), want)
	}
	var group sync.WaitGroup
	for range 20 {
		group.Go(func() {
			caller, err := g.Admit(ask(t, "X-Auth-Token", "good"))
			want := &access.Caller{User: "u1", Name: "ann", Project: "p1", Roles: []string{"member"}}
			if diff := cmp.Diff(want, caller); err != nil || diff != "" {
				t.Errorf("%v %s", err, diff)
			}
		})
	}
	group.Wait()
	if asked := keystone.asked.Load(); asked != 1 {
		t.Errorf("Keystone was asked %d times about one token", asked)
	}
	for range 2 { // a token that is over is asked about each time
		if _, err := g.Admit(ask(t, "X-Auth-Token", "short")); err != nil {
			t.Error(err)
		}
	}
	if asked := keystone.asked.Load(); asked != 3 {
		t.Errorf("Keystone was asked %d times, want 3", asked)
	}
	if caller, err := g.Admit(ask(t, "X-Auth-Token", "system")); err != nil || !everywhere(g, caller, "vims:read") {
		t.Errorf("got %+v, %v", caller, err)
	}
	_, err := g.Admit(ask(t, "X-Auth-Token", "unscoped"))
	refusedAs(t, err, http.StatusForbidden, "unscoped")
	_, err = g.Admit(ask(t, "X-Auth-Token", "made-up"))
	refusedAs(t, err, http.StatusUnauthorized, "made-up")
	_, err = g.Admit(ask(t, "Authorization", "Bearer good"))
	refusedAs(t, err, http.StatusUnauthorized, "")
	keystone.mu.Lock()
	keystone.status = http.StatusInternalServerError
	keystone.mu.Unlock()
	_, err = g.Admit(ask(t, "X-Auth-Token", "another"))
	refusedAs(t, err, http.StatusServiceUnavailable, "another")
	if _, err := g.Admit(ask(t, "X-Auth-Token", "good")); err != nil { // it is remembered
		t.Error(err)
	}
	server.Close()
	_, err = g.Admit(ask(t, "X-Auth-Token", "another"))
	refusedAs(t, err, http.StatusServiceUnavailable, "another")
}

// authority is an authorization server.
type authority struct {
	*httptest.Server
	key    *ecdsa.PrivateKey
	signer jose.Signer
}

func newAuthority(t *testing.T) *authority {
	t.Helper()
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	a := &authority{key: key}
	a.signer = signer(t, jose.SigningKey{Algorithm: jose.ES256, Key: jose.JSONWebKey{Key: key, KeyID: "k1"}})
	mux := http.NewServeMux()
	answer := func(path string, value func() any) {
		mux.HandleFunc(path, func(response http.ResponseWriter, _ *http.Request) {
			response.Header().Set("Content-Type", "application/json")
			_ = json.NewEncoder(response).Encode(value())
		})
	}
	answer("/.well-known/openid-configuration", func() any {
		return map[string]any{"issuer": a.URL, "jwks_uri": a.URL + "/keys", "id_token_signing_alg_values_supported": []string{"ES256"},
			"authorization_endpoint": a.URL + "/auth", "token_endpoint": a.URL + "/token"}
	})
	answer("/keys", func() any {
		return jose.JSONWebKeySet{Keys: []jose.JSONWebKey{{Key: key.Public(), KeyID: "k1", Algorithm: "ES256", Use: "sig"}}}
	})
	mux.HandleFunc("/introspect", func(response http.ResponseWriter, request *http.Request) {
		if user, password, _ := request.BasicAuth(); user != "vnfm-client" || password != "hoechst-geheim" {
			response.WriteHeader(http.StatusUnauthorized)
			return
		}
		response.Header().Set("Content-Type", "application/json")
		switch request.PostFormValue("token") {
		case "opaque":
			fmt.Fprint(response, `{"active": true, "sub": "u2", "aud": "vnfm", "project": "p2", "scope": "reader other"}`)
		case "elsewhere":
			fmt.Fprint(response, `{"active": true, "sub": "u2", "aud": ["other"], "project": "p2", "scope": "reader"}`)
		case "broken":
			fmt.Fprint(response, `<html>`)
		default:
			fmt.Fprint(response, `{"active": false}`)
		}
	})
	a.Server = httptest.NewServer(mux)
	t.Cleanup(a.Close)
	return a
}

func signer(t *testing.T, key jose.SigningKey) jose.Signer {
	t.Helper()
	made, err := jose.NewSigner(key, (&jose.SignerOptions{}).WithType("at+jwt"))
	if err != nil {
		t.Fatal(err)
	}
	return made
}

// token is a signed access token with claims in place of the right ones.
func (a *authority) token(t *testing.T, by jose.Signer, claims map[string]any) string {
	t.Helper()
	all := map[string]any{"iss": a.URL, "aud": "vnfm", "sub": "u1", "preferred_username": "ann", "exp": time.Now().Add(time.Hour).Unix(),
		"project": "p1", "roles": []string{"member"}, "scope": "extra"}
	for name, value := range claims {
		all[name] = value
	}
	signed, err := jwt.Signed(by).Claims(all).Serialize()
	if err != nil {
		t.Fatal(err)
	}
	return signed
}

func TestAccessTokens(t *testing.T) {
	t.Parallel()
	a := newAuthority(t)
	g := gate(t, auth.Options{Auth: "oidc", OIDC: auth.OIDCOptions{Issuer: a.URL, Audience: "vnfm", ProjectClaim: "project", RolesClaim: "roles"}})
	other, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	forged := signer(t, jose.SigningKey{Algorithm: jose.ES256, Key: jose.JSONWebKey{Key: other, KeyID: "k1"}})
	// The public key taken for a shared secret: the attack on readers that let the token choose the algorithm.
	public, err := jose.JSONWebKey{Key: a.key.Public()}.MarshalJSON()
	if err != nil {
		t.Fatal(err)
	}
	symmetric := signer(t, jose.SigningKey{Algorithm: jose.HS256, Key: public})
	for name, row := range map[string]struct {
		token  string
		status int
	}{
		"a good one":             {a.token(t, a.signer, nil), 200},
		"of another issuer":      {a.token(t, a.signer, map[string]any{"iss": "https://elsewhere"}), 401},
		"for somebody else":      {a.token(t, a.signer, map[string]any{"aud": "other"}), 401},
		"expired":                {a.token(t, a.signer, map[string]any{"exp": time.Now().Add(-time.Hour).Unix()}), 401},
		"not yet good":           {a.token(t, a.signer, map[string]any{"nbf": time.Now().Add(time.Hour).Unix()}), 401},
		"signed by another":      {a.token(t, forged, nil), 401},
		"signed symmetrically":   {a.token(t, symmetric, nil), 401},
		"not signed":             {"eyJhbGciOiJub25lIn0.eyJzdWIiOiJ1MSJ9.", 401},
		"no token":               {"abc", 401},
		"without a project":      {a.token(t, a.signer, map[string]any{"project": ""}), 403},
		"of a role of no weight": {a.token(t, a.signer, map[string]any{"roles": []string{}, "scope": "member"}), 200},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			caller, err := g.Admit(ask(t, "Authorization", "bearer "+row.token))
			refusedAs(t, err, row.status, row.token)
			if name == "a good one" {
				want := &access.Caller{User: "u1", Name: "ann", Project: "p1", Roles: []string{"member"}}
				if diff := cmp.Diff(want, caller); diff != "" {
					t.Error(diff)
				}
			}
			if err == nil && allows(g, caller, "instances:write") != (name == "a good one") {
				t.Errorf("%v", caller)
			}
		})
	}
	t.Run("authorization server away", func(t *testing.T) {
		t.Parallel()
		away := gate(t, auth.Options{Auth: "oidc", OIDC: auth.OIDCOptions{Issuer: "http://127.0.0.1:1", Audience: "vnfm"}})
		_, err := away.Admit(ask(t, "Authorization", "Bearer abc"))
		refusedAs(t, err, http.StatusServiceUnavailable, "abc")
	})
}

func TestIntrospection(t *testing.T) {
	t.Parallel()
	a := newAuthority(t)
	options := auth.OIDCOptions{
		IntrospectionURL: a.URL + "/introspect", Audience: "vnfm", ProjectClaim: "project", RolesClaim: "scope", ClientID: "vnfm-client",
		ClientSecretFile: peertest.File(t, "hoechst-geheim\n"),
	}
	g := gate(t, auth.Options{Auth: "oidc", OIDC: options})
	for token, status := range map[string]int{"opaque": 200, "elsewhere": 401, "unknown": 401, "broken": 503} {
		caller, err := g.Admit(ask(t, "Authorization", "Bearer "+token))
		refusedAs(t, err, status, "hoechst-geheim")
		if err == nil && (caller.Project != "p2" || !allows(g, caller, "vims:read") || allows(g, caller, "vims:write")) {
			t.Errorf("%+v", caller)
		}
	}
	options.ClientSecretFile = peertest.File(t, "falsch")
	_, err := gate(t, auth.Options{Auth: "oidc", OIDC: options}).Admit(ask(t, "Authorization", "Bearer opaque"))
	refusedAs(t, err, http.StatusServiceUnavailable, "falsch")
}

func TestUsersOfAFile(t *testing.T) {
	t.Parallel()
	hash := func(password string) string {
		made, err := auth.Hash(password)
		if err != nil {
			t.Fatal(err)
		}
		return made
	}
	secret := hash("geheim")
	path := peertest.File(t, "# users\n\nann:"+secret+":p1:member,reader\ncert:-:p1:member\n")
	g := gate(t, auth.Options{Auth: "basic", UsersFile: path})
	admit := func(user, password string) error {
		request := httptest.NewRequestWithContext(t.Context(), http.MethodGet, "/", nil)
		request.SetBasicAuth(user, password)
		_, err := g.Admit(request)
		return err
	}
	refusedAs(t, admit("ann", "geheim"), 200, "")
	refusedAs(t, admit("ann", "geheim!"), 401, "geheim!")
	refusedAs(t, admit("bob", "geheim"), 401, "geheim")
	refusedAs(t, admit("cert", "-"), 401, "")
	refusedAs(t, admit("cert", ""), 401, "")
	// What the user may do, and a new password, count at once.
	if err := os.WriteFile(path, []byte("ann:"+secret+":p1:nothing\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	request := httptest.NewRequestWithContext(t.Context(), http.MethodGet, "/", nil)
	request.SetBasicAuth("ann", "geheim")
	if caller, err := g.Admit(request); err != nil || allows(g, caller, "vims:read") {
		t.Errorf("%+v %v", caller, err)
	}
	if err := os.WriteFile(path, []byte("ann:"+hash("neu")+":p1:member\nbob:"+hash("geheim")+":p2:member\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	refusedAs(t, admit("ann", "geheim"), 401, "")
	refusedAs(t, admit("ann", "neu"), 200, "")
	refusedAs(t, admit("bob", "geheim"), 200, "")
	if err := os.Remove(path); err != nil {
		t.Fatal(err)
	}
	refusedAs(t, admit("ann", "neu"), 503, "")
}

func TestOptionsThatAreWrong(t *testing.T) {
	t.Parallel()
	users := peertest.File(t, "ann:-:p1:member\n")
	for name, row := range map[string]struct {
		options auth.Options
		detail  string
	}{
		"no Keystone":               {auth.Options{Auth: "keystone"}, "--auth-keystone-url"},
		"Keystone in clear":         {auth.Options{Auth: "keystone", KeystoneURL: "http://keystone.example:5000"}, "https"},
		"no authority of Keystone":  {auth.Options{Auth: "keystone", KeystoneURL: "https://k", KeystoneCA: "/none"}, "--auth-keystone-ca-file"},
		"no issuer":                 {auth.Options{Auth: "oidc"}, "--auth-oidc-issuer"},
		"two ways to know":          {auth.Options{Auth: "oidc", OIDC: auth.OIDCOptions{Issuer: "https://a", IntrospectionURL: "https://b"}}, "either"},
		"no users":                  {auth.Options{Auth: "basic"}, "--auth-users-file"},
		"users that are not there":  {auth.Options{Auth: "basic", UsersFile: "/none"}, "/none"},
		"users with a bad line":     {auth.Options{Auth: "basic", UsersFile: peertest.File(t, "ann:-:p1\n")}, "line 1"},
		"password in clear":         {auth.Options{Auth: "basic", UsersFile: peertest.File(t, "\nann:geheim:p1:member\n")}, "line 2: the hash"},
		"user twice":                {auth.Options{Auth: "tls", UsersFile: peertest.File(t, "ann:-:p1:a\nann:-:p2:a\n")}, "twice"},
		"policy not there":          {auth.Options{Auth: "tls", UsersFile: users, PolicyFile: "/none"}, "--auth-policy-file"},
		"policy without roles":      {auth.Options{Auth: "tls", UsersFile: users, PolicyFile: peertest.File(t, "")}, "no role"},
		"policy of unknown words":   {auth.Options{Auth: "tls", UsersFile: users, PolicyFile: peertest.File(t, "roles: {a: {permit: []}}")}, "permit"},
		"policy of unknown actions": {auth.Options{Auth: "tls", UsersFile: users, PolicyFile: peertest.File(t, `roles: {a: {allow: ["vims:delete"]}}`)}, "vims:delete"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			if _, err := row.options.Gate(); err == nil || !strings.Contains(err.Error(), row.detail) {
				t.Errorf("error %v, want one with %q", err, row.detail)
			}
		})
	}
}

func TestPolicyFile(t *testing.T) {
	t.Parallel()
	policy := peertest.File(t, `
roles:
  observer: {everywhere: true, allow: ["*:read"]}
  onboarder: {allow: ["packages:*", "vims:read"]}
`)
	hash, err := auth.Hash("geheim")
	if err != nil {
		t.Fatal(err)
	}
	users := peertest.File(t, "olga:"+hash+"::observer\notto:"+hash+":p1:onboarder, none\nulla:"+hash+":p1:onboarder,observer\n")
	g := gate(t, auth.Options{Auth: "basic", UsersFile: users, PolicyFile: policy})
	for user, may := range map[string]map[string]bool{
		"olga": {"packages:read": true, "audit:read": true, "packages:write": false},
		"otto": {"packages:write": true, "packages:read": true, "vims:read": true, "vims:write": false, "instances:read": false},
		"ulla": {"packages:write": true, "instances:read": true, "instances:write": false},
	} {
		request := httptest.NewRequestWithContext(t.Context(), http.MethodGet, "/", nil)
		request.SetBasicAuth(user, "geheim")
		caller, err := g.Admit(request)
		if err != nil || everywhere(g, caller, "instances:read") != (user != "otto") || everywhere(g, caller, "packages:write") {
			t.Fatalf("%s: %+v %v", user, caller, err)
		}
		for action, want := range may {
			if allows(g, caller, action) != want {
				t.Errorf("%s: %s %v", user, action, !want)
			}
		}
	}
}
