package notify_test

import (
	"fmt"
	"io"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"sync/atomic"
	"testing"
	"time"

	"vnfm/api/peer"
	"vnfm/lcm/notify"
)

// flow delivers what happens to so many instances to so many consumers on this machine, some of which may take nothing, and returns the
// notifications that arrive in a second.
func flow(b *testing.B, instances, consumers, dead int) float64 {
	b.Helper()
	bench := setup(b)
	var arrived atomic.Int64
	done := make(chan struct{})
	want := int64(instances * consumers)
	count := httptest.NewServer(http.HandlerFunc(func(response http.ResponseWriter, request *http.Request) {
		_, _ = io.Copy(io.Discard, request.Body)
		response.WriteHeader(http.StatusNoContent)
		if arrived.Add(1) == want {
			close(done)
		}
	}))
	defer count.Close()
	release := make(chan struct{})
	silent := httptest.NewServer(http.HandlerFunc(func(http.ResponseWriter, *http.Request) { <-release }))
	defer silent.Close()
	defer close(release)
	for i := range consumers {
		bench.subscribe(fmt.Sprintf("%s/%d", count.URL, i), nil)
	}
	for i := range dead {
		bench.subscribe(fmt.Sprintf("%s/%d", silent.URL, i), nil)
	}
	for range instances {
		bench.create()
	}
	sender := notify.NewSender(bench, notify.SenderConfig{
		Client: peer.Policy{}.Client(nil, notify.CallTime), APIRoot: "http://vnfm", Logger: slog.New(slog.DiscardHandler)})
	began := time.Now()
	stop := bench.run(sender)
	<-done
	rate := float64(want) / time.Since(began).Seconds()
	stop()
	return rate
}

// BenchmarkNotifications measures the delivery to consumers on this machine, and what one that takes nothing costs the others.
func BenchmarkNotifications(b *testing.B) {
	for _, row := range []struct{ instances, consumers int }{{5000, 1}, {1000, 10}, {200, 100}} {
		b.Run(fmt.Sprintf("%d subscriptions", row.consumers), func(b *testing.B) {
			var alone, beside float64
			for range b.N {
				alone += flow(b, row.instances, row.consumers, 0)
				beside += flow(b, row.instances, row.consumers, 1)
			}
			b.ReportMetric(alone/float64(b.N), "notifications/s")
			b.ReportMetric(beside/alone, "with-a-dead-one/without")
			b.ReportMetric(0, "ns/op")
		})
	}
}
