package ssh_test

import (
	"io"
	"net"
	"net/netip"
	"sync"
	"testing"
)

// proxy is a network in front of a host: it counts, freezes and cuts.
type proxy struct {
	listener net.Listener
	to       string
	work     sync.WaitGroup

	mu     sync.Mutex
	thawed *sync.Cond
	frozen bool
	conns  map[net.Conn]bool
	opened int   // connections ever
	most   int   // connections at once
	sent   int64 // bytes to the host
	cutAt  int64 // of them, after which all connections are cut once; 0 = never
}

func newProxy(tb testing.TB, to netip.AddrPort) *proxy {
	tb.Helper()
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		tb.Fatal(err)
	}
	p := &proxy{listener: listener, to: to.String(), conns: map[net.Conn]bool{}}
	p.thawed = sync.NewCond(&p.mu)
	p.work.Go(p.accept)
	tb.Cleanup(func() {
		_ = listener.Close()
		p.freeze(false)
		p.cut()
		p.work.Wait()
	})
	return p
}

func (p *proxy) address() netip.AddrPort { return netip.MustParseAddrPort(p.listener.Addr().String()) }

func (p *proxy) freeze(frozen bool) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.frozen = frozen
	p.thawed.Broadcast()
}

func (p *proxy) cut() {
	p.mu.Lock()
	defer p.mu.Unlock()
	for conn := range p.conns {
		_ = conn.Close()
	}
}

// cutAfter makes the proxy cut when so many bytes more have been sent to the host.
func (p *proxy) cutAfter(bytes int64) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.cutAt = p.sent + bytes
}

func (p *proxy) counts() (opened, open int, sent int64) {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.opened, len(p.conns), p.sent
}

func (p *proxy) accept() {
	for {
		client, err := p.listener.Accept()
		if err != nil {
			return
		}
		p.mu.Lock()
		p.opened++
		p.conns[client] = true
		p.most = max(p.most, len(p.conns))
		p.mu.Unlock()
		p.work.Go(func() { p.serve(client) })
	}
}

func (p *proxy) serve(client net.Conn) {
	defer func() {
		_ = client.Close()
		p.mu.Lock()
		delete(p.conns, client)
		p.mu.Unlock()
	}()
	host, err := net.Dial("tcp", p.to)
	if err != nil {
		return
	}
	var back sync.WaitGroup
	back.Go(func() {
		_, _ = io.Copy(gate{p, client}, host)
		_ = client.Close()
	})
	_, _ = io.Copy(counter{p, host}, client)
	_ = host.Close()
	back.Wait()
}

// gate lets nothing through while the proxy is frozen.
type gate struct {
	p  *proxy
	to io.Writer
}

func (g gate) Write(b []byte) (int, error) {
	g.p.mu.Lock()
	for g.p.frozen {
		g.p.thawed.Wait()
	}
	g.p.mu.Unlock()
	return g.to.Write(b)
}

type counter gate

func (c counter) Write(b []byte) (int, error) {
	c.p.mu.Lock()
	c.p.sent += int64(len(b))
	cut := c.p.cutAt > 0 && c.p.sent >= c.p.cutAt
	if cut {
		c.p.cutAt = 0
	}
	c.p.mu.Unlock()
	if cut {
		c.p.cut()
		return 0, io.ErrClosedPipe
	}
	return gate(c).Write(b)
}
