// Package postgres runs a private PostgreSQL server from the binaries that are installed on the machine: for one who starts vnfm
// without a database, and for tests. It listens on a Unix socket only, and works as root too, by running as another account.
//
//	server, err := postgres.StartPrivate(ctx, "/home/me/.local/share/vnfm/postgres")
//	defer server.Stop()
//	pool, err := pgxpool.New(ctx, server.URL())
package postgres

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"net/url"
	"os"
	"os/exec"
	"os/user"
	"path/filepath"
	"runtime"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"time"

	"github.com/jackc/pgx/v5"
)

// Private is a running private server.
type Private struct {
	lock      *os.File // locked for as long as this process uses the directory
	socketDir string
	temporary bool // whether socketDir is to be removed at the end
	process   *os.Process
	ended     chan struct{}
}

const (
	startTime = 2 * time.Minute  // bounds the start: recovery after a crash of a large database takes a while
	stopTime  = 20 * time.Second // after which the server is stopped without its last checkpoint, which costs a recovery
)

// settings are those of a server with data to keep. An option overrides them.
var settings = []string{"listen_addresses=", "unix_socket_permissions=0700", "max_connections=200"}

// StartPrivate starts the server whose data is in dir, which is made if it does not exist, with further settings of the form
// name=value. The data of another major version is refused, and so is a directory that another process uses. A server that a
// killed process has left behind is stopped first.
func StartPrivate(ctx context.Context, dir string, options ...string) (_ *Private, err error) {
	binaries, err := findBinaries()
	if err != nil {
		return nil, err
	}
	account, err := serverAccount()
	if err != nil {
		return nil, err
	}
	if dir, err = filepath.Abs(dir); err != nil {
		return nil, err
	}
	p := &Private{ended: make(chan struct{})}
	defer func() {
		if err != nil {
			err = errors.Join(err, p.release())
		}
	}()
	if p.lock, err = lockDir(dir); err != nil {
		return nil, err
	}
	data := filepath.Join(dir, "data")
	if err := prepare(ctx, binaries, dir, data, account); err != nil {
		return nil, fmt.Errorf("prepare PostgreSQL in %s: %w", dir, err)
	}
	if err := stopOrphan(ctx, data); err != nil {
		return nil, err
	}
	if err := p.makeSocketDir(dir, account); err != nil {
		return nil, fmt.Errorf("prepare PostgreSQL in %s: %w", dir, err)
	}
	args := []string{"-D", data, "-k", p.socketDir}
	for _, setting := range append(slices.Clone(settings), options...) {
		args = append(args, "-c", setting)
	}
	if err := p.start(filepath.Join(binaries, "postgres"), args, dir, account); err != nil {
		return nil, err
	}
	if err := p.awaitReady(ctx, filepath.Join(dir, "server.log")); err != nil {
		return nil, errors.Join(err, p.Stop())
	}
	return p, nil
}

// maxSocketDir is how long the path of a directory may be so that the path of the socket in it fits into its 107 bytes.
const maxSocketDir = 107 - len("/.s.PGSQL.5432")

// makeSocketDir makes the directory of the socket: beside the data, or a temporary one if that path is too long, or would be
// taken for a list by the server or by clients.
func (p *Private) makeSocketDir(dir string, account account) error {
	p.socketDir = filepath.Join(dir, "socket")
	if len(p.socketDir) > maxSocketDir || strings.ContainsAny(p.socketDir, `,"`) {
		name, err := os.MkdirTemp("", "vnfm-pg-")
		if err != nil {
			return err
		}
		p.socketDir, p.temporary = name, true
	} else if err := os.MkdirAll(p.socketDir, 0o700); err != nil {
		return err
	}
	return account.own(p.socketDir)
}

// release gives up what is held beside the server itself.
func (p *Private) release() error {
	if p.temporary {
		os.RemoveAll(p.socketDir)
	}
	if p.lock == nil {
		return nil
	}
	err := unlock(p.lock)
	p.lock = nil
	return err
}

// URL is where the server listens, as its superuser.
func (p *Private) URL() string { return urlOf(p.socketDir) }

func urlOf(socketDir string) string {
	return "postgres:///postgres?" + url.Values{"user": {"vnfm"}, "host": {socketDir}}.Encode()
}

// Stop ends the server: connections are closed, data is written. It may be called again.
func (p *Private) Stop() error {
	// Both signals leave the data intact: the first one is a "fast", the second one an "immediate" shutdown.
	err := p.signal(syscall.SIGINT)
	timer := time.NewTimer(stopTime)
	defer timer.Stop()
	select {
	case <-p.ended:
	case <-timer.C:
		err = errors.Join(err, p.signal(syscall.SIGQUIT))
		<-p.ended
	}
	return errors.Join(err, p.release())
}

func (p *Private) signal(signal os.Signal) error {
	if err := p.process.Signal(signal); !errors.Is(err, os.ErrProcessDone) {
		return err
	}
	return nil
}

// start runs the server so that it ends with this process, whatever ends it. The signal for that comes when the thread that started
// the server ends, so one thread is kept for it.
func (p *Private) start(binary string, args []string, dir string, account account) error {
	log, err := os.OpenFile(filepath.Join(dir, "server.log"), os.O_CREATE|os.O_WRONLY|os.O_TRUNC, 0o600) //nolint:gosec // ours
	if err != nil {
		return err
	}
	started := make(chan error, 1)
	go func() {
		defer close(p.ended)
		defer log.Close()
		runtime.LockOSThread()
		defer runtime.UnlockOSThread()       // a thread that ends takes along what it has started before
		cmd := exec.Command(binary, args...) //nolint:gosec,noctx // an installed PostgreSQL, which outlives the context of the start
		cmd.Dir, cmd.Stdout, cmd.Stderr = "/", log, log
		cmd.SysProcAttr = account.attributes()
		err := cmd.Start()
		p.process = cmd.Process
		started <- err
		if err == nil {
			_ = cmd.Wait() // how it ended is in its log
		}
	}()
	if err := <-started; err != nil {
		return fmt.Errorf("start PostgreSQL: %w", err)
	}
	return nil
}

func (p *Private) awaitReady(ctx context.Context, log string) error {
	ctx, cancel := context.WithTimeout(ctx, startTime)
	defer cancel()
	ticker := time.NewTicker(20 * time.Millisecond)
	defer ticker.Stop()
	for {
		connection, err := pgx.Connect(ctx, p.URL())
		if err == nil {
			return connection.Close(ctx)
		}
		select {
		case <-ctx.Done():
			return fmt.Errorf("PostgreSQL does not answer: %w", err)
		case <-p.ended:
			return fmt.Errorf("PostgreSQL has ended: %s", lastLines(log))
		case <-ticker.C:
		}
	}
}

func lastLines(name string) string {
	content, err := os.ReadFile(name) //nolint:gosec // the server's log
	if err != nil {
		return err.Error()
	}
	lines := strings.Split(strings.TrimSpace(string(content)), "\n")
	return strings.Join(lines[max(0, len(lines)-5):], "; ")
}

// prepare makes the data directory, or checks that it is one of this version.
func prepare(ctx context.Context, binaries, dir, data string, account account) error {
	if err := os.MkdirAll(dir, 0o700); err != nil {
		return err
	}
	version, err := os.ReadFile(filepath.Join(data, "PG_VERSION")) //nolint:gosec // ours
	if err == nil {
		return checkVersion(ctx, binaries, strings.TrimSpace(string(version)))
	}
	if !errors.Is(err, fs.ErrNotExist) {
		return err
	}
	// Made aside and renamed, so that a process that is killed meanwhile leaves nothing that looks like data.
	fresh, err := os.MkdirTemp(dir, "initdb-")
	if err != nil {
		return err
	}
	defer os.RemoveAll(fresh)
	if err := account.reach(dir); err != nil {
		return err
	}
	if err := account.own(fresh); err != nil {
		return err
	}
	initdb := exec.CommandContext(ctx, filepath.Join(binaries, "initdb"), //nolint:gosec // an installed PostgreSQL
		"-D", fresh, "-U", "vnfm", "--auth=trust", "--encoding=UTF8", "--locale=C", "--no-instructions")
	initdb.Dir, initdb.SysProcAttr = "/", account.attributes()
	if output, err := initdb.CombinedOutput(); err != nil {
		return fmt.Errorf("initdb: %w: %s", err, output)
	}
	return os.Rename(fresh, data)
}

func checkVersion(ctx context.Context, binaries, version string) error {
	output, err := exec.CommandContext(ctx, filepath.Join(binaries, "postgres"), "--version").Output() //nolint:gosec // an installed PostgreSQL
	if err != nil {
		return err
	}
	// "postgres (PostgreSQL) 15.18 (Debian 15.18-0+deb12u1)"
	fields := strings.Fields(string(output))
	if len(fields) < 3 {
		return fmt.Errorf("cannot read the version of PostgreSQL from %q", output)
	}
	if major, _, _ := strings.Cut(fields[2], "."); major != version {
		return fmt.Errorf("the data is of PostgreSQL %s and the installed one is %s: install %s, or dump and restore the data",
			version, major, version)
	}
	return nil
}

// findBinaries returns the directory of the newest installed server.
func findBinaries() (string, error) {
	found, err := filepath.Glob("/usr/lib/postgresql/*/bin/postgres")
	if err != nil {
		return "", err
	}
	if len(found) > 0 {
		version := func(binary string) int {
			n, _ := strconv.Atoi(filepath.Base(filepath.Dir(filepath.Dir(binary)))) // 0 for what is no version
			return n
		}
		return filepath.Dir(slices.MaxFunc(found, func(a, b string) int { return version(a) - version(b) })), nil
	}
	if binary, err := exec.LookPath("postgres"); err == nil {
		return filepath.Dir(binary), nil
	}
	return "", errors.New("no PostgreSQL server is installed: install one (Debian, Ubuntu: apt-get install postgresql), " +
		"or name a database with --database-url")
}

// account is who the server runs as; nil is who we are.
type account struct{ *syscall.Credential }

// serverAccount finds an unprivileged account if we are root, as whom PostgreSQL refuses to run.
func serverAccount() (account, error) {
	if os.Geteuid() != 0 {
		return account{}, nil
	}
	for _, name := range []string{"postgres", "nobody"} {
		found, err := user.Lookup(name)
		if err != nil {
			continue
		}
		uid, uidErr := strconv.ParseUint(found.Uid, 10, 32)
		gid, gidErr := strconv.ParseUint(found.Gid, 10, 32)
		if err := errors.Join(uidErr, gidErr); err != nil {
			return account{}, err
		}
		return account{&syscall.Credential{Uid: uint32(uid), Gid: uint32(gid)}}, nil
	}
	return account{}, errors.New("PostgreSQL does not run as root, and there is no account postgres or nobody")
}

// attributes are those of the server's process: its account, and that it does not outlive us.
func (a account) attributes() *syscall.SysProcAttr {
	return &syscall.SysProcAttr{Credential: a.Credential, Pdeathsig: syscall.SIGINT, Setpgid: true}
}

func (a account) own(name string) error {
	if a.Credential == nil {
		return nil
	}
	return os.Chown(name, int(a.Uid), int(a.Gid))
}

// reach lets the account pass through the directories above its data.
func (a account) reach(dir string) error {
	if a.Credential == nil {
		return nil
	}
	for ; dir != "/"; dir = filepath.Dir(dir) {
		info, err := os.Stat(dir)
		if err != nil {
			return err
		}
		if info.Mode().Perm()&0o001 == 0 {
			if err := os.Chmod(dir, info.Mode().Perm()|0o001); err != nil {
				return err
			}
		}
	}
	return nil
}
