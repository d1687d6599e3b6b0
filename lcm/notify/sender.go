package notify

import (
	"context"
	"encoding/json"
	"log/slog"
	"math/rand/v2"
	"net/http"
	"sync"
	"time"

	"github.com/google/uuid"
	"golang.org/x/sync/errgroup"

	"vnfm/api/peer"
)

// Outbox is what a sender needs of the database: the deliveries, which came there with what they tell of.
type Outbox interface {
	// DueSubscriptions returns the subscriptions that have something to deliver now and that no other sender is at.
	DueSubscriptions(ctx context.Context, sender uuid.UUID) ([]uuid.UUID, error)
	// TakeDeliveries takes a subscription for a sender and the length of the lease, and returns the oldest deliveries, at most limit; nil
	// if there is nothing to do, or another sender is at it.
	TakeDeliveries(ctx context.Context, id, sender uuid.UUID, lease time.Duration, limit int) (*Batch, error)
	// SettleDeliveries records what became of a batch and gives the subscription back, with the pause before its next batch.
	SettleDeliveries(ctx context.Context, id, sender uuid.UUID, outcome Outcome) error
	// ListenForDeliveries calls news whenever there may be something to deliver, until ctx ends or the connection is lost.
	ListenForDeliveries(ctx context.Context, news func()) error
	// SweepNotifications removes the notifications that nobody waits for any more.
	SweepNotifications(ctx context.Context) error
}

// Batch is what is to be sent to a consumer next.
type Batch struct {
	Subscription *Subscription // with its authentication
	Failures     int           // batches in a row that a failure has ended
	Deliveries   []Delivery    // in the order of the events
}

// Delivery is a notification on its way to one consumer.
type Delivery struct {
	Seq      int64     // the order of the events
	Subject  uuid.UUID // the resource
	At       time.Time // when it happened
	Rejected int       // how often the consumer has refused it
	Body     json.RawMessage
}

// Outcome is what became of a batch.
type Outcome struct {
	Done     []int64       // delivered, or given up
	Rejected []int64       // refused by the consumer, to be tried again
	Failures int           // batches in a row that a failure has ended; 0: all is well
	Pause    time.Duration // before the next attempt
}

// SenderConfig are the options of a [Sender]; the zero value of each means its default.
type SenderConfig struct {
	Client    *http.Client  // towards consumers
	APIRoot   string        // the beginning of all links, such as https://vnfm.example.net, without a slash at its end
	Retention time.Duration // how long it is tried to deliver a notification; default 24 h
	Backoff   time.Duration // after the first failure; doubled with each further one, up to a minute; default 1 s
	Poll      time.Duration // between looks for deliveries that nobody has told of; default 1 s
	Logger    *slog.Logger  // default: the default logger
	// Observe is told of each attempt to deliver a notification, and how long it has taken. Default: nobody.
	Observe func(result Result, took time.Duration)
}

// Result is what becomes of a notification.
type Result string

// The results. A notification is tried again but for those that are delivered, refused for good or expired.
const (
	Delivered      Result = "DELIVERED"
	Refused        Result = "REFUSED"  // by the consumer, which is well otherwise
	Troubled       Result = "TROUBLED" // the consumer cannot be reached, or takes no notifications at all
	RefusedForGood Result = "REFUSED_FOR_GOOD"
	Expired        Result = "EXPIRED" // not delivered within the retention
)

// CallTime is the time in which a consumer has to answer one call.
const CallTime = 10 * time.Second

const (
	batchSize = 256
	// parallel is how many resources are told of at once to one consumer.
	parallel = 8
	// lease is how long a batch may take. Who wakes up later finds the time over and sends nothing more.
	lease      = 30 * time.Second
	maxBackoff = time.Minute
	// maxRejected is how often a consumer may refuse a notification that it has understood.
	maxRejected = 3
	sweepEvery  = time.Minute
	settleTime  = 5 * time.Second
)

// Sender delivers notifications to consumers. Each consumer has its own pace: one that is slow or dead holds nobody else up.
type Sender struct {
	id     uuid.UUID
	outbox Outbox
	config SenderConfig

	mu     sync.Mutex
	logins map[uuid.UUID]peer.Login // by subscription, so that tokens are used until they expire
	active map[uuid.UUID]bool
}

// NewSender returns a sender, which [Sender.Run] starts.
func NewSender(outbox Outbox, config SenderConfig) *Sender {
	if config.Retention == 0 {
		config.Retention = 24 * time.Hour
	}
	if config.Backoff == 0 {
		config.Backoff = time.Second
	}
	if config.Poll == 0 {
		config.Poll = time.Second
	}
	if config.Observe == nil {
		config.Observe = func(Result, time.Duration) {}
	}
	if config.Logger == nil {
		config.Logger = slog.Default()
	}
	return &Sender{id: uuid.New(), outbox: outbox, config: config, logins: map[uuid.UUID]peer.Login{}, active: map[uuid.UUID]bool{}}
}

// Run delivers until ctx ends, and then lets go of what it holds.
func (s *Sender) Run(ctx context.Context) error {
	news := make(chan struct{}, 1)
	group := &errgroup.Group{}
	group.Go(func() error {
		s.listen(ctx, news)
		return nil
	})
	group.Go(func() error {
		s.sweep(ctx)
		return nil
	})
	for ctx.Err() == nil {
		due, err := s.outbox.DueSubscriptions(ctx, s.id)
		if err != nil && ctx.Err() == nil {
			s.config.Logger.Warn("search for notifications to deliver", "error", err)
		}
		for _, id := range due {
			if s.begin(id) {
				group.Go(func() error {
					defer s.end(id)
					s.deliver(ctx, id)
					return nil
				})
			}
		}
		pause(ctx, s.config.Poll, news)
	}
	return group.Wait()
}

// sweep removes what was delivered. It takes long where much waits for a consumer, whom the others do not wait for.
func (s *Sender) sweep(ctx context.Context) {
	for ctx.Err() == nil {
		if err := s.outbox.SweepNotifications(ctx); err != nil && ctx.Err() == nil {
			s.config.Logger.Warn("remove delivered notifications", "error", err)
		}
		pause(ctx, sweepEvery, nil)
	}
}

// listen hears of news from the database. While there is no connection the polling has to do.
func (s *Sender) listen(ctx context.Context, news chan<- struct{}) {
	for ctx.Err() == nil {
		err := s.outbox.ListenForDeliveries(ctx, func() {
			select {
			case news <- struct{}{}:
			default:
			}
		})
		if ctx.Err() == nil {
			s.config.Logger.Warn("news of deliveries are not heard", "error", err)
		}
		pause(ctx, s.config.Poll, nil)
	}
}

// pause waits for d, until there is news (nil: never) or until ctx ends.
func pause(ctx context.Context, d time.Duration, news <-chan struct{}) {
	timer := time.NewTimer(d)
	defer timer.Stop()
	select {
	case <-ctx.Done():
	case <-news:
	case <-timer.C:
	}
}

func (s *Sender) begin(id uuid.UUID) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.active[id] {
		return false
	}
	s.active[id] = true
	return true
}

func (s *Sender) end(id uuid.UUID) {
	s.mu.Lock()
	defer s.mu.Unlock()
	delete(s.active, id)
}

// deliver sends a consumer what there is for it, until there is nothing more or a failure.
func (s *Sender) deliver(ctx context.Context, id uuid.UUID) {
	for ctx.Err() == nil {
		ends := time.Now().Add(lease)
		batch, err := s.outbox.TakeDeliveries(ctx, id, s.id, lease, batchSize)
		if err != nil && ctx.Err() == nil {
			s.config.Logger.Warn("take notifications to deliver", "subscriptionId", id, "error", err)
		}
		if err != nil || batch == nil {
			return
		}
		outcome := s.send(ctx, batch, ends.Add(-CallTime))
		settling, cancel := context.WithTimeout(context.WithoutCancel(ctx), settleTime)
		err = s.outbox.SettleDeliveries(settling, id, s.id, outcome)
		cancel()
		if err != nil {
			s.config.Logger.Warn("record delivered notifications", "subscriptionId", id, "error", err)
		}
		if err != nil || outcome.Failures > 0 {
			return
		}
	}
}

// send sends a batch. The first failure ends it: while a consumer is in trouble it is asked with one notification at a time.
func (s *Sender) send(ctx context.Context, batch *Batch, until time.Time) Outcome {
	round := &round{sender: s, batch: batch, login: s.login(batch.Subscription), until: until,
		log: s.config.Logger.With("subscriptionId", batch.Subscription.ID)} // not with the address, which may hold a token
	group := &errgroup.Group{}
	group.SetLimit(parallel)
	if batch.Failures > 0 {
		group.SetLimit(1)
	}
	for _, chain := range chains(batch.Deliveries) {
		group.Go(func() error {
			round.walk(ctx, chain)
			return nil
		})
	}
	_ = group.Wait()
	return round.outcome()
}

// login is the way to log in at a consumer. Those of subscriptions that are gone are forgotten with all others when there are too many.
func (s *Sender) login(subscription *Subscription) peer.Login {
	s.mu.Lock()
	defer s.mu.Unlock()
	if known, ok := s.logins[subscription.ID]; ok {
		return known
	}
	const most = 10_000
	if len(s.logins) >= most {
		clear(s.logins)
	}
	login := subscription.Authentication.login(s.config.Client)
	s.logins[subscription.ID] = login
	return login
}

// backoff is the pause after so many failures in a row.
func (s *Sender) backoff(failures int) time.Duration {
	pause := min(s.config.Backoff<<min(failures-1, 16), maxBackoff)
	// Many consumers behind one broken proxy do not come back at once.
	return pause - time.Duration(rand.Int64N(int64(pause)/4+1)) //nolint:gosec // jitter
}
