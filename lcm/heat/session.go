package heat

import (
	"context"
	"crypto/sha256"
	"crypto/tls"
	"crypto/x509"
	"encoding/json"
	"fmt"
	"io"
	"log/slog"
	"net"
	"net/http"
	"slices"
	"sync"
	"time"

	"github.com/gophercloud/gophercloud/v2"
	"github.com/gophercloud/gophercloud/v2/openstack"
	"github.com/gophercloud/gophercloud/v2/openstack/identity/v3/tokens"

	"vnfm/api/peer"
	"vnfm/lcm"
)

// fingerprint identifies an access without keeping its password.
type fingerprint [sha256.Size]byte

func fingerprintOf(access lcm.VimAccess) fingerprint {
	encoded, err := json.Marshal([]any{
		access.AuthURL, access.Region, access.Username, string(access.Password), access.Project, access.ProjectDomain,
		access.UserDomain, access.SkipVerify, access.Authorities,
	})
	if err != nil {
		panic(err) // strings and a boolean always marshal
	}
	return sha256.Sum256(encoded)
}

// sessions are the logins to VIMs, each used until the VIM refuses it.
type sessions struct {
	timeout  time.Duration
	trust    *x509.CertPool // as of Config
	log      *slog.Logger
	observe  func(ctx context.Context, service, method string) (context.Context, func(error)) // as of Config
	mu       sync.Mutex
	byAccess map[fingerprint]*session
}

// session is a login with the endpoints of the services that were called. One caller at a time has the turn to make it, so that a
// thousand operations log in once; the others wait no longer than their contexts allow, also when Keystone hangs.
type session struct {
	turn     chan struct{}
	provider *gophercloud.ProviderClient
	clients  map[string]*gophercloud.ServiceClient // by the type of the service
}

// service is one of the services of a VIM.
type service struct {
	name        string // in error messages
	catalogType string
	open        func(*gophercloud.ProviderClient, gophercloud.EndpointOpts) (*gophercloud.ServiceClient, error)
}

var (
	heatService   = service{"Heat", "orchestration", openstack.NewOrchestrationV1}
	novaService   = service{"Nova", "compute", openstack.NewComputeV2}
	glanceService = service{"Glance", "image", openstack.NewImageV2}
)

// peer is what error messages call a service of a VIM.
func (s service) peer(access lcm.VimAccess) string {
	return s.name + " of the VIM at " + access.AuthURL
}

// client returns a client for a service of the VIM.
func (s *sessions) client(ctx context.Context, access lcm.VimAccess, of service) (*gophercloud.ServiceClient, error) {
	s.mu.Lock()
	key := fingerprintOf(access)
	entry, ok := s.byAccess[key]
	if !ok {
		entry = &session{turn: make(chan struct{}, 1), clients: map[string]*gophercloud.ServiceClient{}}
		s.byAccess[key] = entry
	}
	s.mu.Unlock()

	select {
	case entry.turn <- struct{}{}:
		defer func() { <-entry.turn }()
	case <-ctx.Done():
		return nil, callError(identity(access), ctx.Err())
	}
	if client := entry.clients[of.catalogType]; client != nil {
		return client, nil
	}
	if entry.provider == nil {
		provider, err := s.login(ctx, access)
		if err != nil {
			s.forget(access)
			return nil, err
		}
		entry.provider = provider
	}
	client, err := of.open(entry.provider, gophercloud.EndpointOpts{Region: access.Region})
	if err != nil {
		return nil, &lcm.Rejected{Peer: identity(access), Status: http.StatusBadRequest,
			Detail: "the catalog has no endpoint of type " + of.catalogType + " in region \"" + access.Region + "\""}
	}
	entry.clients[of.catalogType] = client
	return client, nil
}

// forget drops the session of an access that the VIM refuses, or that could not be made.
func (s *sessions) forget(access lcm.VimAccess) {
	s.mu.Lock()
	defer s.mu.Unlock()
	delete(s.byAccess, fingerprintOf(access))
}

// login gets a token, which gophercloud renews when it has expired.
func (s *sessions) login(ctx context.Context, access lcm.VimAccess) (_ *gophercloud.ProviderClient, err error) {
	ctx, cancel := context.WithTimeout(ctx, s.timeout)
	defer cancel()
	ctx, end := s.observe(ctx, identityName, http.MethodPost)
	defer func() { end(err) }()
	provider, err := openstack.NewClient(access.AuthURL)
	if err != nil {
		return nil, &lcm.Rejected{Peer: identity(access), Status: http.StatusBadRequest, Detail: "the address is not that of a Keystone"}
	}
	provider.UserAgent.Prepend("vnfm")
	var transport http.RoundTripper = &http.Transport{
		Proxy:               http.ProxyFromEnvironment,
		DialContext:         (&net.Dialer{Timeout: s.timeout, Control: peer.Policy{}.Control}).DialContext,
		TLSClientConfig:     s.security(ctx, access),
		TLSHandshakeTimeout: s.timeout,
		MaxIdleConnsPerHost: 32,
		IdleConnTimeout:     time.Minute,
	}
	if access.Authorities != "" {
		transport = encrypted{transport}
	}
	provider.HTTPClient = http.Client{
		// Without a limit of its own: an upload takes as long as it takes. Every other call is bounded by its context.
		Transport: bounded{transport},
		// A redirected DELETE would become a GET; every address that is used is the final one.
		CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse },
	}
	err = openstack.Authenticate(ctx, provider, gophercloud.AuthOptions{
		IdentityEndpoint: access.AuthURL,
		Username:         access.Username,
		Password:         string(access.Password),
		DomainName:       access.UserDomain,
		AllowReauth:      true,
		Scope:            &gophercloud.AuthScope{ProjectName: access.Project, DomainName: access.ProjectDomain},
	})
	if err != nil {
		return nil, loginError(access, err)
	}
	return provider, nil
}

// security says whose certificates are accepted: those of the authorities of the VIM, or else of the process.
func (s *sessions) security(ctx context.Context, access lcm.VimAccess) *tls.Config {
	if access.SkipVerify {
		s.log.WarnContext(ctx, "the certificate of a VIM is not checked: whoever is between can read its passwords", "vimId", access.VimID, "authUrl", access.AuthURL)
	}
	if access.NoAuthorities != nil {
		s.log.WarnContext(ctx, "what a VIM names as the authorities of its certificate is not used: those of the server's own configuration are asked",
			"vimId", access.VimID, "authUrl", access.AuthURL, "error", access.NoAuthorities)
	}
	config := &tls.Config{MinVersion: tls.VersionTLS12, RootCAs: s.trust, InsecureSkipVerify: access.SkipVerify} //nolint:gosec // the client's choice
	if access.Authorities != "" {
		config.RootCAs = x509.NewCertPool()
		config.RootCAs.AppendCertsFromPEM([]byte(access.Authorities))
	}
	return config
}

// encrypted is a transport for TLS alone: a VIM that names the authorities of its certificate does not get a token in the clear because its catalog has
// such an endpoint.
type encrypted struct{ http.RoundTripper }

// plaintextError says that an address is not one for TLS.
type plaintextError struct{ address string }

// Error implements error.
func (e *plaintextError) Error() string {
	return e.address + " is not called: it is without TLS, and the VIM names the authorities that its certificate has to be from"
}

// RoundTrip implements [http.RoundTripper].
func (e encrypted) RoundTrip(request *http.Request) (*http.Response, error) {
	if request.URL.Scheme == "https" {
		return e.RoundTripper.RoundTrip(request)
	}
	if request.Body != nil {
		_ = request.Body.Close()
	}
	return nil, &plaintextError{request.URL.Scheme + "://" + request.URL.Host}
}

// maxAnswerBytes bounds what a VIM may answer: the resources of some ten thousand VNFCs are less.
const maxAnswerBytes = 64 << 20

var errTooLong = fmt.Errorf("the answer has more than %d bytes", maxAnswerBytes)

// bounded is a transport whose answers come to an end. Whoever registers a VIM chooses who answers.
type bounded struct{ http.RoundTripper }

// RoundTrip implements [http.RoundTripper].
func (b bounded) RoundTrip(request *http.Request) (*http.Response, error) {
	response, err := b.RoundTripper.RoundTrip(request)
	if err == nil {
		response.Body = &boundedBody{response.Body, maxAnswerBytes}
	}
	return response, err
}

type boundedBody struct {
	io.ReadCloser
	left int64
}

// Read implements [io.Reader].
func (b *boundedBody) Read(p []byte) (int, error) {
	n, err := b.ReadCloser.Read(p)
	if b.left -= int64(n); b.left < 0 {
		return 0, errTooLong
	}
	return n, err
}

// regions logs in and lists the regions, or, where only administrators may do that, those of the catalog.
func (s *sessions) regions(ctx context.Context, access lcm.VimAccess) ([]string, error) {
	s.forget(access)
	provider, err := s.login(ctx, access)
	if err != nil {
		return nil, err
	}
	ctx, cancel := context.WithTimeout(ctx, s.timeout)
	defer cancel()
	var answer struct {
		Regions []struct {
			ID string `json:"id"`
		} `json:"regions"`
	}
	names := []string{}
	_, err = provider.Request(ctx, http.MethodGet, access.AuthURL+"/regions", //nolint:bodyclose // read and closed by gophercloud
		&gophercloud.RequestOpts{JSONResponse: &answer, OkCodes: []int{http.StatusOK}})
	switch {
	case err == nil:
		for _, region := range answer.Regions {
			names = append(names, region.ID)
		}
	case gophercloud.ResponseCodeIs(err, http.StatusForbidden), gophercloud.ResponseCodeIs(err, http.StatusNotFound):
		names = catalogRegions(provider)
	default:
		return nil, callError(identity(access), err)
	}
	slices.Sort(names)
	return slices.Compact(names), nil
}

func catalogRegions(provider *gophercloud.ProviderClient) []string {
	names := []string{}
	result, ok := provider.GetAuthResult().(tokens.CreateResult)
	if !ok {
		return names
	}
	catalog, err := result.ExtractServiceCatalog()
	if err != nil {
		return names
	}
	for _, entry := range catalog.Entries {
		for _, endpoint := range entry.Endpoints {
			names = append(names, endpoint.Region)
		}
	}
	return names
}

// identity is what error messages call the identity service of a VIM.
func identity(access lcm.VimAccess) string { return identityName + " of the VIM at " + access.AuthURL }

const identityName = "Keystone"
