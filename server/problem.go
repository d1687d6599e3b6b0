package server

import (
	"encoding/json"
	"errors"
	"net/http"
	"strings"

	"github.com/labstack/echo/v4"

	"vnfm/api"
	"vnfm/lcm"
	"vnfm/server/ui"
	"vnfm/vnfpkg"
)

// problem is an error that says itself what the client gets.
type problem struct {
	status int
	detail string
}

func (p *problem) Error() string { return p.detail }

func badRequest(detail string) error { return &problem{http.StatusBadRequest, detail} }

// writeProblem answers a request with the problem document of an error, RFC 7807 with the mandatory attributes of SOL013 6.3.
func (s *Server) writeProblem(err error, c echo.Context) {
	if c.Response().Committed {
		if c.Request().Context().Err() == nil {
			s.log(c).ErrorContext(c.Request().Context(), "answer broke off", "error", err)
		}
		return
	}
	status, detail := s.describe(err, c)
	var later *busy
	if errors.As(err, &later) {
		status, detail = later.status, later.detail
	}
	var sent any
	if json.Unmarshal(body(c), &sent) == nil { // else nothing was read
		detail = lcm.Redact(detail, sent)
	}
	if ui.Has(c.Request().URL.Path) {
		s.writeErrorPage(c, status, detail, later)
		return
	}
	document, marshalErr := json.Marshal(api.ProblemDetails{Title: http.StatusText(status), Status: status, Detail: detail})
	if marshalErr != nil {
		panic(marshalErr) // strings and a number always marshal
	}
	header := c.Response().Header()
	header.Set(echo.HeaderContentType, mediaProblem)
	switch {
	case later != nil:
		header.Set(echo.HeaderRetryAfter, later.retryAfter())
	case status == http.StatusUnauthorized:
		header.Set(echo.HeaderWWWAuthenticate, s.config.Gate.Challenge())
	case status == http.StatusServiceUnavailable:
		header.Set(echo.HeaderRetryAfter, "10")
	}
	c.Response().WriteHeader(status)
	if _, err := c.Response().Write(document); err != nil {
		s.log(c).DebugContext(c.Request().Context(), "client has gone", "error", err)
	}
}

// describe is the only place that turns an error into a status and words for the client. What it does not know is a mistake of
// the server, which goes to the log and not to the client.
func (s *Server) describe(err error, c echo.Context) (status int, detail string) {
	var (
		told          *problem
		routing       *echo.HTTPError
		invalid       *lcm.InvalidRequest
		unprocessable *lcm.Unprocessable
		notFound      *lcm.NotFound
		conflict      *lcm.Conflict
		state         *lcm.StateConflict
		precondition  *lcm.PreconditionFailed
		unavailable   *lcm.Unavailable
		rejected      *lcm.Rejected
		pkgConflict   *vnfpkg.Conflict
		pkgInvalid    *vnfpkg.Invalid
		download      *vnfpkg.DownloadError
		unobtainable  *vnfpkg.Unobtainable
		tooLarge      *http.MaxBytesError
	)
	if status := statusOfCaller(err); status == http.StatusServiceUnavailable {
		s.log(c).WarnContext(c.Request().Context(), "nobody can be authenticated", "error", err)
		return status, "who sends the request cannot be found out at present; ask again in a few seconds"
	} else if status != 0 {
		return status, err.Error()
	}
	switch {
	case errors.As(err, &told):
		return told.status, told.detail
	case errors.As(err, &invalid):
		return http.StatusBadRequest, invalid.Error()
	case errors.As(err, &unprocessable):
		return http.StatusUnprocessableEntity, unprocessable.Error()
	case errors.As(err, &notFound):
		return http.StatusNotFound, notFound.Error()
	case errors.Is(err, vnfpkg.ErrNotFound):
		return http.StatusNotFound, "can not find what was requested: " + c.Request().URL.Path
	case errors.As(err, &conflict):
		return http.StatusConflict, conflict.Error()
	case errors.As(err, &state):
		return http.StatusConflict, state.Error()
	case errors.As(err, &precondition):
		return http.StatusPreconditionFailed, precondition.Error()
	case errors.As(err, &pkgConflict):
		return http.StatusConflict, pkgConflict.Error()
	case errors.As(err, &pkgInvalid):
		return http.StatusBadRequest, pkgInvalid.Error()
	case errors.As(err, &download):
		return download.Status, download.Error()
	case errors.As(err, &unavailable):
		return http.StatusServiceUnavailable, unavailable.Error()
	case errors.As(err, &unobtainable):
		return http.StatusServiceUnavailable, unobtainable.Error()
	case errors.As(err, &rejected):
		return http.StatusBadRequest, rejected.Error()
	case errors.As(err, &tooLarge), errors.Is(err, vnfpkg.ErrTooLarge):
		return http.StatusRequestEntityTooLarge, "the body is larger than this server accepts"
	case errors.As(err, &routing):
		return routing.Code, s.describeRouting(routing.Code, c)
	case s.config.Away(err):
		s.log(c).WarnContext(c.Request().Context(), "the database is away", "error", err)
		return http.StatusServiceUnavailable, "the database cannot be reached at present; ask again in a few seconds"
	}
	if c.Request().Context().Err() == nil {
		s.log(c).ErrorContext(c.Request().Context(), "request failed", "error", err)
	}
	return http.StatusInternalServerError, "an internal error; the server's log tells more under request id " + requestID(c)
}

func (s *Server) describeRouting(status int, c echo.Context) string {
	switch status {
	case http.StatusNotFound:
		return "there is no resource " + c.Request().URL.Path
	case http.StatusMethodNotAllowed:
		return "the resource does not have the method " + c.Request().Method + " but " + c.Response().Header().Get(echo.HeaderAllow)
	default:
		return strings.ToLower(http.StatusText(status))
	}
}
