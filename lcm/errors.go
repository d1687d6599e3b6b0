package lcm

import (
	"errors"
	"fmt"
	"net/http"
	"strings"
)

// InvalidRequest says that a request is wrong in itself; the client gets 400.
type InvalidRequest struct {
	Attribute string // JSON pointer of the attribute, "" if the request as a whole is meant
	Detail    string
}

func (e *InvalidRequest) Error() string { return withAttribute(e.Attribute, e.Detail) }

// Unprocessable says that a request is well-formed but asks for something that cannot be had; the client gets 422.
type Unprocessable struct {
	Attribute string // JSON pointer of the attribute, "" if the request as a whole is meant
	Detail    string
}

func (e *Unprocessable) Error() string { return withAttribute(e.Attribute, e.Detail) }

// NotFound says that a resource does not exist; the client gets 404.
type NotFound struct {
	Resource string // in words, such as "vnf instance"
	ID       string
}

func (e *NotFound) Error() string {
	return fmt.Sprintf("can not find requested %s: %s", e.Resource, e.ID)
}

// Conflict says that the state of a resource does not allow the request; the client gets 409.
type Conflict struct{ Detail string }

func (e *Conflict) Error() string { return e.Detail }

// PreconditionFailed says that a resource is not in the state that the client knows; the client gets 412.
type PreconditionFailed struct{ Detail string }

func (e *PreconditionFailed) Error() string { return e.Detail }

// Unavailable says that a VIM or another peer cannot be reached; the client gets 503.
type Unavailable struct {
	Peer string // what was called, such as "VIM at http://keystone:5000/v3"
	Err  error
}

func (e *Unavailable) Error() string { return fmt.Sprintf("%s cannot be reached: %v", e.Peer, e.Err) }

func (e *Unavailable) Unwrap() error { return e.Err }

// Failure says that a step cannot succeed by being repeated unchanged; the operation comes to FAILED_TEMP.
type Failure struct {
	Title  string
	Status int // an HTTP status code
	Detail string
	Redo   string // the step that the next attempt has to begin with; "" = the one that failed
}

func (e *Failure) Error() string { return e.Detail }

// ErrSuperseded is returned when another run has taken over an operation: whoever gets it must stop without a further write.
var ErrSuperseded = errors.New("another run has taken over the operation")

// ErrNothingToDo is returned for an operation that is in a final state, waits for a client's decision, or is being run.
var ErrNothingToDo = errors.New("the operation needs no run now")

func withAttribute(attribute, detail string) string {
	if attribute == "" {
		return detail
	}
	return attribute + ": " + detail
}

func isNotFound(err error) bool {
	var notFound *NotFound
	return errors.As(err, &notFound)
}

// MaxWords bounds, in bytes, what of a peer's words is kept.
const MaxWords = 4000

// Legible returns a peer's words as a database and a client can take them: not endless, and without what PostgreSQL refuses, NUL and what is not
// UTF-8.
func Legible(words string) string {
	words = strings.ToValidUTF8(strings.ReplaceAll(words, "\x00", ""), "")
	if len(words) > MaxWords {
		words = strings.ToValidUTF8(words[:MaxWords], "") + " …"
	}
	return words
}

// ProblemOf is the description of an operation's failure for the client.
func ProblemOf(err error) *Problem {
	problem := &Problem{Title: "Operation failed", Status: http.StatusInternalServerError, Detail: err.Error()}
	var (
		failed      *Failure
		rejected    *Rejected
		unavailable *Unavailable
		stopped     *cancelled
		invalid     *InvalidRequest
		impossible  *Unprocessable
	)
	switch {
	case errors.As(err, &stopped):
		return stopped.problem()
	case errors.As(err, &failed):
		problem.Title, problem.Status = failed.Title, failed.Status
	case errors.As(err, &rejected):
		problem.Title, problem.Status = "VIM refused the request", rejected.Status
	case errors.As(err, &unavailable):
		problem.Title, problem.Status = "Out of reach", http.StatusServiceUnavailable
	case errors.As(err, &invalid):
		problem.Status = http.StatusBadRequest
	case errors.As(err, &impossible):
		problem.Status = http.StatusUnprocessableEntity
	}
	return problem
}
