package ssh

import (
	"fmt"
	"net/http"
	"strings"
	"unicode/utf8"

	"vnfm/mgmtdriver"
)

// excerptBytes is how much of an output goes into an error.
const excerptBytes = 1500

// ExitError says that a command has ended with another status than 0, and what it wrote last. Secrets are removed from its texts.
type ExitError struct {
	Host    string
	Command string
	Status  int    // -1 if a signal has ended it
	Signal  string // without SIG; "" if it ended by itself
	Stdout  string // the last of it
	Stderr  string // the last of it
}

func (e *ExitError) Error() string {
	how := fmt.Sprintf("ended with status %d", e.Status)
	if e.Signal != "" {
		how = "was ended by signal " + e.Signal
	}
	text := fmt.Sprintf("%s: command %s %s", e.Host, e.Command, how)
	return text + lastWords(e.Stdout, e.Stderr)
}

// lastWords tell in an error what a command has written: standard error, or standard output if there is nothing.
func lastWords(stdout, stderr string) string {
	if stderr != "" {
		return ": " + stderr
	}
	if stdout != "" {
		return ": " + stdout
	}
	return ""
}

// LostError says that a detached command has ended without a status: it, or the host, was stopped from outside.
type LostError struct {
	Host    string
	Command string
	Stdout  string
	Stderr  string
}

func (e *LostError) Error() string {
	return fmt.Sprintf("%s: command %s was stopped from outside, or the host was restarted", e.Host, e.Command) + lastWords(e.Stdout, e.Stderr)
}

// HostKeyError says that a host has shown another key than the one by which it is known. It is a [mgmtdriver.Failure].
type HostKeyError struct {
	Host    string
	Known   string // fingerprints
	Offered string // fingerprint
}

func (e *HostKeyError) Error() string {
	return fmt.Sprintf("%s shows the host key %s, but is known by %s: it was replaced, or somebody else answers at its address", e.Host, e.Offered, e.Known)
}

func (e *HostKeyError) Unwrap() error {
	return &mgmtdriver.Failure{Title: "Host key is another one", Status: http.StatusBadGateway, Detail: e.Error()}
}

// LoginError says that a host has refused password and key for longer than a host may that still starts. It is a [mgmtdriver.Failure].
type LoginError struct {
	Host string
	User string
	Err  error
}

func (e *LoginError) Error() string {
	return fmt.Sprintf("%s refuses the login of %s: %v", e.Host, e.User, e.Err)
}

func (e *LoginError) Unwrap() error {
	return &mgmtdriver.Failure{Title: "Login refused", Status: http.StatusBadGateway, Detail: e.Error()}
}

// excerpt returns the end of an output for people: legible, without secrets, and not long.
func excerpt(output string, secrets *Redactor) string {
	text := strings.TrimSpace(secrets.Redact(strings.ReplaceAll(legible(output), "\r", "")))
	if len(text) <= excerptBytes {
		return text
	}
	text = text[len(text)-excerptBytes:]
	for text != "" && !utf8.RuneStart(text[0]) {
		text = text[1:]
	}
	return "… " + text
}
