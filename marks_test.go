package main

import (
	"bytes"
	"context"
	"encoding/base64"
	"encoding/hex"
	"fmt"
	"io"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"vnfm/mgmtdriver/ssh/sshtest"
)

// markSign is a part of every marked secret, and of nothing else.
const markSign = "geheim4711"

// mark is a secret that can be found wherever it is shown.
func mark(what string) string { return markSign + what }

// marksIn are the places of secrets in a text, of marked ones and others: as they are, as PostgreSQL dumps binary values, or in base64.
func marksIn(text []byte, others ...string) []string {
	var forms [][]byte
	for _, secret := range append(others, markSign) {
		forms = append(forms, []byte(secret), []byte(hex.EncodeToString([]byte(secret))))
		for shift := range 3 {
			// The characters that the neighbours have no part in.
			encoded := base64.RawStdEncoding.EncodeToString(append(make([]byte, shift), secret...))
			forms = append(forms, []byte(encoded[[]int{0, 2, 3}[shift]:len(encoded)-1]))
		}
	}
	var found []string
	for _, form := range forms {
		for rest := text; ; {
			at := bytes.Index(rest, form)
			if at < 0 {
				break
			}
			found = append(found, fmt.Sprintf("…%q…", rest[max(0, at-200):min(len(rest), at+len(form)+100)]))
			rest = rest[at+len(form):]
		}
	}
	return found
}

// evidence is what people can read, by where they can.
type evidence struct {
	t      *testing.T
	mu     sync.Mutex
	found  map[string][]byte
	others []string // secrets that are not marked, since a program has made them
}

// also makes secrets known that are not marked.
func (e *evidence) also(secrets ...string) {
	e.mu.Lock()
	defer e.mu.Unlock()
	e.others = append(e.others, secrets...)
}

// add keeps what was read at a place.
func (e *evidence) add(where string, what ...[]byte) {
	e.mu.Lock()
	defer e.mu.Unlock()
	if e.found == nil {
		e.found = map[string][]byte{}
	}
	for _, part := range what {
		e.found[where] = append(append(e.found[where], part...), '\n')
	}
}

// check fails the test for every marked secret, and for a place where nothing was read, since something must have been.
func (e *evidence) check(places ...string) {
	e.t.Helper()
	e.mu.Lock()
	defer e.mu.Unlock()
	for where, text := range e.found {
		if marks := marksIn(text, e.others...); len(marks) > 0 {
			e.t.Errorf("%s: %d secrets, such as\n%s", where, len(marks), strings.Join(marks[:min(3, len(marks))], "\n"))
		}
	}
	for _, where := range places {
		if len(e.found[where]) == 0 {
			e.t.Errorf("%s: nothing was read", where)
		}
	}
}

// RoundTrip implements [http.RoundTripper]: it keeps every answer.
func (e *evidence) through(next http.RoundTripper) http.RoundTripper {
	return roundTripper(func(request *http.Request) (*http.Response, error) {
		response, err := next.RoundTrip(request)
		if err != nil {
			return nil, err
		}
		content, err := io.ReadAll(response.Body)
		response.Body.Close()
		response.Body = io.NopCloser(bytes.NewReader(content))
		where := "answers"
		if response.StatusCode >= http.StatusBadRequest {
			where = "refusals"
		}
		e.add(where, []byte(fmt.Sprintf("%s %s: %s %v", request.Method, request.URL.Path, response.Status, response.Header)), content)
		return response, err
	})
}

type roundTripper func(*http.Request) (*http.Response, error)

// RoundTrip implements [http.RoundTripper].
func (r roundTripper) RoundTrip(request *http.Request) (*http.Response, error) { return r(request) }

// machine keeps the commands that run on a machine.
func (e *evidence) machine(play sshtest.Handler) sshtest.Handler {
	return func(ctx context.Context, s *sshtest.Session) int {
		e.add("commands on machines", []byte(s.Command), fmt.Appendf(nil, "%q", s.Argv))
		return play(ctx, s)
	}
}

// watch reads the command lines and environments of a server's descendants, and its own, until the test ends.
func (e *evidence) watch(p *process) {
	stop, stopped := make(chan struct{}), make(chan struct{})
	go func() {
		defer close(stopped)
		for {
			for _, pid := range descendants(p.command.Process.Pid) {
				for _, name := range []string{"cmdline", "environ"} {
					content, err := os.ReadFile(filepath.Join("/proc", strconv.Itoa(pid), name))
					if err == nil { // else it has ended
						e.add("processes", content)
					}
				}
			}
			select {
			case <-stop:
				return
			case <-time.After(10 * time.Millisecond):
			}
		}
	}()
	e.t.Cleanup(func() { close(stop); <-stopped })
}

// descendants are a process and all that it has started.
func descendants(pid int) []int {
	all := []int{pid}
	for i := 0; i < len(all); i++ {
		lists, _ := filepath.Glob(fmt.Sprintf("/proc/%d/task/*/children", all[i])) // a constant pattern is well-formed
		for _, list := range lists {
			content, _ := os.ReadFile(list) // none once it has ended
			for field := range strings.FieldsSeq(string(content)) {
				if child, err := strconv.Atoi(field); err == nil && !slices.Contains(all, child) {
					all = append(all, child)
				}
			}
		}
	}
	return all
}

// dump reads the whole of a database.
func (e *evidence) dump(url string) {
	e.t.Helper()
	dump, err := exec.CommandContext(e.t.Context(), "pg_dump", "--no-owner", "--blobs", url).CombinedOutput()
	if err != nil {
		e.t.Fatalf("pg_dump: %v: %s", err, dump)
	}
	e.add("database", dump)
}

func TestMarksAreFound(t *testing.T) {
	t.Parallel()
	for name, text := range map[string]string{
		"plain": `{"password": "` + mark("a") + `"}`, "binary in a dump": `\x7b22` + hex.EncodeToString([]byte(mark("a"))) + "22",
		"base64": base64.StdEncoding.EncodeToString([]byte(mark("a"))), "base64, 1 before": base64.StdEncoding.EncodeToString([]byte("u" + mark("a"))),
		"base64, 2 before": base64.StdEncoding.EncodeToString([]byte("u:" + mark("a"))), "base64 of a login": base64.StdEncoding.EncodeToString([]byte("me:" + mark("a"))),
	} {
		if len(marksIn([]byte(text))) == 0 {
			t.Errorf("%s: nothing is found in %s", name, text)
		}
	}
	if len(marksIn([]byte("a token of a machine"), "a token")) == 0 {
		t.Error("what is no mark is not found")
	}
	if found := marksIn([]byte("***")); len(found) > 0 {
		t.Errorf("found %q", found)
	}
}
