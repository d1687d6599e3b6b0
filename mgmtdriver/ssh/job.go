package ssh

import (
	"cmp"
	"context"
	"crypto/rand"
	_ "embed" // for the scripts
	"errors"
	"fmt"
	"io"
	"path"
	"regexp"
	"strconv"
	"strings"
	"time"

	"vnfm/mgmtdriver"
)

// The scripts that keep runs on a host. They need a POSIX shell, coreutils and util-linux, which every Linux distribution has.
var (
	//go:embed scripts/start.sh
	startScript string
	//go:embed scripts/run.sh
	runScript string
	//go:embed scripts/poll.sh
	pollScript string
	//go:embed scripts/cancel.sh
	cancelScript string
	//go:embed scripts/where.sh
	whereScript string
	//go:embed scripts/clean.sh
	cleanScript string
)

const (
	jobDir     = ".vnfm/runs" // in the home of the user
	rootJobDir = "/var/lib/vnfm/runs"

	keptBlocks   = 8 << 10   // of 1 KiB, of each output
	runningBytes = 4 << 10   // of each output that is shown while a command runs
	endedBytes   = 512 << 10 // of each output that is shown when it has ended
)

// Job is a command that takes longer than a step may, or that must go on when the connection is lost. It runs detached on the host in a
// directory of its own, where its output and its status are kept.
type Job struct {
	// ID tells jobs of a host apart: letters, digits, ".", "_" and "-". A job that is started again under its id is not run again, so it has to
	// name the operation and the step; see [JobID].
	ID   string
	Argv []string
	Env  map[string]string // may hold secrets
	// Stdin is the standard input, which may hold secrets. It is removed from the host when the command has ended.
	Stdin []byte
	Root  bool
	Dir   string // where it runs; "" = the home of who runs it
}

// JobID is the id of a job of a step: work tells several of one step apart.
func JobID(call *mgmtdriver.Call, work string) string { return jobPrefix(call) + work }

func jobPrefix(call *mgmtdriver.Call) string {
	return call.Operation.ID + "-" + string(call.Hook) + "-"
}

// Phase is how far a job is.
type Phase string

// The phases of a job.
const (
	JobAbsent  Phase = "absent" // it was never started, or has been cleaned away
	JobRunning Phase = "running"
	JobEnded   Phase = "ended"
	JobLost    Phase = "lost" // it has ended without a status: it was killed, or the host was restarted
)

// Progress is how a job is getting on.
type Progress struct {
	Phase  Phase
	Status int // of a job that has ended; 128 + the number of the signal that has ended it
	// Stdout and Stderr are the last 4 KiB of a job that runs, the last 512 KiB of one that has ended.
	Stdout, Stderr string
}

// LastLine is the last whole line of standard output, without secrets, for people who wait.
func (h *Host) LastLine(p Progress) string {
	lines := wholeLines(p.Stdout, p.Phase, h.secrets)
	if len(lines) == 0 {
		return ""
	}
	return excerpt(lines[len(lines)-1], h.secrets)
}

var validID = regexp.MustCompile(`^[A-Za-z0-9_-][A-Za-z0-9._-]{0,200}$`)

// dir is the directory of a job; a relative one is in the home.
func (h *Host) dir(job *Job) (string, error) {
	if !validID.MatchString(job.ID) {
		return "", fmt.Errorf("%q is no id for a job", job.ID)
	}
	if job.Root {
		return path.Join(rootJobDir, job.ID), nil
	}
	return path.Join(jobDir, job.ID), nil
}

// Drive is all that a step needs for a job: it starts it if it was not started yet, and tells how it is getting on: it has ended with status
// 0 when the phase is [JobEnded]. A job that has failed is
// cleaned away, so that a retry of the operation starts it anew; the error is *[ExitError] or *[LostError] with its last output,
// and a [mgmtdriver.Failure] at the same time.
//
//	progress, err := host.Drive(ctx, job)
//	if err == nil && progress.Phase != ssh.JobEnded {
//		return mgmtdriver.Wait(…), nil
//	}
func (h *Host) Drive(ctx context.Context, job Job) (Progress, error) {
	progress, err := h.Poll(ctx, job)
	if err != nil {
		return progress, err
	}
	if progress.Phase == JobAbsent {
		if err := h.Start(ctx, job); err != nil {
			return progress, err
		}
		if progress, err = h.Poll(ctx, job); err != nil {
			return progress, err
		}
	}
	failed := h.failure(&job, progress)
	if failed == nil {
		return progress, nil
	}
	if err := h.Clean(ctx, job); err != nil {
		return progress, err
	}
	return progress, failed
}

// failure is the error of a job that has failed; nil of another one.
func (h *Host) failure(job *Job, progress Progress) error {
	shown := h.shown(Command{Argv: job.Argv, Root: job.Root})
	stdout, stderr := excerpt(progress.Stdout, h.secrets), excerpt(progress.Stderr, h.secrets)
	var err error
	switch {
	case progress.Phase == JobLost:
		err = &LostError{Host: h.String(), Command: shown, Stdout: stdout, Stderr: stderr}
	case progress.Phase == JobEnded && progress.Status != 0:
		err = &ExitError{Host: h.String(), Command: shown, Status: progress.Status, Stdout: stdout, Stderr: stderr}
	default:
		return nil
	}
	h.log.Warn("job failed", "job", job.ID, "error", err)
	return &jobError{err}
}

// jobError makes a failure out of the error of a job: repeating the step would only repeat the job.
type jobError struct{ err error }

func (e *jobError) Error() string { return e.err.Error() }

func (e *jobError) Unwrap() []error {
	return []error{e.err, &mgmtdriver.Failure{Title: "Command on a host failed", Detail: e.Error()}}
}

// Start starts a job, unless a job of that id was started before. Its errors are those of [Host.Run].
func (h *Host) Start(ctx context.Context, job Job) error {
	dir, err := h.dir(&job)
	if err != nil {
		return err
	}
	script, err := job.script()
	if err != nil {
		return err
	}
	mark := rand.Text()
	input := io.MultiReader(strings.NewReader(mark+"\n"+script+mark+"\n"), strings.NewReader(string(job.Stdin)))
	h.log.InfoContext(ctx, "start job", "job", job.ID, "command", h.shown(Command{Argv: job.Argv, Root: job.Root}))
	_, err = h.Run(ctx, Command{
		Argv:  []string{"sh", "-c", startScript, "vnfm-start", dir, mark, strconv.Itoa(keptBlocks), runScript, strconv.Itoa(len(job.Stdin))},
		Stdin: input, Root: job.Root, Quiet: true, label: "start of job " + job.ID,
	})
	return err
}

// script is what the host runs. It removes itself first, since it holds the environment.
func (j *Job) script() (string, error) {
	if len(j.Argv) == 0 {
		return "", errors.New("a command has at least one word")
	}
	exported, err := exports(j.Env)
	if err != nil {
		return "", err
	}
	change := `cd`
	if j.Dir != "" {
		change = "cd -- " + Quote(j.Dir)
	}
	// What keeps the run is for its user alone; the files of the command are its own business.
	return "set -e\nrm -f ./command ./input\numask 022\n" + exported + change + "\nexec " + quoteAll(j.Argv) + "\n", nil
}

// Poll tells how a job is getting on, and shows the last that it has written to people (see [mgmtdriver.NodeLogs]); of the job, only ID and Root are
// looked at. Its errors are those of [Host.Run].
func (h *Host) Poll(ctx context.Context, job Job) (Progress, error) {
	dir, err := h.dir(&job)
	if err != nil {
		return Progress{}, err
	}
	output, err := h.Run(ctx, Command{
		Argv: []string{"sh", "-c", pollScript, "vnfm-poll", dir, strconv.Itoa(runningBytes), strconv.Itoa(endedBytes)},
		Root: job.Root, Quiet: true, label: "look at job " + job.ID,
	})
	if err != nil {
		return Progress{}, err
	}
	first, rest, _ := strings.Cut(output.Stdout, "\n")
	phase, status, _ := strings.Cut(first, " ")
	progress := Progress{Phase: Phase(phase), Stdout: rest, Stderr: output.Stderr}
	switch progress.Phase {
	case JobAbsent:
		return progress, nil
	case JobRunning, JobLost:
		h.show(&job, progress)
		return progress, nil
	case JobEnded:
		progress.Status, err = strconv.Atoi(status)
		if err == nil {
			h.show(&job, progress)
			return progress, nil
		}
	}
	return Progress{}, fmt.Errorf("%s: job %s: the host tells %q", h, job.ID, h.secrets.Redact(first))
}

// DefaultGrace is how long a job that is cancelled may take to end by itself.
const DefaultGrace = 5 * time.Second

// Cancel stops a job with everything it has started, also through sudo: it is asked first, and killed after the grace (0 = [DefaultGrace]). It has
// ended then. Cancelling what does not run does nothing.
func (h *Host) Cancel(ctx context.Context, job Job, grace time.Duration) error {
	if err := h.cancel(ctx, job, grace); err != nil {
		return err
	}
	_, _ = h.Poll(ctx, job) // people see that it has ended; whether they do makes no difference to the caller
	return nil
}

func (h *Host) cancel(ctx context.Context, job Job, grace time.Duration) error {
	seconds := strconv.Itoa(int(cmp.Or(grace, DefaultGrace).Seconds()))
	if job.Root || h.target.User == "root" {
		return h.manage(ctx, &job, "cancel", cancelScript, seconds)
	}
	_, err := h.Run(ctx, Command{Argv: []string{"true"}, Root: true, Quiet: true})
	switch {
	case errors.As(err, new(*ExitError)): // who may not become root has not
		return h.manage(ctx, &job, "cancel", cancelScript, seconds)
	case err != nil:
		return err
	}
	// The home of root is another one.
	dir, err := h.dir(&job)
	if err != nil {
		return err
	}
	where, err := h.Run(ctx, Command{Argv: []string{"sh", "-c", whereScript, "vnfm-where", dir}, Quiet: true, label: "look for job " + job.ID})
	if err != nil || where.Stdout == "" {
		return err
	}
	return h.script(ctx, true, &job, "cancel", cancelScript, strings.TrimSuffix(where.Stdout, "\n"), seconds)
}

// Clean removes what the host keeps of a job that does not run; a job of the same id then can be started anew. What has ended a week ago goes
// by itself.
func (h *Host) Clean(ctx context.Context, job Job) error {
	return h.manage(ctx, &job, "clean", cleanScript)
}

func (h *Host) manage(ctx context.Context, job *Job, what, script string, arguments ...string) error {
	dir, err := h.dir(job)
	if err != nil {
		return err
	}
	return h.script(ctx, job.Root, job, what, script, append([]string{dir}, arguments...)...)
}

func (h *Host) script(ctx context.Context, root bool, job *Job, what, script string, arguments ...string) error {
	_, err := h.Run(ctx, Command{
		Argv: append([]string{"sh", "-c", script, "vnfm-" + what}, arguments...), Root: root, label: what + " job " + job.ID,
	})
	return err
}
