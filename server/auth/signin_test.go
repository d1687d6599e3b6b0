package auth_test

import (
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"net/http/httptest"
	"sync/atomic"
	"testing"
	"time"

	"vnfm/api/peer/peertest"
	"vnfm/server/auth"
)

// typed is what somebody has filled into a form.
func typed(values map[string]string) func(string) string {
	return func(name string) string { return values[name] }
}

// issuer is a Keystone with one account, which also makes and ends tokens.
type issuer struct {
	*identity
	revoked atomic.Int64
}

// issued is what is read of a request for a token.
type issued struct {
	Auth struct {
		Identity struct{ Password struct{ User account } }
		Scope    struct{ Project account }
	}
}

type account struct {
	Name, Password string
	Domain         struct{ Name string }
}

// ServeHTTP implements [http.Handler].
func (i *issuer) ServeHTTP(response http.ResponseWriter, request *http.Request) {
	switch request.Method {
	case http.MethodPost:
		var asked issued
		if err := json.NewDecoder(request.Body).Decode(&asked); err != nil {
			http.Error(response, err.Error(), http.StatusBadRequest)
			return
		}
		user, project := asked.Auth.Identity.Password.User, asked.Auth.Scope.Project
		if fmt.Sprint(user, project) != "{ann geheim {Default}} {demo  {Projects}}" {
			http.Error(response, `{"error": {"code": 401, "message": "`+user.Password+`"}}`, http.StatusUnauthorized)
			return
		}
		response.Header().Set("X-Subject-Token", "good")
		response.WriteHeader(http.StatusCreated)
		fmt.Fprint(response, i.tokens["good"])
	case http.MethodDelete:
		if request.Header.Get("X-Subject-Token") == "good" && request.Header.Get("X-Auth-Token") == "good" {
			i.revoked.Add(1)
		}
		response.WriteHeader(http.StatusNoContent)
	default:
		if i.revoked.Load() > 0 {
			http.Error(response, `{"error": {"code": 404}}`, http.StatusNotFound)
			return
		}
		i.identity.ServeHTTP(response, request)
	}
}

func TestSignInAtKeystone(t *testing.T) {
	t.Parallel()
	keystone := &issuer{identity: &identity{tokens: map[string]string{"good": tokenOf("p1", "member", time.Now().Add(time.Hour))}}}
	server := httptest.NewServer(keystone)
	t.Cleanup(server.Close)
	g := gate(t, auth.Options{Auth: "keystone", KeystoneURL: server.URL + "/identity"})
	right := map[string]string{"user": "ann", "password": "geheim", "domain": "Default", "project": "demo", "projectDomain": "Projects"}
	for _, field := range g.Fields() {
		if _, known := right[field.Name]; !known {
			t.Errorf("the form has %s", field.Name)
		}
	}
	proof, caller, err := g.SignIn(t.Context(), typed(right))
	if err != nil || *proof != (auth.Proof{Header: "X-Auth-Token", Value: "good"}) || caller.Project != "p1" {
		t.Fatalf("%+v, %+v, %v", proof, caller, err)
	}
	if err := g.SignOut(t.Context(), &auth.Proof{Header: "Authorization", Value: "Basic good"}); err != nil || keystone.revoked.Load() != 0 {
		t.Errorf("what is no token is ended at Keystone: %v", err)
	}
	if err := g.SignOut(t.Context(), proof); err != nil || keystone.revoked.Load() != 1 {
		t.Errorf("%d tokens were revoked, %v", keystone.revoked.Load(), err)
	}
	if _, err := g.Admit(ask(t, proof.Header, proof.Value)); !errors.As(err, new(*auth.Refused)) {
		t.Errorf("a token that was ended lets in: %v", err)
	}
	for name, change := range map[string]map[string]string{
		"wrong password": {"password": "falsch"}, "unknown user": {"user": "bob"}, "another project": {"project": "other"}, "no password": {"password": ""},
		"no project": {"project": ""}, "the domain of the user for the project": {"projectDomain": ""},
	} {
		wrong := map[string]string{}
		for field, value := range right {
			wrong[field] = value
		}
		for field, value := range change {
			wrong[field] = value
		}
		_, _, err := g.SignIn(t.Context(), typed(wrong))
		t.Run(name, func(t *testing.T) { refusedAs(t, err, http.StatusUnauthorized, "falsch") })
	}
	server.Close()
	_, _, err = g.SignIn(t.Context(), typed(right))
	refusedAs(t, err, http.StatusServiceUnavailable, "geheim")
}

// A token that lets nobody in is not left at Keystone.
func TestSignInThatIsDeniedLeavesNoToken(t *testing.T) {
	t.Parallel()
	keystone := &issuer{identity: &identity{tokens: map[string]string{"good": tokenOf("", "member", time.Now().Add(time.Hour))}}}
	server := httptest.NewServer(keystone)
	t.Cleanup(server.Close)
	g := gate(t, auth.Options{Auth: "keystone", KeystoneURL: server.URL + "/identity"})
	_, _, err := g.SignIn(t.Context(), typed(map[string]string{
		"user": "ann", "password": "geheim", "domain": "Default", "project": "demo", "projectDomain": "Projects"}))
	refusedAs(t, err, http.StatusForbidden, "geheim")
	if keystone.revoked.Load() != 1 {
		t.Errorf("%d tokens were revoked", keystone.revoked.Load())
	}
}

func TestSignIn(t *testing.T) {
	t.Parallel()
	hash, err := auth.Hash("geheim")
	if err != nil {
		t.Fatal(err)
	}
	users := peertest.File(t, "ann:"+hash+":p1:member\nlost:"+hash+"::member\n")
	a := newAuthority(t)
	oidc := auth.OIDCOptions{Issuer: a.URL, Audience: "vnfm", ProjectClaim: "project", RolesClaim: "roles"}
	for name, row := range map[string]struct {
		options auth.Options
		typed   map[string]string
		status  int
	}{
		"a password":         {auth.Options{Auth: "basic", UsersFile: users}, map[string]string{"user": "ann", "password": "geheim"}, 200},
		"a wrong password":   {auth.Options{Auth: "basic", UsersFile: users}, map[string]string{"user": "ann", "password": "falsch"}, 401},
		"an unknown user":    {auth.Options{Auth: "basic", UsersFile: users}, map[string]string{"user": "bob", "password": "geheim"}, 401},
		"nothing":            {auth.Options{Auth: "basic", UsersFile: users}, nil, 401},
		"without a project":  {auth.Options{Auth: "basic", UsersFile: users}, map[string]string{"user": "lost", "password": "geheim"}, 403},
		"an access token":    {auth.Options{Auth: "oidc", OIDC: oidc}, map[string]string{"token": a.token(t, a.signer, nil)}, 200},
		"no access token":    {auth.Options{Auth: "oidc", OIDC: oidc}, map[string]string{"token": "abc"}, 401},
		"with a certificate": {auth.Options{Auth: "tls", UsersFile: users}, map[string]string{"user": "ann", "password": "geheim"}, 401},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			g := gate(t, row.options)
			proof, _, err := g.SignIn(t.Context(), typed(row.typed))
			refusedAs(t, err, row.status, row.typed["password"])
			if err != nil {
				return
			}
			if caller, err := g.Admit(ask(t, proof.Header, proof.Value)); err != nil || caller.Project != "p1" {
				t.Errorf("%+v, %v", caller, err)
			}
		})
	}
}
