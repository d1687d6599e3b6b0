package main

import (
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"testing"

	"github.com/google/uuid"

	"vnfm/api/peer/peertest"
)

// consumer takes notifications, and repeats what it was sent to whoever asks for a token.
func (s *secretive) consumer(t *testing.T, tokens bool) *httptest.Server {
	t.Helper()
	consumer := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		content, _ := io.ReadAll(r.Body)
		switch {
		case r.URL.Path == "/token" && tokens:
			w.Header().Set("Content-Type", "application/json")
			fmt.Fprintf(w, `{"access_token": %q, "token_type": "Bearer", "expires_in": 3600}`, mark("access"))
			return
		case r.URL.Path == "/token":
			w.WriteHeader(http.StatusBadRequest)
			fmt.Fprintf(w, `{"error": "invalid_client", "error_description": "no client %s"}`, r.Header.Get("Authorization"))
			return
		case r.Method == http.MethodPost:
			s.add("notifications", content)
		}
		w.WriteHeader(http.StatusNoContent)
	}))
	t.Cleanup(consumer.Close)
	return consumer
}

// subscribe subscribes in every way that the standard knows, also to who gives no tokens.
func (s *secretive) subscribe(t *testing.T) {
	t.Helper()
	good, bad := s.consumer(t, true), s.consumer(t, false)
	oauth := func(of *httptest.Server) map[string]any {
		return map[string]any{"authType": []string{"OAUTH2_CLIENT_CREDENTIALS"}, "paramsOauth2ClientCredentials": map[string]any{
			"clientId": "vnfm", "clientPassword": mark("client"), "tokenEndpoint": of.URL + "/token"}}
	}
	for name, authentication := range map[string]map[string]any{
		"basic": {"authType": []string{"BASIC"}, "paramsBasic": map[string]any{"userName": "me", "password": mark("basic")}},
		"oauth": oauth(good), "tls": {"authType": []string{"TLS_CERT"}},
	} {
		for _, of := range []string{"vnflcm", "vnfpkgm"} {
			s.p.expect(http.StatusCreated, http.MethodPost, "/"+of+"/v1/subscriptions",
				map[string]any{"callbackUri": good.URL + "/" + name, "authentication": authentication}, nil)
		}
	}
	s.p.expect(http.StatusUnprocessableEntity, http.MethodPost, "/vnflcm/v1/subscriptions",
		map[string]any{"callbackUri": bad.URL, "authentication": oauth(bad)}, nil)
}

// fetch has packages fetched, with every login, from servers that repeat what they are sent.
func (s *secretive) fetch(t *testing.T) {
	t.Helper()
	origin := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		http.Error(w, r.Header.Get("Authorization")+" does not open "+r.URL.String(), http.StatusForbidden)
	}))
	t.Cleanup(origin.Close)
	for _, login := range []map[string]any{
		{}, {"userName": "me", "password": mark("origin")},
		{"paramsOauth2ClientCredentials": map[string]any{"clientId": "vnfm", "clientPassword": mark("client"), "tokenEndpoint": origin.URL + "/" + mark("token")}},
	} {
		login["addressInformation"] = origin.URL + "/" + mark("path") + "?sig=" + mark("query")
		pkg := s.p.expect(http.StatusCreated, http.MethodPost, "/vnfpkgm/v1/vnf_packages", map[string]any{}, nil).Header.Get("Location")
		s.p.expect(http.StatusAccepted, http.MethodPost, pkg+"/package_content/upload_from_uri", login, nil)
		s.p.until("refused", func() bool {
			var info packageInfo
			s.p.call(http.MethodGet, pkg, nil, &info)
			return info.OnboardingFailureDetails != nil
		})
	}
}

// packagesOfNFVO are the options for an NFVO that has packages, and repeats what it was sent.
func (s *secretive) packagesOfNFVO(t *testing.T) []string {
	t.Helper()
	nfvo := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("Content-Type", "application/problem+json")
		w.WriteHeader(http.StatusForbidden)
		fmt.Fprintf(w, `{"status": 403, "detail": "%s does not open %s"}`, r.Header.Get("Authorization"), r.URL)
	}))
	t.Cleanup(nfvo.Close)
	return []string{"--nfvo-packages-url", nfvo.URL + "/vnfpkgm/v1/vnf_packages", "--nfvo-packages-username", "vnfm",
		"--nfvo-packages-password-file", peertest.File(t, mark("packages"))}
}

// obtain asks for a package that the NFVO does not give.
func (s *secretive) obtain(t *testing.T) {
	t.Helper()
	response := s.p.call(http.MethodPost, "/vnflcm/v1/vnf_instances", map[string]any{"vnfdId": uuid.NewString()}, nil)
	if response.StatusCode < http.StatusBadRequest {
		t.Errorf("%s", response.Status)
	}
}
