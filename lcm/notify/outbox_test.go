package notify_test

import (
	"bytes"
	"context"
	"encoding/json"
	"log/slog"
	"net/http"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/google/uuid"
	"github.com/jackc/pgx/v5"

	"vnfm/api/peer"
	"vnfm/lcm/notify"
)

// TestSubscriptionDeletedWhileItsDeliveriesAreSettled holds the lock that a deletion takes first.
func TestSubscriptionDeletedWhileItsDeliveriesAreSettled(t *testing.T) {
	t.Parallel()
	b := setup(t)
	subscription := b.subscribe("http://127.0.0.1:9", nil)
	b.create()
	sender := uuid.New()
	batch, err := b.TakeDeliveries(t.Context(), subscription.ID, sender, time.Minute, 10)
	if err != nil || batch == nil {
		t.Fatalf("%v, %v", batch, err)
	}
	connection, err := pgx.Connect(t.Context(), b.URL())
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = connection.Close(context.WithoutCancel(t.Context())) }()
	deletion, err := connection.Begin(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	if _, err := deletion.Exec(t.Context(), `DELETE FROM subscriptions WHERE id = $1`, subscription.ID); err != nil {
		t.Fatal(err)
	}
	settled := make(chan error)
	go func() {
		settled <- b.SettleDeliveries(t.Context(), subscription.ID, sender, notify.Outcome{Done: []int64{batch.Deliveries[0].Seq}})
	}()
	for waiting := false; !waiting; {
		const query = `SELECT EXISTS (SELECT FROM pg_stat_activity WHERE datname = current_database() AND wait_event_type = 'Lock')`
		if err := deletion.QueryRow(t.Context(), query).Scan(&waiting); err != nil {
			t.Fatal(err)
		}
	}
	if _, err := deletion.Exec(t.Context(), `DELETE FROM deliveries WHERE subscription_id = $1`, subscription.ID); err != nil {
		t.Errorf("deletion: %v", err)
	}
	if err := deletion.Commit(t.Context()); err != nil {
		t.Errorf("deletion: %v", err)
	}
	if err := <-settled; err != nil {
		t.Error(err)
	}
}

// slowSweep is an outbox that takes long to remove what was delivered.
type slowSweep struct{ *bench }

func (slowSweep) SweepNotifications(ctx context.Context) error {
	<-ctx.Done()
	return ctx.Err()
}

func TestRemovalOfWhatWasDeliveredHoldsNobodyUp(t *testing.T) {
	t.Parallel()
	b := setup(t)
	b.run(notify.NewSender(slowSweep{b}, notify.SenderConfig{Client: peer.Policy{}.Client(nil, notify.CallTime), Poll: 10 * time.Millisecond}))
	consumer := newConsumer(t, nil)
	b.subscribe(consumer.URL, nil)
	b.create()
	consumer.await(t, 1)
}

// oneBatch is an outbox with one batch, which tells what became of it.
type oneBatch struct {
	once    sync.Once
	batch   *notify.Batch
	outcome chan notify.Outcome
}

func (o *oneBatch) DueSubscriptions(context.Context, uuid.UUID) ([]uuid.UUID, error) {
	return []uuid.UUID{o.batch.Subscription.ID}, nil
}

func (o *oneBatch) TakeDeliveries(context.Context, uuid.UUID, uuid.UUID, time.Duration, int) (taken *notify.Batch, err error) {
	o.once.Do(func() { taken = o.batch })
	return taken, nil
}

func (o *oneBatch) SettleDeliveries(_ context.Context, _, _ uuid.UUID, outcome notify.Outcome) error {
	o.outcome <- outcome
	return nil
}

func (o *oneBatch) ListenForDeliveries(ctx context.Context, _ func()) error {
	<-ctx.Done()
	return ctx.Err()
}

func (o *oneBatch) SweepNotifications(context.Context) error { return nil }

// TestConsumersThatStayAway sends an old notification, which is given up, and a new one.
func TestConsumersThatStayAway(t *testing.T) {
	t.Parallel()
	consumer := newConsumer(t, func(int, notification) int { return http.StatusServiceUnavailable })
	outbox := &oneBatch{outcome: make(chan notify.Outcome, 1), batch: &notify.Batch{
		Subscription: &notify.Subscription{ID: uuid.New(), CallbackURI: consumer.URL + "/geheim?token=geheim"},
		Failures:     5,
		Deliveries: []notify.Delivery{
			{Seq: 1, Subject: uuid.New(), At: time.Now().Add(-48 * time.Hour), Body: json.RawMessage(`{}`)},
			{Seq: 2, Subject: uuid.New(), At: time.Now(), Body: json.RawMessage(`{}`)},
		},
	}}
	var log bytes.Buffer
	ctx, cancel := context.WithCancel(t.Context())
	ended := make(chan error)
	sender := notify.NewSender(outbox, notify.SenderConfig{
		Client: peer.Policy{}.Client(nil, notify.CallTime), Logger: slog.New(slog.NewTextHandler(&log, nil))})
	go func() { ended <- sender.Run(ctx) }()
	outcome := <-outbox.outcome
	cancel()
	<-ended
	if len(outcome.Done) != 1 || outcome.Done[0] != 1 || outcome.Failures != 6 {
		t.Errorf("%+v, want that the old one is given up and the consumer counts as away", outcome)
	}
	if text := log.String(); !strings.Contains(text, "503") || strings.Contains(text, "geheim") {
		t.Errorf("log, which must not tell the address:\n%s", text)
	}
}
