package main

import (
	"encoding/json"
	"fmt"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"

	"vnfm/lcm/heat/heattest"
)

// benchToken is long as those of Keystone are.
var benchToken = "gAAAAAB" + strings.Repeat("q3Vn", 44)

// startKeystone answers the question whose a token is as Keystone does.
func startKeystone(tb testing.TB) string {
	tb.Helper()
	server := httptest.NewServer(http.HandlerFunc(func(response http.ResponseWriter, request *http.Request) {
		token := request.Header.Get("X-Subject-Token")
		if request.Method != http.MethodGet || request.URL.Path != "/v3/auth/tokens" || token != benchToken {
			http.Error(response, `{"error": {"code": 404, "message": "Could not find token"}}`, http.StatusNotFound)
			return
		}
		response.Header().Set("X-Subject-Token", token)
		fmt.Fprintf(response, `{"token": {"methods": ["password"], "expires_at": %q,
			"user": {"id": "9a1c", "name": "ann", "domain": {"id": "default", "name": "Default"}},
			"project": {"id": "telco", "name": "telco", "domain": {"id": "default", "name": "Default"}},
			"roles": [{"id": "r1", "name": "member"}]}}`, time.Now().Add(time.Hour).UTC().Format("2006-01-02T15:04:05.000000Z"))
	}))
	tb.Cleanup(server.Close)
	return server.URL
}

// withToken sends a token with each request.
type withToken struct{ http.RoundTripper }

func (t withToken) RoundTrip(request *http.Request) (*http.Response, error) {
	request = request.Clone(request.Context())
	request.Header.Set("X-Auth-Token", benchToken)
	return t.RoundTripper.RoundTrip(request)
}

// BenchmarkAuthentication measures how many requests a second a server answers whose clients prove who they are with tokens of Keystone, as a
// ratio to one that asks nobody, beside it on the same rows: the median of rounds in which each has its turn. The same ratio of what they need of the
// processors does not depend on what else the machine does.
func BenchmarkAuthentication(b *testing.B) {
	c := newCluster(b, heattest.Options{})
	open := c.serve()
	closed := c.serve("--auth", "keystone", "--auth-keystone-url", startKeystone(b))
	closed.client.Transport = withToken{closed.client.Transport}
	c.registerVim(closed)
	instance := strings.TrimPrefix(c.instance(closed), closed.url)
	closed.timed(instance+"/instantiate", c.instantiation())
	connection, err := pgx.Connect(b.Context(), c.database)
	if err != nil {
		b.Fatal(err)
	}
	var vnfdID string
	if err := connection.QueryRow(b.Context(), `SELECT vnfd_id FROM vnf_instances`).Scan(&vnfdID); err != nil {
		b.Fatal(err)
	}
	_, err = connection.Exec(b.Context(), `
		INSERT INTO vnf_instances (id, project_id, name, description, vnfd_id, vnf_pkg_id, provider, product_name, software_version, vnfd_version,
			instantiation_state, created_at)
		SELECT gen_random_uuid(), project_id, 'vnf-' || n, '', vnfd_id, vnf_pkg_id, provider, product_name, software_version, vnfd_version,
			'NOT_INSTANTIATED', now() - n * interval '1 second'
		FROM vnf_instances, generate_series(1, 10000) n`)
	if err != nil {
		b.Fatal(err)
	}
	_, _ = connection.Exec(b.Context(), `ANALYZE`)
	_ = connection.Close(b.Context())
	create, err := json.Marshal(map[string]any{"vnfdId": vnfdID})
	if err != nil {
		b.Fatal(err)
	}
	for _, row := range []struct {
		name, method, path string
		body               []byte
		status, count      int
	}{
		{"GET-one", http.MethodGet, instance, nil, http.StatusOK, 1600},
		{"GET-page", http.MethodGet, instancesPath, nil, http.StatusOK, 400},
		{"POST", http.MethodPost, instancesPath, create, http.StatusCreated, 800},
	} {
		b.Run(row.name, func(b *testing.B) {
			for b.Loop() {
				perSecond := func(p *process, count int) float64 {
					found, _ := load(b, count, func(client *http.Client, _ int) error {
						if p == closed {
							client = &http.Client{Transport: withToken{client.Transport}}
						}
						return fetch(b.Context(), client, row.method, p.url+row.path, row.body, row.status)
					})
					return found
				}
				perSecond(open, row.count/4)
				perSecond(closed, row.count/4)
				const rounds = 9
				var on, ratios []float64
				openBefore, closedBefore := open.processorTime(), closed.processorTime()
				for range rounds {
					without := perSecond(open, row.count)
					with := perSecond(closed, row.count)
					on, ratios = append(on, with), append(ratios, with/without)
				}
				slices.Sort(on)
				slices.Sort(ratios)
				b.ReportMetric(on[rounds/2], "req/s")
				b.ReportMetric(ratios[rounds/2], "of-open")
				b.ReportMetric((open.processorTime()-openBefore)/(closed.processorTime()-closedBefore), "cpu-of-open")
			}
		})
	}
}
