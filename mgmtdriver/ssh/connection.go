package ssh

import (
	"context"
	"errors"
	"strings"
	"sync"
	"time"

	"github.com/pkg/sftp"
	"golang.org/x/crypto/ssh"
)

// maxSessions is how many commands and transfers share a connection. A transfer needs two sessions, and OpenSSH allows 10 by default.
const maxSessions = 5

// connection is an open connection to a host.
type connection struct {
	client   *ssh.Client
	sessions chan struct{} // has an element for each session
	ended    chan struct{} // closed when the connection has ended

	mu     sync.Mutex
	users  int
	usedAt time.Time
	closed bool
	sudo   sudoWay
}

// use adds a user, unless the connection is not there any more.
func (c *connection) use() bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.closed {
		return false
	}
	c.users++
	return true
}

func (c *connection) release() {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.users--
	c.usedAt = time.Now()
}

func (c *connection) close() {
	c.mu.Lock()
	c.closed = true
	c.mu.Unlock()
	_ = c.client.Close()
}

func (c *connection) closeIfIdle(idle time.Duration) bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.closed || c.users > 0 || time.Since(c.usedAt) < idle {
		return false
	}
	c.closed = true
	_ = c.client.Close()
	return true
}

const (
	freshTime = 5 * time.Second // a connection that was used so recently is not asked first
	pingTime  = 3 * time.Second
)

// fresh reports whether the connection works: the host may have been restarted since it was used last.
func (c *connection) fresh() bool {
	c.mu.Lock()
	recent := time.Since(c.usedAt) < freshTime || c.users > 1
	c.mu.Unlock()
	return recent || c.ping(pingTime)
}

// ping asks the host whether it is there; if there is no answer in that time, the connection is closed.
func (c *connection) ping(limit time.Duration) bool {
	timer := time.AfterFunc(limit, c.close)
	defer timer.Stop()
	_, _, err := c.client.SendRequest("keepalive@openssh.com", true, nil)
	return err == nil
}

// keepAlive asks the host again and again, until the connection ends.
func (c *connection) keepAlive(every time.Duration) {
	ticker := time.NewTicker(every)
	defer ticker.Stop()
	for {
		select {
		case <-c.ended:
			return
		case <-ticker.C:
			if !c.ping(max(every, pingTime)) {
				c.close()
				return
			}
		}
	}
}

// enter waits until there may be one session more.
func (c *connection) enter(ctx context.Context) error {
	select {
	case c.sessions <- struct{}{}:
		return nil
	case <-ctx.Done():
		return context.Cause(ctx)
	case <-c.ended:
		return errEnded
	}
}

func (c *connection) leave() { <-c.sessions }

// session opens a session. If ctx ends meanwhile, the connection is closed: a host that does not answer to that does not answer at all. It
// fails with errNotBegun if the connection has ended.
func (c *connection) session(ctx context.Context) (*ssh.Session, error) {
	stop := context.AfterFunc(ctx, c.close)
	defer stop()
	session, err := c.client.NewSession()
	if err != nil && !errors.As(err, new(*ssh.OpenChannelError)) {
		c.close()
		return nil, errNotBegun
	}
	return session, err
}

// files opens a session for file transfers. If ctx ends before it is closed, whatever goes on in it fails.
func (c *connection) files(ctx context.Context) (_ *sftp.Client, closeFiles func(), err error) {
	session, err := c.session(ctx)
	if err != nil {
		return nil, nil, err
	}
	unwatch := c.watch(ctx, session, false)
	defer func() {
		if err != nil {
			unwatch()
			_ = session.Close()
		}
	}()
	w, err := session.StdinPipe()
	if err != nil {
		return nil, nil, err
	}
	r, err := session.StdoutPipe()
	if err != nil {
		return nil, nil, err
	}
	if err := session.RequestSubsystem("sftp"); err != nil {
		return nil, nil, err
	}
	client, err := sftp.NewClientPipe(r, w, packets(c.client)...)
	if err != nil {
		return nil, nil, err
	}
	return client, func() {
		_ = client.Close()
		_ = session.Close()
		unwatch()
	}, nil
}

// packets says how much a transfer sends at a time. Every server has to take packets of 32 KiB, and OpenSSH's takes 256 KiB, which saves most of
// the answers. That no more is under way than [unsureBytes] is what a transfer that is continued relies on.
func packets(client *ssh.Client) []sftp.ClientOption {
	size := 32 << 10
	if strings.HasPrefix(string(client.ServerVersion()), "SSH-2.0-OpenSSH_") {
		size = 128 << 10
	}
	return []sftp.ClientOption{sftp.UseConcurrentWrites(true), sftp.MaxPacketUnchecked(size), sftp.MaxConcurrentRequestsPerFile(min(64, unsureBytes/size))}
}

// watch ends a session when ctx ends, and the connection if the host does not take notice. With kill, the command is killed first.
func (c *connection) watch(ctx context.Context, session *ssh.Session, kill bool) (unwatch func()) {
	left := make(chan struct{})
	ended := make(chan struct{})
	stop := context.AfterFunc(ctx, func() {
		defer close(ended)
		timer := time.AfterFunc(pingTime, c.close)
		defer timer.Stop()
		if kill {
			_ = session.Signal(ssh.SIGKILL)
		}
		_ = session.Close()
		<-left
	})
	return func() {
		close(left)
		if !stop() {
			<-ended
		}
	}
}
