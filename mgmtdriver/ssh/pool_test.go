package ssh_test

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"testing"
	"time"

	"vnfm/mgmtdriver"
	"vnfm/mgmtdriver/ssh"
	"vnfm/mgmtdriver/ssh/sshtest"
)

// proxied is a machine behind a proxy.
func proxied(t *testing.T, pool *ssh.Pool, call *mgmtdriver.Call, handler sshtest.Handler) (*proxy, *ssh.Host) {
	t.Helper()
	vm, host := fake(t, pool, call, handler)
	p := newProxy(t, vm.AddrPort())
	target := host.Target()
	target.Address = p.address()
	return p, pool.Host(call, target, nil)
}

// until waits for a condition.
func until(t *testing.T, what string, met func() bool) {
	t.Helper()
	for !met() {
		select {
		case <-t.Context().Done():
			t.Fatal("never: " + what)
		case <-time.After(5 * time.Millisecond):
		}
	}
}

var showNothing = ssh.Command{Argv: []string{"show", ""}}

func TestConnectionIsUsedByAllAndClosedWhenIdle(t *testing.T) {
	t.Parallel()
	pool := newPool(t, ssh.Config{IdleTime: 300 * time.Millisecond})
	p, host := proxied(t, pool, newCall(), show)
	var group sync.WaitGroup
	for range 30 {
		group.Go(func() {
			if _, err := host.Run(t.Context(), showNothing); err != nil {
				t.Error(err)
			}
		})
	}
	group.Wait()
	if opened, _, _ := p.counts(); opened != 1 {
		t.Errorf("%d connections for one host", opened)
	}
	until(t, "the connection is closed", func() bool { _, open, _ := p.counts(); return open == 0 })
	if _, err := host.Run(t.Context(), showNothing); err != nil {
		t.Error(err)
	}
}

func TestConnectionsAreBounded(t *testing.T) {
	t.Parallel()
	pool := newPool(t, ssh.Config{MaxConnections: 2})
	vm := sshtest.Start(t, sshtest.Options{Password: "geheim", Handler: sshtest.Linux(show)})
	p := newProxy(t, vm.AddrPort())
	var group sync.WaitGroup
	for i := range 6 {
		call := newCall()
		call.Instance.ID = fmt.Sprint(i) // another VNF, another connection
		host := pool.Host(call, ssh.Target{Address: p.address(), User: "u", Password: "geheim"}, nil)
		group.Go(func() {
			if _, err := host.Run(t.Context(), showNothing); err != nil {
				t.Error(err)
			}
		})
	}
	group.Wait()
	p.mu.Lock()
	defer p.mu.Unlock()
	// One that was closed may be seen for a moment.
	if p.opened != 6 || p.most > 4 {
		t.Errorf("%d connections, %d at once", p.opened, p.most)
	}
}

func TestConnectionOfAnotherUserIsNotTaken(t *testing.T) {
	t.Parallel()
	pool, call := newPool(t, ssh.Config{}), newCall()
	_, host := fake(t, pool, call, show)
	if err := host.Ping(t.Context()); err != nil {
		t.Fatal(err)
	}
	target := host.Target()
	target.Password = "wrong password"
	if err := pool.Host(call, target, nil).Ping(t.Context()); err == nil {
		t.Error("a wrong password was taken")
	}
}

func TestHostThatWasRestartedIsConnectedAnew(t *testing.T) {
	t.Parallel()
	p, host := proxied(t, newPool(t, ssh.Config{}), newCall(), show)
	for range 5 {
		if _, err := host.Run(t.Context(), showNothing); err != nil {
			t.Fatal(err)
		}
		p.cut()
	}
}

func TestFrozenHostIsNoticed(t *testing.T) {
	t.Parallel()
	running := make(chan struct{})
	pool := newPool(t, ssh.Config{Keepalive: 50 * time.Millisecond, CommandTime: time.Hour})
	p, host := proxied(t, pool, newCall(), func(ctx context.Context, _ *sshtest.Session) int {
		close(running)
		<-ctx.Done()
		return 0
	})
	go func() {
		<-running
		p.freeze(true)
	}()
	if _, err := host.Run(t.Context(), showNothing); !errors.As(err, new(*mgmtdriver.Unavailable)) {
		t.Errorf("got %v", err)
	}
}

func TestClosedPool(t *testing.T) {
	t.Parallel()
	pool := ssh.NewPool(ssh.Config{})
	p, host := proxied(t, pool, newCall(), show)
	if _, err := host.Run(t.Context(), showNothing); err != nil {
		t.Fatal(err)
	}
	for range 2 {
		if err := pool.Close(); err != nil {
			t.Fatal(err)
		}
	}
	until(t, "the connection is closed", func() bool { _, open, _ := p.counts(); return open == 0 })
	if _, err := host.Run(t.Context(), showNothing); err == nil {
		t.Error("a closed pool runs commands")
	}
}

func TestEachTellsOfAllHosts(t *testing.T) {
	t.Parallel()
	pool, call := newPool(t, ssh.Config{}), newCall()
	var hosts []*ssh.Host
	for i := range 6 {
		_, host := fake(t, pool, call, show)
		target := host.Target()
		target.Name = fmt.Sprintf("node%d", i)
		hosts = append(hosts, pool.Host(call, target, nil))
	}
	var mu sync.Mutex
	most, now := 0, 0
	each := func(failures ...error) error {
		return ssh.Each(t.Context(), hosts, 2, func(ctx context.Context, i int, host *ssh.Host) error {
			mu.Lock()
			now++
			most = max(most, now)
			mu.Unlock()
			_, err := host.Run(ctx, showNothing)
			mu.Lock()
			now--
			mu.Unlock()
			if i < len(failures) {
				return failures[i]
			}
			return err
		})
	}
	if err := each(); err != nil {
		t.Error(err)
	}
	away := &mgmtdriver.Unavailable{Peer: "x", Err: errors.New("no route")}
	failed := &mgmtdriver.Failure{Title: "Disk is full", Status: 507, Detail: "no room"}
	other := errors.New("odd")
	for _, row := range []struct {
		name                 string
		failures             []error
		failure, unavailable bool
	}{
		{"one is out of reach", []error{away}, false, true},
		{"two are out of reach", []error{away, nil, away}, false, true},
		{"one is out of reach, another one failed for good", []error{away, failed}, true, false},
		{"one is out of reach, another one failed in another way", []error{away, other}, false, false},
	} {
		err := each(row.failures...)
		var failure *mgmtdriver.Failure
		if errors.As(err, &failure) != row.failure || errors.As(err, new(*mgmtdriver.Unavailable)) != row.unavailable {
			t.Errorf("%s: got %v", row.name, err)
		}
		if row.failure && (failure.Status != 507 || failure.Detail != hosts[0].String()+": x cannot be reached: no route\n"+hosts[1].String()+": no room") {
			t.Errorf("%s: %+v", row.name, failure)
		}
	}
	if most > 2 {
		t.Errorf("%d hosts at once", most)
	}
}
