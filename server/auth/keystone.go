package auth

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"strings"
	"time"

	"github.com/gophercloud/gophercloud/v2"
	"github.com/gophercloud/gophercloud/v2/openstack/identity/v3/tokens"

	"vnfm/api/access"
)

// keystone asks an OpenStack Identity service who has a token. A token may ask about itself, so that no account is needed for it.
type keystone struct {
	url    string // with /v3
	client *http.Client
	cache  cache
}

func newKeystone(url string, client *http.Client) *keystone {
	url = strings.TrimRight(url, "/")
	if !strings.HasSuffix(url, "/v3") {
		url += "/v3"
	}
	return &keystone{url: url, client: client}
}

const tokenHeader = "X-Auth-Token" //nolint:gosec // no secret but the name of a header

// service is Keystone for who has a token; "": nobody.
func (k *keystone) service(token string) *gophercloud.ServiceClient {
	provider := &gophercloud.ProviderClient{HTTPClient: *k.client}
	provider.SetToken(token)
	return &gophercloud.ServiceClient{ProviderClient: provider, Endpoint: k.url + "/"}
}

func (k *keystone) challenge() string { return fmt.Sprintf("Keystone uri=%q", k.url) }

func (k *keystone) authenticate(request *http.Request) (*access.Caller, error) {
	token := request.Header.Get(tokenHeader)
	if token == "" {
		return nil, &Refused{"the request has no token: it goes into the header X-Auth-Token"}
	}
	return k.cache.find(token, func() (*access.Caller, time.Time, error) {
		return k.ask(context.WithoutCancel(request.Context()), token) // others may wait for the answer, too
	})
}

func (k *keystone) offered(request *http.Request) Credentials {
	token := request.Header.Get(tokenHeader)
	if token == "" {
		return NoCredentials
	}
	return k.cache.offered(token)
}

func (k *keystone) ask(ctx context.Context, token string) (*access.Caller, time.Time, error) {
	found := tokens.Get(ctx, k.service(token), token)
	valid, err := found.ExtractToken()
	if err != nil {
		return nil, time.Time{}, k.failure(err)
	}
	user, userErr := found.ExtractUser()
	project, projectErr := found.ExtractProject()
	roles, rolesErr := found.ExtractRoles()
	if err := errors.Join(userErr, projectErr, rolesErr); err != nil {
		return nil, time.Time{}, &Unavailable{k.url, err}
	}
	caller := &access.Caller{}
	if user != nil {
		caller.User, caller.Name = user.ID, user.Name
	}
	if project != nil {
		caller.Project = project.ID
	}
	for _, role := range roles {
		caller.Roles = append(caller.Roles, role.Name)
	}
	return caller, valid.ExpiresAt, nil
}

// failure says whether Keystone does not take the token, or has not been asked. What it answers is not repeated: it may hold the token.
func (k *keystone) failure(err error) error {
	var answer gophercloud.ErrUnexpectedResponseCode
	if !errors.As(err, &answer) {
		return &Unavailable{k.url, errors.New("no answer")}
	}
	switch answer.Actual {
	case http.StatusUnauthorized, http.StatusForbidden, http.StatusNotFound, http.StatusBadRequest:
		return &Refused{"Keystone does not accept the token; it may have expired"}
	}
	return &Unavailable{k.url, fmt.Errorf("it answers %d %s", answer.Actual, http.StatusText(answer.Actual))}
}
