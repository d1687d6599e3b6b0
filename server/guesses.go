package server

import (
	"errors"
	"net/http"
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

// admit returns who has sent a request, which may have credentials of a session, unless somebody guesses.
func (s *Server) admit(c echo.Context, request *http.Request) (caller *access.Caller, err error) {
	offered, account := s.config.Gate.Offered(request)
	err = s.judge(c, offered, account, func() error {
		caller, err = s.config.Gate.Admit(request)
		return err
	})
	return caller, err
}

// judge tries credentials, unless somebody guesses.
func (s *Server) judge(c echo.Context, offered auth.Credentials, account string, try func() error) error {
	address := ""
	if s.knowsOrigin(c) {
		address = addressOf(c)
	}
	if offered == auth.UnknownCredentials || offered == auth.BadCredentials {
		if wait := s.guesses.late(address, account); wait > 0 {
			return tooMany(wait, "too many attempts with wrong credentials: try again later")
		}
	}
	err := try()
	if offered == auth.UnknownCredentials && errors.As(err, new(*auth.Refused)) {
		s.guesses.note(address, account)
		s.log(c).WarnContext(c.Request().Context(), "credentials refused", "address", c.RealIP(), "user", account)
	}
	return err
}
