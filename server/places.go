package server

import (
	"context"
	"net/http"
	"slices"
	"sync"
	"time"

	"vnfm/server/ui"

	"github.com/labstack/echo/v4"
)

// places bound how much is done at once, for all clients and for each: no client takes all.
type places struct {
	total, each int
	what        string
	patience    time.Duration // for which a client waits for a place

	mu    sync.Mutex
	taken int
	by    map[string]int
	freed chan struct{} // closed when a place becomes free
}

func newPlaces(what string, total, each int, patience time.Duration) *places {
	return &places{total: total, each: each, what: what, patience: patience, by: map[string]int{}, freed: make(chan struct{})}
}

// take takes a place, which has to be given back. A client that has its share gets 429, and if nobody gets one, 503.
func (p *places) take(ctx context.Context, client string) (giveBack func(), err error) {
	impatient := time.NewTimer(p.patience)
	defer impatient.Stop()
	for {
		freed, refusal := p.try(client)
		if refusal == nil {
			return sync.OnceFunc(func() { p.giveBack(client) }), nil
		}
		select {
		case <-freed:
		case <-impatient.C:
			return nil, refusal
		case <-ctx.Done():
			return nil, refusal
		}
	}
}

func (p *places) try(client string) (freed <-chan struct{}, refusal error) {
	p.mu.Lock()
	defer p.mu.Unlock()
	switch {
	case p.by[client] >= p.each:
		return p.freed, tooMany(time.Second, "more than %d %s at once: ask again when one of them is over", p.each, p.what)
	case p.taken >= p.total:
		return p.freed, &busy{problem{http.StatusServiceUnavailable, "the server is busy with " + p.what + ": ask again later"}, time.Second}
	}
	p.taken++
	p.by[client]++
	return nil, nil
}

func (p *places) giveBack(client string) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.taken--
	if p.by[client]--; p.by[client] == 0 {
		delete(p.by, client)
	}
	close(p.freed)
	p.freed = make(chan struct{})
}

// What is bounded, and by how much. A request takes memory for its body, and an upload one of the ten connections that the database
// has for uploads.
const (
	maxRequests, maxRequestsOfClient   = 2000, 1000
	maxUploads, maxUploadsOfClient     = 10, 5
	maxDownloads, maxDownloadsOfClient = 100, 25
	maxWhole, maxWholeOfClient         = 4, 2
	maxStreams, maxStreamsOfClient     = 500, 50
	maxLarge, maxLargeOfClient         = 32, 8
	largeBytes                         = 256 << 10 // from which size on a body is large
)

// concurrency are the places of a server.
type concurrency struct {
	requests, uploads, downloads *places
	whole                        *places // lists without pages
	large                        *places // JSON bodies
	streams                      *places // of what changes on pages in browsers
}

func newConcurrency(patience time.Duration) *concurrency {
	return &concurrency{
		requests:  newPlaces("requests", maxRequests, maxRequestsOfClient, 0),
		uploads:   newPlaces("uploads", maxUploads, maxUploadsOfClient, patience),
		downloads: newPlaces("downloads", maxDownloads, maxDownloadsOfClient, patience),
		whole:     newPlaces("lists of all records", maxWhole, maxWholeOfClient, patience),
		streams:   newPlaces("pages that are looked at", maxStreams, maxStreamsOfClient, 0),
		large:     newPlaces("large bodies", maxLarge, maxLargeOfClient, patience),
	}
}

// of are the places that a request needs.
func (l *concurrency) of(c echo.Context, page ui.Route) []*places {
	request := c.Request()
	switch {
	case page.Stream:
		return []*places{l.streams}
	case slices.Contains(probes, c.Path()):
		return nil
	case slices.Contains(contentPaths, c.Path()) && request.Method == http.MethodPut:
		return []*places{l.uploads}
	case slices.Contains(contentPaths, c.Path()) && request.Method == http.MethodGet:
		return []*places{l.downloads}
	case c.QueryParam(allRecordsParameter) != "":
		return []*places{l.requests, l.whole}
	case request.ContentLength < 0 || request.ContentLength > largeBytes:
		return []*places{l.requests, l.large}
	}
	return []*places{l.requests}
}

// placed bounds how many requests are worked on at once.
func (s *Server) placed(next echo.HandlerFunc) echo.HandlerFunc {
	return func(c echo.Context) error {
		for _, needed := range s.places.of(c, s.pageOf[matched(c)]) {
			giveBack, err := needed.take(c.Request().Context(), clientOf(c))
			if err != nil {
				return err
			}
			defer giveBack()
		}
		return next(c)
	}
}
