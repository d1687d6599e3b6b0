package main

import (
	"io"
	"net"
	"net/url"
	"sync"

	"github.com/jackc/pgx/v5/pgconn"
)

// network is the way of one process to its database. It can be cut.
type network struct {
	listener net.Listener
	target   *pgconn.Config

	mu     sync.Mutex
	mended *sync.Cond
	state  string // passing, refusing or silent
	ends   map[net.Conn]bool
	work   sync.WaitGroup
}

const (
	passing  = "passing"
	refusing = "refusing" // connections are closed, at once
	silent   = "silent"   // nothing comes through, and nobody is told
)

// connect makes a way to the database of a cluster.
func (c *cluster) connect() *network {
	c.t.Helper()
	target, err := pgconn.ParseConfig(c.database)
	if err != nil {
		c.t.Fatal(err)
	}
	n := &network{target: target, state: passing, ends: map[net.Conn]bool{}}
	n.mended = sync.NewCond(&n.mu)
	if n.listener, err = net.Listen("tcp", "127.0.0.1:0"); err != nil {
		c.t.Fatal(err)
	}
	n.work.Go(n.accept)
	c.t.Cleanup(func() {
		n.listener.Close()
		n.set(refusing)
		n.work.Wait()
	})
	return n
}

// url is that of the database at the near end.
func (n *network) url() string {
	user := url.User(n.target.User)
	if n.target.Password != "" {
		user = url.UserPassword(n.target.User, n.target.Password)
	}
	return (&url.URL{Scheme: "postgres", User: user, Host: n.listener.Addr().String(), Path: n.target.Database,
		RawQuery: "sslmode=disable"}).String()
}

// set changes what happens to the connections that there are, and to those to come.
func (n *network) set(state string) {
	n.mu.Lock()
	defer n.mu.Unlock()
	n.state = state
	if state == refusing {
		for end := range n.ends {
			end.Close()
		}
		clear(n.ends)
	}
	n.mended.Broadcast()
}

func (n *network) accept() {
	for {
		near, err := n.listener.Accept()
		if err != nil {
			return
		}
		n.work.Go(func() { n.relay(near) })
	}
}

func (n *network) relay(near net.Conn) {
	defer near.Close()
	if !n.pass(near) {
		return
	}
	kind, address := pgconn.NetworkAddress(n.target.Host, n.target.Port)
	far, err := net.Dial(kind, address)
	if err != nil {
		return
	}
	defer far.Close()
	if !n.pass(far) {
		return
	}
	var both sync.WaitGroup
	for from, to := range map[net.Conn]net.Conn{near: far, far: near} {
		both.Go(func() {
			_, _ = io.Copy(gate{to, n}, from) // that it breaks off is what it is for
			n.pass(to)
			to.Close()
		})
	}
	both.Wait()
}

// pass waits for the network to be mended, and reports whether a connection may go on.
func (n *network) pass(end net.Conn) bool {
	n.mu.Lock()
	defer n.mu.Unlock()
	for n.state == silent {
		n.mended.Wait()
	}
	if n.state == passing {
		n.ends[end] = true
	}
	return n.state == passing
}

// gate is an end of a connection, behind the place where the network is cut.
type gate struct {
	net.Conn
	network *network
}

// Write implements [io.Writer].
func (g gate) Write(p []byte) (int, error) {
	if !g.network.pass(g.Conn) {
		return 0, io.ErrClosedPipe
	}
	return g.Conn.Write(p)
}

// ReadFrom keeps [io.Copy] from going around Write.
func (g gate) ReadFrom(from io.Reader) (int64, error) { return io.Copy(struct{ io.Writer }{g}, from) }
