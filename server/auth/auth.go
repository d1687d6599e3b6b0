// Package auth finds out who sends a request, and says what they may do.
//
//	gate, err := options.Gate() // nil if nobody is asked
//	caller, err := gate.Admit(request)
//	if err == nil && !gate.Allows(caller, "instances:write") { … }
package auth

import (
	"crypto/sha256"
	"net/http"

	"vnfm/api/access"
)

// authenticator is one way to find out who sends a request. Its errors are *[Refused], *[Unavailable], or *[access.Denied].
type authenticator interface {
	authenticate(request *http.Request) (*access.Caller, error)
	// offered tells what is remembered of the credentials that a request has.
	offered(request *http.Request) Credentials
	// challenge is the value of WWW-Authenticate: how a client has to say who it is (RFC 9110 11.6.1).
	challenge() string
}

// Credentials is what is remembered of those of a request.
type Credentials int

// Who guesses sends unknown credentials, each once.
const (
	NoCredentials      Credentials = iota // also those that cannot be guessed
	UnknownCredentials                    // never seen, as far as is remembered
	GoodCredentials                       // they were good once; they may be good no longer
	BadCredentials                        // they were refused last
)

// Refused says that a request does not prove who sends it; the client gets 401.
type Refused struct{ Detail string }

// Error implements error.
func (e *Refused) Error() string { return e.Detail }

// Unavailable says that whoever knows the clients does not answer; the client gets 503.
type Unavailable struct {
	Peer string
	Err  error
}

// Error implements error.
func (e *Unavailable) Error() string {
	return e.Peer + " cannot be reached to authenticate: " + e.Err.Error()
}

// Unwrap returns the reason.
func (e *Unavailable) Unwrap() error { return e.Err }

// Gate lets requests in.
type Gate struct {
	by     authenticator
	policy *Policy
}

// Admit returns who has sent a request.
func (g *Gate) Admit(request *http.Request) (*access.Caller, error) {
	caller, err := g.by.authenticate(request)
	if err != nil {
		return nil, err
	}
	if caller.Project == "" && !g.policy.everywhere(caller.Roles) {
		return nil, &access.Denied{Detail: "the credentials are not for a project; whatever is made belongs to one"}
	}
	return caller, nil
}

// Offer is what a request, or somebody who signs in, offers to prove who it is.
type Offer struct {
	Credentials
	Account string // that they are for; "" if they do not say
	Digest  Digest
}

// Digest tells credentials from others.
type Digest [sha256.Size]byte

func digest(header http.Header) Digest {
	return sha256.Sum256([]byte(header.Get("Authorization") + "\x00" + header.Get(tokenHeader)))
}

// Offered tells what is remembered of the credentials of a request.
func (g *Gate) Offered(request *http.Request) Offer {
	account, _, _ := request.BasicAuth()
	return Offer{g.by.offered(request), account, digest(request.Header)}
}

// Allow returns a caller as the policy lets it do something, such as "packages:read"; *[access.Denied] if it does not.
func (g *Gate) Allow(caller *access.Caller, action string) (*access.Caller, error) {
	allowed, everywhere := g.policy.allows(caller.Roles, action)
	if !allowed || caller.Project == "" && !everywhere {
		return nil, &access.Denied{Detail: "none of the roles of " + caller.String() + " allows " + action}
	}
	let := *caller
	let.Everywhere = everywhere
	return &let, nil
}

// Challenge is the value of WWW-Authenticate in an answer with status 401.
func (g *Gate) Challenge() string { return g.by.challenge() }
