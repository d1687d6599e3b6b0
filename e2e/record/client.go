package main

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"strings"
	"time"
)

// account says who logs in, to which project; the domain is always Default.
type account struct{ user, password, project string }

// client speaks HTTP to the services of one cloud. Redirects are shown, not followed.
type client struct {
	authURL   string
	token     string
	projectID string
	endpoints map[string]string // by the service's type in the catalog
}

// exchange is one request with its answer.
type exchange struct {
	Service  string   `json:"service"`
	Request  request  `json:"request"`
	Response response `json:"response"`
}

type request struct {
	Method  string            `json:"method"`
	Path    string            `json:"path"`
	Headers map[string]string `json:"headers,omitempty"`
	Body    any               `json:"body,omitempty"`
}

type response struct {
	Status  int               `json:"status"`
	Headers map[string]string `json:"headers"`
	Body    any               `json:"body,omitempty"`
	Text    string            `json:"text,omitempty"` // of a body that is not JSON
}

// kept are the headers of an answer that a client may depend on.
var kept = []string{
	"Allow", "Content-Type", "Location", "Openstack-Api-Version", "Retry-After", "Vary", "Www-Authenticate", "X-Openstack-Request-Id",
	"X-Subject-Token",
}

var plain = &http.Client{
	Timeout:       2 * time.Minute,
	CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse },
}

// do sends one request. A string as body goes out as it is, anything else as JSON.
func (c *client) do(ctx context.Context, service string, req request) (*exchange, error) {
	base := c.base(service)
	var body io.Reader
	switch b := req.Body.(type) {
	case nil:
	case string:
		body = strings.NewReader(b)
	default:
		data, err := json.Marshal(b)
		if err != nil {
			return nil, err
		}
		body = bytes.NewReader(data)
	}
	httpReq, err := http.NewRequestWithContext(ctx, req.Method, base+req.Path, body)
	if err != nil {
		return nil, err
	}
	httpReq.Header.Set("Accept", "application/json")
	if body != nil {
		httpReq.Header.Set("Content-Type", "application/json")
	}
	if c.token != "" {
		httpReq.Header.Set("X-Auth-Token", c.token)
	}
	for name, value := range req.Headers {
		httpReq.Header.Set(name, value)
	}
	res, err := plain.Do(httpReq)
	if err != nil {
		return nil, err
	}
	defer res.Body.Close()
	data, err := io.ReadAll(res.Body)
	if err != nil {
		return nil, fmt.Errorf("read the answer of %s %s: %w", req.Method, base+req.Path, err)
	}
	return &exchange{Service: service, Request: req, Response: answer(res, data)}, nil
}

// base is where the paths of a service begin.
func (c *client) base(service string) string {
	if service == "identity" {
		return c.authURL
	}
	return c.endpoints[service]
}

func answer(res *http.Response, data []byte) response {
	out := response{Status: res.StatusCode, Headers: map[string]string{}}
	for _, name := range kept {
		if value := res.Header.Get(name); value != "" {
			out.Headers[name] = value
		}
	}
	if len(data) > 0 && json.Unmarshal(data, &out.Body) != nil {
		out.Text = string(data)
	}
	return out
}

// login gets a token for the account and learns the endpoints from the catalog.
func (c *client) login(ctx context.Context, who account) error {
	c.token = ""
	x, err := c.do(ctx, "identity", request{Method: "POST", Path: "/v3/auth/tokens", Body: passwordAuth(who)})
	if err != nil {
		return err
	}
	if x.Response.Status != http.StatusCreated {
		return fmt.Errorf("log in as %s: status %d", who.user, x.Response.Status)
	}
	c.use(x)
	return nil
}

// use takes token, project and endpoints from an answer of POST /v3/auth/tokens.
func (c *client) use(x *exchange) {
	c.token = x.Response.Headers["X-Subject-Token"]
	c.projectID = x.str("token", "project", "id")
	c.endpoints = map[string]string{}
	for _, entry := range x.list("token", "catalog") {
		for _, endpoint := range entry["endpoints"].([]any) {
			if e := endpoint.(map[string]any); e["interface"] == "public" {
				c.endpoints[entry["type"].(string)] = e["url"].(string)
			}
		}
	}
}

func passwordAuth(who account) any {
	domain := map[string]any{"name": "Default"}
	return map[string]any{"auth": map[string]any{
		"identity": map[string]any{"methods": []string{"password"}, "password": map[string]any{
			"user": map[string]any{"name": who.user, "password": who.password, "domain": domain},
		}},
		"scope": map[string]any{"project": map[string]any{"name": who.project, "domain": domain}},
	}}
}

// must sends a request whose failure ends the program.
func (c *client) must(ctx context.Context, service, method, path string, body any) (*exchange, error) {
	x, err := c.do(ctx, service, request{Method: method, Path: path, Body: body})
	if err == nil && x.Response.Status >= http.StatusBadRequest {
		err = errors.New(x.Response.Text)
		if x.Response.Body != nil {
			err = fmt.Errorf("%v", x.Response.Body)
		}
	}
	if err != nil {
		return nil, fmt.Errorf("%s %s of %s: %w", method, path, service, err)
	}
	return x, nil
}

// at returns what the body of the answer holds under the keys, or nil.
func (x *exchange) at(keys ...string) any {
	value := x.Response.Body
	for _, key := range keys {
		object, ok := value.(map[string]any)
		if !ok {
			return nil
		}
		value = object[key]
	}
	return value
}

func (x *exchange) str(keys ...string) string {
	s, _ := x.at(keys...).(string)
	return s
}

func (x *exchange) list(keys ...string) []map[string]any {
	items, _ := x.at(keys...).([]any)
	objects := make([]map[string]any, 0, len(items))
	for _, item := range items {
		if object, ok := item.(map[string]any); ok {
			objects = append(objects, object)
		}
	}
	return objects
}
