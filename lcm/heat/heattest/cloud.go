package heattest

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net"
	"net/http"
	"net/netip"
	"strings"
	"sync"
	"time"

	"github.com/google/uuid"
)

// Cloud is a running simulation. All methods may be called at any time from any goroutine.
type Cloud struct {
	opts     Options
	account  Account
	log      *slog.Logger
	mux      *http.ServeMux
	kinds    map[string]*kind // by resource type
	template *kind            // of every type that is a file

	life    context.Context // ends with Close
	end     context.CancelFunc
	work    sync.WaitGroup // the server, booting machines and machines being switched off
	servers []*http.Server

	mu       sync.Mutex // guards everything below
	closed   bool
	base     string // http://HOST:PORT, set by Listen
	timers   map[*time.Timer]struct{}
	delays   Delays
	quota    int
	tokens   map[string]time.Time // expiry by token
	faults   faults
	stacks   table[*stack]
	nova     nova
	neutron  neutron
	cinder   cinder
	images   table[*image]
	deleted  map[string]bool           // ids of deleted images, which Glance gives to no other
	machines map[*machine][]netip.Addr // with the addresses they began with
	builtin  map[string]bool           // ids of what New made
}

// New makes a cloud that does not listen yet. Options are checked here.
func New(opts Options) (*Cloud, error) {
	account := opts.Account
	for field, def := range map[*string]string{
		&account.User: "nfv_user", &account.Password: "devstack", &account.Project: "nfv", &account.Domain: "Default", &account.Region: "RegionOne",
	} {
		*field = cmp.Or(*field, def)
	}
	if account.Roles == nil {
		account.Roles = []string{"admin", "member", "reader", "heat_stack_owner"}
	}
	account.UserID = cmp.Or(account.UserID, newHexID())
	account.ProjectID = cmp.Or(account.ProjectID, newHexID())
	c := &Cloud{
		opts: opts, account: account, log: opts.Logger, timers: map[*time.Timer]struct{}{}, delays: opts.Delays, quota: opts.InstanceQuota,
		kinds: newKinds(), template: templateKind(), tokens: map[string]time.Time{}, machines: map[*machine][]netip.Addr{}, builtin: map[string]bool{}, deleted: map[string]bool{},
	}
	if c.log == nil {
		c.log = slog.New(slog.DiscardHandler)
	}
	if c.delays == nil {
		c.delays = DefaultDelays()
	}
	c.life, c.end = context.WithCancel(context.Background()) // the cloud's own life, ended by Close
	c.mu.Lock()
	defer c.mu.Unlock()
	if err := c.furnish(); err != nil {
		c.end()
		return nil, fmt.Errorf("set up the cloud: %w", err)
	}
	c.routes()
	return c, nil
}

// Listen serves on addr (host:port; port 0 picks one) until Close. The host given here is the one that the catalog shows.
func (c *Cloud) Listen(ctx context.Context, addr string) error {
	var lc net.ListenConfig
	l, err := lc.Listen(ctx, "tcp", addr)
	if err != nil {
		return fmt.Errorf("listen for the OpenStack simulator: %w", err)
	}
	server := &http.Server{Handler: c.Handler(), ReadHeaderTimeout: 30 * time.Second, ErrorLog: slog.NewLogLogger(c.log.Handler(), slog.LevelDebug)}
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.closed {
		return errors.Join(errors.New("the OpenStack simulator is closed"), l.Close())
	}
	if c.base == "" {
		c.base = "http://" + l.Addr().String()
	}
	c.servers = append(c.servers, server)
	c.work.Go(func() {
		if err := server.Serve(l); !errors.Is(err, http.ErrServerClosed) {
			c.log.Warn("the OpenStack simulator stopped serving", "error", err)
		}
	})
	return nil
}

// Close stops everything and waits for it: connections are cut, timers stopped, machines switched off. Further calls do nothing.
func (c *Cloud) Close() {
	c.mu.Lock()
	if c.closed {
		c.mu.Unlock()
		c.work.Wait()
		return
	}
	c.closed = true
	for t := range c.timers {
		t.Stop()
	}
	servers := c.servers
	c.mu.Unlock()
	c.end()
	for _, s := range servers {
		if err := s.Close(); err != nil {
			c.log.Debug("close the simulator's server", "error", err)
		}
	}
	c.closeMachines()
	c.work.Wait()
	c.releaseAddresses()
}

// Handler serves the whole cloud. Links in answers use the address of Listen or, without one, the Host header of the request.
func (c *Cloud) Handler() http.Handler { return http.HandlerFunc(c.serve) }

// URL is the address of the cloud without a path; empty before Listen.
func (c *Cloud) URL() string {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.base
}

// AuthURL is Keystone's address.
func (c *Cloud) AuthURL() string { return c.URL() + "/identity/v3" }

// Account tells who may log in, with all defaults filled in.
func (c *Cloud) Account() Account { return c.account }

// SetDelays replaces all delays for what begins from now on.
func (c *Cloud) SetDelays(d Delays) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.delays = d
}

// after calls fn with the lock held when d is over, unless the cloud is closed by then. It never calls fn before it returns. The lock is held.
func (c *Cloud) after(d time.Duration, fn func()) {
	var t *time.Timer
	t = time.AfterFunc(d, func() {
		c.mu.Lock()
		defer c.mu.Unlock()
		delete(c.timers, t)
		if !c.closed {
			fn()
		}
	})
	c.timers[t] = struct{}{}
}

// outside runs fn without the lock, and then with the lock. The cloud waits for fn at Close. The lock is held.
func (c *Cloud) outside(fn func(ctx context.Context), then func()) {
	if c.closed {
		return
	}
	c.work.Go(func() {
		fn(c.life)
		c.mu.Lock()
		defer c.mu.Unlock()
		if !c.closed {
			then()
		}
	})
}

// delay is how long a resource of this type takes. The lock is held.
func (c *Cloud) delay(typ, action string) time.Duration {
	d, ok := c.delays[typ]
	if !ok {
		d = c.delays[""]
	}
	switch action {
	case "CREATE":
		return d.Create
	case "DELETE":
		return d.Delete
	}
	return d.Update
}

// table holds things by id and remembers the order in which they came.
type table[T any] struct {
	items map[string]T
	born  map[string]int
	next  int
}

func (t *table[T]) put(id string, item T) {
	if t.items == nil {
		t.items, t.born = map[string]T{}, map[string]int{}
	}
	if _, ok := t.items[id]; !ok {
		t.next++
		t.born[id] = t.next
	}
	t.items[id] = item
}

func (t *table[T]) get(id string) (T, bool) {
	item, ok := t.items[id]
	return item, ok
}

func (t *table[T]) drop(id string) {
	delete(t.items, id)
	delete(t.born, id)
}

// list is everything that keep accepts, oldest first; nil keeps all.
func (t *table[T]) list(keep func(T) bool) []T {
	ids := make([]string, 0, len(t.items))
	for id, item := range t.items {
		if keep == nil || keep(item) {
			ids = append(ids, id)
		}
	}
	sortBy(ids, func(a, b string) int { return cmp.Compare(t.born[a], t.born[b]) })
	out := make([]T, len(ids))
	for i, id := range ids {
		out[i] = t.items[id]
	}
	return out
}

func newID() string { return uuid.NewString() }

// newHexID is an id as Keystone makes them.
func newHexID() string { return strings.ReplaceAll(uuid.NewString(), "-", "") }

// newShortID is twelve characters as Heat appends them to names.
func newShortID() string {
	const alphabet = "abcdefghijklmnopqrstuvwxyz234567"
	raw := uuid.New()
	out := make([]byte, 12)
	for i := range out {
		b := raw[i]
		if i == 6 || i == 8 { // these bytes hold the version and variant of the UUID
			b = raw[6+i] //nolint:gosec // there are 16
		}
		out[i] = alphabet[b&31]
	}
	return string(out)
}

// stamp is a time as Heat writes it.
func stamp(t time.Time) string { return t.UTC().Format("2006-01-02T15:04:05Z") }
