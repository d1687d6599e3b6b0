package heattest

import (
	"encoding/json"
	"net/http"
	"slices"
	"strconv"
	"strings"

	"vnfm/lcm/heat/heattest/hotlang"
)

// object is a JSON object of an answer.
type object = map[string]any

// failure is an answer other than success in the shape of the service that gives it.
type failure struct {
	status  int
	body    any    // JSON, or a page
	header  string // a Location or WWW-Authenticate, depending on status
	message string
}

func (f *failure) Error() string { return f.message }

// reply is a successful answer.
type reply struct {
	status   int
	body     any // nil is no body, []byte is sent as it is, all else is JSON
	location string
	header   http.Header
}

func ok(body any) (*reply, error) { return &reply{status: http.StatusOK, body: body}, nil }

func (c *Cloud) write(w http.ResponseWriter, r *http.Request, rep *reply) {
	for k, v := range rep.header {
		w.Header()[k] = v
	}
	if rep.location != "" {
		w.Header().Set("Location", rep.location)
	}
	switch body := rep.body.(type) {
	case nil:
		w.WriteHeader(rep.status)
	case []byte:
		w.Header().Set("Content-Type", "application/octet-stream")
		w.WriteHeader(rep.status)
		_, err := w.Write(body) //nolint:gosec // JSON, as its type says
		c.noteWrite(r, err)
	case page:
		c.writePage(w, r, rep.status, string(body))
	default:
		w.Header().Set("Content-Type", "application/json")
		w.WriteHeader(rep.status)
		c.noteWrite(r, json.NewEncoder(w).Encode(body))
	}
}

// page is the text of an answer that most services give as HTML, or as JSON to clients that ask for it.
type page string

func (c *Cloud) writePage(w http.ResponseWriter, r *http.Request, status int, text string) {
	title := http.StatusText(status)
	code := strconv.Itoa(status) + " " + title
	if strings.Contains(r.Header.Get("Accept"), "application/json") {
		w.Header().Set("Content-Type", "application/json")
		w.WriteHeader(status)
		c.noteWrite(r, json.NewEncoder(w).Encode(object{"code": code, "title": title, "message": text}))
		return
	}
	w.Header().Set("Content-Type", "text/html; charset=UTF-8")
	w.WriteHeader(status)
	_, err := w.Write([]byte("<html>\n <head>\n  <title>" + code + "</title>\n </head>\n <body>\n  <h1>" + code + "</h1>\n  " + text + "\n </body>\n</html>")) //nolint:gosec // JSON, as its type says
	c.noteWrite(r, err)
}

func (c *Cloud) noteWrite(r *http.Request, err error) {
	if err != nil {
		c.log.DebugContext(r.Context(), "the client did not take its answer", "method", r.Method, "path", r.URL.Path, "error", err)
	}
}

// maxBody bounds request bodies other than images.
const maxBody = 64 << 20

// decode reads a JSON body; whole numbers become int.
func decode(w http.ResponseWriter, r *http.Request) (object, error) {
	var body object
	if err := json.NewDecoder(http.MaxBytesReader(w, r.Body, maxBody)).Decode(&body); err != nil {
		return nil, err
	}
	m, _ := hotlang.NormalizeJSON(body).(map[string]any)
	return m, nil
}

// text is the string at key, or empty.
func text(m object, key string) string {
	s, _ := m[key].(string)
	return s
}

// child is the object at key, or an empty one.
func child(m object, key string) object {
	if c, ok := m[key].(object); ok {
		return c
	}
	return object{}
}

func orNil(s string) any {
	if s == "" {
		return nil
	}
	return s
}

func listOf[T any](items []T, view func(T) object) []object {
	out := make([]object, 0, len(items))
	for _, item := range items {
		out = append(out, view(item))
	}
	return out
}

func sortBy[T any](s []T, compare func(a, b T) int) { slices.SortStableFunc(s, compare) }
