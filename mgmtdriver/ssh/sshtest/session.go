package sshtest

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"sync"
	"time"

	"github.com/pkg/sftp"
	"golang.org/x/crypto/ssh"
)

// Session is one command as its handler sees it.
type Session struct {
	User    string
	Command string
	Env     map[string]string // set by the client
	Argv    []string          // the words of the command; only for handlers that [Linux] calls
	Root    bool              // it runs through sudo; only for handlers that [Linux] calls
	Stdin   io.Reader
	Stdout  io.Writer
	Stderr  io.Writer
	// Machine is where the command runs; its files are what was uploaded.
	Machine *Server
}

// Unknown is the handler that knows no command: it complains on standard error and exits 127, as a shell does.
func Unknown(_ context.Context, s *Session) int {
	_, _ = fmt.Fprintf(s.Stderr, "sshtest: no handler knows the command %q\n", s.Command)
	return 127
}

// serve is the life of one connection.
func (s *Server) serve(raw net.Conn) {
	defer func() {
		s.mu.Lock()
		delete(s.conns, raw)
		s.mu.Unlock()
		_ = raw.Close()
	}()
	conn, channels, requests, err := ssh.NewServerConn(raw, s.config)
	if err != nil {
		return
	}
	ctx, cancel := context.WithCancel(s.life)
	var sessions sync.WaitGroup
	defer sessions.Wait()
	defer cancel()
	sessions.Go(func() { answerKeepalives(requests) })
	for offered := range channels {
		switch offered.ChannelType() {
		case "session":
			channel, sub, err := offered.Accept()
			if err != nil {
				continue
			}
			sessions.Go(func() { s.session(ctx, conn.User(), channel, sub) })
		case "direct-tcpip":
			sessions.Go(func() { forward(ctx, offered) })
		default:
			_ = offered.Reject(ssh.UnknownChannelType, "only sessions and forwarded connections")
		}
	}
}

func answerKeepalives(requests <-chan *ssh.Request) {
	for r := range requests {
		if r.WantReply {
			_ = r.Reply(r.Type == "keepalive@openssh.com", nil)
		}
	}
}

// session handles the requests of one channel until its command or subsystem ended.
func (s *Server) session(ctx context.Context, user string, channel ssh.Channel, requests <-chan *ssh.Request) {
	ctx, cancel := context.WithCancel(ctx)
	var running sync.WaitGroup
	defer running.Wait()
	defer cancel()
	env := map[string]string{}
	started := false
	for r := range requests {
		accepted := false
		begin := func() {}
		switch r.Type {
		case "env":
			var pair struct{ Name, Value string }
			if accepted = ssh.Unmarshal(r.Payload, &pair) == nil; accepted {
				env[pair.Name] = pair.Value
			}
		case "pty-req", "window-change":
			accepted = true
		case "exec":
			var body struct{ Command string }
			if accepted = !started && ssh.Unmarshal(r.Payload, &body) == nil; accepted {
				started = true
				begin = func() {
					running.Go(func() { s.exec(ctx, channel, &Session{User: user, Command: body.Command, Env: env}) })
				}
			}
		case "subsystem":
			var body struct{ Name string }
			if accepted = !started && ssh.Unmarshal(r.Payload, &body) == nil && body.Name == "sftp"; accepted {
				started = true
				begin = func() { running.Go(func() { s.sftp(channel) }) }
			}
		case "signal":
			cancel()
			accepted = true
		}
		if r.WantReply {
			_ = r.Reply(accepted, nil)
		}
		begin() // after the answer: a command may end, and close the channel, at once
	}
}

// exec runs the handler and tells the client how it ended.
func (s *Server) exec(ctx context.Context, channel ssh.Channel, session *Session) {
	session.Stdin, session.Stdout, session.Stderr, session.Machine = channel, channel, channel.Stderr(), s
	at := s.begin(session)
	status := s.opts.Handler(ctx, session)
	s.ended(at, status)
	_, _ = channel.SendRequest("exit-status", false, ssh.Marshal(struct{ Status uint32 }{uint32(status & 0xff)}))
	_ = channel.Close()
}

// begin notes in the journal that a command begins, and returns where.
func (s *Server) begin(session *Session) int {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.journal = append(s.journal, Entry{User: session.User, Command: session.Command, Started: time.Now(), Exit: -1})
	return len(s.journal) - 1
}

func (s *Server) ended(at, status int) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.journal[at].Ended, s.journal[at].Exit = time.Now(), status
}

func (s *Server) sftp(channel ssh.Channel) {
	server := sftp.NewRequestServer(channel, s.files)
	if err := server.Serve(); err != nil && !errors.Is(err, io.EOF) {
		_, _ = fmt.Fprintf(channel.Stderr(), "sftp: %v\n", err)
	}
	_ = server.Close()
	_ = channel.Close()
}

// forward connects a client to another address, as sshd does for jump hosts.
func forward(ctx context.Context, offered ssh.NewChannel) {
	var target struct {
		Host       string
		Port       uint32
		OriginHost string
		OriginPort uint32
	}
	if err := ssh.Unmarshal(offered.ExtraData(), &target); err != nil {
		_ = offered.Reject(ssh.ConnectionFailed, "malformed request")
		return
	}
	dialer := net.Dialer{Timeout: 10 * time.Second}
	conn, err := dialer.DialContext(ctx, "tcp", net.JoinHostPort(target.Host, fmt.Sprint(target.Port)))
	if err != nil {
		_ = offered.Reject(ssh.ConnectionFailed, err.Error())
		return
	}
	channel, requests, err := offered.Accept()
	if err != nil {
		_ = conn.Close()
		return
	}
	stop := context.AfterFunc(ctx, func() { _ = conn.Close() })
	defer stop()
	var copying sync.WaitGroup
	copying.Go(func() { ssh.DiscardRequests(requests) })
	copying.Go(func() {
		_, _ = io.Copy(channel, conn)
		_ = channel.Close()
	})
	_, _ = io.Copy(conn, channel)
	_ = conn.Close()
	copying.Wait()
}
