package ssh

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"sync/atomic"
	"time"

	"golang.org/x/crypto/ssh"

	"vnfm/mgmtdriver"
)

// dialer makes connections.
type dialer struct {
	target *Target
	keys   mgmtdriver.HostKeys
	jump   *ssh.Client // nil = directly
	limit  time.Duration
}

// refusal is a login that the host has refused.
type refusal struct{ err error }

func (r *refusal) Error() string { return r.err.Error() }

// storeError says that the known host keys cannot be read or written.
type storeError struct{ err error }

func (e *storeError) Error() string { return e.err.Error() }

func (e *storeError) Unwrap() error { return e.err }

// dial connects and logs in. It fails with *refusal, *HostKeyError, *storeError, or else as a network does.
func (d *dialer) dial(ctx context.Context) (*ssh.Client, error) {
	ctx, cancel := context.WithTimeoutCause(ctx, d.limit, fmt.Errorf("no login within %v", d.limit))
	defer cancel()
	checks, err := newKeyCheck(ctx, d.target, d.keys)
	if err != nil {
		return nil, err
	}
	for {
		client, err := d.handshake(ctx, checks)
		if errors.As(err, new(*HostKeyError)) || errors.As(err, new(*ssh.AlgorithmNegotiationError)) {
			if checks.tryNext() {
				continue
			}
			err = cmp.Or(checks.mismatch, checks.former, err)
		}
		if err != nil && ctx.Err() != nil {
			return nil, context.Cause(ctx)
		}
		return client, err
	}
}

// handshake makes one attempt.
func (d *dialer) handshake(ctx context.Context, checks *keyCheck) (*ssh.Client, error) {
	address := d.target.address().String()
	connect := (&net.Dialer{}).DialContext
	if d.jump != nil {
		connect = d.jump.DialContext
	}
	raw, err := connect(ctx, "tcp", address)
	if err != nil {
		return nil, err
	}
	stop := context.AfterFunc(ctx, func() { _ = raw.Close() })
	defer stop()

	auth, err := methods(d.target)
	if err != nil {
		return nil, errors.Join(err, raw.Close())
	}
	var known atomic.Bool // the host has been recognized: what follows is the login
	conn, channels, requests, err := ssh.NewClientConn(raw, address, &ssh.ClientConfig{
		User: d.target.User, Auth: auth, HostKeyAlgorithms: checks.algorithms(),
		HostKeyCallback: func(_ string, _ net.Addr, key ssh.PublicKey) error {
			err := checks.check(key)
			known.Store(err == nil)
			return err
		},
	})
	if err != nil {
		_ = raw.Close()
		if checks.mismatch != nil {
			return nil, checks.mismatch
		}
		if known.Load() && !ofNetwork(err) {
			return nil, &refusal{err}
		}
		return nil, err
	}
	client := ssh.NewClient(conn, channels, requests)
	// Only now: before the login works, a host that starts for the first time may not have made its own key yet.
	if err := checks.keep(ctx); err != nil {
		return nil, errors.Join(err, client.Close())
	}
	return client, nil
}

// ofNetwork reports whether a handshake has ended because the connection has.
func ofNetwork(err error) bool {
	return errors.Is(err, io.EOF) || errors.Is(err, io.ErrUnexpectedEOF) || errors.Is(err, net.ErrClosed) || errors.As(err, new(net.Error))
}

// IsPrivateKey reports whether a text is a key that a host can be logged in to with.
func (s Secret) IsPrivateKey() bool {
	_, err := ssh.ParsePrivateKey([]byte(s))
	return err == nil
}

// methods are the ways to log in, in the order in which they are tried.
func methods(target *Target) ([]ssh.AuthMethod, error) {
	var methods []ssh.AuthMethod
	if target.PrivateKey != "" {
		signer, err := ssh.ParsePrivateKey([]byte(target.PrivateKey))
		if err != nil {
			// What the parser says might show a part of the key.
			return nil, &mgmtdriver.Failure{Title: "Private key cannot be read", Detail: "the private key for " + target.String() +
				" is none in PEM form without a passphrase"}
		}
		methods = append(methods, ssh.PublicKeys(signer))
	}
	if target.Password != "" {
		asked := false
		answer := func(_, _ string, questions []string, _ []bool) ([]string, error) {
			answers := make([]string, len(questions))
			if len(questions) == 0 {
				return answers, nil
			}
			if asked {
				return nil, errors.New("the password was refused")
			}
			asked = true
			answers[0] = string(target.Password)
			return answers, nil
		}
		methods = append(methods, ssh.Password(string(target.Password)), ssh.KeyboardInteractive(answer))
	}
	return methods, nil
}
