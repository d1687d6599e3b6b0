package ui

import (
	"encoding/base64"
	"encoding/json"
	"errors"
	"net/http"
	"net/url"
	"strings"
	"time"

	"github.com/labstack/echo/v4"

	"vnfm/api/access"
	"vnfm/server/auth"
)

// session is what a browser brings, sealed: the credentials that somebody has signed in with. No server remembers it, so that each takes it.
type session struct {
	auth.Proof
	Until time.Time
}

const (
	signInPath  = Root + "/sign-in"
	signOutPath = Root + "/sign-out"

	sessionPlace = "ui/sessions"
	// sessionTime is a working day. The credentials may end before.
	sessionTime = 10 * time.Hour
	// maxCookieBytes is what every browser takes.
	maxCookieBytes = 4000
	maxFormBytes   = 64 << 10
)

// cookieName is one that no other host and no page without TLS can set, where browsers come by HTTPS.
func (u *UI) cookieName() string {
	if u.config.Secure {
		return "__Host-vnfm"
	}
	return "vnfm"
}

// cookie is what a browser is given for a session; "" takes it away. Links from elsewhere, such as those in mails, lead into the session; what
// changes something is posted, which a browser does for no other site with the cookie, and Guard refuses.
func (u *UI) cookie(value string) *http.Cookie {
	cookie := &http.Cookie{ //nolint:gosec // without TLS it could not be secure: the server listens on this machine alone then
		Name: u.cookieName(), Value: value, Path: "/", HttpOnly: true, Secure: u.config.Secure, SameSite: http.SameSiteLaxMode,
		MaxAge: int(sessionTime.Seconds()),
	}
	if value == "" {
		cookie.MaxAge = -1
	}
	return cookie
}

// sessionOf is the session that a request brings; nil if there is none that is good.
func (u *UI) sessionOf(request *http.Request) *session {
	cookie, err := request.Cookie(u.cookieName())
	if err != nil || u.config.Seals == nil {
		return nil
	}
	sealed, err := base64.RawURLEncoding.DecodeString(cookie.Value)
	if err != nil {
		return nil
	}
	value, err := u.config.Seals.OpenSealed(sessionPlace, sealed)
	if err != nil {
		return nil
	}
	found := &session{}
	if json.Unmarshal(value, found) != nil || time.Now().After(found.Until) {
		return nil
	}
	return found
}

// WithCredentials is a request with the credentials of the session that it brings, unless it has such itself, and whether they are those of the
// session. It serves to find out who sends it.
func (u *UI) WithCredentials(request *http.Request) (with *http.Request, ofSession bool) {
	found := u.sessionOf(request)
	if found == nil || found.SameScheme(request.Header.Get(found.Header)) {
		return request, false // of a proxy that people sign in at
	}
	request = request.Clone(request.Context())
	request.Header.Set(found.Header, found.Value)
	return request, true
}

// signInPage is the form by which people sign in.
type signInPage struct {
	Fields  []auth.Field
	Next    string
	Problem string
}

// signsIn reports whether people sign in here.
func (u *UI) signsIn() bool { return u.config.Gate != nil && u.config.Gate.Fields() != nil }

func (u *UI) showSignIn(c echo.Context) error {
	if !u.signsIn() {
		return c.Redirect(http.StatusSeeOther, Root)
	}
	return u.writeForm(c, http.StatusOK, local(c.QueryParam("next")), "")
}

func (u *UI) writeForm(c echo.Context, status int, next, problem string) error {
	form := signInPage{Fields: u.config.Gate.Fields(), Next: next, Problem: problem}
	for i := range form.Fields {
		if typed := c.Request().PostForm.Get(form.Fields[i].Name); typed != "" && !form.Fields[i].Secret {
			form.Fields[i].Value = typed
		}
	}
	return u.write(c, status, layout{Title: "Sign in", Bare: true}, "sign-in", form)
}

func (u *UI) signIn(c echo.Context) error {
	if !u.signsIn() {
		return c.Redirect(http.StatusSeeOther, Root)
	}
	request := c.Request()
	if err := readForm(c); err != nil {
		return err
	}
	next := local(request.PostForm.Get("next"))
	ctx := request.Context()
	var (
		proof  *auth.Proof
		caller *access.Caller
	)
	err := u.config.Judge(c, u.config.Gate.Typed(ctx, request.PostForm.Get), func() (err error) {
		proof, caller, err = u.config.Gate.SignIn(ctx, request.PostForm.Get)
		return err
	})
	var denied *access.Denied
	switch {
	case errors.As(err, new(*auth.Refused)):
		return u.writeForm(c, http.StatusUnauthorized, next, "That is not accepted: what was entered is wrong, or there is no such account.")
	case errors.As(err, &denied):
		return u.writeForm(c, http.StatusForbidden, next, "The account has no access here: "+denied.Detail+".")
	case errors.As(err, new(*auth.Unavailable)):
		u.config.Log(c).WarnContext(ctx, "nobody can sign in", "error", err)
		return u.writeForm(c, http.StatusServiceUnavailable, next, "The service that knows the accounts cannot be reached. Try again in a few seconds.")
	case err != nil:
		return err
	}
	value, err := json.Marshal(session{*proof, time.Now().Add(sessionTime)})
	if err != nil {
		return err
	}
	sealed := base64.RawURLEncoding.EncodeToString(u.config.Seals.Seal(sessionPlace, value))
	if len(sealed) > maxCookieBytes {
		return u.writeForm(c, http.StatusRequestEntityTooLarge, next, "The credentials are too long for a browser to keep.")
	}
	u.config.Log(c).InfoContext(ctx, "signed in", "user", caller.String(), "project", caller.Project, "address", c.RealIP())
	c.SetCookie(u.cookie(sealed))
	return c.Redirect(http.StatusSeeOther, next)
}

func (u *UI) signOut(c echo.Context) error {
	if found := u.sessionOf(c.Request()); found != nil && u.config.Gate != nil {
		if err := u.config.Gate.SignOut(c.Request().Context(), &found.Proof); err != nil {
			u.config.Log(c).WarnContext(c.Request().Context(), "the token of somebody who has signed out is still good", "error", err)
		}
	}
	c.SetCookie(u.cookie(""))
	return c.Redirect(http.StatusSeeOther, signInPath)
}

// local is an address of the pages: one of elsewhere would take people there who believe to be here.
func local(address string) string {
	parsed, err := url.Parse(address)
	if err != nil || parsed.Scheme != "" || parsed.Host != "" || !Has(parsed.Path) || strings.Contains(parsed.Path, "..") {
		return Root
	}
	return (&url.URL{Path: parsed.Path, RawQuery: parsed.RawQuery}).String()
}

// readForm reads what somebody has filled in.
func readForm(c echo.Context) error {
	request := c.Request()
	request.Body = http.MaxBytesReader(c.Response(), request.Body, maxFormBytes)
	if err := request.ParseForm(); err != nil {
		var tooLarge *http.MaxBytesError
		if errors.As(err, &tooLarge) {
			return err
		}
		return echo.NewHTTPError(http.StatusBadRequest).SetInternal(err)
	}
	return nil
}
