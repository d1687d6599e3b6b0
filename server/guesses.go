package server

import (
	"errors"
	"net/http"
	"sync"
	"time"

	"github.com/labstack/echo/v4"

	"vnfm/api/access"
	"vnfm/server/auth"
)

// guesses bounds how often it may be tried to guess credentials: from an address, and for an account. Credentials that this process has
// found good, and those of sessions, are no guess, so that whoever has them goes on working whose address or account somebody else guesses with or
// for.
type guesses struct {
	byAddress, byAccount *pace

	mu     sync.Mutex
	trying map[auth.Digest]*trial
}

// trial is one guess, which may be tried by several requests at the same time.
type trial struct {
	address, account string
	requests         int
	refused          bool
}

func newGuesses() *guesses {
	const (
		ofAddress, atOnce        = time.Second, 60 // many clients may share one
		ofAccount, accountAtOnce = 10 * time.Second, 20
	)
	return &guesses{
		byAddress: &pace{interval: ofAddress, burst: atOnce * ofAddress, now: time.Now, full: map[string]time.Time{}},
		byAccount: &pace{interval: ofAccount, burst: accountAtOnce * ofAccount, now: time.Now, full: map[string]time.Time{}},
		trying:    map[auth.Digest]*trial{},
	}
}

// late is how long who sends a request has to wait until it may try again.
func (g *guesses) late(address, account string) time.Duration {
	return max(g.byAddress.late(address), g.byAccount.late(account))
}

// begin pays for a guess before it is tried, so that of many at once no more are tried than may be. It returns how long who guesses has to wait
// instead.
func (g *guesses) begin(guess auth.Digest, address, account string) time.Duration {
	g.mu.Lock()
	defer g.mu.Unlock()
	if same := g.trying[guess]; same != nil {
		same.requests++
		return 0
	}
	if late := g.byAddress.wait(address); late > 0 {
		return late
	}
	if late := g.byAccount.wait(account); late > 0 {
		g.byAddress.giveBack(address)
		return late
	}
	g.trying[guess] = &trial{address: address, account: account, requests: 1}
	return 0
}

// end gives back what was paid for a guess that was none: that nobody has refused.
func (g *guesses) end(guess auth.Digest, refused bool) {
	g.mu.Lock()
	defer g.mu.Unlock()
	tried := g.trying[guess]
	tried.refused = tried.refused || refused
	if tried.requests--; tried.requests > 0 {
		return
	}
	delete(g.trying, guess)
	if !tried.refused {
		g.byAddress.giveBack(tried.address)
		g.byAccount.giveBack(tried.account)
	}
}

// judge tries credentials, unless somebody guesses.
func (s *Server) judge(c echo.Context, offer auth.Offer, try func() error) (err error) {
	address := ""
	if s.knowsOrigin(c) {
		address = addressOf(c)
	}
	var wait time.Duration
	switch offer.Credentials {
	case auth.BadCredentials:
		wait = s.guesses.late(address, offer.Account)
	case auth.UnknownCredentials:
		wait = s.guesses.begin(offer.Digest, address, offer.Account)
	default:
		return try()
	}
	if wait > 0 {
		return tooMany(wait, "too many attempts with wrong credentials: try again later")
	}
	if offer.Credentials == auth.BadCredentials {
		return try()
	}
	refused := true // also if it panics
	defer func() { s.guesses.end(offer.Digest, refused) }()
	err = try()
	if refused = errors.As(err, new(*auth.Refused)); refused {
		s.log(c).WarnContext(c.Request().Context(), "credentials refused", "address", c.RealIP(), "user", offer.Account)
	}
	return err
}

// admit returns who has sent a request, unless somebody guesses. Credentials of a session were good once: nobody else can make one.
func (s *Server) admit(c echo.Context, request *http.Request, ofSession bool) (caller *access.Caller, err error) {
	offer := s.config.Gate.Offered(request)
	if ofSession {
		offer.Credentials = auth.GoodCredentials
	}
	err = s.judge(c, offer, func() error {
		caller, err = s.config.Gate.Admit(request)
		return err
	})
	return caller, err
}
