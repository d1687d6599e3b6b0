package ui

import (
	"bytes"
	"cmp"
	"context"
	"crypto/sha256"
	"embed"
	"encoding/hex"
	"html/template"
	"io/fs"
	"mime"
	"net/http"
	"net/url"
	"path"
	"strings"

	"github.com/labstack/echo/v4"

	"vnfm/api/access"
)

var (
	//go:embed templates/*.html
	templateFiles embed.FS
	//go:embed static/*.js static/*.css static/*.svg
	staticFiles embed.FS

	templates = template.Must(template.New("ui").Funcs(functions).ParseFS(templateFiles, "templates/*.html"))
)

// page is one of those that tell what there is.
type page struct {
	path   string
	action string
	// fragments are the names of the templates that it consists of. The first is read to those who do not see whenever it changes.
	fragments []string
	asks      asks
	load      func(ctx context.Context, asked asked) (*content, error)
}

// asks is what can be asked of a page.
type asks int

const (
	asksNothing asks = 0
	asksFrom    asks = 1 // from which row on
	asksState   asks = 2 // only what is in a state
)

// content is what the fragments of a page are made of.
type content struct {
	title string
	over  bool
	shown any
}

func (u *UI) pages() []page {
	const (
		instances  = Root + "/instances"
		operations = Root + "/operations"
	)
	return []page{
		{Root, "", []string{"overview-counts", "overview-waiting", "overview-running", "overview-latest"}, asksNothing, u.overview},
		{instances, readInstances, []string{"instances"}, asksFrom, u.instances},
		{instances + "/:vnfInstanceId", readInstances,
			[]string{"instance-head", "instance-facts", "instance-vnfcs", "instance-links", "instance-operations"}, asksNothing, u.instance},
		{operations, readOperations, []string{"operations"}, asksFrom | asksState, u.operations},
		{operationPath, readOperations,
			[]string{"operation-head", "operation-progress", "operation-actions", "operation-steps", "operation-nodes", "operation-facts"}, asksNothing, u.operation},
		{Root + "/packages", readPackages, []string{"packages"}, asksFrom, u.packages},
		{Root + "/vims", readVims, []string{"vims"}, asksFrom, u.vims},
	}
}

// make makes the fragments of a page.
func (u *UI) make(ctx context.Context, p page, asked asked) (*shown, error) {
	content, err := p.load(ctx, asked)
	if err != nil {
		return nil, err
	}
	made := &shown{title: content.title, over: content.over}
	for i, name := range p.fragments {
		html, err := filled(name, content.shown)
		if err != nil {
			return nil, err
		}
		made.fragments = append(made.fragments, fragment{Name: name, HTML: html, Polite: i == 0 && len(p.fragments) > 1})
	}
	return made, nil
}

// filled is a template with what it is filled with.
func filled(name string, with any) (template.HTML, error) {
	var text bytes.Buffer
	if err := templates.ExecuteTemplate(&text, name, with); err != nil {
		return "", err
	}
	return template.HTML(bytes.TrimSpace(text.Bytes())), nil //nolint:gosec // a template of ours has escaped it
}

// show answers with a page.
func (u *UI) show(p page) echo.HandlerFunc {
	return func(c echo.Context) error {
		asked, err := p.asked(c)
		if err != nil {
			return err
		}
		now, err := u.make(c.Request().Context(), p, asked)
		if err != nil {
			return err
		}
		of := layout{Title: now.title}
		if !now.over {
			query := asked.query()
			query.Set(seenParameter, now.digests())
			of.Events = (&url.URL{Path: strings.TrimSuffix(c.Request().URL.Path, "/") + "/events", RawQuery: query.Encode()}).String()
		}
		return u.write(c, http.StatusOK, of, "page", now.fragments)
	}
}

// layout is what is around the content of every page.
type layout struct {
	Title   string
	Events  string // where changes come from; "": nowhere
	Bare    bool   // without the links to other pages
	Links   []link
	User    string // "": nobody has signed in
	Within  string // the project
	Leaves  bool   // the user can sign out
	Content template.HTML
}

type link struct {
	Path, Text string
	Current    bool
}

// write answers with a template inside of the layout.
func (u *UI) write(c echo.Context, status int, of layout, name string, what any) error {
	ctx := c.Request().Context()
	if caller := access.Of(ctx); caller != nil {
		of.User, of.Within, of.Leaves = caller.String(), caller.Project, u.sessionOf(c.Request()) != nil
	}
	if !of.Bare {
		of.Links = u.links(ctx, c.Request().URL.Path)
	}
	var err error
	if of.Content, err = filled(name, what); err != nil {
		return err
	}
	text, err := filled("layout", of)
	if err != nil {
		return err
	}
	return c.HTML(status, string(text))
}

// links are those to the pages that the caller may see.
func (u *UI) links(ctx context.Context, here string) []link {
	links := []link{{Root, "Overview", here == Root}}
	for _, to := range []struct{ text, action string }{
		{"Operations", readOperations}, {"Instances", readInstances}, {"Packages", readPackages}, {"VIMs", readVims},
	} {
		path := Root + "/" + strings.ToLower(to.text)
		if _, ok := u.may(ctx, to.action); ok {
			links = append(links, link{path, to.text, here == path || strings.HasPrefix(here, path+"/")})
		}
	}
	return links
}

// errorPage tells what went wrong.
type errorPage struct {
	Status               int
	Text, Detail, Return string
}

// WriteError answers with a page, or with nothing but words where no page is wanted. Who has not signed in is asked to.
func (u *UI) WriteError(c echo.Context, status int, detail string) error {
	request := c.Request()
	streams := strings.HasSuffix(request.URL.Path, "/events")
	switch {
	case streams && ends[status] != "" && request.Method == http.MethodGet:
		return writeEnd(c, ends[status])
	case status == http.StatusUnauthorized && u.signsIn():
		address := url.URL{Path: signInPath}
		if request.Method == http.MethodGet && request.URL.Path != Root {
			address.RawQuery = url.Values{"next": {request.URL.RequestURI()}}.Encode()
		}
		return c.Redirect(http.StatusSeeOther, address.String())
	case streams, strings.HasPrefix(request.URL.Path, Root+"/static/"):
		return c.String(status, detail)
	}
	back := Root
	if id := c.Param("vnfLcmOpOccId"); id != "" && status != http.StatusNotFound {
		back = path.Join(Root, "operations", id)
	}
	title := http.StatusText(status)
	return u.write(c, status, layout{Title: title}, "error", errorPage{status, title, detail, back})
}

// static answers with a file that pages need. Servers of several versions may be behind a proxy, so browsers ask each time whether what they
// have is still right.
func (u *UI) static(c echo.Context) error {
	name := c.Param("file")
	content, err := fs.ReadFile(staticFiles, path.Join("static", name))
	if err != nil {
		return echo.ErrNotFound
	}
	digest := sha256.Sum256(content)
	header := c.Response().Header()
	header.Set("Etag", `"`+hex.EncodeToString(digest[:8])+`"`)
	header.Set(echo.HeaderCacheControl, "no-cache")
	if c.Request().Header.Get("If-None-Match") == header.Get("Etag") {
		return c.NoContent(http.StatusNotModified)
	}
	return c.Blob(http.StatusOK, cmp.Or(mime.TypeByExtension(path.Ext(name)), echo.MIMEOctetStream), content)
}
