package python

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"runtime"
	"strings"
	"syscall"
	"time"
)

// task is what the bootstrap reads from its standard input.
type task struct {
	Root       string           `json:"root"`
	Module     string           `json:"module"`
	Class      string           `json:"class"`
	Method     string           `json:"method"`
	Optional   bool             `json:"optional"`
	Parameters map[string]any   `json:"parameters"`
	Calls      [][]Argument     `json:"calls"`
	Filter     []byte           `json:"filter"`
	Limits     map[string]int64 `json:"limits"` // by the names that Python has for them
	OwnAccount bool             `json:"ownAccount"`
}

// reply is what the bootstrap writes to descriptor 3, or what the script has written there in its place: nothing in it is trusted.
type reply struct {
	Parameters map[string]any `json:"parameters"`
	Missing    bool           `json:"missing"`
	Error      string         `json:"error"`
	Refused    string         `json:"refused"`
}

const (
	maxReplyBytes  = 4 << 20
	maxOutputBytes = 8 << 20 // printed; more means that something is wrong
	keptOutput     = 500     // bytes of the end
)

var (
	errTime   = errors.New("time limit")
	errReply  = fmt.Errorf("the parameters are larger than %d bytes", maxReplyBytes)
	errOutput = fmt.Errorf("the script prints more than %d bytes", maxOutputBytes)
)

func (r *Runner) run(ctx context.Context, interpreter string, place *place, t task) (map[string]any, error) {
	// In a run that goes to its end the wall is what counts; the limit of processor time ends a process whose server has died.
	cpu := int64(r.config.TimeLimit/time.Second) + 1
	t.Filter = filter()
	t.Limits = map[string]int64{"RLIMIT_AS": r.config.MemoryBytes, "RLIMIT_CPU": cpu, "RLIMIT_FSIZE": 0, "RLIMIT_CORE": 0,
		"RLIMIT_NOFILE": 64, "RLIMIT_NPROC": 0, "RLIMIT_MEMLOCK": 0}
	var err error
	for _, isolation := range r.attempts() {
		if isolation.account && !place.ownAccount {
			continue
		}
		t.OwnAccount = isolation.account
		var parameters map[string]any
		parameters, err = r.try(ctx, interpreter, place, t, isolation)
		var notStarted *notStarted
		if !errors.As(err, &notStarted) {
			return parameters, err
		}
	}
	return nil, &Unable{err.Error()}
}

// notStarted says that there is no process, for example since the host does not give it namespaces.
type notStarted struct{ error }

// try runs the task in a process of the given isolation.
func (r *Runner) try(ctx context.Context, interpreter string, place *place, t task, isolation isolation) (map[string]any, error) {
	input, err := json.Marshal(t)
	if err != nil {
		return nil, fmt.Errorf("write the task of a user data script: %w", err)
	}
	results, answer, err := os.Pipe()
	if err != nil {
		return nil, err
	}
	defer results.Close()
	defer answer.Close()
	limited, cancel := context.WithTimeoutCause(ctx, r.config.TimeLimit, errTime)
	defer cancel()
	working, stop := context.WithCancelCause(limited)
	defer stop(nil)
	output := &tail{overflow: func() { stop(errOutput) }}
	cmd := exec.CommandContext(working, interpreter, "-I", "-S", "-B", "-X", "utf8", place.bootstrap) //nolint:gosec // a path of ours
	cmd.Dir, cmd.Env, cmd.Stdin = place.root, []string{}, bytes.NewReader(input)
	cmd.Stdout, cmd.Stderr, cmd.ExtraFiles = output, output, []*os.File{answer}
	cmd.SysProcAttr = isolation.attributes()
	cmd.Cancel = func() error { return syscall.Kill(-cmd.Process.Pid, syscall.SIGKILL) }
	cmd.WaitDelay = time.Second
	// The process is killed with the thread that has started it, should the server die.
	runtime.LockOSThread()
	defer runtime.UnlockOSThread()
	if err := cmd.Start(); err != nil {
		return nil, &notStarted{err}
	}
	answer.Close()
	encoded := make(chan []byte, 1)
	go func() {
		content, _ := io.ReadAll(io.LimitReader(results, maxReplyBytes+1))
		if len(content) > maxReplyBytes {
			stop(errReply)
		}
		encoded <- content
	}()
	ended := cmd.Wait()
	answered := <-encoded
	switch cause := context.Cause(working); {
	case ctx.Err() != nil:
		return nil, ctx.Err()
	case errors.Is(cause, errTime):
		return nil, &Failed{fmt.Sprintf("the script has not ended within %s", r.config.TimeLimit), output.String()}
	case errors.Is(cause, errReply), errors.Is(cause, errOutput):
		return nil, &Failed{cause.Error(), output.String()}
	}
	return read(answered, ended, t.Parameters, output.String())
}

// read makes out what a process that has ended has answered.
func read(answered []byte, ended error, parameters map[string]any, output string) (map[string]any, error) {
	var answer reply
	if err := json.Unmarshal(answered, &answer); err != nil {
		status := "it has ended by itself"
		if ended != nil {
			status = ended.Error()
		}
		return nil, &Failed{"the script has ended without a result: " + status, output}
	}
	switch {
	case answer.Refused != "":
		return nil, &Unable{answer.Refused}
	case answer.Missing:
		return parameters, nil
	case answer.Error != "":
		return nil, &Failed{answer.Error, output}
	}
	return answer.Parameters, nil
}

// tail keeps the end of what is written to it.
type tail struct {
	kept     []byte
	total    int
	overflow func()
}

// Write implements [io.Writer].
func (t *tail) Write(p []byte) (int, error) {
	t.kept = append(t.kept, p[max(0, len(p)-keptOutput):]...)
	t.kept = t.kept[max(0, len(t.kept)-keptOutput):]
	if t.total += len(p); t.total > maxOutputBytes {
		t.overflow()
	}
	return len(p), nil
}

func (t *tail) String() string { return strings.TrimSpace(strings.ToValidUTF8(string(t.kept), "")) }
