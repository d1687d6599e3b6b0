package main

import (
	"bytes"
	"encoding/json"
	"errors"
	"io"
	"math/rand/v2"
	"net/http"
	"strings"
	"sync/atomic"
	"syscall"
	"time"
)

// soakClient calls processes that die, as a careful client does: who refuses the connection has not heard the request, so another one
// is asked, and what changes nothing may be asked again in any case. What became of a change whose connection was cut it has to find out.
type soakClient struct {
	*soak
	http *http.Client // checks every response against the OpenAPI documents
}

// answer is what a client has got.
type answer struct {
	status int
	header http.Header
	body   []byte
}

// into reads a JSON answer.
func (a answer) into(c *soakClient, value any) {
	if err := json.Unmarshal(a.body, value); err != nil {
		c.t.Errorf("%d %.200s: %v", a.status, a.body, err)
	}
}

// errCut says that the connection ended before the answer.
var errCut = errors.New("the connection was cut")

// ask sends a request with a JSON body, if it is not nil; [errCut] if it may or may not have been done.
func (c *soakClient) ask(method, path string, body any) (answer, error) {
	if body == nil {
		return c.send(method, path, "", nil)
	}
	content, err := json.Marshal(body)
	if err != nil {
		c.t.Error(err)
	}
	return c.send(method, path, "application/json", content)
}

func (c *soakClient) send(method, path, contentType string, content []byte) (answer, error) {
	for tries := 0; ; tries++ {
		base := *c.addresses[rand.IntN(len(c.addresses))].Load()
		a, err := c.once(method, base+c.relative(path), contentType, content)
		switch {
		case err == nil && a.status < http.StatusInternalServerError:
			c.counts.answered.Add(1)
			return a, nil
		case err == nil && a.status != http.StatusServiceUnavailable || tries > 300:
			c.t.Errorf("%s %s: %d %.500s %v", method, path, a.status, a.body, err)
			return a, nil
		case errors.Is(err, syscall.ECONNREFUSED):
			c.counts.refused.Add(1)
		default:
			c.counts.cut.Add(1)
			if method != http.MethodGet {
				return answer{}, errCut
			}
		}
		pause(100 * time.Millisecond)
	}
}

// relative is a path without the process that told it.
func (*soakClient) relative(location string) string {
	if _, rest, ok := strings.Cut(location, "://"); ok {
		_, rest, _ = strings.Cut(rest, "/")
		return "/" + rest
	}
	return location
}

func (c *soakClient) once(method, url, contentType string, content []byte) (answer, error) {
	request, err := http.NewRequestWithContext(c.t.Context(), method, url, bytes.NewReader(content))
	if err != nil {
		return answer{}, err
	}
	if contentType != "" {
		request.Header.Set("Content-Type", contentType)
	}
	response, err := c.http.Do(request)
	if err != nil {
		return answer{}, err
	}
	defer response.Body.Close()
	read, err := io.ReadAll(response.Body)
	return answer{response.StatusCode, response.Header, read}, err
}

// get reads something that has to be there.
func (c *soakClient) get(path string, into any) {
	a, _ := c.ask(http.MethodGet, path, nil)
	if a.status != http.StatusOK {
		c.t.Errorf("GET %s: %d %.500s", path, a.status, a.body)
		return
	}
	a.into(c, into)
}

// remove deletes something, which may be gone already if the connection was cut before.
func (c *soakClient) remove(path string) {
	for again := false; ; again = true {
		a, err := c.ask(http.MethodDelete, path, nil)
		if err != nil {
			if c.lost("%s cannot be removed: %v", path, err) {
				return
			}
			continue
		}
		if a.status != http.StatusNoContent && (a.status != http.StatusNotFound || !again) {
			c.t.Errorf("DELETE %s: %d %.500s", path, a.status, a.body)
		}
		return
	}
}

// create makes something and returns where it is, "" if it is lost; find looks for it when the connection was cut: "" if it is not there.
func (c *soakClient) create(path string, body any, find func() string) string {
	for {
		a, err := c.ask(http.MethodPost, path, body)
		if err != nil {
			if location := find(); location != "" {
				return location
			}
			if c.lost("nothing can be made at %s: %v", path, err) {
				return ""
			}
			continue
		}
		if a.status != http.StatusCreated {
			c.t.Errorf("POST %s: %d %.500s", path, a.status, a.body)
		}
		return c.relative(a.header.Get("Location"))
	}
}

// all reads every page of a list.
func all[Element any](c *soakClient, path string) []Element {
	var found []Element
	for path != "" {
		a, _ := c.ask(http.MethodGet, path, nil)
		var page []Element
		a.into(c, &page)
		found = append(found, page...)
		next, _, _ := strings.Cut(strings.TrimPrefix(a.header.Get("Link"), "<"), ">")
		path = next
	}
	return found
}

// pause lets a client think.
func pause(length time.Duration) { time.Sleep(length) }

// counts are what clients have seen.
type counts struct {
	answered, refused, cut                                    atomic.Int64
	mistakes, packages, subscriptions, retries, rollbacks     atomic.Int64
	givenUp, cancelled, provoked, conflicts, unknown, unasked atomic.Int64
}
