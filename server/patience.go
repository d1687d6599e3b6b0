package server

import (
	"context"
	"errors"
	"io"
	"net/http"
	"slices"
	"time"

	"github.com/labstack/echo/v4"
)

// patient lets requests and answers take as long as they need, but gives up on a client that sends, or takes, nothing for a while:
// an upload or a download of package content holds a connection to the database.
func (s *Server) patient(next echo.HandlerFunc) echo.HandlerFunc {
	return func(c echo.Context) error {
		request, response := c.Request(), c.Response()
		line := &line{control: http.NewResponseController(response.Writer), patience: s.config.Patience}
		// A deadline that an earlier request on the connection has left may be over.
		line.mayWrite()
		response.Writer = &patientWriter{response.Writer, line}
		if request.Body != nil && request.Body != http.NoBody {
			request.Body = &patientReader{ReadCloser: request.Body, line: line}
		}
		return next(c)
	}
}

// prompt bounds the time of requests that move no package content, so that a database or a VIM that hangs does not hold clients for
// as long as TCP tries to reach it.
func (s *Server) prompt(next echo.HandlerFunc) echo.HandlerFunc {
	return func(c echo.Context) error {
		if slices.Contains(contentPaths, c.Path()) {
			return next(c)
		}
		request := c.Request()
		if body, ok := request.Body.(*patientReader); ok {
			body.end = time.Now().Add(s.config.Deadline)
		}
		ctx, cancel := context.WithTimeout(request.Context(), s.config.Deadline)
		defer cancel()
		c.SetRequest(request.WithContext(ctx))
		defer c.SetRequest(request) // an error is told after this, and must not look as if the client had gone
		return next(c)
	}
}

// line is a connection to a client. One that knows no deadlines is of a test, or below another server that has its own.
type line struct {
	control  *http.ResponseController
	patience time.Duration
}

func (l *line) mayWrite() { _ = l.control.SetWriteDeadline(time.Now().Add(l.patience)) }

func (l *line) mayReadUntil(end time.Time) { _ = l.control.SetReadDeadline(end) }

// hasRead ends the time for reading: from then on a deadline would only end the request.
func (l *line) hasRead() { _ = l.control.SetReadDeadline(time.Time{}) }

// leastBytes is what has to come of a body within the time that the server has patience. A client that sends less is no better than one
// that sends nothing.
const leastBytes = 64 << 10

type patientReader struct {
	io.ReadCloser
	line *line
	end  time.Time // at which all of it must be there; zero: none
	due  time.Time // at which the next leastBytes must be there; zero: from the next reading on
	came int       // of those
}

// Read says of every error but the body's end and its size that the client has not sent what it has announced.
func (r *patientReader) Read(p []byte) (int, error) {
	if now := time.Now(); r.came >= leastBytes || now.After(r.due) { // also when it was us who took that long
		r.due, r.came = now.Add(r.line.patience), 0
	}
	due := r.due
	if !r.end.IsZero() && r.end.Before(due) {
		due = r.end
	}
	r.line.mayReadUntil(due)
	n, err := r.ReadCloser.Read(p)
	r.came += n
	var tooLarge *http.MaxBytesError
	switch {
	case err == nil, errors.As(err, &tooLarge):
		return n, err
	case errors.Is(err, io.EOF):
		r.line.hasRead()
		return n, io.EOF
	}
	return n, badRequest("the body broke off before its end")
}

type patientWriter struct {
	http.ResponseWriter
	line *line
}

// WriteHeader implements [http.ResponseWriter].
func (w *patientWriter) WriteHeader(status int) {
	w.line.mayWrite()
	w.ResponseWriter.WriteHeader(status)
}

// Write implements [http.ResponseWriter].
func (w *patientWriter) Write(p []byte) (int, error) {
	w.line.mayWrite()
	return w.ResponseWriter.Write(p)
}

// Unwrap gives [http.ResponseController] the connection.
func (w *patientWriter) Unwrap() http.ResponseWriter { return w.ResponseWriter }
