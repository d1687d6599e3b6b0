package sshtest

import (
	"context"
	"crypto/ed25519"
	"crypto/rand"
	"crypto/subtle"
	"errors"
	"fmt"
	"net"
	"net/netip"
	"slices"
	"strconv"
	"sync"
	"testing"
	"time"

	"github.com/pkg/sftp"
	"golang.org/x/crypto/ssh"
)

// Options say what a machine is like. The zero value is a machine with a free address that lets nobody in.
type Options struct {
	// Addr is where the machine answers; the zero value takes a free loopback address. More can be attached later.
	Addr netip.Addr
	// Port is the SSH port at every address; 0 is DefaultPort.
	Port int
	// User is who may log in; empty lets in every name that has the password or the key.
	User string
	// Password may be empty, which forbids passwords.
	Password string
	// Interactive asks for the password as a question (keyboard-interactive) and in no other way.
	Interactive bool
	// AuthorizedKeys are public keys in authorized_keys format.
	AuthorizedKeys []string
	// Handler plays the commands; nil is Unknown.
	Handler Handler
	// Delay is how long every login takes.
	Delay time.Duration
}

// Handler plays one command and returns its exit status. It must return when ctx ends: then the connection is cut or the machine is gone.
type Handler func(ctx context.Context, s *Session) int

// Server is a running machine. Its methods may be called from any goroutine.
type Server struct {
	opts    Options
	port    int
	signer  ssh.Signer
	config  *ssh.ServerConfig
	files   sftp.Handlers
	life    context.Context // ends with Close
	end     context.CancelFunc
	work    sync.WaitGroup // accept loops, connections and sessions
	release func()

	mu        sync.Mutex
	closed    bool
	listeners map[netip.Addr]net.Listener
	conns     map[net.Conn]bool
	journal   []Entry
}

// Entry is one command that ran.
type Entry struct {
	User    string
	Command string
	Started time.Time
	Ended   time.Time // zero while it runs
	Exit    int       // -1 while it runs
}

// New starts a machine. Errors are those of the address: taken by somebody else, or not of this computer.
func New(ctx context.Context, opts Options) (*Server, error) {
	_, key, err := ed25519.GenerateKey(rand.Reader)
	if err != nil {
		return nil, fmt.Errorf("make a host key: %w", err)
	}
	signer, err := ssh.NewSignerFromKey(key)
	if err != nil {
		return nil, fmt.Errorf("make a host key: %w", err)
	}
	s := &Server{opts: opts, port: opts.Port, signer: signer, files: newFiles(), release: func() {},
		listeners: map[netip.Addr]net.Listener{}, conns: map[net.Conn]bool{}}
	if s.port == 0 {
		s.port = DefaultPort
	}
	if s.opts.Handler == nil {
		s.opts.Handler = Unknown
	}
	if s.config, err = s.serverConfig(); err != nil {
		return nil, err
	}
	if err := s.makeDirectories(); err != nil {
		return nil, err
	}
	s.life, s.end = context.WithCancel(context.WithoutCancel(ctx))
	if !opts.Addr.IsValid() {
		if s.opts.Addr, s.release, err = FreeAddr(ctx, s.port); err != nil {
			return nil, err
		}
	}
	if err := s.Attach(ctx, s.opts.Addr); err != nil {
		s.release()
		return nil, err
	}
	return s, nil
}

// Start is New for the length of a test.
func Start(tb testing.TB, opts Options) *Server {
	tb.Helper()
	s, err := New(tb.Context(), opts)
	if err != nil {
		tb.Fatalf("start a machine: %v", err)
	}
	tb.Cleanup(func() {
		if err := s.Close(); err != nil {
			tb.Errorf("close the machine: %v", err)
		}
	})
	return s
}

func (s *Server) serverConfig() (*ssh.ServerConfig, error) {
	var keys []ssh.PublicKey
	for _, line := range s.opts.AuthorizedKeys {
		key, _, _, _, err := ssh.ParseAuthorizedKey([]byte(line))
		if err != nil {
			return nil, fmt.Errorf("read an authorized key: %w", err)
		}
		keys = append(keys, key)
	}
	config := &ssh.ServerConfig{MaxAuthTries: 6}
	refused := errors.New("permission denied")
	welcome := func(name string) bool { return s.opts.User == "" || s.opts.User == name }
	password := func(user string, password []byte) error {
		s.pause(s.opts.Delay)
		if welcome(user) && subtle.ConstantTimeCompare(password, []byte(s.opts.Password)) == 1 {
			return nil
		}
		return refused
	}
	switch {
	case s.opts.Password == "":
	case s.opts.Interactive:
		config.KeyboardInteractiveCallback = func(meta ssh.ConnMetadata, ask ssh.KeyboardInteractiveChallenge) (*ssh.Permissions, error) {
			answers, err := ask("", "", []string{"Password: "}, []bool{false})
			if err != nil {
				return nil, err
			}
			return nil, password(meta.User(), []byte(answers[0]))
		}
	default:
		config.PasswordCallback = func(meta ssh.ConnMetadata, given []byte) (*ssh.Permissions, error) {
			return nil, password(meta.User(), given)
		}
	}
	config.PublicKeyCallback = func(meta ssh.ConnMetadata, key ssh.PublicKey) (*ssh.Permissions, error) {
		if welcome(meta.User()) && slices.ContainsFunc(keys, func(k ssh.PublicKey) bool { return slices.Equal(k.Marshal(), key.Marshal()) }) {
			s.pause(s.opts.Delay)
			return nil, nil
		}
		return nil, refused
	}
	config.AddHostKey(s.signer)
	return config, nil
}

func (s *Server) pause(d time.Duration) {
	if d <= 0 {
		return
	}
	t := time.NewTimer(d)
	defer t.Stop()
	select {
	case <-t.C:
	case <-s.life.Done():
	}
}

// HostKey is the machine's public host key; every machine has its own.
func (s *Server) HostKey() ssh.PublicKey { return s.signer.PublicKey() }

// AddrPort is where the machine answered first.
func (s *Server) AddrPort() netip.AddrPort { return netip.AddrPortFrom(s.opts.Addr, uint16(s.port)) }

// Attach makes the machine answer at a further address. Attaching one that it has does nothing.
func (s *Server) Attach(ctx context.Context, addr netip.Addr) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.closed {
		return net.ErrClosed
	}
	if s.listeners[addr] != nil {
		return nil
	}
	var lc net.ListenConfig
	l, err := lc.Listen(ctx, "tcp", net.JoinHostPort(addr.String(), strconv.Itoa(s.port)))
	if err != nil {
		return fmt.Errorf("attach address: %w", err)
	}
	s.listeners[addr] = l
	s.work.Go(func() { s.accept(l) })
	return nil
}

// Detach ends that; connections through the address are cut.
func (s *Server) Detach(_ context.Context, addr netip.Addr) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	l := s.listeners[addr]
	if l == nil {
		return nil
	}
	delete(s.listeners, addr)
	for conn := range s.conns {
		if local, err := netip.ParseAddrPort(conn.LocalAddr().String()); err == nil && local.Addr() == addr {
			_ = conn.Close()
		}
	}
	return l.Close()
}

// Kill cuts every connection as a network would: running commands lose their client. The machine goes on to answer.
func (s *Server) Kill() {
	s.mu.Lock()
	defer s.mu.Unlock()
	for conn := range s.conns {
		_ = conn.Close()
	}
}

// Close switches the machine off and waits for everything that ran on it. Further calls do nothing.
func (s *Server) Close() error {
	s.mu.Lock()
	if s.closed {
		s.mu.Unlock()
		s.work.Wait()
		return nil
	}
	s.closed = true
	var errs []error
	for _, l := range s.listeners {
		errs = append(errs, l.Close())
	}
	for conn := range s.conns {
		_ = conn.Close()
	}
	s.mu.Unlock()
	s.end()
	s.work.Wait()
	s.release()
	return errors.Join(errs...)
}

// Journal lists the commands that ran, in the order of their start.
func (s *Server) Journal() []Entry {
	s.mu.Lock()
	defer s.mu.Unlock()
	return slices.Clone(s.journal)
}

func (s *Server) accept(l net.Listener) {
	for {
		conn, err := l.Accept()
		if err != nil {
			return
		}
		s.mu.Lock()
		if s.closed {
			s.mu.Unlock()
			_ = conn.Close()
			return
		}
		s.conns[conn] = true
		s.work.Go(func() { s.serve(conn) })
		s.mu.Unlock()
	}
}
