//go:build e2e

package e2e

import (
	"bytes"
	"encoding/json"
	"io"
	"net/http"
	"strings"
	"testing"
	"time"
)

const baseURL = "http://127.0.0.1:9890"

// answer is a response of vnfm.
type answer struct {
	status int
	header http.Header
	body   []byte
}

// call sends a request to vnfm. A body of bytes is a CSAR, anything else is sent as JSON.
func call(t *testing.T, method, path string, body any) answer {
	t.Helper()
	var reader io.Reader
	contentType := "application/json"
	switch b := body.(type) {
	case nil:
	case []byte:
		reader, contentType = bytes.NewReader(b), "application/zip"
	default:
		data, err := json.Marshal(b)
		if err != nil {
			t.Fatal(err)
		}
		reader = bytes.NewReader(data)
	}
	// Not t.Context(): cleanups call this too.
	request, err := http.NewRequest(method, baseURL+strings.TrimPrefix(path, baseURL), reader)
	if err != nil {
		t.Fatal(err)
	}
	request.Header.Set("X-Auth-Token", token(t))
	if reader != nil {
		request.Header.Set("Content-Type", contentType)
	}
	if strings.Contains(path, "/vnflcm/") {
		request.Header.Set("Version", "1.3.0")
	}
	response, err := (&http.Client{Timeout: 2 * time.Minute}).Do(request)
	if err != nil {
		t.Fatal(err)
	}
	defer response.Body.Close()
	data, err := io.ReadAll(response.Body)
	if err != nil {
		t.Fatalf("%s %s: %v", method, path, err)
	}
	return answer{response.StatusCode, response.Header, data}
}

// expect is call for a request that has to be answered with the status.
func expect(t *testing.T, status int, method, path string, body any) answer {
	t.Helper()
	a := call(t, method, path, body)
	if a.status != status {
		t.Fatalf("%s %s: status %d, want %d\n%s", method, path, a.status, status, a.body)
	}
	return a
}

// read gets a resource of vnfm.
func read[T any](t *testing.T, path string) T {
	t.Helper()
	var value T
	a := expect(t, http.StatusOK, http.MethodGet, path, nil)
	if err := json.Unmarshal(a.body, &value); err != nil {
		t.Fatalf("GET %s: %v\n%s", path, err, a.body)
	}
	return value
}

// problem is the problem document of a refusal.
type problem struct {
	Status int    `json:"status"`
	Detail string `json:"detail"`
}

func (a answer) problem(t *testing.T) problem {
	t.Helper()
	var p problem
	if err := json.Unmarshal(a.body, &p); err != nil || p.Status != a.status || p.Detail == "" {
		t.Fatalf("status %d without a problem document: %s", a.status, a.body)
	}
	if kind := a.header.Get("Content-Type"); !strings.HasPrefix(kind, "application/problem+json") {
		t.Errorf("a problem document is sent as %s", kind)
	}
	return p
}

// eventually asks again and again until the condition holds; what is what it waits for.
func eventually(t *testing.T, what string, condition func() bool) {
	t.Helper()
	for deadline := time.Now().Add(10 * time.Minute); !condition(); time.Sleep(200 * time.Millisecond) {
		if time.Now().After(deadline) {
			t.Fatalf("after 10 minutes still not: %s", what)
		}
	}
}
