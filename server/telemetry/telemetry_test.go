package telemetry_test

import (
	"log/slog"
	"net/http"
	"net/http/httptest"
	"testing"

	"vnfm/server/telemetry"
)

// TestNothingIsTracedUnlessAskedFor counts on what is stored with operations: where nothing is traced that is nothing.
func TestNothingIsTracedUnlessAskedFor(t *testing.T) {
	for _, name := range []string{"OTEL_EXPORTER_OTLP_ENDPOINT", "OTEL_EXPORTER_OTLP_TRACES_ENDPOINT", "OTEL_SDK_DISABLED", "OTEL_TRACES_EXPORTER"} {
		t.Setenv(name, "")
	}
	collector := httptest.NewServer(http.NotFoundHandler())
	defer collector.Close()
	for _, row := range []struct {
		name    string
		options telemetry.TraceOptions
		env     map[string]string
		traced  bool
	}{
		{"nothing said", telemetry.TraceOptions{}, nil, false},
		{"an option", telemetry.TraceOptions{Endpoint: collector.URL}, nil, true},
		{"the variable of OpenTelemetry", telemetry.TraceOptions{}, map[string]string{"OTEL_EXPORTER_OTLP_ENDPOINT": collector.URL}, true},
		{"the variable for traces", telemetry.TraceOptions{}, map[string]string{"OTEL_EXPORTER_OTLP_TRACES_ENDPOINT": collector.URL}, true},
		{"switched off", telemetry.TraceOptions{Endpoint: collector.URL}, map[string]string{"OTEL_SDK_DISABLED": "true"}, false},
		{"never sampled", telemetry.TraceOptions{Endpoint: collector.URL}, map[string]string{"OTEL_TRACES_SAMPLER": "always_off"}, false},
	} {
		t.Run(row.name, func(t *testing.T) {
			for name, value := range row.env {
				t.Setenv(name, value)
			}
			measured := telemetry.New("1")
			if err := measured.Trace(t.Context(), row.options, slog.New(slog.DiscardHandler)); err != nil {
				t.Fatal(err)
			}
			request := httptest.NewRequestWithContext(t.Context(), http.MethodPost, "/v1.0/vims", http.NoBody)
			ctx, end := measured.Request(request, http.MethodPost, "/v1.0/vims")
			end(http.StatusCreated)
			if parent := telemetry.TraceParent(ctx); (len(parent) > 2 && parent[len(parent)-2:] == "01") != row.traced {
				t.Errorf("trace parent %q", parent)
			}
			_ = measured.Close(t.Context()) // nobody takes the span
		})
	}
}

func TestWrongEndpointIsNamed(t *testing.T) {
	for _, endpoint := range []string{"127.0.0.1:4318", "ftp://collector", "http://"} {
		if err := telemetry.New("1").Trace(t.Context(), telemetry.TraceOptions{Endpoint: endpoint}, slog.Default()); err == nil {
			t.Errorf("%s is taken for an address", endpoint)
		}
	}
}
