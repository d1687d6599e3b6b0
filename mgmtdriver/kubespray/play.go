package kubespray

import (
	"cmp"
	"context"
	"crypto/rand"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"path"
	"strings"
	"time"

	"vnfm/mgmtdriver"
	"vnfm/mgmtdriver/kube"
	"vnfm/mgmtdriver/ssh"
)

// play is a run of a playbook.
type play struct {
	book      string          // in the root of kubespray
	job       string          // tells the jobs of an operation apart; "" = book
	arguments []string        // further ones
	nodes     []*kube.Machine // that it works on: the time that it may take grows with them
}

// playState is what a step keeps of a run between two calls. It may be lost.
type playState struct {
	Job   string    `json:"job"`
	Since time.Time `json:"since"`
	At    string    `json:"at,omitempty"`    // where it was when it was last seen
	Again bool      `json:"again,omitempty"` // it was begun anew
}

// becomeTimeout is what Ansible says when sudo took too long to ask for the password, as on a host that is very busy. The run is begun anew, once.
const becomeTimeout = "waiting for privilege escalation prompt"

// play runs a playbook: it is started unless it was, and looked at. done tells that it has ended well; else the step is to end with result and
// err. The error names the hosts and tasks that have failed.
func (s *site) play(ctx context.Context, p play) (done bool, result mgmtdriver.Result, err error) {
	a := s.server
	job := ssh.Job{ID: ssh.JobID(s.Call, cmp.Or(p.job, path.Base(p.book)))}
	var state playState
	if json.Unmarshal(s.Call.State, &state) != nil || state.Job != job.ID {
		state = playState{Job: job.ID, Since: time.Now()}
	}
	progress, err := a.Poll(ctx, job)
	if err != nil {
		return false, result, err
	}
	kube.LearnSecrets(a.Redactor(), progress)
	found := readReport(progress.Stdout, progress.Stderr)
	state.At = cmp.Or(found.at(), state.At)
	switch {
	case progress.Phase == ssh.JobAbsent:
		if err := s.begin(ctx, p, job); err != nil {
			return false, result, err
		}
	case progress.Phase == ssh.JobRunning && time.Since(state.Since) > s.limit(p):
		return false, result, s.end(ctx, job, &mgmtdriver.Failure{Title: "Playbook takes too long", Status: http.StatusGatewayTimeout, Detail: fmt.Sprintf(
			"%s: %s has taken longer than %s; it was at %s", a, p.book, s.limit(p), cmp.Or(state.At, "its beginning"))})
	case progress.Phase == ssh.JobEnded && progress.Status == 0:
		return true, result, a.shred(ctx, job.ID)
	case progress.Phase == ssh.JobRunning:
	case !state.Again && strings.Contains(progress.Stdout, becomeTimeout):
		state.Again, state.Since = true, time.Now()
		if err := s.end(ctx, job, nil); err != nil {
			return false, result, err
		}
	default:
		return false, result, s.end(ctx, job, s.failure(p, progress, found))
	}
	return false, mgmtdriver.Wait(strings.TrimSuffix(p.book+": "+a.Redactor().Redact(state.At), ": ")).With(state), nil
}

// tidy is a step that removes what the Ansible server keeps of the playbooks that have run: until then, a step that is repeated after a crash finds
// there how its playbook has ended. It keeps no operation from its end.
func (s *site) tidy(ctx context.Context) (mgmtdriver.Result, error) {
	if len(s.Added)+len(s.going()) == 0 {
		return mgmtdriver.Done(nil), nil
	}
	if err := s.server.tidy(ctx); err != nil {
		s.Call.Log.Warn("the output of playbooks stays on the Ansible server", "error", err)
	}
	return mgmtdriver.Done(nil), ctx.Err()
}

// limit is the time that a run may take.
func (s *site) limit(p play) time.Duration {
	return s.Config.InstallTime * time.Duration(max(len(p.nodes), 1))
}

// begin starts a run. The file with the secrets is that of this run alone, and what it is encrypted with is nowhere but on the standard input of
// the run: whoever begins it a second time, after a crash, makes both anew.
func (s *site) begin(ctx context.Context, p play, job ssh.Job) error {
	a := s.server
	var found tools
	if err := s.Call.Output(string(s.Call.Hook)+"/prerequisites", &found); err != nil {
		return err
	}
	if err := a.enter(ctx, job.ID); err != nil {
		return err
	}
	content, err := secretsYAML(s.params)
	if err != nil {
		return err
	}
	password := rand.Text()
	if content, err = vaulted(content, password); err != nil {
		return err
	}
	file := sealedFile + sealed(job.ID) + "-" + rand.Text()[:8] + ".yaml"
	if err := a.put(ctx, file, content); err != nil {
		return err
	}
	s.Secrets.Add(ssh.Secret(password))
	job.Dir, job.Stdin = a.root, []byte(password+"\n")
	job.Argv = append([]string{found.Ansible, "-i", a.inventory, "--become", "--become-user=root",
		"-e", "@" + path.Join(a.directory, varsFile), "-e", "@" + path.Join(a.directory, file), "--vault-password-file=/dev/stdin"}, p.arguments...)
	job.Argv = append(job.Argv, p.book)
	// The output is read by this program: it must not depend on what the user likes to see.
	job.Env = map[string]string{"LC_ALL": "C.UTF-8", "LANG": "C.UTF-8", "ANSIBLE_NOCOLOR": "1", "ANSIBLE_FORCE_COLOR": "0",
		"ANSIBLE_STDOUT_CALLBACK": "default", "ANSIBLE_CALLBACK_RESULT_FORMAT": "json", "ANSIBLE_RETRY_FILES_ENABLED": "0"}
	return a.Start(ctx, job)
}

// end removes what a run has left, so that it can be started anew, and returns failure.
func (s *site) end(ctx context.Context, job ssh.Job, failure error) error {
	job.Argv = []string{job.ID}
	if err := errors.Join(s.server.Abandon(ctx, job), s.server.shred(ctx, job.ID)); err != nil {
		return err
	}
	return failure
}

// failure says which hosts have failed, and why.
func (s *site) failure(p play, progress ssh.Progress, found *report) error {
	known := map[string]string{}
	for _, n := range append(s.All(), s.Removed...) {
		known[n.Title()] = n.SSH.String()
	}
	detail := s.server.Redactor().Redact(found.tell(known))
	if detail == "" {
		// Neither a task nor Ansible itself has said anything: the end of the output has to do.
		const most = 1500
		detail = strings.TrimSpace(s.server.Redactor().Redact(cmp.Or(strings.TrimSpace(progress.Stderr), progress.Stdout)))
		detail = strings.ToValidUTF8(detail[max(0, len(detail)-most):], "")
	}
	how := fmt.Sprintf("has ended with status %d", progress.Status)
	if progress.Phase == ssh.JobLost {
		how = "was stopped from outside, or the host was restarted"
	}
	s.Call.Log.Warn("playbook failed", "playbook", p.book, "error", detail)
	return &mgmtdriver.Failure{Title: "Playbook failed", Status: http.StatusInternalServerError,
		Detail: fmt.Sprintf("%s: %s %s\n%s", s.server, p.book, how, detail)}
}
