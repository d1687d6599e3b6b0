package heattest

import (
	"errors"
	"net/http"
	"strings"
	"time"
)

// Prefixes of the services; the catalog lists them.
const (
	identityPrefix      = "/identity"
	orchestrationPrefix = "/orchestration"
	computePrefix       = "/compute"
	networkPrefix       = "/network"
	imagePrefix         = "/image"
	volumePrefix        = "/volume"
)

// handler answers one request with the lock held.
type handler func(w http.ResponseWriter, r *http.Request) (*reply, error)

func (c *Cloud) routes() {
	c.mux = http.NewServeMux()
	c.identityRoutes()
	c.stackRoutes()
	c.stackDetailRoutes()
	c.computeRoutes()
	c.networkRoutes()
	c.imageRoutes()
	c.volumeRoutes()
	c.controlRoutes()
	c.unknownRoutes()
}

// unknownRoutes are the answers of each service to paths that it does not know.
func (c *Cloud) unknownRoutes() {
	for _, prefix := range []string{orchestrationPrefix, computePrefix, imagePrefix, volumePrefix} {
		c.open(prefix+"/", func(http.ResponseWriter, *http.Request) (*reply, error) {
			return &reply{status: http.StatusNotFound, body: page("The resource could not be found.<br /><br />\n\n\n")}, nil
		})
	}
	c.open(networkPrefix+"/", func(http.ResponseWriter, *http.Request) (*reply, error) {
		return &reply{status: http.StatusNotFound, body: object{"code": 404, "title": "Not Found", "description": nil}}, nil
	})
	c.open(identityPrefix+"/", func(http.ResponseWriter, *http.Request) (*reply, error) {
		return &reply{status: http.StatusNotFound}, nil
	})
}

// open registers a route that needs no token.
func (c *Cloud) open(pattern string, h handler) {
	c.mux.HandleFunc(pattern, func(w http.ResponseWriter, r *http.Request) {
		c.faults.count(&c.mu, r.Pattern)
		rep, err := c.locked(h, w, r)
		c.answer(w, r, rep, err)
	})
}

// guarded registers a route that needs a valid token.
func (c *Cloud) guarded(pattern string, h handler) {
	c.open(pattern, func(w http.ResponseWriter, r *http.Request) (*reply, error) {
		if !c.tokenValid(r.Header.Get("X-Auth-Token")) {
			if strings.HasPrefix(r.URL.Path, imagePrefix+"/") {
				return nil, c.unauthorizedPage(r)
			}
			return nil, c.unauthorized(r)
		}
		return h(w, r)
	})
}

func (c *Cloud) locked(h handler, w http.ResponseWriter, r *http.Request) (*reply, error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	return h(w, r)
}

func (c *Cloud) answer(w http.ResponseWriter, r *http.Request, rep *reply, err error) {
	var f *failure
	if errors.As(err, &f) {
		rep = &reply{status: f.status, body: f.body, header: http.Header{}}
		switch {
		case f.header == "":
		case f.status == http.StatusUnauthorized:
			rep.header.Set("WWW-Authenticate", f.header)
		default:
			rep.header.Set("Location", f.header)
		}
	} else if err != nil {
		rep = &reply{status: http.StatusInternalServerError, body: object{"error": object{"message": err.Error(), "code": 500, "title": "Internal Server Error"}}}
	}
	c.write(w, r, rep)
}

// serve is the way of every request: faults first, then the route, then perhaps the loss of the answer.
func (c *Cloud) serve(w http.ResponseWriter, r *http.Request) {
	began := time.Now()
	defer func() {
		c.log.DebugContext(r.Context(), "openstack request", "method", r.Method, "path", r.URL.Path, "duration", time.Since(began))
	}()
	if strings.HasPrefix(r.URL.Path, ControlPath) {
		c.mux.ServeHTTP(w, r)
		return
	}
	switch fault := c.faultFor(r); {
	case fault == nil:
		c.mux.ServeHTTP(w, r)
	case fault.Hang:
		select {
		case <-r.Context().Done():
		case <-c.life.Done():
		}
		panic(http.ErrAbortHandler)
	case fault.Delay > 0:
		select {
		case <-time.After(fault.Delay):
			c.mux.ServeHTTP(w, r)
		case <-c.life.Done():
			panic(http.ErrAbortHandler)
		}
	case fault.LoseReply:
		c.mux.ServeHTTP(discard{http.Header{}}, r)
		panic(http.ErrAbortHandler)
	case fault.Status == 0:
		panic(http.ErrAbortHandler)
	default:
		c.write(w, r, &reply{status: fault.Status, body: page("The server is not able to answer.")})
	}
}

// discard is a response that nobody reads.
type discard struct{ header http.Header }

// Header belongs to nobody.
func (d discard) Header() http.Header { return d.header }

// Write takes everything.
func (d discard) Write(b []byte) (int, error) { return len(b), nil }

// WriteHeader does nothing.
func (d discard) WriteHeader(int) {}

// baseURL is the address to use in links; the request may be nil. The lock is held.
func (c *Cloud) baseURL(r *http.Request) string {
	if c.base != "" || r == nil {
		return c.base
	}
	if r.TLS != nil {
		return "https://" + r.Host
	}
	return "http://" + r.Host
}
