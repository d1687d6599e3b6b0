package server

import (
	"fmt"
	"net/http"
	"slices"
	"strconv"
	"sync"
	"time"

	"github.com/labstack/echo/v4"

	"vnfm/api/access"
)

// probes are the paths that tell operators how the process is: however much it is asked, they are answered.
var probes = []string{"/healthz", "/readyz", "/metrics"}

// busy says that a client has to ask again later.
type busy struct {
	problem
	after time.Duration
}

// tooMany is the answer to a client that asks too much.
func tooMany(after time.Duration, format string, args ...any) error {
	return &busy{problem{http.StatusTooManyRequests, fmt.Sprintf(format, args...)}, after}
}

// retryAfter is the time in seconds, at least one.
func (b *busy) retryAfter() string {
	return strconv.Itoa(max(1, int((b.after+time.Second-1)/time.Second)))
}

// clientOf is who sends a request: the caller, if there is one, or else an address.
func clientOf(c echo.Context) string {
	if caller := access.Of(c.Request().Context()); caller != nil {
		return "account " + caller.User
	}
	return addressOf(c)
}

// pace lets every client ask so often per second, on average, and some times at once. It is a token bucket, kept as the time at which it
// will be full again.
type pace struct {
	interval time.Duration // between two requests; 0 = no limit
	burst    time.Duration // that many intervals' worth at once
	now      func() time.Time

	mu   sync.Mutex
	full map[string]time.Time
}

// burstTime is what clients may ask at once, and at least one request.
const burstTime = 2 * time.Second

func newPace(perSecond float64) *pace {
	p := &pace{now: time.Now, full: map[string]time.Time{}}
	if perSecond > 0 {
		p.interval = time.Duration(float64(time.Second) / perSecond)
		p.burst = max(burstTime, p.interval)
	}
	return p
}

// wait takes a token of a client, or returns how long it takes until there is one. Nobody, "", has always one.
func (p *pace) wait(client string) time.Duration {
	if p.interval == 0 || client == "" {
		return 0
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	full, late := p.next(client)
	if late == 0 {
		p.full[client] = full
	}
	return late
}

// late is how long it takes until a client has a token, which stays.
func (p *pace) late(client string) time.Duration {
	if client == "" {
		return 0
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	_, late := p.next(client)
	return late
}

// giveBack returns a token that was taken.
func (p *pace) giveBack(client string) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if full, taken := p.full[client]; taken {
		p.full[client] = full.Add(-p.interval)
	}
}

// next is the time at which a client's bucket is full again if it takes a token, and how long it takes until there is one.
func (p *pace) next(client string) (full time.Time, late time.Duration) {
	now := p.now()
	p.forget(now)
	full = p.full[client]
	if full.Before(now) {
		full = now
	}
	full = full.Add(p.interval)
	return full, max(0, full.Sub(now)-p.burst)
}

// maxBuckets is from which number on buckets are looked for that are full, and so no different from none.
const maxBuckets = 10_000

func (p *pace) forget(now time.Time) {
	if len(p.full) < maxBuckets {
		return
	}
	for client, full := range p.full {
		if full.Before(now) {
			delete(p.full, client)
		}
	}
}

// pacedByAddress refuses the requests of addresses that send too many, before anybody asks who they are from.
func (s *Server) pacedByAddress(next echo.HandlerFunc) echo.HandlerFunc {
	return func(c echo.Context) error {
		if !s.knowsOrigin(c) {
			return next(c)
		}
		return s.keepPace(c, addressOf(c), next)
	}
}

// paced refuses the requests of callers that send too many.
func (s *Server) paced(next echo.HandlerFunc) echo.HandlerFunc {
	return func(c echo.Context) error {
		if access.Of(c.Request().Context()) == nil {
			return next(c)
		}
		return s.keepPace(c, clientOf(c), next)
	}
}

func (s *Server) keepPace(c echo.Context, client string, next echo.HandlerFunc) error {
	if slices.Contains(probes, c.Path()) {
		return next(c)
	}
	if wait := s.pace.wait(client); wait > 0 {
		return tooMany(wait, "more than %g requests a second: ask again later", s.config.RateLimit)
	}
	return next(c)
}
