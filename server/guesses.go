package server

import (
	"errors"
	"time"

	"github.com/labstack/echo/v4"

	"vnfm/api/access"
	"vnfm/server/auth"
)

// guesses bounds how often it may be tried to guess credentials: from an address, and for an account. Credentials that were good before are
// no guess, so that a client goes on working whose address or account somebody else guesses with or for.
type guesses struct{ byAddress, byAccount *pace }

func newGuesses() *guesses {
	const (
		ofAddress, atOnce        = time.Second, 60 // many clients may share one
		ofAccount, accountAtOnce = 10 * time.Second, 20
	)
	return &guesses{
		byAddress: &pace{interval: ofAddress, burst: atOnce * ofAddress, now: time.Now, full: map[string]time.Time{}},
		byAccount: &pace{interval: ofAccount, burst: accountAtOnce * ofAccount, now: time.Now, full: map[string]time.Time{}},
	}
}

// late is how long who sends a request has to wait until it may try again.
func (g *guesses) late(address, account string) time.Duration {
	return max(g.byAddress.late(address), g.byAccount.late(account))
}

func (g *guesses) note(address, account string) {
	g.byAddress.note(address)
	g.byAccount.note(account)
}

// admit returns who has sent a request, unless somebody guesses.
func (s *Server) admit(c echo.Context) (*access.Caller, error) {
	request := c.Request()
	offered, account := s.config.Gate.Offered(request)
	address := ""
	if s.knowsOrigin(c) {
		address = addressOf(c)
	}
	if offered == auth.UnknownCredentials || offered == auth.BadCredentials {
		if wait := s.guesses.late(address, account); wait > 0 {
			return nil, tooMany(wait, "too many attempts with wrong credentials: try again later")
		}
	}
	caller, err := s.config.Gate.Admit(request)
	if offered == auth.UnknownCredentials && errors.As(err, new(*auth.Refused)) {
		s.guesses.note(address, account)
		s.log(c).Warn("credentials refused", "address", c.RealIP(), "user", account)
	}
	return caller, err
}
