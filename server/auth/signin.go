package auth

import (
	"cmp"
	"context"
	"crypto/sha256"
	"encoding/base64"
	"fmt"
	"net/http"
	"slices"
	"strings"

	"vnfm/api/access"

	"github.com/gophercloud/gophercloud/v2/openstack/identity/v3/tokens"
)

// Field is what a person has to type in to sign in.
type Field struct {
	Name     string
	Label    string
	Value    string // that is usual
	Complete string // the autocomplete attribute of HTML
	Secret   bool
	Optional bool
}

// Proof is a header by which every request proves who sends it.
type Proof struct{ Header, Value string }

// SameScheme reports whether another value of the header proves who sends a request in the same way: a password or an access token.
func (p *Proof) SameScheme(value string) bool {
	own, _, _ := strings.Cut(p.Value, " ")
	other, _, _ := strings.Cut(value, " ")
	return value != "" && (p.Header == tokenHeader || strings.EqualFold(own, other))
}

// signer is an authenticator that knows people by what they type in.
type signer interface {
	fields() []Field
	// signIn makes a proof of what was typed in; it may be wrong still. Its errors are those of authenticate.
	signIn(ctx context.Context, typed func(name string) string) (*Proof, error)
}

// Fields are those of the form by which people sign in; nil if they cannot, since they need a certificate.
func (g *Gate) Fields() []Field {
	if by, ok := g.by.(signer); ok {
		return by.fields()
	}
	return nil
}

// SignIn makes a proof of what somebody has typed into the fields, and tells who it is. *[Refused] and the other errors of [Gate.Admit] if nobody
// is let in with them.
func (g *Gate) SignIn(ctx context.Context, typed func(name string) string) (*Proof, *access.Caller, error) {
	by, ok := g.by.(signer)
	if !ok {
		return nil, nil, &Refused{"nobody signs in here: clients show certificates"}
	}
	proof, err := by.signIn(ctx, typed)
	if err != nil {
		return nil, nil, err
	}
	caller, err := g.Admit(proof.request(ctx))
	if err != nil {
		if endErr := g.SignOut(context.WithoutCancel(ctx), proof); endErr != nil {
			err = fmt.Errorf("%w; what was made to sign in is not ended: %v", err, endErr) //nolint:errorlint // the first is what counts
		}
		return nil, nil, err
	}
	return proof, caller, nil
}

// request is one with the proof, and nothing else.
func (p *Proof) request(ctx context.Context) *http.Request {
	request := (&http.Request{Header: http.Header{}}).WithContext(ctx)
	request.Header.Set(p.Header, p.Value)
	return request
}

// Typed is [Gate.Offered] of what somebody has typed into the fields. Passwords at Keystone are nowhere remembered, and it is Keystone that knows
// how often one may be tried for an account. A form that is not filled in is no guess.
func (g *Gate) Typed(ctx context.Context, typed func(name string) string) Offer {
	switch by := g.by.(type) {
	case *keystone:
		if by.complete(typed) {
			return Offer{Credentials: UnknownCredentials, Digest: digestOfForm(by.fields(), typed)}
		}
	case signer:
		if proof, err := by.signIn(ctx, typed); err == nil {
			return g.Offered(proof.request(ctx))
		}
	}
	return Offer{}
}

func digestOfForm(fields []Field, typed func(name string) string) Digest {
	var all strings.Builder
	for _, field := range fields {
		fmt.Fprintf(&all, "%q ", typed(field.Name))
	}
	return sha256.Sum256([]byte(all.String()))
}

// SignOut ends a proof that SignIn has made, where whoever knows them can.
func (g *Gate) SignOut(ctx context.Context, proof *Proof) error {
	by, ok := g.by.(interface {
		signOut(ctx context.Context, proof *Proof) error
	})
	if !ok {
		return nil
	}
	return by.signOut(ctx, proof)
}

const (
	userField     = "user"
	passwordField = "password"
	domainField   = "domain"
	projectField  = "project"
	tokenField    = "token"

	projectDomainField = "projectDomain"
)

func (*basic) fields() []Field {
	return []Field{
		{Name: userField, Label: "User", Complete: "username"},
		{Name: passwordField, Label: "Password", Complete: "current-password", Secret: true},
	}
}

func (*basic) signIn(_ context.Context, typed func(string) string) (*Proof, error) {
	if typed(userField) == "" {
		return nil, &Refused{"the user is missing"}
	}
	both := typed(userField) + ":" + typed(passwordField)
	return &Proof{"Authorization", "Basic " + base64.StdEncoding.EncodeToString([]byte(both))}, nil
}

func (*bearer) fields() []Field {
	return []Field{{Name: tokenField, Label: "Access token", Complete: "off", Secret: true}}
}

func (*bearer) signIn(_ context.Context, typed func(string) string) (*Proof, error) {
	if typed(tokenField) == "" {
		return nil, &Refused{"the access token is missing"}
	}
	return &Proof{"Authorization", "Bearer " + typed(tokenField)}, nil
}

func (*keystone) fields() []Field {
	return []Field{
		{Name: userField, Label: "User", Complete: "username"},
		{Name: passwordField, Label: "Password", Complete: "current-password", Secret: true},
		{Name: projectField, Label: "Project", Complete: "organization"},
		{Name: domainField, Label: "Domain of the user", Value: "Default", Complete: "off"},
		{Name: projectDomainField, Label: "Domain of the project, if it is another", Complete: "off", Optional: true},
	}
}

func (k *keystone) complete(typed func(string) string) bool {
	return !slices.ContainsFunc(k.fields(), func(of Field) bool { return !of.Optional && typed(of.Name) == "" })
}

// signIn has a token made, which is all that is kept.
func (k *keystone) signIn(ctx context.Context, typed func(string) string) (*Proof, error) {
	if !k.complete(typed) {
		return nil, &Refused{"the user, the password, the project or the domain is missing"}
	}
	domain := typed(domainField)
	token, err := tokens.Create(ctx, k.service(""), &tokens.AuthOptions{
		Username: typed(userField), Password: typed(passwordField), DomainName: domain,
		Scope: tokens.Scope{ProjectName: typed(projectField), DomainName: cmp.Or(typed(projectDomainField), domain)},
	}).ExtractTokenID()
	if err != nil {
		return nil, k.failure(err)
	}
	return &Proof{tokenHeader, token}, nil
}

// signOut has a token ended. Another proof is of a time at which the server knew people in another way.
func (k *keystone) signOut(ctx context.Context, proof *Proof) error {
	if proof.Header != tokenHeader {
		return nil
	}
	defer k.cache.forget(proof.Value)
	if err := tokens.Revoke(ctx, k.service(proof.Value), proof.Value).Err; err != nil {
		return k.failure(err)
	}
	return nil
}
