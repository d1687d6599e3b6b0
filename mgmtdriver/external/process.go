package external

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"os"
	"os/exec"
	"strings"
	"syscall"
	"time"

	"vnfm/mgmtdriver"
)

// program is an executable file.
type program struct {
	name string // of the driver
	path string
}

// failure says what the program did wrong.
func (p *program) failure(format string, args ...any) error {
	return &mgmtdriver.Failure{Detail: fmt.Sprintf("driver %s "+format, append([]any{p.name}, args...)...)}
}

const (
	maxAnswer = 1 << 20 // bytes that a program may write
	// drainTime is how long output is waited for that somebody may hold open after the program's end.
	drainTime = time.Second
)

var (
	errTooMuch = errors.New("too much output")
	errTimeOut = errors.New("time out")
)

// call starts the program with a request, and returns its answer.
func call[T any](ctx context.Context, p *program, limit time.Duration, log *slog.Logger, r *request) (*T, error) {
	r.Protocol = protocol
	input, err := json.Marshal(r)
	if err != nil {
		return nil, fmt.Errorf("call driver %s: %w", p.name, err)
	}
	output, err := p.run(ctx, limit, log, input)
	if err != nil {
		return nil, err
	}
	answer := new(T)
	if err := json.Unmarshal(output, answer); err != nil {
		return nil, p.failure("wrote %d bytes that are not one JSON document of the protocol: %v", len(output), err)
	}
	return answer, nil
}

// run starts the program and returns what it has written when it has ended well.
func (p *program) run(ctx context.Context, limit time.Duration, log *slog.Logger, input []byte) ([]byte, error) {
	running, stop := context.WithCancelCause(ctx)
	defer stop(nil)
	timer := time.AfterFunc(limit, func() { stop(errTimeOut) })
	defer timer.Stop()

	cmd := exec.CommandContext(running, p.path) //nolint:gosec // the operator of the server has named it
	// The program and all that it starts are one group, which is killed together; it does not outlive the server.
	cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true, Pdeathsig: syscall.SIGKILL}
	cmd.Cancel = func() error { return syscall.Kill(-cmd.Process.Pid, syscall.SIGKILL) }
	cmd.WaitDelay = drainTime
	cmd.Dir, cmd.Env = "/", []string{"PATH=" + os.Getenv("PATH")}
	cmd.Stdin = bytes.NewReader(input)
	stdout := &limited{full: func() { stop(errTooMuch) }}
	stderr := &complaints{log: log}
	cmd.Stdout, cmd.Stderr = stdout, stderr

	err := cmd.Run()
	stderr.flush()
	if errors.Is(err, exec.ErrWaitDelay) {
		// Processes that it has left behind hold its output open.
		_ = syscall.Kill(-cmd.Process.Pid, syscall.SIGKILL)
	}
	switch cause := context.Cause(running); {
	case err == nil:
		return stdout.content.Bytes(), nil
	case errors.Is(cause, errTimeOut):
		return nil, p.failure("did not answer within %s%s", limit, stderr.tail())
	case errors.Is(cause, errTooMuch):
		return nil, p.failure("wrote more than %d bytes", maxAnswer)
	case cause != nil:
		return nil, cause
	}
	var exit *exec.ExitError
	switch {
	case errors.As(err, &exit):
		return nil, p.failure("ended with %s%s", exit, stderr.tail())
	case errors.Is(err, exec.ErrWaitDelay):
		return nil, p.failure("ended and left processes behind that hold its output open")
	case errors.Is(err, syscall.ETXTBSY), errors.Is(err, syscall.EAGAIN), errors.Is(err, syscall.ENOMEM):
		return nil, &mgmtdriver.Unavailable{Peer: "driver " + p.name, Err: err}
	}
	return nil, p.failure("cannot be run: %v", err)
}

// limited keeps what is written, up to a limit.
type limited struct {
	content bytes.Buffer
	full    func()
}

// Write implements [io.Writer].
func (l *limited) Write(b []byte) (int, error) {
	if l.content.Len()+len(b) > maxAnswer {
		l.full()
		return 0, errTooMuch
	}
	return l.content.Write(b)
}

const (
	maxLines = 100  // that one call may log
	maxLine  = 1000 // bytes of one
	maxTail  = 2000 // bytes that a failure tells
)

// complaints logs, line by line, what is written to the standard error, and keeps its end.
type complaints struct {
	log   *slog.Logger
	line  []byte
	lines int
	end   []byte
}

// Write implements [io.Writer].
func (c *complaints) Write(b []byte) (int, error) {
	c.end = append(c.end, b...)
	if len(c.end) > maxTail {
		c.end = bytes.Clone(c.end[len(c.end)-maxTail:])
	}
	for rest := b; len(rest) > 0; {
		line, more, whole := bytes.Cut(rest, []byte("\n"))
		c.line = append(c.line, line[:min(len(line), maxLine-len(c.line))]...)
		if whole {
			c.flush()
		}
		rest = more
	}
	return len(b), nil
}

func (c *complaints) flush() {
	if len(c.line) > 0 && c.lines <= maxLines {
		text := string(bytes.ToValidUTF8(c.line, []byte("?")))
		if c.lines == maxLines {
			text = "more lines are left out"
		}
		c.log.Info("management driver says", "text", text)
		c.lines++
	}
	c.line = c.line[:0]
}

// tail is the end of what was written, as the end of a sentence.
func (c *complaints) tail() string {
	if text := strings.TrimSpace(string(bytes.ToValidUTF8(c.end, []byte("?")))); text != "" {
		return ": " + text
	}
	return ""
}
