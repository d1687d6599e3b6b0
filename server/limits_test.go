package server

import (
	"context"
	"errors"
	"net"
	"net/http"
	"net/http/httptest"
	"sync"
	"testing"
	"time"

	"github.com/labstack/echo/v4"
)

func TestPaceOfAClient(t *testing.T) {
	t.Parallel()
	now := time.Unix(1e9, 0)
	p := newPace(10)
	p.now = func() time.Time { return now }
	for i := range 20 { // two seconds' worth
		if wait := p.wait("one"); wait > 0 {
			t.Fatalf("request %d waits for %s", i, wait)
		}
	}
	if wait := p.wait("one"); wait != 100*time.Millisecond {
		t.Errorf("the next one waits for %s", wait)
	}
	if wait := p.wait("another"); wait > 0 {
		t.Errorf("another client waits for %s", wait)
	}
	now = now.Add(100 * time.Millisecond)
	if first, second := p.wait("one"), p.wait("one"); first != 0 || second != 100*time.Millisecond {
		t.Errorf("later it waits for %s and %s", first, second)
	}
	now = now.Add(time.Hour)
	for i := range maxBuckets + 10 {
		p.wait(string(rune(i)))
	}
	if p.wait("one"); len(p.full) > maxBuckets+11 {
		t.Errorf("%d clients are remembered", len(p.full))
	}
	now = now.Add(time.Hour)
	if p.wait("one"); len(p.full) != 1 {
		t.Errorf("%d clients are remembered after an hour", len(p.full))
	}
	if wait := newPace(0).wait("one"); wait != 0 {
		t.Errorf("without a limit it waits for %s", wait)
	}
}

func TestSlowPace(t *testing.T) {
	t.Parallel()
	p := newPace(0.1)
	if first, second := p.wait("one"), p.wait("one"); first != 0 || second < 9*time.Second {
		t.Errorf("one request in ten seconds: waits for %s, and then %s", first, second)
	}
}

func TestClientsAreKnownByTheirAddress(t *testing.T) {
	t.Parallel()
	for remote, want := range map[string]string{
		"192.0.2.1:1234": "192.0.2.1", "[::ffff:192.0.2.1]:1": "192.0.2.1", "[2001:db8:1:2:3:4:5:6]:1": "2001:db8:1:2::/64",
		"[2001:db8:1:2::9]:7": "2001:db8:1:2::/64", "[fe80::1%eth0]:1": "fe80::/64", "pipe": "pipe",
	} {
		request := httptest.NewRequest(http.MethodGet, "/", nil)
		request.RemoteAddr = remote
		request.Header.Set("X-Forwarded-For", "198.51.100.9") // anybody may write that
		request.Header.Set("X-Real-Ip", "198.51.100.9")
		e := echo.New()
		e.IPExtractor = direct
		if got := clientOf(e.NewContext(request, nil)); got != want {
			t.Errorf("%s is %s, want %s", remote, got, want)
		}
	}
}

func TestClientsBehindAProxy(t *testing.T) {
	t.Parallel()
	for name, row := range map[string]struct {
		forwarded []string
		want      string
	}{
		"the proxy tells one":                 {[]string{"192.0.2.1"}, "192.0.2.1"},
		"with a port":                         {[]string{"192.0.2.1:4711"}, "192.0.2.1"},
		"of IPv6":                             {[]string{"2001:db8::1"}, "2001:db8::1"},
		"of IPv6 with a port":                 {[]string{"[2001:db8::1]:4711"}, "2001:db8::1"},
		"the client has told others before":   {[]string{"198.51.100.9, 10.0.0.1, 192.0.2.1"}, "192.0.2.1"},
		"in a header of its own":              {[]string{"198.51.100.9", "192.0.2.1"}, "192.0.2.1"},
		"a private address is one as well":    {[]string{"198.51.100.9, 10.0.0.1"}, "10.0.0.1"},
		"the proxy tells none":                {nil, "10.9.9.9"},
		"the proxy tells what is no address":  {[]string{"192.0.2.1, unknown"}, "10.9.9.9"},
		"the proxy tells nothing at all":      {[]string{""}, "10.9.9.9"},
		"an address in the form of the other": {[]string{"::ffff:192.0.2.1"}, "192.0.2.1"},
	} {
		request := httptest.NewRequest(http.MethodGet, "/", nil)
		request.RemoteAddr = "10.9.9.9:80"
		for _, value := range row.forwarded {
			request.Header.Add("X-Forwarded-For", value)
		}
		if got := proxied(request); got != row.want {
			t.Errorf("%s: %s, want %s", name, got, row.want)
		}
	}
}

// status is that of a refusal; 0: there is none.
func status(err error) int {
	var later *busy
	if errors.As(err, &later) {
		return later.status
	}
	return 0
}

func TestPlaces(t *testing.T) {
	t.Parallel()
	p := newPlaces("things", 3, 2, 0)
	take := func(client string, want int) func() {
		t.Helper()
		giveBack, err := p.take(t.Context(), client)
		if got := status(err); got != want {
			t.Errorf("%s gets %d, want %d", client, got, want)
		}
		return giveBack
	}
	first := take("one", 0)
	take("one", 0)
	take("one", http.StatusTooManyRequests)
	take("two", 0)
	take("two", http.StatusServiceUnavailable)
	first()
	first() // has no effect
	take("two", 0)
	take("three", http.StatusServiceUnavailable)
}

func TestPlacesAreWaitedFor(t *testing.T) {
	t.Parallel()
	p := newPlaces("things", 2, 1, time.Hour)
	giveBack, err := p.take(t.Context(), "one")
	if err != nil {
		t.Fatal(err)
	}
	var waiting sync.WaitGroup
	for range 10 {
		waiting.Go(func() {
			again, err := p.take(t.Context(), "one")
			if err != nil {
				t.Error(err)
				return
			}
			again()
		})
	}
	gone, leave := context.WithCancel(t.Context())
	leave()
	if _, err := p.take(gone, "one"); status(err) != http.StatusTooManyRequests {
		t.Errorf("a client that has gone: %v", err)
	}
	giveBack()
	waiting.Wait()
	if p.taken != 0 || len(p.by) != 0 {
		t.Errorf("%d places are taken, by %v", p.taken, p.by)
	}
}

// pipe is a connection that tells whether it was closed.
type pipe struct {
	net.Conn
	closed bool
}

func (p *pipe) Close() error {
	p.closed = true
	return nil
}

func TestTheLongestIdleConnectionGoes(t *testing.T) {
	t.Parallel()
	c := newConnections()
	c.limit = 3
	all := []*pipe{{}, {}, {}, {}, {}}
	closed := func(want ...int) {
		t.Helper()
		for i, connection := range all {
			expected := false
			for _, w := range want {
				expected = expected || w == i
			}
			if connection.closed != expected {
				t.Errorf("connection %d closed: %t, want %t", i, connection.closed, expected)
			}
		}
	}
	c.changed(all[0], http.StateNew)
	c.changed(all[0], http.StateActive)
	c.changed(all[1], http.StateNew)
	c.changed(all[2], http.StateNew)
	c.changed(all[2], http.StateActive)
	closed()
	c.changed(all[3], http.StateNew)
	closed(1)
	c.changed(all[1], http.StateClosed)
	c.changed(all[3], http.StateActive)
	c.changed(all[4], http.StateNew)
	closed(1, 4) // all others are at work
	c.changed(all[0], http.StateIdle)
	closed(1, 4)
	c.changed(all[2], http.StateClosed)
	c.changed(all[0], http.StateActive)
	if len(c.all) != 2 || c.quiet.Len() != 0 {
		t.Errorf("%d connections, %d of them idle", len(c.all), c.quiet.Len())
	}
}
