package ssh

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"sync"
	"time"

	"golang.org/x/crypto/ssh"

	"vnfm/mgmtdriver"
)

// Config are the options of a pool; the zero value of each means its default.
type Config struct {
	DialTime       time.Duration // in which a login has to be through; default 20 s
	CommandTime    time.Duration // for a command or a small file; default 40 s
	Keepalive      time.Duration // between two questions whether a host is still there; default 15 s
	IdleTime       time.Duration // after which an unused connection is closed; default 2 min
	LoginGrace     time.Duration // in which a host that starts may refuse logins; default 2 min
	MaxConnections int           // open at once; default 256
	// Observe is told of each login, ping, command and transfer on a host, which goes on with the context returned; end is called after it.
	// Default: nobody.
	Observe func(ctx context.Context, action, host string) (acting context.Context, end func(error))
}

// The actions that are observed.
const (
	actionLogin   = "login"
	actionPing    = "ping"
	actionCommand = "command"
	actionPut     = "put"
)

func (c *Config) setDefaults() {
	c.DialTime = cmp.Or(c.DialTime, 20*time.Second)
	c.CommandTime = cmp.Or(c.CommandTime, 40*time.Second)
	c.Keepalive = cmp.Or(c.Keepalive, 15*time.Second)
	c.IdleTime = cmp.Or(c.IdleTime, 2*time.Minute)
	c.LoginGrace = cmp.Or(c.LoginGrace, 2*time.Minute)
	c.MaxConnections = cmp.Or(c.MaxConnections, 256)
	if c.Observe == nil {
		c.Observe = func(ctx context.Context, _, _ string) (context.Context, func(error)) { return ctx, func(error) {} }
	}
}

// Pool keeps connections to hosts open for those that need them next. It may be used by many goroutines.
type Pool struct {
	config Config
	room   chan struct{} // has one element for every connection
	work   sync.WaitGroup
	done   chan struct{}

	mu    sync.Mutex
	slots map[string]*slot
}

// NewPool returns a pool. [Pool.Close] must be called.
func NewPool(config Config) *Pool {
	config.setDefaults()
	p := &Pool{config: config, room: make(chan struct{}, config.MaxConnections), done: make(chan struct{}), slots: map[string]*slot{}}
	p.work.Go(p.tidy)
	return p
}

// Close ends all connections and waits for what works on them. Further calls do nothing; hosts of the pool fail from then on.
func (p *Pool) Close() error {
	p.mu.Lock()
	select {
	case <-p.done:
	default:
		close(p.done)
	}
	for _, s := range p.slots {
		if c := s.current(); c != nil {
			c.close()
		}
	}
	p.mu.Unlock()
	p.work.Wait()
	return nil
}

var errClosed = errors.New("the pool of connections is closed")

func (p *Pool) closed() bool {
	select {
	case <-p.done:
		return true
	default:
		return false
	}
}

// slot is the place of the one connection to a target.
type slot struct {
	making chan struct{} // has an element while somebody makes the connection

	mu      sync.Mutex
	conn    *connection
	refused struct {
		since, last time.Time // of the logins that were refused since the last one that was not
		err         error
	}
}

func (s *slot) current() *connection {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.conn
}

// slot returns the slot of a key; nobody else makes a connection there until the caller takes an element out of making.
func (p *Pool) slot(ctx context.Context, key string) (*slot, error) {
	for {
		p.mu.Lock()
		s := p.slots[key]
		if s == nil {
			s = &slot{making: make(chan struct{}, 1)}
			p.slots[key] = s
		}
		p.mu.Unlock()
		select {
		case s.making <- struct{}{}:
		case <-ctx.Done():
			return nil, context.Cause(ctx)
		}
		p.mu.Lock()
		current := p.slots[key] == s
		p.mu.Unlock()
		if current {
			return s, nil
		}
		<-s.making // it was forgotten in between
	}
}

// connect returns a connection to a target that works, with one more user; release ends the use. It fails with *[mgmtdriver.Unavailable]
// if the host does not answer, or not yet, *[LoginError], or *[HostKeyError].
func (p *Pool) connect(ctx context.Context, instanceID string, target *Target, keys mgmtdriver.HostKeys) (_ *connection, release func(), err error) {
	s, err := p.slot(ctx, target.key(instanceID))
	if err != nil {
		return nil, nil, unavailable(target, err)
	}
	defer func() { <-s.making }()
	if c := s.current(); c != nil && c.use() {
		if c.fresh() {
			return c, c.release, nil
		}
		c.release()
		c.close()
	}
	if err := s.tooSoon(target, p.config.LoginGrace); err != nil {
		return nil, nil, err
	}
	dialing, end := p.config.Observe(ctx, actionLogin, target.String())
	client, err := p.dial(dialing, instanceID, target, keys)
	err = s.learn(target, err, p.config.LoginGrace)
	end(err)
	if err != nil {
		return nil, nil, err
	}
	c, err := p.start(s, client)
	if err != nil {
		return nil, nil, unavailable(target, err)
	}
	return c, c.release, nil
}

// dial makes a connection for which there is room.
func (p *Pool) dial(ctx context.Context, instanceID string, target *Target, keys mgmtdriver.HostKeys) (_ *openConn, err error) {
	made := &openConn{}
	if target.Jump != nil {
		jump, release, err := p.connect(ctx, instanceID, target.Jump, keys)
		if err != nil {
			return nil, err
		}
		made.jump, made.releaseJump = jump.client, release
	}
	defer func() {
		if err != nil {
			made.giveBack()
		}
	}()
	if err := p.makeRoom(ctx); err != nil {
		return nil, err
	}
	made.freeRoom = func() { <-p.room }
	dialer := dialer{target: target, keys: keys, jump: made.jump, limit: p.config.DialTime}
	made.client, err = dialer.dial(ctx)
	return made, err
}

// makeRoom waits until there may be one connection more; it closes one that is not used.
func (p *Pool) makeRoom(ctx context.Context) error {
	for {
		select {
		case p.room <- struct{}{}:
			return nil
		default:
		}
		p.closeIdle(0, 1)
		wait := time.NewTimer(100 * time.Millisecond)
		select {
		case p.room <- struct{}{}:
			wait.Stop()
			return nil
		case <-wait.C:
		case <-p.done:
			wait.Stop()
			return errClosed
		case <-ctx.Done():
			wait.Stop()
			return fmt.Errorf("wait for one of %d connections: %w", p.config.MaxConnections, context.Cause(ctx))
		}
	}
}

// start puts a new connection to use.
func (p *Pool) start(s *slot, made *openConn) (*connection, error) {
	c := &connection{client: made.client, sessions: make(chan struct{}, maxSessions), ended: make(chan struct{}), users: 1, usedAt: time.Now()}
	p.mu.Lock()
	if p.closed() {
		p.mu.Unlock()
		_ = made.client.Close()
		made.giveBack()
		return nil, errClosed
	}
	s.mu.Lock()
	s.conn = c
	s.mu.Unlock()
	p.work.Go(func() {
		_ = c.client.Wait()
		close(c.ended)
		c.close()
		s.mu.Lock()
		if s.conn == c {
			s.conn = nil
		}
		s.mu.Unlock()
		made.giveBack()
	})
	p.work.Go(func() { c.keepAlive(p.config.Keepalive) })
	p.mu.Unlock()
	return c, nil
}

// tidy closes what nobody has used for long.
func (p *Pool) tidy() {
	ticker := time.NewTicker(max(p.config.IdleTime/4, time.Millisecond))
	defer ticker.Stop()
	for {
		select {
		case <-p.done:
			return
		case <-ticker.C:
			p.closeIdle(p.config.IdleTime, p.config.MaxConnections)
			p.forget()
		}
	}
}

// closeIdle closes at most n connections that were not used for that long.
func (p *Pool) closeIdle(idle time.Duration, n int) {
	p.mu.Lock()
	defer p.mu.Unlock()
	for _, s := range p.slots {
		if c := s.current(); n > 0 && c != nil && c.closeIfIdle(idle) {
			n--
		}
	}
}

// forget removes slots that have neither a connection nor news.
func (p *Pool) forget() {
	p.mu.Lock()
	defer p.mu.Unlock()
	for key, s := range p.slots {
		select {
		case s.making <- struct{}{}:
			s.mu.Lock()
			if s.conn == nil && time.Since(s.refused.last) > 10*p.config.LoginGrace {
				delete(p.slots, key)
			}
			s.mu.Unlock()
			<-s.making
		default: // somebody is just using it
		}
	}
}

func unavailable(target *Target, err error) error {
	return &mgmtdriver.Unavailable{Peer: target.String(), Err: err}
}

// openConn is a connection with what it occupies.
type openConn struct {
	client      *ssh.Client
	jump        *ssh.Client
	releaseJump func()
	freeRoom    func()
}

func (o *openConn) giveBack() {
	if o.freeRoom != nil {
		o.freeRoom()
	}
	if o.releaseJump != nil {
		o.releaseJump()
	}
}

// loginPause is the least time between two logins when the first one was refused: hosts lock accounts after too many.
const loginPause = 5 * time.Second

// tooSoon returns the last refusal if it has only just been.
func (s *slot) tooSoon(target *Target, grace time.Duration) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.refused.err == nil || time.Since(s.refused.last) > min(loginPause, grace) {
		return nil
	}
	return unavailable(target, s.refused.err)
}

// learn turns the outcome of a login into an error for the user. A host refuses logins while it starts, too: it may still have to make the
// account.
func (s *slot) learn(target *Target, err error, grace time.Duration) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	var refused *refusal
	switch {
	case err == nil:
		s.refused.err = nil
		return nil
	case errors.As(err, &refused):
		now := time.Now()
		if s.refused.err == nil {
			s.refused.since = now
		}
		s.refused.last, s.refused.err = now, refused
		if now.Sub(s.refused.since) >= grace {
			return &LoginError{Host: target.String(), User: target.User, Err: refused}
		}
		return unavailable(target, refused)
	case errors.As(err, new(*mgmtdriver.Failure)), errors.As(err, new(*mgmtdriver.Unavailable)), errors.As(err, new(*storeError)):
		return err
	}
	return unavailable(target, err)
}
