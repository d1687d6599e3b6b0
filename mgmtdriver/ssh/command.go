package ssh

import (
	"cmp"
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"maps"
	"slices"
	"strings"
	"time"

	"golang.org/x/crypto/ssh"
)

// Command is a program to run on a host. Everybody on the host can see the words of a running program: secrets go on its standard input,
// or into its environment.
type Command struct {
	Argv  []string          // the program and its arguments; no shell looks at them. See [Shell]
	Env   map[string]string // set for the program; may hold secrets
	Stdin io.Reader         // may hold secrets; must not wait for anything; nil = empty
	Root  bool              // run it as root, with sudo unless root is who logs in
	Time  time.Duration     // in which it has to end; 0 = [Config.CommandTime]
	Limit int               // bytes of each output that are kept, half of them from its end; 0 = 4 MiB
	Quiet bool              // it changes nothing, and is logged only for those who search for errors

	label string // of a script of this package, for people
}

// Shell is a command that a POSIX shell reads. Arguments come as $1, $2, …: they must not be made part of the script.
func Shell(script string, arguments ...string) Command {
	return Command{Argv: append([]string{"sh", "-c", script, "sh"}, arguments...)}
}

// Output is what a command has written.
type Output struct {
	Stdout, Stderr string
	Omitted        int64 // bytes that were left out in the middle of them
}

const defaultLimit = 4 << 20

// Run runs a command that ends within seconds; see [Host.Drive] for longer ones. It fails with *[ExitError] if the command does not end with status
// 0, and then has an output, too; *[mgmtdriver.Unavailable] if the host cannot be reached, is lost on the way, or takes too long, when nobody
// knows what the command has done (it is killed if the host allows that: OpenSSH does so for users other than root, and not through sudo);
// and with what [Host.Ping] fails with.
func (h *Host) Run(ctx context.Context, command Command) (*Output, error) {
	output := &Output{}
	began := time.Now()
	err := h.on(ctx, actionCommand, cmp.Or(command.Time, h.pool.config.CommandTime), func(ctx context.Context, c *connection) (err error) {
		output, err = h.run(ctx, c, command)
		return err
	})
	level := slog.LevelInfo
	switch {
	case command.Quiet:
		level = slog.LevelDebug
	case err != nil:
		level = slog.LevelWarn
	}
	attributes := []any{"command", h.shown(command), "duration", time.Since(began)}
	if err != nil {
		attributes = append(attributes, "error", h.secrets.Redact(err.Error()))
	}
	h.log.Log(ctx, level, "ran command", attributes...)
	return output, err
}

// shown is a command as people may see it.
func (h *Host) shown(command Command) string {
	text := h.secrets.Redact(cmp.Or(command.label, quoteAll(command.Argv)))
	if command.Root && command.label == "" && h.target.User != "root" {
		text = "sudo " + text
	}
	const most = 300
	if len(text) > most {
		text = strings.ToValidUTF8(text[:most], "") + " …"
	}
	return text
}

// run runs a command on a connection.
func (h *Host) run(ctx context.Context, c *connection, command Command) (*Output, error) {
	if len(command.Argv) == 0 {
		return &Output{}, errors.New("a command has at least one word")
	}
	line, stdin, err := h.prepare(ctx, c, command)
	if err != nil {
		return &Output{}, err
	}
	limit := cmp.Or(command.Limit, defaultLimit)
	stdout, stderr := newCapture(limit), newCapture(limit)
	err = c.exec(ctx, line, stdin, stdout, stderr)
	output := &Output{Stdout: stdout.text(), Stderr: stderr.text(), Omitted: stdout.omitted() + stderr.omitted()}
	var exit *ssh.ExitError
	switch {
	case err == nil:
		return output, nil
	case ctx.Err() != nil: // which has killed it
		err = context.Cause(ctx)
	case errors.As(err, &exit):
		failed := &ExitError{
			Host: h.target.String(), Command: h.shown(command), Status: exit.ExitStatus(), Signal: exit.Signal(),
			Stdout: excerpt(stdout.end(), h.secrets), Stderr: excerpt(stderr.end(), h.secrets),
		}
		if failed.Signal != "" {
			failed.Status = -1
		}
		return output, failed
	case errors.Is(err, errNotBegun):
		return output, err
	}
	return output, unavailable(&h.target, &interruptedError{h.shown(command), err, excerpt(stderr.end(), h.secrets)})
}

// interruptedError says that nobody knows how a command has ended.
type interruptedError struct {
	command string
	err     error
	stderr  string
}

func (e *interruptedError) Error() string {
	text := "command " + e.command + " was interrupted: " + e.err.Error()
	return text + lastWords("", e.stderr)
}

func (e *interruptedError) Unwrap() error { return e.err }

// exec runs a command line. It fails with errNotBegun if it has not been begun, *ssh.ExitError, or else as the connection has.
func (c *connection) exec(ctx context.Context, line string, stdin io.Reader, stdout, stderr io.Writer) error {
	session, err := c.session(ctx)
	if err != nil {
		return err
	}
	unwatch := c.watch(ctx, session, true)
	defer unwatch()
	defer func() { _ = session.Close() }()
	session.Stdout, session.Stderr = stdout, stderr
	// Not session.Stdin: waiting would then also be for a reader that does not end.
	input, err := session.StdinPipe()
	if err != nil {
		return err
	}
	if err := session.Start(line); err != nil {
		return err
	}
	sent := make(chan struct{})
	go func() {
		defer close(sent)
		if stdin != nil {
			_, _ = io.Copy(input, stdin) // whoever does not want all of it closes it
		}
		_ = input.Close()
	}()
	err = session.Wait()
	_ = session.Close()
	<-sent
	return err
}

// sudoWay is how commands become root's on a host.
type sudoWay int

const (
	sudoUnknown sudoWay = iota
	sudoFree            // sudo asks for no password
	sudoAsks
)

// howSudo finds out whether sudo asks for a password.
func (h *Host) howSudo(ctx context.Context, c *connection) (sudoWay, error) {
	if h.target.Password == "" {
		return sudoFree, nil
	}
	c.mu.Lock()
	way := c.sudo
	c.mu.Unlock()
	if way != sudoUnknown {
		return way, nil
	}
	err := c.exec(ctx, "sudo -n -k true", nil, io.Discard, io.Discard)
	var exit *ssh.ExitError
	switch {
	case err == nil:
		way = sudoFree
	case errors.As(err, &exit):
		way = sudoAsks
	case errors.Is(err, errNotBegun):
		return way, err
	default:
		return way, unavailable(&h.target, &interruptedError{"sudo", err, ""})
	}
	c.mu.Lock()
	c.sudo = way
	c.mu.Unlock()
	return way, nil
}

// inputScript reads the environment from the standard input, between two lines that are like its first argument, sets it, and becomes
// the program that the other arguments are. What comes before is a password that sudo did not want after all.
const inputScript = `_m=$1 _e=
shift
while IFS= read -r _l || exit 74; do
	[ "$_l" = "$_m" ] && break
done
while IFS= read -r _l || exit 74; do
	[ "$_l" = "$_m" ] && break
	_e="$_e$_l
"
done
eval "$_e"
unset _m _e _l
exec "$@"`

// prepare makes a command line, and what goes on the standard input, of a command. The environment and the password come first on the
// standard input: on a command line everybody could see them.
func (h *Host) prepare(ctx context.Context, c *connection, command Command) (line string, stdin io.Reader, err error) {
	exported, err := exports(command.Env)
	if err != nil {
		return "", nil, err
	}
	words, prelude := command.Argv, ""
	sudo := []string(nil)
	if command.Root && h.target.User != "root" {
		way, err := h.howSudo(ctx, c)
		if err != nil {
			return "", nil, err
		}
		sudo = []string{"sudo", "-n", "--"}
		if way == sudoAsks {
			// -k: also where sudo has asked just before.
			sudo, prelude = []string{"sudo", "-k", "-S", "-p", "", "--"}, string(h.target.Password)+"\n"
		}
	}
	if len(command.Env) > 0 || prelude != "" {
		mark := rand.Text()
		words = append([]string{"sh", "-c", inputScript, "vnfm-input", mark}, words...)
		prelude += mark + "\n" + exported + mark + "\n"
	}
	stdin = command.Stdin
	switch {
	case prelude != "" && stdin != nil:
		stdin = io.MultiReader(strings.NewReader(prelude), stdin)
	case prelude != "":
		stdin = strings.NewReader(prelude)
	}
	return quoteAll(append(sudo, words...)), stdin, nil
}

// exports is the part of a script that sets an environment.
func exports(env map[string]string) (string, error) {
	var script strings.Builder
	for _, name := range slices.Sorted(maps.Keys(env)) {
		if !isName(name) {
			return "", fmt.Errorf("%q is no name for an environment variable", name)
		}
		script.WriteString("export " + Quote(name+"="+env[name]) + "\n")
	}
	return script.String(), nil
}

// isName reports whether a shell takes a text for the name of a variable.
func isName(name string) bool {
	for i, r := range name {
		if r != '_' && (r < 'a' || 'z' < r) && (r < 'A' || 'Z' < r) && (i == 0 || r < '0' || '9' < r) {
			return false
		}
	}
	return name != ""
}
