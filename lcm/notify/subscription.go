package notify

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"slices"
	"time"

	"github.com/google/uuid"

	"vnfm/api/peer"
	"vnfm/lcm"
)

// Interface is the interface that a subscription belongs to, as it is named in URIs.
type Interface string

// The interfaces with subscriptions.
const (
	Vnflcm  Interface = "vnflcm"
	Vnfpkgm Interface = "vnfpkgm"
)

// Path is the path of a subscription of the interface.
func (i Interface) Path(id uuid.UUID) string {
	return "/" + string(i) + "/v1/subscriptions/" + id.String()
}

// Subscription is a consumer's wish for notifications, LccnSubscription or PkgmSubscription (SOL003 5.5.2.16, 10.5.2.8).
type Subscription struct {
	ID             uuid.UUID       `json:"-"`
	Interface      Interface       `json:"-"`
	Filter         Filter          `json:"filter"`
	CallbackURI    string          `json:"callbackUri"`
	Authentication *Authentication `json:"authentication"` // nil: none. It is never shown
	CreatedAt      time.Time       `json:"-"`
}

// AuthType is a way to prove to a consumer who this server is (SOL003 4.4.1.7).
type AuthType string

// The ways of authentication.
const (
	AuthBasic  AuthType = "BASIC"
	AuthOAuth2 AuthType = "OAUTH2_CLIENT_CREDENTIALS"
	AuthTLS    AuthType = "TLS_CERT"
)

// Authentication is SubscriptionAuthentication (SOL003 4.4.1.7).
type Authentication struct {
	AuthType                      []AuthType         `json:"authType"`
	ParamsBasic                   *BasicParams       `json:"paramsBasic,omitempty"`
	ParamsOauth2ClientCredentials *CredentialsParams `json:"paramsOauth2ClientCredentials,omitempty"`
}

// BasicParams are the parameters of BASIC.
type BasicParams struct {
	UserName string `json:"userName"`
	Password string `json:"password"`
}

// CredentialsParams are the parameters of OAUTH2_CLIENT_CREDENTIALS.
type CredentialsParams struct {
	ClientID       string `json:"clientId"`
	ClientPassword string `json:"clientPassword"`
	TokenEndpoint  string `json:"tokenEndpoint"`
}

// check refuses what cannot be used. A certificate is only ours to show if the operator has given one.
func (a *Authentication) check(certificate bool) error {
	basic, oauth := slices.Contains(a.AuthType, AuthBasic), slices.Contains(a.AuthType, AuthOAuth2)
	credentials := a.ParamsOauth2ClientCredentials
	switch {
	case basic && (a.ParamsBasic == nil || a.ParamsBasic.UserName == ""):
		return &lcm.InvalidRequest{Attribute: "/authentication/paramsBasic", Detail: "userName and password are needed for BASIC"}
	case oauth && (credentials == nil || credentials.ClientID == "" || credentials.TokenEndpoint == ""):
		return &lcm.InvalidRequest{Attribute: "/authentication/paramsOauth2ClientCredentials",
			Detail: "clientId, clientPassword and tokenEndpoint are needed for OAUTH2_CLIENT_CREDENTIALS"}
	case oauth:
		if err := checkURI("/authentication/paramsOauth2ClientCredentials/tokenEndpoint", credentials.TokenEndpoint); err != nil {
			return err
		}
	}
	if !basic && !oauth && !certificate {
		return &lcm.Unprocessable{Attribute: "/authentication/authType",
			Detail: "this server has no certificate to show (--callback-cert-file): BASIC or OAUTH2_CLIENT_CREDENTIALS can be used"}
	}
	return nil
}

// login is how to log in at the consumer: with the password or the client's credentials, besides the certificate of the TLS connection.
func (a *Authentication) login(client *http.Client) peer.Login {
	switch {
	case a == nil:
		return peer.Anonymous
	case slices.Contains(a.AuthType, AuthOAuth2):
		params := a.ParamsOauth2ClientCredentials
		return peer.OAuth2(peer.ClientCredentials{
			TokenURL: params.TokenEndpoint, ClientID: params.ClientID, ClientSecret: params.ClientPassword,
		}, client)
	case slices.Contains(a.AuthType, AuthBasic):
		return peer.Basic(a.ParamsBasic.UserName, a.ParamsBasic.Password)
	}
	return peer.Anonymous
}

func checkURI(attribute, uri string) error {
	if _, err := peer.Address(uri); err != nil {
		return &lcm.InvalidRequest{Attribute: attribute, Detail: err.Error()}
	}
	return nil
}

// Store is what a registry needs of the database.
type Store interface {
	// CreateSubscription stores a subscription and sets its time. *[Duplicate] if there is one with its callback URI and filter.
	CreateSubscription(ctx context.Context, subscription *Subscription) error
	// FindSubscription returns the id of the subscription with that callback URI and filter; nil if there is none.
	FindSubscription(ctx context.Context, like *Subscription) (*uuid.UUID, error)
	// Subscription returns a subscription, without its authentication, or [lcm.NotFound].
	Subscription(ctx context.Context, of Interface, id uuid.UUID) (*Subscription, error)
	// Subscriptions returns a page in the order of creation, and whether there are more.
	Subscriptions(ctx context.Context, of Interface, page lcm.Page) ([]*Subscription, bool, error)
	// DeleteSubscription removes a subscription and what was not delivered. [lcm.NotFound] if there is none.
	DeleteSubscription(ctx context.Context, of Interface, id uuid.UUID) error
}

// Duplicate says that there is a subscription with the same callback URI and filter.
type Duplicate struct{ ID uuid.UUID }

// Error implements error.
func (e *Duplicate) Error() string { return "there is such a subscription already: " + e.ID.String() }

// RegistryConfig are the options of a [Registry].
type RegistryConfig struct {
	Client      *http.Client // towards consumers
	Certificate bool         // whether the client has a certificate
	Test        bool         // whether callback URIs are tested before a subscription is made
}

// Registry are the subscriptions.
type Registry struct {
	store  Store
	config RegistryConfig
}

// NewRegistry returns the registry of the subscriptions in a store.
func NewRegistry(store Store, config RegistryConfig) *Registry { return &Registry{store, config} }

// Create makes a subscription of what a client asks for, and gives it its id. *[Duplicate] if there is one already.
func (r *Registry) Create(ctx context.Context, subscription *Subscription) error {
	if err := checkURI("/callbackUri", subscription.CallbackURI); err != nil {
		return err
	}
	if subscription.Authentication != nil {
		if err := subscription.Authentication.check(r.config.Certificate); err != nil {
			return err
		}
	}
	// Before the test, so that a consumer which asks twice gets its answer at once.
	found, err := r.store.FindSubscription(ctx, subscription)
	if err != nil {
		return err
	}
	if found != nil {
		return &Duplicate{*found}
	}
	if r.config.Test {
		if err := r.test(ctx, subscription); err != nil {
			return err
		}
	}
	subscription.ID = uuid.New()
	return r.store.CreateSubscription(ctx, subscription)
}

// test asks the callback URI whether it takes notifications (SOL003 5.4.20.3.2).
func (r *Registry) test(ctx context.Context, subscription *Subscription) error {
	request, err := http.NewRequestWithContext(ctx, http.MethodGet, subscription.CallbackURI, nil)
	if err != nil {
		return &lcm.InvalidRequest{Attribute: "/callbackUri", Detail: err.Error()}
	}
	status, err := call(r.config.Client, subscription.Authentication.login(r.config.Client), request)
	var denied *peer.DeniedError
	switch {
	case errors.As(err, &denied):
		return &lcm.InvalidRequest{Attribute: "/callbackUri", Detail: denied.Error()}
	case err != nil:
		return &lcm.Unprocessable{Attribute: "/callbackUri", Detail: "the test by GET failed: " + lcm.Legible(peer.Cause(err).Error())}
	case status != http.StatusNoContent:
		return &lcm.Unprocessable{Attribute: "/callbackUri",
			Detail: fmt.Sprintf("the test by GET was answered with %d %s, not with 204", status, http.StatusText(status))}
	}
	return nil
}

// Subscription returns a subscription, or [lcm.NotFound].
func (r *Registry) Subscription(ctx context.Context, of Interface, id uuid.UUID) (*Subscription, error) {
	return r.store.Subscription(ctx, of, id)
}

// Subscriptions returns a page of the subscriptions to an interface, in the order of creation, and whether there are more.
func (r *Registry) Subscriptions(ctx context.Context, of Interface, page lcm.Page) ([]*Subscription, bool, error) {
	return r.store.Subscriptions(ctx, of, page)
}

// Delete ends a subscription.
func (r *Registry) Delete(ctx context.Context, of Interface, id uuid.UUID) error {
	return r.store.DeleteSubscription(ctx, of, id)
}

// Decode reads a subscription request of an interface.
func Decode(of Interface, request []byte) (*Subscription, error) {
	subscription := &Subscription{Interface: of}
	if err := json.Unmarshal(request, subscription); err != nil {
		return nil, &lcm.InvalidRequest{Detail: err.Error()}
	}
	subscription.Filter.tidy()
	return subscription, nil
}

// tidied returns values in order and each once; nil if there are none.
func tidied[T cmp.Ordered](values []T) []T {
	if len(values) == 0 {
		return nil
	}
	return slices.Compact(slices.Sorted(slices.Values(values)))
}
