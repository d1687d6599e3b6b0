package server_test

import (
	"bufio"
	"context"
	"fmt"
	"io"
	"log/slog"
	"net"
	"net/http"
	"net/http/httptest"
	"runtime"
	"strings"
	"testing"
	"time"

	"github.com/google/uuid"

	"vnfm/server"
	"vnfm/server/servertest"
)

// limited is a server without a database, with limits.
func limited(t *testing.T, config server.Config) (*server.Server, *bench) {
	t.Helper()
	config.Instances, config.Operations, config.Vims, config.Logger = hanging{}, hanging{}, hanging{}, slog.New(slog.DiscardHandler)
	config.Ready = func(context.Context) error { return nil }
	s, err := server.New(config)
	if err != nil {
		t.Fatal(err)
	}
	listening := httptest.NewServer(s.Handler())
	t.Cleanup(listening.Close)
	return s, &bench{t: t, url: listening.URL, client: servertest.Client(t)}
}

func TestClientsThatAskTooMuch(t *testing.T) {
	t.Parallel()
	_, b := limited(t, server.Config{RateLimit: 0.01})
	b.expect(http.StatusOK, http.MethodGet, "/vnflcm/v1/api_versions", "")
	a := b.expect(http.StatusTooManyRequests, http.MethodGet, "/vnflcm/v1/api_versions", "")
	if after := a.Header.Get("Retry-After"); after != "100" || !strings.Contains(a.detail(t), "0.01") {
		t.Errorf("ask again after %q: %s", after, a.body)
	}
	for _, probe := range []string{"/healthz", "/readyz", "/metrics"} {
		b.expect(http.StatusOK, http.MethodGet, probe, "")
	}
}

func TestNamesThatAreNotTheServers(t *testing.T) {
	t.Parallel()
	_, b := limited(t, server.Config{Hosts: []string{"localhost", "vnfm.example"}})
	for host, want := range map[string]int{
		"127.0.0.1:9890": 200, "[::1]:9890": 200, "localhost": 200, "LOCALHOST:80": 200, "vnfm.example:443": 200, "10.0.0.1": 200,
		"evil.example": 421, "evil.example:9890": 421, "127.0.0.1.evil.example": 421, "localhost.evil.example": 421,
	} {
		request, err := http.NewRequestWithContext(t.Context(), http.MethodGet, b.url+"/vnflcm/v1/api_versions", nil)
		if err != nil {
			t.Fatal(err)
		}
		request.Host = host
		response, err := http.DefaultClient.Do(request)
		if err != nil {
			t.Fatal(err)
		}
		response.Body.Close()
		if response.StatusCode != want {
			t.Errorf("%s: %s, want %d", host, response.Status, want)
		}
	}
}

func TestClientsThatSendNextToNothing(t *testing.T) {
	t.Parallel()
	b := setupOn(t, nil, func(c *server.Config) { c.Patience = 300 * time.Millisecond })
	pkg := b.expect(http.StatusCreated, http.MethodPost, "/vnfpkgm/v1/vnf_packages", `{}`).Header.Get("Location")
	for _, request := range []string{
		"PUT " + pkg + "/package_content HTTP/1.1\r\nHost: vnfm\r\nContent-Type: application/zip\r\nContent-Length: 100000\r\n\r\nPK",
		"POST /vnflcm/v1/vnf_instances HTTP/1.1\r\nHost: vnfm\r\nContent-Type: application/json\r\nContent-Length: 100000\r\n\r\n{",
	} {
		connection := b.send(request)
		ctx, stop := context.WithCancel(t.Context())
		go trickle(ctx, connection)
		answer, err := bufio.NewReader(connection).ReadString('\n')
		stop()
		if err != nil || !strings.HasPrefix(answer, "HTTP/1.1 400") {
			t.Errorf("%.40s: %q %v", request, answer, err)
		}
	}
	if a := b.expect(http.StatusOK, http.MethodGet, pkg, ""); !strings.Contains(string(a.body), `"onboardingState":"CREATED"`) {
		t.Errorf("after an upload of next to nothing: %s", a.body)
	}
}

// trickle sends a byte every now and then, for as long as the connection lasts.
func trickle(ctx context.Context, connection io.Writer) {
	ticker := time.NewTicker(20 * time.Millisecond)
	defer ticker.Stop()
	for {
		select {
		case <-ctx.Done():
			return
		case <-ticker.C:
			if _, err := io.WriteString(connection, " "); err != nil {
				return
			}
		}
	}
}

// A body that comes steadily, but would take longer than any request may.
func TestBodiesThatTakeTooLong(t *testing.T) {
	t.Parallel()
	_, b := limited(t, server.Config{Deadline: 300 * time.Millisecond})
	connection := b.send("POST /vnflcm/v1/vnf_instances HTTP/1.1\r\nHost: vnfm\r\nContent-Type: application/json\r\nContent-Length: 100000\r\n\r\n{")
	ctx, stop := context.WithCancel(t.Context())
	defer stop()
	go trickle(ctx, connection)
	if answer, err := bufio.NewReader(connection).ReadString('\n'); err != nil || !strings.HasPrefix(answer, "HTTP/1.1 400") {
		t.Errorf("%q %v", answer, err)
	}
}

// serving starts a server as it is in use.
func serving(t *testing.T) string {
	t.Helper()
	s, _ := limited(t, server.Config{})
	listener, err := (&net.ListenConfig{}).Listen(t.Context(), "tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	ctx, stop := context.WithCancel(t.Context())
	ended := make(chan error, 1)
	go func() { ended <- s.Serve(ctx, listener) }()
	t.Cleanup(func() {
		stop()
		if err := <-ended; err != nil {
			t.Error(err)
		}
	})
	return listener.Addr().String()
}

func TestHeadersThatNeverEnd(t *testing.T) {
	t.Parallel()
	address := serving(t)
	for name, row := range map[string]struct{ begin, more, want string }{
		"slow headers":        {"GET /healthz HTTP/1.1\r\nHost: vnfm\r\nX-Slow: ", "", ""},
		"no request at all":   {"", "", ""},
		"headers without end": {"GET /healthz HTTP/1.1\r\nHost: vnfm\r\n", strings.Repeat("X-Long: "+strings.Repeat("a", 1000)+"\r\n", 200), "HTTP/1.1 431"},
		"one endless header":  {"GET /healthz HTTP/1.1\r\nHost: vnfm\r\nX-Long: ", strings.Repeat("a", 200_000), "HTTP/1.1 431"},
		"endless URI":         {"GET /", strings.Repeat("a", 200_000), "HTTP/1.1 431"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			connection, err := (&net.Dialer{}).DialContext(t.Context(), "tcp", address)
			if err != nil {
				t.Fatal(err)
			}
			defer connection.Close()
			if _, err := io.WriteString(connection, row.begin+row.more); err != nil {
				t.Log(err) // it was cut off already
			}
			if row.more == "" {
				ctx, stop := context.WithCancel(t.Context())
				defer stop()
				if row.begin != "" {
					go trickle(ctx, connection)
				}
			}
			answer, _ := io.ReadAll(connection) // ends with the connection
			if !strings.HasPrefix(string(answer), row.want) {
				t.Errorf("%.200q", answer)
			}
		})
	}
}

// Documents that are small on the wire and large in memory, or take long to look at. Others must not run meanwhile: it is looked at how much
// memory it takes.
func TestDocumentsThatAreMeantToHurt(t *testing.T) {
	_, b := limited(t, server.Config{})
	path := "/vnflcm/v1/vnf_instances/" + uuid.NewString() + "/instantiate"
	many := func(element string) string {
		return strings.TrimSuffix(strings.Repeat(element+",", 3_900_000/(len(element)+1)), ",")
	}
	for name, body := range map[string]string{
		"deep":                          strings.Repeat("[", 2_000_000) + strings.Repeat("]", 2_000_000),
		"deep objects":                  strings.Repeat(`{"a":`, 600_000) + "1" + strings.Repeat("}", 600_000),
		"many wrong":                    `{"flavourId": "a", "extVirtualLinks": [` + many("0") + `]}`,
		"many wrong inside":             `{"flavourId": "a", "extVirtualLinks": [` + many("{}") + `]}`,
		"as many wrong as there may be": `{"flavourId": "a", "extVirtualLinks": [` + strings.Repeat("{},", 99_000) + `0]}`,
		"many names":                    `{"flavourId": 1, "additionalParams": {` + manyNames() + `}}`,
		"one long number":               `{"flavourId": ` + strings.Repeat("9", 3_900_000) + `}`,
		"one long text":                 `{"flavourId": "` + strings.Repeat("a", 3_900_000) + `", "extVirtualLinks": 1}`,
	} {
		var before, after runtime.MemStats
		runtime.ReadMemStats(&before)
		a := b.expect(http.StatusBadRequest, http.MethodPost, path, body)
		runtime.ReadMemStats(&after)
		if len(a.body) > 10_000 {
			t.Errorf("%s: a problem document of %d bytes", name, len(a.body))
		}
		if took := (after.TotalAlloc - before.TotalAlloc) >> 20; took > 600 {
			t.Errorf("%s: takes %d MiB", name, took)
		}
	}
}

func manyNames() string {
	var names strings.Builder
	for i := range 250_000 {
		fmt.Fprintf(&names, `"n%d":0,`, i)
	}
	return strings.TrimSuffix(names.String(), ",")
}
