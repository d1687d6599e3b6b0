package ssh_test

import (
	"fmt"
	"strings"
	"sync"
	"testing"
	"time"

	"vnfm/mgmtdriver"
	"vnfm/mgmtdriver/ssh"
	"vnfm/mgmtdriver/ssh/sshtest"
)

// shownLogs keeps what was shown last of each node.
type shownLogs struct {
	mu   sync.Mutex
	logs map[string]mgmtdriver.NodeLog
}

func (s *shownLogs) Show(log mgmtdriver.NodeLog) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.logs == nil {
		s.logs = map[string]mgmtdriver.NodeLog{}
	}
	s.logs[log.Node] = log
}

// of returns what is shown of the only node, without what it is called.
func (s *shownLogs) of(t *testing.T) (job, state, lines string) {
	t.Helper()
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, log := range s.logs {
		if len(s.logs) == 1 && strings.HasPrefix(log.Node, "node (") && log.VnfcID == "vnfc" {
			return log.Job, string(log.State), log.Lines()
		}
	}
	t.Fatalf("shown are %+v", s.logs)
	return "", "", ""
}

func watchedHost(t *testing.T, home string, secrets *ssh.Redactor) (*ssh.Host, *mgmtdriver.Call, *shownLogs) {
	t.Helper()
	shown := &shownLogs{}
	call := newCall()
	call.NodeLogs = shown
	vm := sshtest.Start(t, sshtest.Options{User: "ubuntu", Password: "it's geheim", Handler: realShell(home)})
	target := ssh.Target{Name: "node", Address: vm.AddrPort(), User: "ubuntu", Password: "it's geheim", VnfcID: "vnfc"}
	return newPool(t, ssh.Config{}).Host(call, target, secrets), call, shown
}

func TestLastLinesOfAJobAreShown(t *testing.T) {
	t.Parallel()
	numbers := func(from, to int) string {
		var text strings.Builder
		for n := from; n <= to; n++ {
			fmt.Fprintf(&text, "%d\n", n)
		}
		return strings.TrimSuffix(text.String(), "\n")
	}
	for _, row := range []struct{ name, script, state, lines string }{
		{"few lines", `echo one; echo two`, "DONE", "one\ntwo"},
		{"nothing", `true`, "DONE", ""},
		{"a failure", `echo installing; echo "E: no package kubeadm" >&2; exit 1`, "FAILED", "installing\nE: no package kubeadm"},
		{"the last ones of many", `seq 1 100000`, "DONE", numbers(99981, 100000)},
		{"half of each output", `seq 1 50; seq 101 150 >&2`, "DONE", numbers(41, 50) + "\n" + numbers(141, 150)},
		{"more of the longer one", `echo one; seq 101 150 >&2`, "DONE", "one\n" + numbers(132, 150)},
		{"a bar that grows", `printf 'get\n 10%%\r 50%%\r100%%\n'`, "DONE", "get\n100%"},
		{"colours, control characters and what is no text", `printf '\033[1;31mred\033[0m \033]0;title\007a\001b\302\233c \377.\n'`, "DONE", "red abc �."},
		{"secrets", `echo "it's geheim and geheim-2"`, "DONE", "*** and ***"},
		{"half a secret at the place where it was cut off", `printf 'geheim-2%65530sgeheim-2\nend\n' x`, "DONE", "…\nend"},
		{"one line without an end", `head -c 70000 /dev/zero | tr '\0' g`, "DONE", "…"},
	} {
		t.Run(row.name, func(t *testing.T) {
			t.Parallel()
			host, call, shown := watchedHost(t, t.TempDir(), ssh.NewRedactor("geheim-2"))
			job := script(ssh.JobID(call, "install"), row.script)
			start(t, host, job)
			finish(t, host, job)
			if job, state, lines := shown.of(t); job != "install" || state != row.state || lines != row.lines {
				t.Errorf("%s is %s and shows %q, want %s and %q", job, state, lines, row.state, row.lines)
			}
		})
	}
}

// The end of a line that is being written may be half a secret.
func TestLineThatIsBeingWrittenIsNotShown(t *testing.T) {
	t.Parallel()
	for _, row := range []struct{ name, written, lines string }{
		{"a line", `one\ntwo`, "one"},
		{"the first line", `one`, ""},
		{"a bar that grows", `one\n 10%%\r 50%%\r 1`, "one\n 50%"},
		{"a whole line", `one\ntwo\n`, "one\ntwo"},
	} {
		t.Run(row.name, func(t *testing.T) {
			t.Parallel()
			host, call, shown := watchedHost(t, t.TempDir(), nil)
			job := script(ssh.JobID(call, "install"), `printf '`+row.written+`'; while :; do sleep 0.01; done`)
			start(t, host, job)
			until(t, "it has written something", func() bool {
				progress, err := host.Poll(t.Context(), job)
				if err != nil {
					t.Fatal(err)
				}
				return progress.Stdout != ""
			})
			if _, _, lines := shown.of(t); lines != row.lines {
				t.Errorf("shown is %q, want %q", lines, row.lines)
			}
			if err := host.Cancel(t.Context(), job, time.Minute); err != nil {
				t.Fatal(err)
			}
		})
	}
}

// A driver learns some secrets, such as tokens, from what it reads.
func TestSecretThatIsLearntFromAJobIsNotShown(t *testing.T) {
	t.Parallel()
	host, call, shown := watchedHost(t, t.TempDir(), nil)
	job := script(ssh.JobID(call, "install"), `echo "join with token-4711"; printf 'again with token-47'; while :; do sleep 0.01; done`)
	start(t, host, job)
	until(t, "it has written something", func() bool {
		progress, err := host.Poll(t.Context(), job)
		if err != nil {
			t.Fatal(err)
		}
		return progress.Stdout != ""
	})
	host.Redactor().Add("token-4711")
	if _, state, lines := shown.of(t); state != "RUNNING" || lines != "join with ***" {
		t.Errorf("it is %s and shows %q", state, lines)
	}
	if err := host.Cancel(t.Context(), job, time.Minute); err != nil {
		t.Fatal(err)
	}
	if _, state, _ := shown.of(t); state != "FAILED" {
		t.Errorf("when it was cancelled it is %s", state)
	}
}
