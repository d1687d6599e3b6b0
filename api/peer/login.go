package peer

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"net/http"
	"net/url"
	"sync"

	"golang.org/x/oauth2"
	"golang.org/x/oauth2/clientcredentials"
)

// Login proves to a peer who we are (SOL013 8.3). It is safe for concurrent use.
type Login interface {
	// authorize adds the credentials to a request.
	authorize(request *http.Request) error
	// renew drops credentials that the peer does not accept, and reports whether there can be others.
	renew() bool
}

// Do sends a request with a login. A token that the peer does not accept any more is replaced once; the request is sent again then, which
// needs its GetBody.
func Do(client *http.Client, login Login, request *http.Request) (*http.Response, error) {
	if err := login.authorize(request); err != nil {
		return nil, err
	}
	response, err := client.Do(request) //nolint:gosec // where the address is from outside, the client has a policy
	if err != nil || response.StatusCode != http.StatusUnauthorized || !login.renew() {
		return response, err
	}
	again := request.Clone(request.Context())
	if request.Body != nil && request.Body != http.NoBody {
		if request.GetBody == nil {
			return response, nil
		}
		if again.Body, err = request.GetBody(); err != nil {
			return response, nil //nolint:nilerr // the refusal is the answer then
		}
	}
	response.Body.Close()
	if err := login.authorize(again); err != nil {
		return nil, err
	}
	return client.Do(again) //nolint:gosec // as above
}

// Cause is an error of an HTTP client without the method and the address, which may hold a secret.
func Cause(err error) error {
	var wrapped *url.Error
	if errors.As(err, &wrapped) {
		return wrapped.Err
	}
	return err
}

// Anonymous is no login, or that of a TLS client certificate.
var Anonymous Login = anonymous{}

type anonymous struct{}

func (anonymous) authorize(*http.Request) error { return nil }
func (anonymous) renew() bool                   { return false }

// Basic is HTTP Basic, RFC 7617.
func Basic(username, password string) Login { return basic{username, password} }

type basic struct{ username, password string }

func (b basic) authorize(request *http.Request) error {
	request.SetBasicAuth(b.username, b.password)
	return nil
}

func (basic) renew() bool { return false }

// ClientCredentials are those of an OAuth 2.0 client, for the grant type client_credentials, RFC 6749 4.4.
type ClientCredentials struct {
	TokenURL     string
	ClientID     string
	ClientSecret string
}

// OAuth2 is a login by tokens, which are got with the given HTTP client and used until they expire.
func OAuth2(credentials ClientCredentials, client *http.Client) Login {
	return &tokens{http: client, config: clientcredentials.Config{
		ClientID: credentials.ClientID, ClientSecret: credentials.ClientSecret, TokenURL: credentials.TokenURL,
		AuthStyle: oauth2.AuthStyleInHeader,
	}}
}

type tokens struct {
	config clientcredentials.Config
	http   *http.Client

	mu    sync.Mutex
	token *oauth2.Token
}

func (t *tokens) authorize(request *http.Request) error {
	t.mu.Lock()
	token := t.token
	t.mu.Unlock()
	if !token.Valid() {
		var err error
		if token, err = t.config.Token(context.WithValue(request.Context(), oauth2.HTTPClient, t.http)); err != nil {
			return t.failure(err)
		}
		t.mu.Lock()
		t.token = token
		t.mu.Unlock()
	}
	token.SetAuthHeader(request)
	return nil
}

func (t *tokens) renew() bool {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.token = nil
	return true
}

// TokenError tells why a token endpoint gives no token. What the endpoint has answered is not in it: that may repeat what it was sent.
type TokenError struct {
	Endpoint string
	Status   int   // of the answer; 0: there was none
	Err      error // why
}

// Error implements error.
func (e *TokenError) Error() string {
	return fmt.Sprintf("OAuth2 token endpoint %s gives no token: %v", e.Endpoint, e.Err)
}

// Unwrap returns the reason.
func (e *TokenError) Unwrap() error { return e.Err }

// Temporary reports whether it is worth asking again.
func (e *TokenError) Temporary() bool {
	return e.Status == 0 || Temporary(e.Status)
}

// Temporary reports whether an answer with that status is worth asking again: the peer is in trouble, or busy.
func Temporary(status int) bool {
	return status >= http.StatusInternalServerError || status == http.StatusTooManyRequests || status == http.StatusRequestTimeout
}

func (t *tokens) failure(err error) error {
	failure := &TokenError{Endpoint: t.config.TokenURL, Err: Cause(err)}
	var answered *oauth2.RetrieveError
	if errors.As(err, &answered) {
		const most = 100 // an error code of RFC 6749 is shorter
		code := answered.ErrorCode
		if len(code) > most {
			code = ""
		}
		failure.Status = answered.Response.StatusCode
		failure.Err = fmt.Errorf("%d %s", failure.Status, cmp.Or(code, http.StatusText(failure.Status)))
	}
	return failure
}
