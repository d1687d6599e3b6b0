package server

import (
	"context"
	"net/http"
	"strings"
	"time"

	"github.com/google/uuid"
	"github.com/labstack/echo/v4"

	"vnfm/api"
	"vnfm/api/access"
	"vnfm/lcm"
)

// AuditLog is what the server needs of the memory of who has changed what. *store.Store has it.
type AuditLog interface {
	BeginEvent(ctx context.Context, event *access.Event) error
	EndEvent(ctx context.Context, id uuid.UUID, status int) error
	Events(ctx context.Context, page lcm.Page) ([]*access.Event, bool, error)
}

// audit notes who asks for a change, before it is done: what cannot be noted is not done.
func (s *Server) audit(next echo.HandlerFunc) echo.HandlerFunc {
	return func(c echo.Context) error {
		request := c.Request()
		if reads(request.Method) || s.config.Audit == nil || s.pageOf[matched(c)].Public {
			return next(c)
		}
		event := &access.Event{ID: uuid.MustParse(requestID(c)), Address: s.remote(c), Method: request.Method, Path: request.URL.EscapedPath()}
		if caller := access.Of(request.Context()); caller != nil {
			event.ProjectID, event.UserID, event.UserName = storable(caller.Project), storable(caller.User), storable(caller.Name)
		}
		if err := s.config.Audit.BeginEvent(request.Context(), event); err != nil {
			return err
		}
		status := http.StatusInternalServerError // if the handler panics
		defer func() {
			ctx, cancel := context.WithTimeout(context.WithoutCancel(request.Context()), auditTime)
			defer cancel()
			if err := s.config.Audit.EndEvent(ctx, event.ID, status); err != nil {
				s.log(c).WarnContext(c.Request().Context(), "audit", "error", err)
			}
		}()
		err := next(c)
		status = c.Response().Status
		if err != nil && !c.Response().Committed {
			status, _ = s.describe(err, c)
		}
		return err
	}
}

// remote is where a request comes from, with the port if no proxy is between.
func (s *Server) remote(c echo.Context) string {
	if s.config.BehindProxy {
		return c.RealIP()
	}
	return c.Request().RemoteAddr
}

// auditTime is how long an answer waits until its status is noted.
const auditTime = 5 * time.Second

// storable is what a database takes of a text from outside.
func storable(text string) string {
	return strings.ReplaceAll(strings.ToValidUTF8(text, "\uFFFD"), "\x00", "\uFFFD")
}

// reads reports whether a method changes nothing (RFC 9110 9.2.1).
func reads(method string) bool {
	return method == http.MethodGet || method == http.MethodHead || method == http.MethodOptions
}

// auditEvent is the wire form of an event.
func auditEvent(of *access.Event) api.AuditEvent {
	return api.AuditEvent{
		ID: of.ID.String(), Time: of.CreatedAt.UTC(), ProjectID: of.ProjectID, UserID: of.UserID, UserName: of.UserName, Address: of.Address,
		Method: of.Method, Path: of.Path, Status: of.Status, DurationSeconds: float32(of.Duration.Seconds()),
	}
}

func (s *Server) listAuditEvents(c echo.Context) error {
	asked, err := s.ask(c, s.auditEvents)
	if err != nil {
		return err
	}
	found, more, err := s.config.Audit.Events(c.Request().Context(), asked.page())
	if err != nil {
		return err
	}
	return answerList(c, asked, found, auditEvent, more, func(last *access.Event) cursor { return cursor{last.CreatedAt.UnixMicro(), last.ID} })
}
