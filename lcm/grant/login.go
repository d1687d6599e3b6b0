package grant

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"net/http"
	"sync"

	"golang.org/x/oauth2"
	"golang.org/x/oauth2/clientcredentials"

	"vnfm/lcm"
)

// login proves to the NFVO who we are.
type login interface {
	// authorize adds the credentials to a request.
	authorize(request *http.Request) error
	// renew drops credentials that the NFVO does not accept, and reports whether there can be others.
	renew() bool
}

// anonymous is no login, or that of a TLS client certificate.
type anonymous struct{}

func (anonymous) authorize(*http.Request) error { return nil }
func (anonymous) renew() bool                   { return false }

// basic is HTTP Basic, RFC 7617.
type basic struct {
	username string
	password lcm.Secret
}

func (b basic) authorize(request *http.Request) error {
	request.SetBasicAuth(b.username, string(b.password))
	return nil
}

func (basic) renew() bool { return false }

// clientCredentials is OAuth 2.0 with the grant type client_credentials, RFC 6749 4.4. A token is used until it expires.
type clientCredentials struct {
	config clientcredentials.Config
	http   *http.Client

	mu    sync.Mutex
	token *oauth2.Token
}

func (c *clientCredentials) authorize(request *http.Request) error {
	c.mu.Lock()
	token := c.token
	c.mu.Unlock()
	if !token.Valid() {
		var err error
		if token, err = c.config.Token(context.WithValue(request.Context(), oauth2.HTTPClient, c.http)); err != nil {
			return c.failure(err)
		}
		c.mu.Lock()
		c.token = token
		c.mu.Unlock()
	}
	token.SetAuthHeader(request)
	return nil
}

func (c *clientCredentials) renew() bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.token = nil
	return true
}

// failure tells why there is no token. The answer of the token endpoint itself is not shown: it may repeat what it was sent.
func (c *clientCredentials) failure(err error) error {
	peer := "OAuth2 token endpoint " + c.config.TokenURL
	var answered *oauth2.RetrieveError
	if !errors.As(err, &answered) {
		return &lcm.Unavailable{Peer: peer, Err: cause(err)}
	}
	status := answered.Response.StatusCode
	said := fmt.Sprintf("%d %s", status, cmp.Or(shortened(answered.ErrorCode), http.StatusText(status)))
	if status >= http.StatusInternalServerError || status == http.StatusTooManyRequests {
		return &lcm.Unavailable{Peer: peer, Err: errors.New(said)}
	}
	return &lcm.Failure{Title: "No access to the NFVO", Status: http.StatusBadGateway, Detail: peer + " gives no token: " + said}
}
