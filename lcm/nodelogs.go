package lcm

import (
	"context"
	"errors"
	"runtime/debug"
	"slices"
	"strings"
	"sync"
	"time"

	"vnfm/mgmtdriver"
)

// NodeLog is what a job, such as an installation, has written last on a node.
type NodeLog struct {
	Node      string // with its address
	VnfcID    string // vnfcInstanceId; "" = the node is no VNFC
	Job       string // what is done, such as install
	State     mgmtdriver.JobState
	Lines     string    // the last lines, without secrets
	ChangedAt time.Time // when they came; set by the store
}

// differs reports whether a log tells something else than another one.
func (l NodeLog) differs(other NodeLog) bool {
	other.ChangedAt = l.ChangedAt
	return l != other
}

const (
	nodeLogLines  = 20
	nodeLogBytes  = 4 << 10
	nodeLineBytes = 500
	// nodeLogPause is between two writes of a run that waits.
	nodeLogPause = time.Second
	// nodeLogTime bounds a write: an operation does not wait for what people look at, and a bit longer for the last words of a step.
	nodeLogTime     = time.Second
	lastNodeLogTime = 5 * time.Second
)

// nodeLogs are those that a run shows.
type nodeLogs struct {
	mu    sync.Mutex
	shown map[string]mgmtdriver.NodeLog // by node: since they were stored last

	stored map[string]NodeLog // by node; nil = it is not known yet
	next   time.Time          // nothing is stored before
}

// Show implements [mgmtdriver.NodeLogs].
func (n *nodeLogs) Show(log mgmtdriver.NodeLog) {
	n.mu.Lock()
	defer n.mu.Unlock()
	if n.shown == nil {
		n.shown = map[string]mgmtdriver.NodeLog{}
	}
	n.shown[log.Node] = log
}

// take returns what is to be stored now: after a pause, or the last words of a step.
func (n *nodeLogs) take(last bool) map[string]mgmtdriver.NodeLog {
	n.mu.Lock()
	defer n.mu.Unlock()
	if len(n.shown) == 0 || !last && time.Now().Before(n.next) {
		return nil
	}
	taken := n.shown
	n.shown, n.next = nil, time.Now().Add(nodeLogPause)
	return taken
}

// keepNodeLogs stores what has been shown of nodes, as far as it is new. That it cannot be stored holds nothing up.
func (a *attempt) keepNodeLogs(ctx context.Context, last bool) {
	shown := a.run.nodeLogs.take(last)
	if shown == nil || Held(ctx) != nil {
		return
	}
	limit := nodeLogTime
	if last {
		limit = lastNodeLogTime
	}
	// A stop of the process must not keep the last words of a step from being recorded.
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), limit)
	defer cancel()
	if err := a.storeNodeLogs(ctx, shown); err != nil && !errors.Is(err, ErrSuperseded) {
		a.log.Warn("last lines of nodes are not stored", "error", err)
	}
}

func (a *attempt) storeNodeLogs(ctx context.Context, shown map[string]mgmtdriver.NodeLog) error {
	n := &a.run.nodeLogs
	if n.stored == nil { // another run may have stored the same
		former, err := a.engine.store.NodeLogs(ctx, a.run.Operation.ID)
		if err != nil {
			return err
		}
		n.stored = map[string]NodeLog{}
		for _, log := range former {
			n.stored[log.Node] = log
		}
	}
	known := a.run.redactor()
	var changed []NodeLog
	for _, of := range shown {
		log := NodeLog{Node: Legible(of.Node), VnfcID: of.VnfcID, Job: Legible(of.Job), State: of.State, Lines: lastLines(known.Redact(a.linesOf(ctx, of)))}
		if before, ok := n.stored[log.Node]; !ok || log.differs(before) {
			changed = append(changed, log)
		}
	}
	if len(changed) == 0 {
		return nil
	}
	if err := a.engine.store.KeepNodeLogs(ctx, a.run, changed); err != nil {
		return err
	}
	for _, log := range changed {
		n.stored[log.Node] = log
	}
	return nil
}

// linesOf are the lines of a log. A panic of the driver that makes them is not the end of the process.
func (a *attempt) linesOf(ctx context.Context, log mgmtdriver.NodeLog) string {
	defer func() {
		if cause := recover(); cause != nil {
			a.log.ErrorContext(ctx, "last lines of a node panicked", "node", log.Node, "cause", cause, "stack", string(debug.Stack()))
		}
	}()
	return log.Lines()
}

// lastLines are the last lines of a text without secrets, within bounds, as a database and a client can take them.
func lastLines(text string) string {
	lines := strings.Split(strings.ToValidUTF8(strings.ReplaceAll(text, "\x00", ""), ""), "\n")
	lines = lines[max(0, len(lines)-nodeLogLines):]
	for i, line := range lines {
		if len(line) > nodeLineBytes {
			lines[i] = strings.ToValidUTF8(line[:nodeLineBytes], "") + " …"
		}
	}
	bytes, first := 0, len(lines)
	for i, line := range slices.Backward(lines) {
		if bytes += len(line) + 1; bytes > nodeLogBytes {
			break
		}
		first = i
	}
	return strings.Join(lines[first:], "\n")
}
