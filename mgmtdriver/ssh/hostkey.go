package ssh

import (
	"bytes"
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"slices"
	"strings"

	"golang.org/x/crypto/ssh"

	"vnfm/mgmtdriver"
)

// families are the kinds of host keys in the order in which they are asked for, with their signature algorithms.
var families = []struct {
	types      []string
	algorithms []string
}{
	{[]string{ssh.KeyAlgoED25519}, []string{ssh.KeyAlgoED25519}},
	{[]string{ssh.KeyAlgoECDSA256, ssh.KeyAlgoECDSA384, ssh.KeyAlgoECDSA521}, []string{ssh.KeyAlgoECDSA256, ssh.KeyAlgoECDSA384, ssh.KeyAlgoECDSA521}},
	{[]string{ssh.KeyAlgoRSA}, []string{ssh.KeyAlgoRSASHA512, ssh.KeyAlgoRSASHA256}},
}

// keyCheck decides whether the key that a host shows is its own.
type keyCheck struct {
	target *Target
	store  mgmtdriver.HostKeys

	known        []ssh.PublicKey // one of them it must be; empty = any
	fingerprints []string        // that the user has given; one of them it must be
	family       int             // of [families] that is asked for; -1 = all of them
	any          bool            // whatever is known

	offered  ssh.PublicKey
	mismatch error // of the last attempt
	former   error // of one before it
}

// newKeyCheck reads by which key a host is known.
func newKeyCheck(ctx context.Context, target *Target, store mgmtdriver.HostKeys) (*keyCheck, error) {
	c := &keyCheck{target: target, store: store, family: -1}
	if target.HostKey != "" {
		return c, c.expect(target.HostKey)
	}
	if store == nil {
		return nil, fmt.Errorf("%s: there is nothing to keep its host key in", target)
	}
	line, err := store.HostKey(ctx, target.identity())
	if err == nil && line == "" {
		return c, nil
	}
	key, err := parse(line, err)
	if err != nil {
		return nil, &storeError{fmt.Errorf("read host key of %s: %w", target, err)}
	}
	c.known = []ssh.PublicKey{key}
	return c, nil
}

func parse(line string, err error) (ssh.PublicKey, error) {
	if err != nil {
		return nil, err
	}
	key, _, _, _, err := ssh.ParseAuthorizedKey([]byte(line))
	return key, err
}

// expect reads what the user has said about the key.
func (c *keyCheck) expect(text string) error {
	if strings.HasPrefix(text, "SHA256:") {
		c.fingerprints, c.family = strings.Fields(text), 0
		return nil
	}
	rest := []byte(text)
	for {
		var key ssh.PublicKey
		var err error
		_, _, key, _, rest, err = ssh.ParseKnownHosts(rest)
		if errors.Is(err, io.EOF) && len(c.known) > 0 {
			return nil
		}
		if err != nil {
			return &mgmtdriver.Failure{Title: "Host key cannot be read", Status: http.StatusBadRequest, Detail: fmt.Sprintf(
				"the host key given for %s is neither a fingerprint such as SHA256:… nor lines of a known_hosts file", c.target)}
		}
		c.known = append(c.known, key)
	}
}

// algorithms are those that the host may choose from.
func (c *keyCheck) algorithms() []string {
	var algorithms []string
	for i, family := range families {
		wanted := c.family < 0 || c.family == i
		if len(c.known) > 0 && !c.any {
			wanted = slices.ContainsFunc(c.known, func(key ssh.PublicKey) bool { return slices.Contains(family.types, key.Type()) })
		}
		if wanted {
			algorithms = append(algorithms, family.algorithms...)
		}
	}
	return algorithms
}

// tryNext decides what to ask for next, after a key that is not the right one or none that the host could show. A host has several keys:
// by a fingerprint alone one cannot tell which kind it is of. If the host has none of the known kind, any other will do, to tell
// which it has instead.
func (c *keyCheck) tryNext() bool {
	switch {
	case len(c.known) > 0 && c.mismatch == nil && !c.any:
		c.any = true
		return true
	case c.family < 0 || c.family == len(families)-1:
		return false
	}
	c.family++
	c.mismatch, c.former = nil, cmp.Or(c.mismatch, c.former)
	return true
}

// check is asked in the handshake.
func (c *keyCheck) check(key ssh.PublicKey) error {
	c.offered = key
	fits := len(c.known) == 0 && len(c.fingerprints) == 0 || slices.Contains(c.fingerprints, ssh.FingerprintSHA256(key)) ||
		slices.ContainsFunc(c.known, func(known ssh.PublicKey) bool { return bytes.Equal(known.Marshal(), key.Marshal()) })
	if !fits {
		c.mismatch = c.changed()
	}
	return c.mismatch
}

func (c *keyCheck) changed() error {
	known := slices.Clone(c.fingerprints)
	for _, key := range c.known {
		known = append(known, ssh.FingerprintSHA256(key))
	}
	return &HostKeyError{Host: c.target.String(), Known: strings.Join(known, " "), Offered: ssh.FingerprintSHA256(c.offered)}
}

// keep makes the key known by which a host has been seen for the first time. If somebody else has done that just now, theirs counts.
func (c *keyCheck) keep(ctx context.Context) error {
	if len(c.known)+len(c.fingerprints) > 0 {
		return nil
	}
	line := strings.TrimSpace(string(ssh.MarshalAuthorizedKey(c.offered)))
	kept, err := c.store.KeepHostKey(ctx, c.target.identity(), line)
	if err == nil && kept == line {
		return nil
	}
	key, err := parse(kept, err)
	if err != nil {
		return &storeError{fmt.Errorf("keep host key of %s: %w", c.target, err)}
	}
	c.known = []ssh.PublicKey{key}
	return c.changed()
}
