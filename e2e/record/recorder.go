package main

import (
	"bytes"
	"context"
	"embed"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"time"
)

//go:embed templates
var templates embed.FS

type object = map[string]any

// recorder is a client that keeps what it sees.
type recorder struct {
	*client
	dir       string
	admin     *client
	lab       *lab
	names     *normaliser
	surprises []string
}

// rec sends a request and writes NAME.json; a status other than want is remembered as a surprise.
func (r *recorder) rec(ctx context.Context, name string, want int, service, method, path string, body any) (*exchange, error) {
	return r.recWith(ctx, name, want, service, request{Method: method, Path: path, Body: body})
}

func (r *recorder) recWith(ctx context.Context, name string, want int, service string, req request) (*exchange, error) {
	x, err := r.do(ctx, service, req)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", name, err)
	}
	fmt.Fprintf(os.Stderr, "%3d  %s\n", x.Response.Status, name)
	if x.Response.Status != want {
		r.surprises = append(r.surprises, fmt.Sprintf("%s: %d, not %d", name, x.Response.Status, want))
	}
	return x, r.write(name, x)
}

// get is rec for a GET that must answer 200.
func (r *recorder) get(ctx context.Context, name, service, path string) (*exchange, error) {
	return r.rec(ctx, name, 200, service, "GET", path, nil)
}

func (r *recorder) write(name string, x *exchange) error {
	var text bytes.Buffer
	enc := json.NewEncoder(&text)
	enc.SetEscapeHTML(false)
	enc.SetIndent("", "  ")
	if err := enc.Encode(x); err != nil {
		return err
	}
	return os.WriteFile(filepath.Join(r.dir, name+".json"), []byte(r.names.replace(text.String())), 0o644) //nolint:gosec // it is no secret
}

// stackBody is the body of a stack create or update: the template by file name, with the files it refers to.
func stackBody(name, top string, parameters object, nested ...string) (object, error) {
	text, err := templates.ReadFile("templates/" + top)
	if err != nil {
		return nil, err
	}
	files := object{}
	for _, file := range nested {
		text, err := templates.ReadFile("templates/" + file)
		if err != nil {
			return nil, err
		}
		files[file] = string(text)
	}
	if parameters == nil {
		parameters = object{} // Heat refuses null
	}
	body := object{"template": string(text), "files": files, "parameters": parameters, "timeout_mins": 10}
	if name != "" {
		body["stack_name"] = name
		body["disable_rollback"] = true
	}
	return body, nil
}

// settled polls the stack until it is at rest and returns its status.
func (r *recorder) settled(ctx context.Context, path string) (string, error) {
	timer := time.NewTicker(200 * time.Millisecond)
	defer timer.Stop()
	for {
		x, err := r.do(ctx, "orchestration", request{Method: "GET", Path: path})
		if err != nil {
			return "", err
		}
		if status := x.str("stack", "stack_status"); x.Response.Status != 200 || !strings.HasSuffix(status, "_IN_PROGRESS") {
			return status, nil
		}
		select {
		case <-ctx.Done():
			return "", ctx.Err()
		case <-timer.C:
		}
	}
}

// pause waits so that a stack shows an intermediate state.
func pause(ctx context.Context, d time.Duration) error {
	timer := time.NewTimer(d)
	defer timer.Stop()
	select {
	case <-ctx.Done():
		return ctx.Err()
	case <-timer.C:
		return nil
	}
}

// discard deletes a stack and waits for its end.
func (r *recorder) discard(ctx context.Context, path string) error {
	if _, err := r.do(ctx, "orchestration", request{Method: "DELETE", Path: path}); err != nil {
		return err
	}
	_, err := r.settled(ctx, path)
	return err
}

// removeStacks deletes what an interrupted run has left.
func (r *recorder) removeStacks(ctx context.Context) {
	if r.login(ctx, owner) != nil {
		return
	}
	x, err := r.do(ctx, "orchestration", request{Method: "GET", Path: "/stacks"})
	if err != nil {
		return
	}
	for _, stack := range x.list("stacks") {
		if err := r.discard(ctx, fmt.Sprintf("/stacks/%s/%s", stack["stack_name"], stack["id"])); err != nil {
			fmt.Fprintln(os.Stderr, "record:", err)
		}
	}
}

// first gives the field of the first object of a list that has the wanted values, or "".
func first(list []map[string]any, field string, want object) string {
next:
	for _, item := range list {
		for key, value := range want {
			if item[key] != value {
				continue next
			}
		}
		value, _ := item[field].(string)
		return value
	}
	return ""
}
