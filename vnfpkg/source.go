package vnfpkg

import (
	"log/slog"

	"vnfm/api/peer"
)

// Source is where the content of a package is to be fetched from, and what proves to the server there who we are. All of it is a secret:
// the address may hold a token.
type Source struct {
	URL      string                  `json:"url"`
	Username string                  `json:"username,omitempty"` // of HTTP Basic; "" = no login
	Password string                  `json:"password,omitempty"`
	OAuth2   *peer.ClientCredentials `json:"oauth2,omitempty"` // nil = no login
}

// String implements [fmt.Stringer] and tells nothing.
func (*Source) String() string { return "***" }

// LogValue implements [slog.LogValuer] and tells nothing.
func (*Source) LogValue() slog.Value { return slog.StringValue("***") }

// login is the login at the server.
func (s *Source) login(d Downloads) peer.Login {
	switch {
	case s.OAuth2 != nil:
		return peer.OAuth2(*s.OAuth2, d.client)
	case s.Username != "":
		return peer.Basic(s.Username, s.Password)
	}
	return peer.Anonymous
}
