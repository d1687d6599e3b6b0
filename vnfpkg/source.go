package vnfpkg

import (
	"log/slog"
	"net/http"

	"vnfm/api/peer"
)

// Source is where the content of a package is to be fetched from, and what proves to the server there who we are. All of it is a secret:
// the address may hold a token.
type Source struct {
	URL      string                  `json:"url"`
	Username string                  `json:"username,omitempty"` // of HTTP Basic; "" = no login
	Password string                  `json:"password,omitempty"`
	OAuth2   *peer.ClientCredentials `json:"oauth2,omitempty"` // nil = no login
	NFVO     bool                    `json:"nfvo,omitempty"`   // the NFVO has it: it is trusted, and its login is the operator's
}

// String implements [fmt.Stringer] and tells nothing.
func (*Source) String() string { return "***" }

// LogValue implements [slog.LogValuer] and tells nothing.
func (*Source) LogValue() slog.Value { return slog.StringValue("***") }

// access is a client towards the server, and the login there.
func (s *Source) access(d Downloads) (*http.Client, peer.Login, error) {
	switch {
	case s.NFVO && d.NFVO == nil:
		return nil, nil, &DownloadError{Status: http.StatusBadGateway, Detail: "the NFVO that has the package is not configured any more"}
	case s.NFVO:
		return d.NFVO.client, d.NFVO.login, nil
	case s.OAuth2 != nil:
		return d.client, peer.OAuth2(*s.OAuth2, d.client), nil
	case s.Username != "":
		return d.client, peer.Basic(s.Username, s.Password), nil
	}
	return d.client, peer.Anonymous, nil
}
