package server_test

import (
	"context"
	"errors"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"vnfm/lcm"
	"vnfm/server"
	"vnfm/server/servertest"
)

// hanging is a server's database that does not answer.
type hanging struct {
	server.InstanceManager
	server.OperationManager
	server.VimRegistry
}

func (hanging) Instances(ctx context.Context, _ lcm.Page) ([]*lcm.VnfInstance, bool, error) {
	return nil, false, wait(ctx)
}

func wait(ctx context.Context) error {
	<-ctx.Done()
	return ctx.Err()
}

// TestDatabaseThatHangs has a database that neither answers nor refuses: clients get an answer all the same.
func TestDatabaseThatHangs(t *testing.T) {
	t.Parallel()
	s, err := server.New(server.Config{
		Instances: hanging{}, Operations: hanging{}, Vims: hanging{}, Ready: wait, Deadline: 50 * time.Millisecond,
		Away:   func(err error) bool { return errors.Is(err, context.DeadlineExceeded) },
		Logger: slog.New(slog.DiscardHandler),
	})
	if err != nil {
		t.Fatal(err)
	}
	listening := httptest.NewServer(s.Handler())
	t.Cleanup(listening.Close)
	b := &bench{t: t, url: listening.URL, client: servertest.Client(t)}
	for _, path := range []string{"/vnflcm/v1/vnf_instances", "/readyz"} {
		answer := b.do(http.MethodGet, path, "")
		if detail := answer.detail(t); answer.StatusCode != http.StatusServiceUnavailable || !strings.Contains(detail, "database") {
			t.Errorf("%s: %s %q", path, answer.Status, detail)
		}
		if answer.Header.Get("Retry-After") == "" {
			t.Errorf("%s does not say when to ask again", path)
		}
	}
}
