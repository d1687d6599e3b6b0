package kubernetes

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"strings"
	"sync"
	"time"

	"vnfm/mgmtdriver"
	"vnfm/mgmtdriver/kube"
	"vnfm/mgmtdriver/ssh"
)

// work is a long command that is run on several nodes.
type work struct {
	name    string // tells the jobs of a step apart
	inOrder bool   // one node after the other; the first failure ends it
	root    bool   // it is run as root
	// job is what is run on a node. It is called before the job is started; a nil job says that the node is done already, errNotYet that it
	// is to be called again.
	job func(ctx context.Context, n *kube.Machine, host *ssh.Host) (*ssh.Job, error)
}

// workState is what a step keeps of its work between two calls. It may be lost: then what has failed is done once more.
type workState struct {
	Failed map[string]string    `json:"failed,omitempty"` // by server
	Done   map[string]bool      `json:"done,omitempty"`
	Begun  map[string]time.Time `json:"begun,omitempty"` // when it was first seen to run
}

// nodeWork is how far a node is.
type nodeWork struct {
	phase  ssh.Phase
	detail string // last line of its output, or why it has failed
	failed bool
}

// do drives the work on all nodes: what is done stays, what runs goes on whatever happens to others, and in the end the failures are told
// together. A retry of the operation goes on with the nodes that have failed.
func (s *site) do(ctx context.Context, w work, nodes []*kube.Machine) (mgmtdriver.Result, error) {
	if len(nodes) == 0 {
		return mgmtdriver.Done(nil), nil
	}
	state := workState{}
	if s.Call.State != nil && json.Unmarshal(s.Call.State, &state) != nil {
		state = workState{}
	}
	looked, err := s.look(ctx, w, nodes, &state)
	if err != nil {
		return mgmtdriver.Result{}, err
	}
	running, waiting := sort(nodes, looked, &state)
	for len(waiting) > 0 && len(running) < s.atOnce(w) && (!w.inOrder || len(state.Failed) == 0) {
		some := waiting[:min(len(waiting), s.atOnce(w)-len(running))]
		started, err := s.start(ctx, w, some, &state)
		if err != nil {
			return mgmtdriver.Result{}, err
		}
		running, waiting = append(running, started...), waiting[len(some):]
	}
	if len(running) > 0 || (len(waiting) > 0 && (!w.inOrder || len(state.Failed) == 0)) {
		state.begun(running)
		return mgmtdriver.Wait(told(w, nodes, running, looked, &state)).With(state), nil
	}
	return mgmtdriver.Done(nil), state.failure(nodes)
}

func (s *site) atOnce(w work) int {
	if w.inOrder {
		return 1
	}
	return s.Config.Together
}

// look asks all nodes that are not known to be done how far they are.
func (s *site) look(ctx context.Context, w work, nodes []*kube.Machine, state *workState) (map[*kube.Machine]nodeWork, error) {
	looked, mu := map[*kube.Machine]nodeWork{}, sync.Mutex{}
	asked := kube.Filter(nodes, func(n *kube.Machine) bool { return !state.Done[n.Vnfc.ServerID] && state.Failed[n.Vnfc.ServerID] == "" })
	err := s.Each(ctx, asked, func(ctx context.Context, n *kube.Machine, host *ssh.Host) error {
		job := ssh.Job{ID: ssh.JobID(s.Call, w.name), Root: w.root}
		progress, err := host.Poll(ctx, job)
		if err != nil {
			return err
		}
		kube.LearnSecrets(s.Secrets, progress)
		found := nodeWork{phase: progress.Phase, detail: host.LastLine(progress)}
		if limit := s.Config.InstallTime; progress.Phase == ssh.JobRunning && state.longer(n, limit) {
			if err := host.Abandon(ctx, job); err != nil {
				return err
			}
			found.failed, found.detail = true, fmt.Sprintf("%s: %s has taken longer than %s; the last it said was: %s", host, w.name, limit, found.detail)
		}
		if progress.Phase == ssh.JobLost || progress.Phase == ssh.JobEnded && progress.Status != 0 {
			// Drive removes it, so that it can be started again.
			job.Argv = []string{w.name}
			if _, err = host.Drive(ctx, job); !errors.As(err, new(*mgmtdriver.Failure)) {
				return err
			}
			found.failed, found.detail = true, err.Error()
		}
		mu.Lock()
		defer mu.Unlock()
		looked[n] = found
		return nil
	})
	return looked, err
}

// sort notes what has ended, and returns what runs and what waits.
func sort(nodes []*kube.Machine, looked map[*kube.Machine]nodeWork, state *workState) (running, waiting []*kube.Machine) {
	for _, n := range nodes {
		found, ok := looked[n]
		switch {
		case !ok:
		case found.failed:
			if state.Failed == nil {
				state.Failed = map[string]string{}
			}
			state.Failed[n.Vnfc.ServerID] = found.detail
		case found.phase == ssh.JobEnded:
			state.done(n)
		case found.phase == ssh.JobRunning:
			running = append(running, n)
		default:
			waiting = append(waiting, n)
		}
	}
	return running, waiting
}

// longer reports whether the work has run on a node for longer than a limit.
func (w *workState) longer(n *kube.Machine, limit time.Duration) bool {
	begun, ok := w.Begun[n.Vnfc.ServerID]
	return ok && time.Since(begun) > limit
}

// begun notes since when the work runs on nodes.
func (w *workState) begun(running []*kube.Machine) {
	for _, n := range running {
		if _, known := w.Begun[n.Vnfc.ServerID]; !known {
			if w.Begun == nil {
				w.Begun = map[string]time.Time{}
			}
			w.Begun[n.Vnfc.ServerID] = time.Now()
		}
	}
}

func (w *workState) done(n *kube.Machine) {
	if w.Done == nil {
		w.Done = map[string]bool{}
	}
	w.Done[n.Vnfc.ServerID] = true
}

// start starts the work on nodes, and returns those where it runs then.
func (s *site) start(ctx context.Context, w work, nodes []*kube.Machine, state *workState) ([]*kube.Machine, error) {
	var running []*kube.Machine
	mu := sync.Mutex{}
	err := s.Each(ctx, nodes, func(ctx context.Context, n *kube.Machine, host *ssh.Host) error {
		job, err := w.job(ctx, n, host)
		done := err == nil && job == nil
		if err == nil && job != nil {
			job.ID, job.Root = ssh.JobID(s.Call, w.name), w.root
			err = host.Start(ctx, *job)
		}
		if err != nil && !errors.Is(err, errNotYet) {
			return err
		}
		mu.Lock()
		defer mu.Unlock()
		if done {
			state.done(n)
		} else {
			running = append(running, n)
		}
		return nil
	})
	return running, err
}

// told is what is being waited for.
func told(w work, nodes, running []*kube.Machine, looked map[*kube.Machine]nodeWork, state *workState) string {
	text := fmt.Sprintf("%s: %d of %d nodes are done", w.name, len(state.Done), len(nodes))
	if len(state.Failed) > 0 {
		text += fmt.Sprintf(", %d have failed", len(state.Failed))
	}
	const shown = 8
	for _, n := range running[:min(len(running), shown)] {
		text += "; " + n.Name
		if detail := looked[n].detail; detail != "" {
			text += ": " + detail
		}
	}
	if len(running) > shown {
		text += " …"
	}
	return text
}

// failure tells which nodes have failed; nil if none has.
func (w *workState) failure(nodes []*kube.Machine) error {
	if len(w.Failed) == 0 {
		return nil
	}
	var lines []string
	for _, n := range nodes {
		if detail := w.Failed[n.Vnfc.ServerID]; detail != "" {
			lines = append(lines, detail)
		}
	}
	return &mgmtdriver.Failure{Title: "Node could not be set up", Status: http.StatusInternalServerError, Detail: strings.Join(lines, "\n")}
}
