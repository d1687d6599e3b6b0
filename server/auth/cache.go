package auth

import (
	"crypto/sha256"
	"errors"
	"sync"
	"time"

	"golang.org/x/sync/singleflight"

	"vnfm/api/access"
)

const (
	// cacheTime is for how long nobody is asked again about the same credentials: as long, at the most, they go on to be good after
	// they were revoked.
	cacheTime = 60 * time.Second
	// cacheSize bounds the credentials that are remembered; they are checked before they come in, so that strangers cannot fill it.
	cacheSize = 10_000
)

// cache remembers credentials that were found good, and that others were not. It holds digests of them only.
type cache struct {
	mu     sync.Mutex
	known  map[[sha256.Size]byte]admitted
	bad    map[[sha256.Size]byte]struct{}
	asking singleflight.Group
}

// offered tells what is remembered of some credentials.
func (c *cache) offered(credentials string) Credentials {
	key := sha256.Sum256([]byte(credentials))
	c.mu.Lock()
	defer c.mu.Unlock()
	if _, bad := c.bad[key]; bad {
		return BadCredentials
	}
	if _, good := c.known[key]; good {
		return GoodCredentials
	}
	return UnknownCredentials
}

// forget has credentials asked about again.
func (c *cache) forget(credentials string) {
	c.mu.Lock()
	defer c.mu.Unlock()
	delete(c.known, sha256.Sum256([]byte(credentials)))
}

type admitted struct {
	caller *access.Caller
	until  time.Time
}

// find returns the caller with some credentials, from memory or else by asking, which is done once for all who want to know at the same time.
// ask also tells until when the credentials are good; the zero time if they do not end.
func (c *cache) find(credentials string, ask func() (*access.Caller, time.Time, error)) (*access.Caller, error) {
	key := sha256.Sum256([]byte(credentials))
	c.mu.Lock()
	entry, ok := c.known[key]
	c.mu.Unlock()
	if ok && time.Now().Before(entry.until) {
		return entry.caller, nil
	}
	found, err, _ := c.asking.Do(string(key[:]), func() (any, error) {
		caller, until, err := ask()
		if err != nil {
			c.refuse(key, err)
			return nil, err
		}
		c.keep(key, caller, until)
		return caller, nil
	})
	if err != nil {
		return nil, err
	}
	return found.(*access.Caller), nil //nolint:forcetypeassert // it was just made
}

func (c *cache) keep(key [sha256.Size]byte, caller *access.Caller, until time.Time) {
	now := time.Now()
	if most := now.Add(cacheTime); until.IsZero() || until.After(most) {
		until = most
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	if len(c.known) >= cacheSize {
		for key, entry := range c.known {
			if now.After(entry.until) || len(c.known) >= cacheSize {
				delete(c.known, key)
			}
		}
	}
	if c.known == nil {
		c.known = map[[sha256.Size]byte]admitted{}
	}
	c.known[key] = admitted{caller, until}
	delete(c.bad, key)
}

// refuse remembers credentials that were not accepted. They are asked about again each time.
func (c *cache) refuse(key [sha256.Size]byte, err error) {
	if !errors.As(err, new(*Refused)) {
		return
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.bad == nil || len(c.bad) >= cacheSize { // strangers can fill this one
		c.bad = map[[sha256.Size]byte]struct{}{}
	}
	c.bad[key] = struct{}{}
}
