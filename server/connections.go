package server

import (
	"container/list"
	"net"
	"net/http"
	"sync"
	"syscall"
)

// connections bounds the number of connections. When there are too many, the one goes that has been idle for longest: who opens thousands
// of them loses his own.
type connections struct {
	limit int

	mu    sync.Mutex
	all   map[net.Conn]*list.Element // nil: at work
	quiet *list.List                 // of those without a request, the longest first
}

const (
	maxConnections = 20_000
	// keptFiles are for the database, VIMs, machines and programs.
	keptFiles = 512
)

// newConnections takes as many as files may be open.
func newConnections() *connections {
	limit := maxConnections
	var files syscall.Rlimit
	if err := syscall.Getrlimit(syscall.RLIMIT_NOFILE, &files); err == nil && files.Cur < maxConnections+keptFiles {
		limit = max(int(files.Cur)-keptFiles, int(files.Cur)/2)
	}
	return &connections{limit: limit, all: map[net.Conn]*list.Element{}, quiet: list.New()}
}

// changed is an [http.Server.ConnState].
func (c *connections) changed(connection net.Conn, state http.ConnState) {
	if surplus := c.note(connection, state); surplus != nil {
		_ = surplus.Close()
	}
}

// note keeps what a connection does and returns one that has to go; nil: none.
func (c *connections) note(connection net.Conn, state http.ConnState) net.Conn {
	c.mu.Lock()
	defer c.mu.Unlock()
	if element := c.all[connection]; element != nil {
		c.quiet.Remove(element)
	}
	switch state {
	case http.StateNew, http.StateIdle:
		c.all[connection] = c.quiet.PushBack(connection)
	case http.StateActive:
		c.all[connection] = nil
	default:
		delete(c.all, connection)
		return nil
	}
	if len(c.all) <= c.limit || c.quiet.Len() == 0 {
		return nil
	}
	longest, _ := c.quiet.Remove(c.quiet.Front()).(net.Conn)
	delete(c.all, longest)
	return longest
}
