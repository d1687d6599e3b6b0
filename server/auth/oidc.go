package auth

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"slices"
	"strings"
	"sync/atomic"
	"time"

	"github.com/coreos/go-oidc/v3/oidc"
	"golang.org/x/sync/singleflight"

	"vnfm/api/access"
	"vnfm/api/peer"
)

// bearer knows clients by the access tokens of an authorization server (SOL013 8.3, RFC 6750), which it reads itself if they are signed
// (RFC 9068), or else asks the server about (RFC 7662).
type bearer struct {
	options OIDCOptions
	client  *http.Client
	secret  string // of the client that asks about tokens
	cache   cache

	learning singleflight.Group
	verifier atomic.Pointer[oidc.IDTokenVerifier] // nil until the server's keys are known
}

func (*bearer) challenge() string { return `Bearer realm="vnfm"` }

// bearerToken is the access token of a request; "" if it has none.
func bearerToken(request *http.Request) string {
	scheme, token, _ := strings.Cut(request.Header.Get("Authorization"), " ")
	if !strings.EqualFold(scheme, "Bearer") {
		return ""
	}
	return token
}

func (b *bearer) offered(request *http.Request) Credentials {
	token := bearerToken(request)
	if token == "" {
		return NoCredentials
	}
	return b.cache.offered(token)
}

func (b *bearer) authenticate(request *http.Request) (*access.Caller, error) {
	token := bearerToken(request)
	if token == "" {
		return nil, &Refused{"the request has no access token: it goes into the header Authorization, after Bearer"}
	}
	return b.cache.find(token, func() (*access.Caller, time.Time, error) {
		ctx := context.WithoutCancel(request.Context()) // others may wait for the answer, too
		if b.options.IntrospectionURL != "" {
			return b.introspect(ctx, token)
		}
		return b.verify(ctx, token)
	})
}

// verify checks the signature, the issuer, the audience and the time of a token.
func (b *bearer) verify(ctx context.Context, token string) (*access.Caller, time.Time, error) {
	verifier, err := b.keys(ctx)
	if err != nil {
		return nil, time.Time{}, err
	}
	verified, err := verifier.Verify(oidc.ClientContext(ctx, b.client), token)
	var expired *oidc.TokenExpiredError
	switch {
	case errors.As(err, &expired):
		return nil, time.Time{}, &Refused{"the access token has expired"}
	case err != nil && strings.Contains(err.Error(), "fetching keys"):
		return nil, time.Time{}, &Unavailable{b.options.Issuer, errors.New("it does not give its keys")}
	case err != nil:
		return nil, time.Time{}, &Refused{"the access token is not valid here"}
	}
	claims := map[string]any{}
	if err := verified.Claims(&claims); err != nil {
		return nil, time.Time{}, &Refused{"the access token is not valid here"}
	}
	return b.caller(claims), verified.Expiry, nil
}

// keys learns where the keys of the authorization server are. It is done when the first token comes, so that the server need not be there when
// this one starts.
func (b *bearer) keys(ctx context.Context) (*oidc.IDTokenVerifier, error) {
	if verifier := b.verifier.Load(); verifier != nil {
		return verifier, nil
	}
	_, err, _ := b.learning.Do("", func() (any, error) {
		provider, err := oidc.NewProvider(oidc.ClientContext(ctx, b.client), b.options.Issuer)
		if err == nil {
			b.verifier.Store(provider.Verifier(&oidc.Config{ClientID: b.options.Audience}))
		}
		return nil, err
	})
	if err != nil {
		return nil, &Unavailable{b.options.Issuer, errors.New("its configuration cannot be read")}
	}
	return b.verifier.Load(), nil
}

// maxIntrospection bounds what the authorization server may say of a token.
const maxIntrospection = 1 << 20

// introspect asks the authorization server about a token.
func (b *bearer) introspect(ctx context.Context, token string) (*access.Caller, time.Time, error) {
	unavailable := func(err error) (*access.Caller, time.Time, error) {
		return nil, time.Time{}, &Unavailable{b.options.IntrospectionURL, err}
	}
	form := url.Values{"token": {token}}.Encode()
	request, err := http.NewRequestWithContext(ctx, http.MethodPost, b.options.IntrospectionURL, strings.NewReader(form))
	if err != nil {
		return unavailable(err)
	}
	request.Header.Set("Content-Type", "application/x-www-form-urlencoded")
	request.Header.Set("Accept", "application/json")
	request.SetBasicAuth(url.QueryEscape(b.options.ClientID), url.QueryEscape(b.secret))
	response, err := b.client.Do(request)
	if err != nil {
		return unavailable(peer.Cause(err))
	}
	defer response.Body.Close()
	claims := map[string]any{}
	if response.StatusCode != http.StatusOK {
		return unavailable(fmt.Errorf("it answers %d %s", response.StatusCode, http.StatusText(response.StatusCode)))
	}
	if err := json.NewDecoder(io.LimitReader(response.Body, maxIntrospection)).Decode(&claims); err != nil {
		return unavailable(errors.New("its answer is not JSON"))
	}
	if active, _ := claims["active"].(bool); !active {
		return nil, time.Time{}, &Refused{"the authorization server does not know the access token, or it has expired"}
	}
	if !slices.Contains(words(claims["aud"]), b.options.Audience) {
		return nil, time.Time{}, &Refused{"the access token is not for this server"}
	}
	until := time.Time{}
	if seconds, ok := claims["exp"].(float64); ok {
		until = time.Unix(int64(seconds), 0)
	}
	return b.caller(claims), until, nil
}

// caller reads who has a token from its claims.
func (b *bearer) caller(claims map[string]any) *access.Caller {
	text := func(name string) string {
		value, _ := claims[name].(string)
		return value
	}
	caller := &access.Caller{User: text("sub"), Name: text("preferred_username"), Project: text(b.options.ProjectClaim)}
	if caller.User == "" {
		caller.User = text("client_id")
	}
	caller.Roles = words(claims[b.options.RolesClaim])
	return caller
}

// words are the strings of a claim that is a list, or has spaces between them.
func words(claim any) []string {
	switch claim := claim.(type) {
	case string:
		return strings.Fields(claim)
	case []any:
		var found []string
		for _, element := range claim {
			if word, ok := element.(string); ok {
				found = append(found, word)
			}
		}
		return found
	default:
		return nil
	}
}
