package main

import (
	"bytes"
	"context"
	"crypto/sha256"
	"encoding/json"
	"fmt"
	"io"
	"math/rand"
	"net"
	"net/http"
	"net/netip"
	"net/url"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/google/uuid"
	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgxpool"
	"github.com/labstack/echo/v4"

	"vnfm/lcm/heat/heattest"
)

const clients = 8

// load sends requests with several clients at once and returns how many were answered in a second, and the 99th percentile of the time
// that one took.
func load(b *testing.B, count int, send func(client *http.Client, i int) error) (perSecond float64, p99 time.Duration) {
	b.Helper()
	var group sync.WaitGroup
	took := make([]time.Duration, count)
	began := time.Now()
	for worker := range clients {
		group.Go(func() {
			client := &http.Client{Transport: &http.Transport{MaxIdleConnsPerHost: 1}}
			for i := worker; i < count; i += clients {
				start := time.Now()
				if err := send(client, i); err != nil {
					b.Error(err)
					return
				}
				took[i] = time.Since(start)
			}
		})
	}
	group.Wait()
	elapsed := time.Since(began)
	slices.Sort(took)
	return float64(count) / elapsed.Seconds(), took[count*99/100]
}

func fetch(ctx context.Context, client *http.Client, method, url string, body []byte, status int) error {
	request, err := http.NewRequestWithContext(ctx, method, url, bytes.NewReader(body))
	if err != nil {
		return err
	}
	if body != nil {
		request.Header.Set("Content-Type", "application/json")
	}
	response, err := client.Do(request)
	if err != nil {
		return err
	}
	defer response.Body.Close()
	if _, err := io.Copy(io.Discard, response.Body); err != nil {
		return err
	}
	if response.StatusCode != status {
		return fmt.Errorf("%s %s: %s", method, url, response.Status)
	}
	return nil
}

// bareServer answers the same questions with a bare query behind echo: what the database and HTTP cost at the least.
func bareServer(b *testing.B, databaseURL string) string {
	b.Helper()
	pool, err := pgxpool.New(b.Context(), databaseURL)
	if err != nil {
		b.Fatal(err)
	}
	b.Cleanup(pool.Close)
	server := echo.New()
	answer := func(c echo.Context, query string, args ...any) error {
		rows, err := pool.Query(c.Request().Context(), query, args...)
		if err != nil {
			return err
		}
		found, err := pgx.CollectRows(rows, pgx.RowToMap)
		if err != nil {
			return err
		}
		return c.JSON(http.StatusOK, found)
	}
	server.GET("/one/:id", func(c echo.Context) error {
		return answer(c, `SELECT * FROM vnf_instances WHERE id = $1`, c.Param("id"))
	})
	server.GET("/page", func(c echo.Context) error {
		return answer(c, `SELECT id, name, description, vnfd_id, provider, product_name, software_version, vnfd_version, instantiation_state
			FROM vnf_instances ORDER BY created_at, id LIMIT 100`)
	})
	server.POST("/one", func(c echo.Context) error {
		return answer(c, `INSERT INTO vnf_instances (id, name, description, vnfd_id, vnf_pkg_id, provider, product_name, software_version,
			vnfd_version, instantiation_state)
			SELECT gen_random_uuid(), name, description, vnfd_id, vnf_pkg_id, provider, product_name, software_version, vnfd_version,
				'NOT_INSTANTIATED' FROM vnf_instances LIMIT 1 RETURNING *`)
	})
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		b.Fatal(err)
	}
	serving := &http.Server{Handler: server, ReadHeaderTimeout: time.Minute}
	go func() { _ = serving.Serve(listener) }()
	b.Cleanup(func() { _ = serving.Close() })
	return "http://" + listener.Addr().String()
}

// BenchmarkAPI measures GET of one instantiated VNF instance, GET of a page of 100 out of 10,000, and POST, each as a ratio to a bare query
// of the same rows behind echo, with 8 clients in one run.
func BenchmarkAPI(b *testing.B) {
	c := newCluster(b, heattest.Options{})
	p := c.serve()
	c.registerVim(p)
	instance := c.instance(p)
	p.timed(instance+"/instantiate", c.instantiation())
	connection, err := pgx.Connect(b.Context(), c.database)
	if err != nil {
		b.Fatal(err)
	}
	_, err = connection.Exec(b.Context(), `
		INSERT INTO vnf_instances (id, name, description, vnfd_id, vnf_pkg_id, provider, product_name, software_version, vnfd_version,
			instantiation_state, created_at)
		SELECT gen_random_uuid(), 'vnf-' || n, '', vnfd_id, vnf_pkg_id, provider, product_name, software_version, vnfd_version,
			'NOT_INSTANTIATED', now() - n * interval '1 second'
		FROM vnf_instances, generate_series(1, 10000) n`)
	if err != nil {
		b.Fatal(err)
	}
	var vnfdID string
	if err := connection.QueryRow(b.Context(), `SELECT vnfd_id FROM vnf_instances LIMIT 1`).Scan(&vnfdID); err != nil {
		b.Fatal(err)
	}
	_, _ = connection.Exec(b.Context(), `ANALYZE`)
	_ = connection.Close(b.Context())
	bare := bareServer(b, c.database)
	id := instance[strings.LastIndex(instance, "/")+1:]
	create, err := json.Marshal(map[string]any{"vnfdId": vnfdID})
	if err != nil {
		b.Fatal(err)
	}
	for _, row := range []struct {
		name, method, path, bare string
		body                     []byte
		status, count            int
	}{
		{"GET-one", http.MethodGet, instance, "/one/" + id, nil, http.StatusOK, 8000},
		{"GET-page", http.MethodGet, "/vnflcm/v1/vnf_instances", "/page", nil, http.StatusOK, 2000},
		{"POST", http.MethodPost, "/vnflcm/v1/vnf_instances", "/one", create, http.StatusCreated, 4000},
	} {
		b.Run(row.name, func(b *testing.B) {
			for b.Loop() {
				ours := func(client *http.Client, _ int) error {
					return fetch(b.Context(), client, row.method, p.url+row.path, row.body, row.status)
				}
				least := func(client *http.Client, _ int) error {
					return fetch(b.Context(), client, row.method, bare+row.bare, row.body, http.StatusOK)
				}
				load(b, row.count/10, ours)
				load(b, row.count/10, least)
				perSecond, p99 := load(b, row.count, ours)
				barePerSecond, bareP99 := load(b, row.count, least)
				b.ReportMetric(perSecond, "req/s")
				b.ReportMetric(perSecond/barePerSecond, "of-bare")
				b.ReportMetric(float64(p99.Microseconds())/1000, "p99-ms")
				b.ReportMetric(float64(bareP99.Microseconds())/1000, "bare-p99-ms")
			}
		})
	}
}

// BenchmarkFilters measures a page of 100 out of 100,000 VNF instances with a filter on a key of the metadata, on a nested attribute and on
// others, as a ratio to the page without a filter.
func BenchmarkFilters(b *testing.B) {
	c := newCluster(b, heattest.Options{})
	p := c.serve()
	c.registerVim(p)
	p.timed(c.instance(p)+"/instantiate", c.instantiation())
	connection, err := pgx.Connect(b.Context(), c.database)
	if err != nil {
		b.Fatal(err)
	}
	for _, statement := range []string{`
		INSERT INTO vnf_instances (id, name, description, vnfd_id, vnf_pkg_id, provider, product_name, software_version, vnfd_version,
			instantiation_state, instantiated_vnf_info, metadata, created_at)
		SELECT gen_random_uuid(), 'vnf-' || n, '', vnfd_id, vnf_pkg_id, provider, product_name, software_version, vnfd_version,
			'INSTANTIATED', jsonb_set(instantiated_vnf_info, '{vnfcResourceInfo,0,computeResource,resourceId}', to_jsonb('server-' || n % 500)),
			jsonb_build_object('site', 'site-' || n % 500, 'rack', n % 40), now() - n * interval '1 second'
		FROM vnf_instances, generate_series(1, 100000) n`, `VACUUM ANALYZE vnf_instances`} {
		if _, err := connection.Exec(b.Context(), statement); err != nil {
			b.Fatal(err)
		}
	}
	_ = connection.Close(b.Context())
	for _, row := range []struct{ name, filter string }{
		{"metadata", "(eq,metadata/site,site-7)"},
		{"nested", "(eq,instantiatedVnfInfo/vnfcResourceInfo/computeResource/resourceId,server-7)"},
		{"provider-nobody", "(eq,vnfProvider,nobody)"},
		{"name", "(eq,vnfInstanceName,vnf-7)"},
		{"part-of-name", "(cont,vnfInstanceName,77)"},
	} {
		b.Run(row.name, func(b *testing.B) {
			for b.Loop() {
				const count = 1000
				get := func(query string) func(client *http.Client, _ int) error {
					return func(client *http.Client, _ int) error {
						return fetch(b.Context(), client, http.MethodGet, p.url+"/vnflcm/v1/vnf_instances"+query, nil, http.StatusOK)
					}
				}
				filtered := "?filter=" + url.QueryEscape(row.filter)
				load(b, count/10, get(filtered))
				load(b, count/10, get(""))
				_, p99 := load(b, count, get(filtered))
				_, plain := load(b, count, get(""))
				b.ReportMetric(float64(p99.Microseconds())/1000, "p99-ms")
				b.ReportMetric(float64(p99)/float64(plain), "of-unfiltered")
			}
		})
	}
}

// BenchmarkOverhead measures how much longer instantiate and terminate take, from the request to COMPLETED, than Heat itself takes for the
// same stack: the median of several runs.
func BenchmarkOverhead(b *testing.B) {
	for _, delay := range []time.Duration{0, time.Second, 10 * time.Second} {
		b.Run(delay.String(), func(b *testing.B) {
			delays := heattest.Delays{"OS::Nova::Server": {Create: delay, Delete: delay}}
			c := newCluster(b, heattest.Options{Delays: delays})
			p := c.serve()
			c.registerVim(p)
			instance := c.instance(p)
			for b.Loop() {
				runs := 7
				if delay > time.Second {
					runs = 3
				}
				var instantiate, terminate []float64
				for range runs {
					// Servers are made at once, and deleted at once, so Heat's own time is the delay.
					instantiate = append(instantiate, p.timed(instance+"/instantiate", c.instantiation())-delay.Seconds())
					terminate = append(terminate, p.timed(instance+"/terminate", map[string]any{"terminationType": "FORCEFUL"})-delay.Seconds())
				}
				slices.Sort(instantiate)
				slices.Sort(terminate)
				b.ReportMetric(instantiate[runs/2], "instantiate-s")
				b.ReportMetric(terminate[runs/2], "terminate-s")
			}
		})
	}
}

// BenchmarkOverheadOfChanges measures how much longer the operations on a running VNF take than Heat itself: the median of several runs.
func BenchmarkOverheadOfChanges(b *testing.B) {
	for _, delay := range []time.Duration{0, 5 * time.Second} {
		b.Run(delay.String(), func(b *testing.B) {
			c := newCluster(b, heattest.Options{Delays: heattest.Delays{"OS::Nova::Server": {Create: delay, Delete: delay}}})
			p := c.serve()
			c.registerVim(p)
			instance := c.instance(p)
			p.timed(instance+"/instantiate", c.instantiation())
			var shown struct {
				InstantiatedVnfInfo struct {
					VnfcResourceInfo []struct{ ID, VduID string }
				}
			}
			p.expect(http.StatusOK, http.MethodGet, instance, nil, &shown)
			heal := map[string]any{"vnfcInstanceId": shown.InstantiatedVnfInfo.VnfcResourceInfo[0].ID}
			scale := func(direction string) map[string]any {
				return map[string]any{"type": direction, "aspectId": "worker_group"}
			}
			connect := func(network string) map[string]any {
				return map[string]any{"extVirtualLinks": []any{map[string]any{"id": network, "resourceId": c.cloud.NetworkID(network),
					"extCps": []any{map[string]any{"cpdId": "controller_CP2", "cpConfig": []any{map[string]any{}}}}}}}
			}
			for b.Loop() {
				const runs = 3
				took := map[string][]float64{}
				// waits is how many of Heat's delays, one after the other, an operation has in it.
				measure := func(name, task string, body any, waits int) {
					// Heat tells the time of an update in whole seconds: one that follows within the same second is waited for longer.
					time.Sleep(1100 * time.Millisecond)
					took[name] = append(took[name], p.timed(instance+"/"+task, body)-float64(waits)*delay.Seconds())
				}
				for range runs {
					measure("scale-out", "scale", scale("SCALE_OUT"), 1)
					measure("scale-in", "scale", scale("SCALE_IN"), 1)
					measure("heal", "heal", heal, 2) // the new server is made before the old one is deleted
					measure("change_ext_conn", "change_ext_conn", connect("net_mgmt"), 0)
					measure("change_ext_conn", "change_ext_conn", connect("net1"), 0)
				}
				measure("terminate", "terminate", map[string]any{"terminationType": "FORCEFUL"}, 1)
				for name, seconds := range took {
					slices.Sort(seconds)
					b.ReportMetric(seconds[len(seconds)/2], name+"-s")
				}
			}
		})
	}
}

// BenchmarkThousandOperations instantiates 1,000 VNFs at once, of which each takes Heat 10 s, as a ratio to the time that Heat's delay and
// the number of operations at once allow; with the memory and the processor time of the server.
func BenchmarkThousandOperations(b *testing.B) {
	const count, atOnce, delay = 1000, 200, 10 * time.Second
	c := newCluster(b, heattest.Options{
		Delays: heattest.Delays{"OS::Nova::Server": {Create: delay}},
		Networks: []heattest.Network{ // with addresses for all
			{Name: "net0", CIDR: netip.MustParsePrefix("10.10.0.0/16")}, {Name: "net1", CIDR: netip.MustParsePrefix("10.11.0.0/16")},
		},
	})
	p := c.serve()
	c.registerVim(p)
	instances := []string{c.instance(p)}
	var first struct{ VnfdID string }
	p.expect(http.StatusOK, http.MethodGet, instances[0], nil, &first)
	for len(instances) < count {
		instances = append(instances, p.expect(http.StatusCreated, http.MethodPost, "/vnflcm/v1/vnf_instances",
			map[string]any{"vnfdId": first.VnfdID}, nil).Header.Get("Location"))
	}
	for b.Loop() {
		began := time.Now()
		operations := make([]string, count)
		for i, instance := range instances {
			operations[i] = p.expect(http.StatusAccepted, http.MethodPost, instance+"/instantiate", c.instantiation(), nil).Header.Get("Location")
		}
		for _, operation := range operations {
			p.await(operation, "COMPLETED")
		}
		took := time.Since(began)
		bound := delay * time.Duration((count+atOnce-1)/atOnce)
		b.ReportMetric(took.Seconds(), "s")
		b.ReportMetric(took.Seconds()/bound.Seconds(), "of-bound")
		b.ReportMetric(p.memory("VmHWM"), "peak-MB")
		b.ReportMetric(p.processorTime(), "cpu-s")
	}
}

// processorTime is what the process has used of the processors, in seconds.
func (p *process) processorTime() float64 {
	p.t.Helper()
	stat, err := os.ReadFile(fmt.Sprintf("/proc/%d/stat", p.command.Process.Pid))
	if err != nil {
		p.t.Fatal(err)
	}
	// The name of the program, in parentheses, may hold spaces; utime and stime are the 12th and 13th fields after it.
	fields := strings.Fields(string(stat[bytes.LastIndexByte(stat, ')')+1:]))
	user, userErr := strconv.ParseFloat(fields[11], 64)
	system, systemErr := strconv.ParseFloat(fields[12], 64)
	if userErr != nil || systemErr != nil {
		p.t.Fatalf("/proc/pid/stat: %s", stat)
	}
	const ticksPerSecond = 100
	return (user + system) / ticksPerSecond
}

// timed carries an operation out and returns the seconds that it took, to the state as the server recorded it.
func (p *process) timed(path string, body any) float64 {
	p.t.Helper()
	location := p.expect(http.StatusAccepted, http.MethodPost, path, body, nil).Header.Get("Location")
	p.await(location, "COMPLETED")
	var times struct{ StartTime, StateEnteredTime time.Time }
	p.expect(http.StatusOK, http.MethodGet, location, nil, &times)
	return times.StateEnteredTime.Sub(times.StartTime).Seconds()
}

// BenchmarkUpload uploads a CSAR of 1 GiB, as a ratio to writing the same bytes to a file with SHA-256, and tells the server's peak memory.
func BenchmarkUpload(b *testing.B) {
	const size = 1 << 30
	c := newCluster(b, heattest.Options{})
	p := c.serve()
	block := make([]byte, 1<<20)
	rand.New(rand.NewSource(1)).Read(block)
	content := func() io.Reader { return io.LimitReader(&repeating{block: block}, size) }
	for b.Loop() {
		file, err := os.Create(filepath.Join(b.TempDir(), "csar"))
		if err != nil {
			b.Fatal(err)
		}
		began := time.Now()
		digest := sha256.New()
		if _, err := io.Copy(io.MultiWriter(file, digest), content()); err != nil {
			b.Fatal(err)
		}
		if err := file.Sync(); err != nil {
			b.Fatal(err)
		}
		_ = file.Close()
		written := time.Since(began)
		_ = os.Remove(file.Name())

		pkg := p.expect(http.StatusCreated, http.MethodPost, "/vnfpkgm/v1/vnf_packages", map[string]any{}, nil).Header.Get("Location")
		began = time.Now()
		request, err := http.NewRequestWithContext(b.Context(), http.MethodPut, p.url+pkg+"/package_content", content())
		if err != nil {
			b.Fatal(err)
		}
		request.Header.Set("Content-Type", "application/zip")
		response, err := http.DefaultClient.Do(request)
		if err != nil {
			b.Fatal(err)
		}
		response.Body.Close()
		if response.StatusCode != http.StatusAccepted {
			b.Fatal(response.Status)
		}
		uploaded := time.Since(began)
		b.ReportMetric(size/1e6/uploaded.Seconds(), "MB/s")
		b.ReportMetric(written.Seconds()/uploaded.Seconds(), "of-file")
		b.ReportMetric(p.memory("VmHWM"), "peak-MB")
	}
}

// repeating is an endless reader.
type repeating struct {
	block []byte
	at    int
}

func (r *repeating) Read(p []byte) (int, error) {
	n := copy(p, r.block[r.at:])
	r.at = (r.at + n) % len(r.block)
	return n, nil
}

// memory is a figure of the process in /proc, in MB.
func (p *process) memory(field string) float64 {
	p.t.Helper()
	status, err := os.ReadFile(fmt.Sprintf("/proc/%d/status", p.command.Process.Pid))
	if err != nil {
		p.t.Fatal(err)
	}
	for line := range strings.Lines(string(status)) {
		if value, ok := strings.CutPrefix(line, field+":"); ok {
			kib, err := strconv.ParseFloat(strings.Fields(value)[0], 64)
			if err != nil {
				p.t.Fatal(err)
			}
			return kib * 1024 / 1e6
		}
	}
	p.t.Fatalf("/proc has no %s", field)
	return 0
}

// BenchmarkStart measures the start of the built binary with an empty private database until it is ready, its size, and its memory idle.
func BenchmarkStart(b *testing.B) {
	binary := filepath.Join(b.TempDir(), "vnfm")
	build := exec.CommandContext(b.Context(), "go", "build", "-trimpath", "-ldflags", "-s -w", "-o", binary, ".")
	if output, err := build.CombinedOutput(); err != nil {
		b.Fatalf("%v: %s", err, output)
	}
	info, err := os.Stat(binary)
	if err != nil {
		b.Fatal(err)
	}
	for b.Loop() {
		p := &process{t: b, log: &journal{}, url: "http://" + freeAddress(b), ended: make(chan error, 1)}
		data := filepath.Join(os.TempDir(), "vnfm-bench-"+uuid.NewString())
		p.command = exec.CommandContext(b.Context(), binary, "serve", "--listen", strings.TrimPrefix(p.url, "http://"), "--data-dir", data)
		p.command.Stderr = p.log
		began := time.Now()
		if err := p.command.Start(); err != nil {
			b.Fatal(err)
		}
		go func() { p.ended <- p.command.Wait() }()
		p.until("ready", func() bool {
			return fetch(b.Context(), http.DefaultClient, http.MethodGet, p.url+"/readyz", nil, http.StatusOK) == nil
		})
		ready := time.Since(began)
		time.Sleep(3 * time.Second)
		b.ReportMetric(ready.Seconds(), "ready-s")
		b.ReportMetric(p.memory("VmRSS"), "idle-MB")
		b.ReportMetric(float64(info.Size())/1e6, "binary-MB")
		p.terminate()
		_ = os.RemoveAll(data)
	}
}
