package main

import (
	"bytes"
	"compress/gzip"
	"encoding/hex"
	"io"
	"net/http"
	"net/http/httptest"
	"path"
	"strings"
	"sync"
	"testing"
	"time"

	collector "go.opentelemetry.io/proto/otlp/collector/trace/v1"
	otlp "go.opentelemetry.io/proto/otlp/trace/v1"
	"google.golang.org/protobuf/proto"

	"vnfm/lcm/heat/heattest"
)

// spans are what an OpenTelemetry collector has got.
type spans struct {
	*httptest.Server
	mu    sync.Mutex
	raw   bytes.Buffer
	found []*otlp.Span
}

func startCollector(t *testing.T) *spans {
	t.Helper()
	s := &spans{}
	s.Server = httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		body := io.Reader(r.Body)
		if r.Header.Get("Content-Encoding") == "gzip" {
			var err error
			if body, err = gzip.NewReader(r.Body); err != nil {
				t.Error(err)
				return
			}
		}
		content, err := io.ReadAll(body)
		var request collector.ExportTraceServiceRequest
		if err != nil || r.URL.Path != "/v1/traces" || proto.Unmarshal(content, &request) != nil {
			t.Errorf("%s is no request with traces: %v", r.URL.Path, err)
		}
		s.mu.Lock()
		defer s.mu.Unlock()
		s.raw.Write(content)
		for _, resource := range request.ResourceSpans {
			for _, scope := range resource.ScopeSpans {
				s.found = append(s.found, scope.Spans...)
			}
		}
	}))
	t.Cleanup(s.Close)
	return s
}

// of returns the spans of a trace with that name.
func (s *spans) of(trace, name string) []*otlp.Span {
	s.mu.Lock()
	defer s.mu.Unlock()
	var of []*otlp.Span
	for _, span := range s.found {
		if hex.EncodeToString(span.TraceId) == trace && span.Name == name {
			of = append(of, span)
		}
	}
	return of
}

// TestTraceFollowsAnOperationThroughProcesses has a client with a trace of its own start an operation, which two processes carry out.
func TestTraceFollowsAnOperationThroughProcesses(t *testing.T) {
	t.Parallel()
	const trace, span = "4bf92f3577b34da6a3ce929d0e0e4736", "00f067aa0ba902b7"
	gathered := startCollector(t)
	c := newCluster(t, heattest.Options{Delays: heattest.Delays{"OS::Nova::Server": {Create: 4 * time.Second}}})
	first := c.serve("--otlp-endpoint", gathered.URL)
	c.registerVim(first)
	instance := c.instance(first)
	first.client.Transport = traced{first.client.Transport, "00-" + trace + "-" + span + "-01"}
	location := first.expect(http.StatusAccepted, http.MethodPost, instance+"/instantiate", c.instantiation(), nil).Header.Get("Location")
	first.await(location, "PROCESSING")
	first.until("waiting for Heat", func() bool { return strings.Contains(first.log.String(), "step=create_stack") })
	first.terminate()
	second := c.serve("--otlp-endpoint", gathered.URL)
	second.await(location, "COMPLETED")
	second.terminate()

	requests := gathered.of(trace, "POST /vnflcm/v1/vnf_instances/:vnfInstanceId/instantiate")
	if len(requests) != 1 || hex.EncodeToString(requests[0].ParentSpanId) != span {
		t.Fatalf("spans of the request: %v", requests)
	}
	runs := gathered.of(trace, "operation INSTANTIATE")
	if len(runs) < 2 {
		t.Fatalf("%d runs of two processes are in the trace", len(runs))
	}
	of := map[string]bool{}
	for _, run := range runs {
		of[string(run.SpanId)] = true
		if !bytes.Equal(run.ParentSpanId, requests[0].SpanId) {
			t.Errorf("the run is not part of the request: %v", run)
		}
	}
	for name, least := range map[string]int{"step create_stack": 1, "step await_stack": 2} {
		steps := gathered.of(trace, name)
		if len(steps) < least {
			t.Errorf("%d spans %s, want %d", len(steps), name, least)
		}
		for _, step := range steps {
			if !of[string(step.ParentSpanId)] {
				t.Errorf("the step is not part of a run: %v", step)
			}
		}
	}
	for of, p := range map[string]*process{"/instantiate status=202": first, `msg="step done"`: second, `msg="operation state changed"`: second} {
		told := 0
		for line := range strings.Lines(p.log.String()) {
			if strings.Contains(line, of) && strings.Contains(line, path.Base(location)) {
				told++
				if !strings.Contains(line, "trace_id="+trace+" span_id=") {
					t.Errorf("a line of the log does not tell of its span: %s", line)
				}
			}
		}
		if told == 0 {
			t.Errorf("the log has no line with %s", of)
		}
	}
	if calls := gathered.of(trace, "Heat POST"); len(calls) != 1 {
		t.Errorf("%d spans of the creation of one stack", len(calls))
	}
	for _, secret := range []string{"streng-geheim", c.cloud.Account().Password} {
		if bytes.Contains(gathered.raw.Bytes(), []byte(secret)) {
			t.Errorf("the traces hold %q", secret)
		}
	}
}

// traced sends the span that requests are part of.
type traced struct {
	http.RoundTripper
	parent string
}

func (t traced) RoundTrip(request *http.Request) (*http.Response, error) {
	request = request.Clone(request.Context())
	request.Header.Set("Traceparent", t.parent)
	return t.RoundTripper.RoundTrip(request)
}

// TestCollectorThatIsAwayHoldsNobodyUp names a collector that nobody answers at.
func TestCollectorThatIsAwayHoldsNobodyUp(t *testing.T) {
	t.Parallel()
	c := newCluster(t, heattest.Options{})
	p := c.serve("--otlp-endpoint", "http://"+freeAddress(t))
	c.registerVim(p)
	c.instance(p)
	p.terminate()
	if !strings.Contains(p.log.String(), "traces are not delivered") {
		t.Error("nobody is told that traces are lost")
	}
}
