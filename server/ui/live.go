package ui

import (
	"bytes"
	"context"
	"hash/fnv"
	"html/template"
	"net/http"
	"slices"
	"strconv"
	"strings"
	"sync"
	"time"

	"github.com/labstack/echo/v4"

	"vnfm/api/access"
)

// fragment is a part of a page that changes by itself.
type fragment struct {
	Name   string
	HTML   template.HTML
	Polite bool // changes are read to those who do not see
}

// shown is a page as it is at a moment.
type shown struct {
	title     string
	fragments []fragment
	over      bool // nothing changes any more
}

// digests tell of each fragment which content a browser has.
func (s *shown) digests() string {
	all := make([]string, len(s.fragments))
	for i := range s.fragments {
		digest := fnv.New64a()
		_, _ = digest.Write([]byte(s.fragments[i].HTML))
		all[i] = strconv.FormatUint(digest.Sum64(), 36)
	}
	return strings.Join(all, ".")
}

const (
	// lookTime is how often the database is asked what a page shows, for all who look at it in this process together: operations are carried out
	// in any.
	lookTime = time.Second
	// quietTime is how long a stream says nothing. Proxies give up on one after a minute, at the earliest.
	quietTime = 15 * time.Second
)

// views are the pages that somebody looks at.
type views struct {
	mu  sync.Mutex
	all map[string]*view
}

// view is what all see who look at the same page with the same rights.
type view struct {
	viewers int
	busy    chan struct{} // holds a value while somebody makes the page
	at      time.Time
	shown   *shown
}

func (v *views) join(key string) *view {
	v.mu.Lock()
	defer v.mu.Unlock()
	found := v.all[key]
	if found == nil {
		found = &view{busy: make(chan struct{}, 1)}
		v.all[key] = found
	}
	found.viewers++
	return found
}

func (v *views) leave(key string) {
	v.mu.Lock()
	defer v.mu.Unlock()
	found := v.all[key]
	if found.viewers--; found.viewers == 0 {
		delete(v.all, key)
	}
}

// look returns the page, made anew if it is older than a look takes.
func (v *view) look(ctx context.Context, build func() (*shown, error)) (*shown, error) {
	select {
	case v.busy <- struct{}{}:
	case <-ctx.Done():
		return nil, ctx.Err()
	}
	defer func() { <-v.busy }()
	if v.shown != nil && time.Since(v.at) < lookTime*9/10 {
		return v.shown, nil
	}
	made, err := build()
	if err != nil {
		return nil, err
	}
	v.at, v.shown = time.Now(), made
	return made, nil
}

// viewKey tells views apart: by what is looked at, and by what decides about what is seen of it.
func viewKey(c echo.Context, asked asked) string {
	key := c.Path() + " " + asked.id.String() + " " + asked.query().Encode()
	if caller := access.Of(c.Request().Context()); caller != nil {
		roles := slices.Clone(caller.Roles)
		slices.Sort(roles)
		key += "\x00" + caller.Project + "\x00" + strings.Join(roles, "\x00")
	}
	return key
}

// stream sends what changes of a page, until the request has lasted as long as requests may, which makes the browser come again and show anew
// who it is; or the server is about to stop.
func (u *UI) stream(p page) echo.HandlerFunc {
	return func(c echo.Context) error {
		asked, err := p.asked(c)
		if err != nil {
			return err
		}
		ctx, key := c.Request().Context(), viewKey(c, asked)
		view := u.views.join(key)
		defer u.views.leave(key)
		now, err := view.look(ctx, func() (*shown, error) { return u.make(ctx, p, asked) })
		if err != nil {
			return err
		}
		stream, err := newStream(c)
		if err != nil {
			return nil // the client has gone
		}
		tick := time.NewTicker(lookTime)
		defer tick.Stop()
		for stream.tell(now) == nil && !now.over {
			select {
			case <-ctx.Done():
				return nil
			case <-u.config.Leaving:
				return nil
			case <-tick.C:
			}
			next, err := view.look(ctx, func() (*shown, error) { return u.make(ctx, p, asked) })
			if err != nil {
				return nil // the browser comes again, and hears of it then
			}
			now = next
		}
		return nil
	}
}

// stream is a response of server-sent events.
type stream struct {
	response *echo.Response
	seen     []string // digests of what the browser has
	spoken   time.Time
}

// newStream begins a response; the browser tells what it has.
func newStream(c echo.Context) (*stream, error) {
	seen := c.Request().Header.Get("Last-Event-Id")
	if seen == "" {
		seen = c.QueryParam(seenParameter)
	}
	s := &stream{response: c.Response(), seen: strings.Split(seen, ".")}
	header := s.response.Header()
	header.Set(echo.HeaderContentType, "text/event-stream; charset=utf-8")
	header.Set("X-Accel-Buffering", "no") // nginx would wait for more
	s.response.WriteHeader(http.StatusOK)
	return s, s.send([]byte("retry: 1000\n\n"))
}

func (s *stream) send(text []byte) error {
	if _, err := s.response.Write(text); err != nil {
		return err
	}
	s.spoken = time.Now()
	return http.NewResponseController(s.response).Flush()
}

// tell sends what the browser does not have.
func (s *stream) tell(now *shown) error {
	var events bytes.Buffer
	digests := now.digests()
	for i, digest := range strings.Split(digests, ".") {
		if i < len(now.fragments) && (i >= len(s.seen) || s.seen[i] != digest) {
			event(&events, now.fragments[i].Name, digests, string(now.fragments[i].HTML))
		}
	}
	s.seen = strings.Split(digests, ".")
	if now.over {
		event(&events, "over", digests, "")
	}
	if events.Len() == 0 {
		if time.Since(s.spoken) < quietTime {
			return nil
		}
		events.WriteString(": still here\n\n")
	}
	return s.send(events.Bytes())
}

func event(events *bytes.Buffer, name, id, data string) {
	events.WriteString("event: " + name + "\nid: " + id + "\n")
	for line := range strings.Lines(strings.ReplaceAll(data, "\r", "\n") + "\n") {
		events.WriteString("data: " + line)
	}
	events.WriteString("\n")
}

// ends are what pages are told, in their streams, that can go on no more.
var ends = map[int]string{
	http.StatusUnauthorized: `The session is over: <a href="` + signInPath + `">sign in</a> again.`,
	http.StatusForbidden:    `You may not see this any more. What is here does not change by itself.`,
	http.StatusNotFound:     `This is no longer there: it was removed. <a href="` + Root + `">Go on</a>`,
}

// writeEnd tells a page, in its stream, why nothing more comes, and ends it: a browser would come again and again.
func writeEnd(c echo.Context, why string) error {
	stream, err := newStream(c)
	if err != nil {
		return err
	}
	var events bytes.Buffer
	event(&events, "end", "", why)
	event(&events, "over", "", "")
	return stream.send(events.Bytes())
}
