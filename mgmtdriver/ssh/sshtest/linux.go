package sshtest

import (
	"bufio"
	"bytes"
	"context"
	"crypto/sha256"
	"errors"
	"fmt"
	"io"
	"maps"
	"os"
	"strconv"
	"strings"
	"sync"

	"github.com/pkg/sftp"
)

// Linux is a handler for what package ssh does on every host: sudo, environments, files and jobs. The programs that a driver runs are next's, which
// finds their words in Argv, without sudo, and what is on their standard input. A job runs in next, too, until the machine is closed.
// It is for one machine.
func Linux(next Handler) Handler {
	l := &linux{next: next, jobs: map[jobKey]*job{}}
	return func(ctx context.Context, s *Session) int {
		argv, err := Words(s.Command)
		if err != nil {
			_, _ = fmt.Fprintln(s.Stderr, err)
			return 2
		}
		s.Argv, s.Stdin = argv, bufio.NewReader(s.Stdin)
		return l.run(ctx, s)
	}
}

type linux struct {
	next Handler

	mu   sync.Mutex
	jobs map[jobKey]*job
}

// run plays a program.
func (l *linux) run(ctx context.Context, s *Session) int {
	if len(s.Argv) == 0 {
		return Unknown(ctx, s)
	}
	if s.Argv[0] == "sudo" {
		return l.sudo(ctx, s)
	}
	if len(s.Argv) > 4 && s.Argv[0] == "sh" && s.Argv[1] == "-c" && strings.HasPrefix(s.Argv[3], "vnfm-") {
		return l.script(ctx, s, s.Argv[3], s.Argv[4:])
	}
	switch {
	case s.Argv[0] == "true" && len(s.Argv) == 1:
		return 0
	case s.Argv[0] == "sha256sum" && len(s.Argv) == 3:
		return hashPart(s, s.Argv[2], 0, -1)
	case (s.Argv[0] == "chmod" || s.Argv[0] == "chown") && len(s.Argv) == 4:
		return 0 // files have neither mode nor owner here
	}
	return l.next(ctx, s)
}

func (l *linux) sudo(ctx context.Context, s *Session) int {
	s.Root = true
	switch {
	case strings.HasPrefix(s.Command, "sudo -n -k true"):
		return 0
	case len(s.Argv) > 3 && s.Argv[1] == "-n" && s.Argv[2] == "--":
		s.Argv = s.Argv[3:]
		return l.run(ctx, s)
	}
	return Unknown(ctx, s)
}

// script plays one of the scripts of package ssh, which are known by their $0.
func (l *linux) script(ctx context.Context, s *Session, name string, args []string) int {
	switch {
	case name == "vnfm-input":
		script, err := readToMark(s.Stdin, args[0])
		if err != nil || s.setEnv(script) != nil {
			return 74
		}
		s.Argv = args[1:]
		return l.run(ctx, s)
	case name == "vnfm-hash" && len(args) == 3:
		offset, _ := strconv.ParseInt(args[1], 10, 64)
		length, _ := strconv.ParseInt(args[2], 10, 64)
		return hashPart(s, args[0], offset, length)
	case name == "vnfm-install" && len(args) == 4:
		return move(s, args[0], args[1])
	case name == "vnfm-read" && len(args) == 2:
		content, err := s.Machine.ReadFile(args[0])
		if err != nil {
			return 44
		}
		limit, _ := strconv.Atoi(args[1])
		_, _ = s.Stdout.Write(content[:min(limit, len(content))])
		return 0
	case name == "vnfm-start" && len(args) == 5:
		return l.start(s, args[0], args[1])
	}
	key := jobKey{s.Root && strings.HasPrefix(args[0], "/"), args[0]} // root looks after the jobs of others, too
	switch name {
	case "vnfm-where":
		_, _ = fmt.Fprintln(s.Stdout, args[0])
		return 0
	case "vnfm-poll":
		return l.poll(s, key)
	case "vnfm-cancel":
		return l.cancel(ctx, key)
	case "vnfm-clean":
		return l.clean(s, key)
	}
	return Unknown(ctx, s)
}

// readToMark reads what is between two lines that are a mark; what is before the first one does not matter.
func readToMark(r io.Reader, mark string) (string, error) {
	lines := r.(*bufio.Reader) //nolint:forcetypeassert // Linux has made it
	var text strings.Builder
	for marks := 0; marks < 2; {
		line, err := lines.ReadString('\n')
		switch {
		case err != nil:
			return "", err
		case line == mark+"\n":
			marks++
		case marks == 1:
			text.WriteString(line)
		}
	}
	return text.String(), nil
}

// setEnv reads a script of exports.
func (s *Session) setEnv(script string) error {
	words, err := Words(script)
	if err != nil {
		return err
	}
	s.Env = maps.Clone(s.Env)
	for _, word := range words {
		if name, value, ok := strings.Cut(word, "="); ok {
			s.Env[name] = value
		}
	}
	return nil
}

// hashPart writes the hash of a part of a file, of all that follows if length is negative.
func hashPart(s *Session, path string, offset, length int64) int {
	content, err := s.Machine.ReadFile(path)
	if err != nil {
		_, _ = fmt.Fprintln(s.Stderr, err)
		return 1
	}
	content = content[min(offset, int64(len(content))):]
	if length >= 0 {
		content = content[:min(length, int64(len(content)))]
	}
	_, _ = fmt.Fprintf(s.Stdout, "%x  %s\n", sha256.Sum256(content), path)
	return 0
}

// move moves a file, with the directories that its new place needs.
func move(s *Session, from, to string) int {
	content, err := s.Machine.ReadFile(from)
	if err == nil {
		for i, c := range to {
			if i == 0 || c != '/' {
				continue
			}
			if mkdir := s.Machine.files.FileCmd.Filecmd(sftp.NewRequest("Mkdir", to[:i])); mkdir != nil && !errors.Is(mkdir, os.ErrExist) {
				err = mkdir
			}
		}
	}
	if err == nil {
		err = s.Machine.WriteFile(to, content)
	}
	if err == nil {
		err = s.Machine.files.FileCmd.Filecmd(sftp.NewRequest("Remove", from))
	}
	if err != nil {
		_, _ = fmt.Fprintln(s.Stderr, err)
		return 1
	}
	return 0
}

// jobKey identifies a job of a machine.
type jobKey struct {
	root bool
	dir  string
}

// job is a command that runs detached.
type job struct {
	cancel context.CancelFunc
	ended  chan struct{}
	status int // once ended is closed

	mu             sync.Mutex
	stdout, stderr bytes.Buffer
}

// writer is an output of a job.
type writer struct {
	job *job
	to  *bytes.Buffer
}

func (w writer) Write(p []byte) (int, error) {
	w.job.mu.Lock()
	defer w.job.mu.Unlock()
	return w.to.Write(p)
}

func (l *linux) start(s *Session, dir, mark string) int {
	script, err := readToMark(s.Stdin, mark)
	if err != nil {
		return 74
	}
	input, _ := io.ReadAll(s.Stdin)
	before, command, _ := strings.Cut(script, "\nexec ")
	inner := &Session{User: s.User, Env: s.Env, Root: s.Root, Machine: s.Machine, Command: strings.TrimSpace(command)}
	inner.Argv, err = Words(command)
	if err := errors.Join(err, inner.setEnv(before)); err != nil {
		_, _ = fmt.Fprintln(s.Stderr, err)
		return 2
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	key := jobKey{s.Root, dir}
	if l.jobs[key] != nil {
		_, _ = fmt.Fprintln(s.Stdout, "attached")
		return 0
	}
	ctx, cancel := context.WithCancel(s.Machine.life)
	j := &job{cancel: cancel, ended: make(chan struct{})}
	inner.Stdin, inner.Stdout, inner.Stderr = bufio.NewReader(bytes.NewReader(input)), writer{j, &j.stdout}, writer{j, &j.stderr}
	l.jobs[key] = j
	s.Machine.work.Go(func() {
		defer cancel()
		at := s.Machine.begin(inner)
		j.status = l.run(ctx, inner)
		s.Machine.ended(at, j.status)
		close(j.ended)
	})
	_, _ = fmt.Fprintln(s.Stdout, "started")
	return 0
}

func (l *linux) job(key jobKey) *job {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.jobs[key]
}

func (l *linux) poll(s *Session, key jobKey) int {
	j := l.job(key)
	if j == nil {
		_, _ = fmt.Fprintln(s.Stdout, "absent")
		return 0
	}
	select {
	case <-j.ended:
		_, _ = fmt.Fprintln(s.Stdout, "ended", j.status)
	default:
		_, _ = fmt.Fprintln(s.Stdout, "running")
	}
	j.mu.Lock()
	defer j.mu.Unlock()
	_, _ = s.Stdout.Write(j.stdout.Bytes())
	_, _ = s.Stderr.Write(j.stderr.Bytes())
	return 0
}

func (l *linux) cancel(ctx context.Context, key jobKey) int {
	if j := l.job(key); j != nil {
		j.cancel()
		select {
		case <-j.ended:
		case <-ctx.Done():
		}
	}
	return 0
}

func (l *linux) clean(s *Session, key jobKey) int {
	l.mu.Lock()
	defer l.mu.Unlock()
	if j := l.jobs[key]; j != nil {
		select {
		case <-j.ended:
		default:
			_, _ = fmt.Fprintln(s.Stderr, "it has not ended")
			return 75
		}
	}
	delete(l.jobs, key)
	return 0
}
