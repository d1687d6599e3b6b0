package ssh_test

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"
	"unicode/utf8"

	"vnfm/mgmtdriver"
	"vnfm/mgmtdriver/drivertest"
	"vnfm/mgmtdriver/ssh"
	"vnfm/mgmtdriver/ssh/sshtest"
)

// realShell plays commands with the shell of this machine, in a home of its own.
func realShell(home string) sshtest.Handler {
	return func(ctx context.Context, s *sshtest.Session) int {
		command := exec.CommandContext(ctx, "/bin/sh", "-c", s.Command)
		command.Dir, command.Stdin, command.Stdout, command.Stderr = home, s.Stdin, s.Stdout, s.Stderr
		command.Env = []string{"HOME=" + home, "PATH=" + home + "/bin:" + os.Getenv("PATH")}
		command.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
		if err := command.Run(); command.ProcessState == nil {
			_, _ = fmt.Fprintln(s.Stderr, err)
			return 255
		}
		return command.ProcessState.ExitCode()
	}
}

// shellHost is a machine with a real shell.
func shellHost(t *testing.T, home string) (*sshtest.Server, *proxy, *ssh.Host) {
	t.Helper()
	vm := sshtest.Start(t, sshtest.Options{User: "ubuntu", Password: "it's geheim", Handler: realShell(home)})
	p := newProxy(t, vm.AddrPort())
	return vm, p, newPool(t, ssh.Config{}).Host(newCall(), ssh.Target{Name: "node", Address: p.address(), User: "ubuntu", Password: "it's geheim"}, nil)
}

func FuzzQuote(f *testing.F) {
	for _, seed := range []string{"", "a", "it's", "$(id)`id`", "a b\n", "\\", "'", "-n", "~", "ä\xff", "a=b", "#", "*"} {
		f.Add(seed)
	}
	f.Fuzz(func(t *testing.T, word string) {
		if strings.ContainsRune(word, 0) {
			t.Skip("no word of a command has a NUL")
		}
		out, err := exec.Command("/bin/sh", "-c", "printf %s. "+ssh.Quote(word)).Output()
		if err != nil || string(out) != word+"." {
			t.Errorf("%q came as %q, %v", word, out, err)
		}
		if words, err := sshtest.Words(ssh.Quote(word)); err != nil || len(words) != 1 || words[0] != word {
			t.Errorf("%q was split into %q, %v", word, words, err)
		}
	})
}

// fakeSudo asks for a password as sudo does, unless it is to be free; with forgetful it has let the user in for true only.
const fakeSudo = `#!/bin/sh
[ "$*" = "-n -k true" ] && exec test -e "$HOME/free"
case "$*" in
"-n -- "*) shift 2; [ -e "$HOME/free" ] || exit 1 ;;
"-k -S -p  -- "*)
	shift 5
	if ! [ -e "$HOME/forgetful" ]; then
		IFS= read -r password
		[ "$password" = "it's geheim" ] || { echo "Sorry, try again." >&2; exit 1; }
	fi ;;
*) exit 99 ;;
esac
echo "root runs $*" | tr '\n' ' ' >> "$HOME/log"
exec "$@"
`

func TestSudo(t *testing.T) {
	t.Parallel()
	for _, mode := range []string{"asks", "free", "forgetful"} {
		t.Run(mode, func(t *testing.T) {
			t.Parallel()
			home := t.TempDir()
			_, _, host := shellHost(t, home)
			for name, content := range map[string]string{"bin/sudo": fakeSudo, mode: ""} {
				drivertest.Script(t, filepath.Join(home, name), content)
			}
			output, err := host.Run(t.Context(), ssh.Command{
				Argv: []string{"sh", "-c", `printf '%s|' "$1" "$A"; cat`, "sh", "it's"}, Root: true, Env: map[string]string{"A": "l1\nl2 'x"},
				Stdin: strings.NewReader("one\ntwo"),
			})
			if err != nil || output.Stdout != "it's|l1\nl2 'x|one\ntwo" {
				t.Errorf("got %+v, %v", output, err)
			}
			if output, err := host.Run(t.Context(), ssh.Command{Argv: []string{"cat"}, Root: true}); err != nil || output.Stdout != "" {
				t.Errorf("without input: %+v, %v", output, err)
			}
			log, err := os.ReadFile(filepath.Join(home, "log"))
			if err != nil || !strings.Contains(string(log), "root runs") || strings.Contains(string(log), "geheim") || strings.Contains(string(log), "l2") {
				t.Errorf("the words of the commands: %s, %v", log, err)
			}
		})
	}
}

func TestEnvironmentNeedsNames(t *testing.T) {
	t.Parallel()
	_, host := fake(t, newPool(t, ssh.Config{}), newCall(), show)
	for _, name := range []string{"", "1A", "A B", "A=B", "A;id", "Ä"} {
		if _, err := host.Run(t.Context(), ssh.Command{Argv: []string{"show", ""}, Env: map[string]string{name: "x"}}); err == nil {
			t.Errorf("%q was taken", name)
		}
	}
}

func TestOutputIsBounded(t *testing.T) {
	t.Parallel()
	const size = 100 << 20
	host := startSSHD(t).host(newCall())
	output, err := host.Run(t.Context(), ssh.Command{
		Argv: []string{"sh", "-c", fmt.Sprintf("echo begin; head -c %d /dev/zero; echo end; echo trouble >&2; exit 1", size)}, Limit: 1000,
	})
	var exit *ssh.ExitError
	if !errors.As(err, &exit) || exit.Stderr != "trouble" {
		t.Errorf("got %v", err)
	}
	if !strings.HasPrefix(output.Stdout, "begin\n\x00") || !strings.HasSuffix(output.Stdout, "\x00end\n") || len(output.Stdout) > 1100 ||
		output.Omitted != size+10-1000 || !strings.Contains(output.Stdout, fmt.Sprintf("\n[%d bytes are left out here]\n", output.Omitted)) {
		t.Errorf("%d bytes kept, %d left out", len(output.Stdout), output.Omitted)
	}
}

func TestExcerptsAreLegible(t *testing.T) {
	t.Parallel()
	_, host := fake(t, newPool(t, ssh.Config{}), newCall(), func(_ context.Context, s *sshtest.Session) int {
		_, _ = io.WriteString(s.Stdout, "raw \xff\x00")
		_, _ = io.WriteString(s.Stderr, strings.Repeat("ä", 5000)+"\x1b[31mno\xffgeheim: token-4711\x00\n")
		return 7
	})
	host.Redactor().Add("token-4711")
	output, err := host.Run(t.Context(), ssh.Command{Argv: []string{"login", "--token", "token-4711", "it's"}})
	var exit *ssh.ExitError
	if !errors.As(err, &exit) || output.Stdout != "raw \xff\x00" {
		t.Fatalf("got %q, %v", output.Stdout, err)
	}
	if text := err.Error(); !utf8.ValidString(text) || strings.ContainsAny(text, "\x00\x1b") || len(text) > 2000 ||
		!strings.HasSuffix(text, "äno�geheim: ***") || !strings.Contains(text, `): command login --token *** 'it'\''s' ended with status 7: … ä`) {
		t.Errorf("got %q", text)
	}
}

func TestCutConnectionInACommand(t *testing.T) {
	t.Parallel()
	running := make(chan struct{})
	p, host := proxied(t, newPool(t, ssh.Config{}), newCall(), func(ctx context.Context, _ *sshtest.Session) int {
		close(running)
		<-ctx.Done()
		return 0
	})
	go func() {
		<-running
		p.cut()
	}()
	_, err := host.Run(t.Context(), showNothing)
	if !errors.As(err, new(*mgmtdriver.Unavailable)) || !strings.Contains(err.Error(), "command show '' was interrupted") {
		t.Errorf("got %v", err)
	}
}

func TestCommandThatTakesTooLong(t *testing.T) {
	t.Parallel()
	_, host := fake(t, newPool(t, ssh.Config{}), newCall(), func(ctx context.Context, _ *sshtest.Session) int {
		<-ctx.Done() // it is killed
		return 137
	})
	if err := host.Ping(t.Context()); err != nil {
		t.Fatal(err)
	}
	_, err := host.Run(t.Context(), ssh.Command{Argv: []string{"install"}, Time: 500 * time.Millisecond})
	if !errors.As(err, new(*mgmtdriver.Unavailable)) || !strings.Contains(err.Error(), "it has taken longer than 500ms") {
		t.Errorf("got %v", err)
	}
}

func TestSecretsAreNotLogged(t *testing.T) {
	t.Parallel()
	var log bytes.Buffer
	call := newCall()
	call.Log = slog.New(slog.NewJSONHandler(&log, &slog.HandlerOptions{Level: slog.LevelDebug}))
	const password, token = "it's/geheim \"x\"", "registry-token"
	vm := sshtest.Start(t, sshtest.Options{User: "ubuntu", Password: password, Handler: sshtest.Linux(func(_ context.Context, s *sshtest.Session) int {
		_, _ = fmt.Fprintf(s.Stderr, "%s %q %v", password, password, s.Argv)
		return 1
	})})
	host := newPool(t, ssh.Config{}).Host(call, ssh.Target{Address: vm.AddrPort(), User: "ubuntu", Password: password}, ssh.NewRedactor(token))
	_, err := host.Run(t.Context(), ssh.Command{Argv: []string{"docker", "login", token, password}, Root: true, Env: map[string]string{"P": password}})
	if err == nil {
		t.Fatal("it has worked")
	}
	job := ssh.Job{ID: "job", Argv: []string{"docker", token}, Env: map[string]string{"P": password}, Stdin: []byte(token)}
	var failed error
	until(t, "the job fails", func() bool {
		_, failed = host.Drive(t.Context(), job)
		return failed != nil
	})
	shown := err.Error() + failed.Error() + log.String() + fmt.Sprintf("%v %+v %#v", host.Target(), host.Target(), host.Target().Password)
	for _, secret := range []string{"geheim", token} {
		if strings.Contains(shown, secret) {
			t.Errorf("%q is shown: %s", secret, shown)
		}
	}
	if !strings.Contains(log.String(), `"command":"sudo docker login *** `) {
		t.Errorf("the command is not logged: %s", log.String())
	}
}
