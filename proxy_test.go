package main

import (
	"io"
	"net/http"
	"os"
	"os/exec"
	"strings"
	"sync"
	"sync/atomic"
	"syscall"
	"testing"
	"time"

	"vnfm/lcm/heat/heattest"
)

// proxy starts HAProxy with the configuration of the project before two servers.
func (c *cluster) proxy(first, second string) (url string) {
	c.t.Helper()
	program, err := exec.LookPath("haproxy")
	if err != nil {
		program = "/usr/sbin/haproxy"
	}
	if _, err := os.Stat(program); err != nil {
		c.t.Skip("HAProxy is not installed")
	}
	listen := freeAddress(c.t)
	cmd := exec.CommandContext(c.t.Context(), program, "-db", "-f", "deploy/haproxy.cfg")
	cmd.Env = append(os.Environ(), "VNFM_PROXY_LISTEN="+listen, "VNFM_1="+first, "VNFM_2="+second)
	cmd.SysProcAttr = &syscall.SysProcAttr{Pdeathsig: syscall.SIGKILL}
	log := &journal{}
	cmd.Stdout, cmd.Stderr = log, log
	if err := cmd.Start(); err != nil {
		c.t.Fatal(err)
	}
	c.t.Cleanup(func() {
		_ = cmd.Process.Kill()
		_ = cmd.Wait()
		if c.t.Failed() {
			c.t.Logf("log of the proxy:\n%s", log)
		}
	})
	return "http://" + listen
}

// at starts a server at an address.
func (c *cluster) at(address string) *process {
	c.t.Helper()
	return c.serve("--listen", address, "--drain-delay", "8s")
}

// TestRollingRestartBehindTheProxy restarts both servers, one after the other, while clients call through the proxy. No request fails.
func TestRollingRestartBehindTheProxy(t *testing.T) {
	t.Parallel()
	c := newCluster(t, heattest.Options{})
	addresses := []string{freeAddress(t), freeAddress(t)}
	url := c.proxy(addresses[0], addresses[1])
	servers := []*process{c.at(addresses[0]), c.at(addresses[1])}
	get := func(path string) int {
		response, err := http.Get(url + path)
		if err != nil {
			return 0
		}
		defer response.Body.Close()
		_, _ = io.Copy(io.Discard, response.Body)
		return response.StatusCode
	}
	servers[0].until("reached through the proxy", func() bool { return get("/readyz") == http.StatusOK })
	if status := get("/metrics"); status != http.StatusNotFound {
		t.Errorf("the proxy answers for /metrics with %d, which would be those of any server", status)
	}

	stop, answered := make(chan struct{}), atomic.Int64{}
	var clients sync.WaitGroup
	for range 4 {
		clients.Go(func() {
			for {
				select {
				case <-stop:
					return
				case <-time.After(5 * time.Millisecond):
				}
				response, err := http.Post(url+"/vnfpkgm/v1/vnf_packages", "application/json", strings.NewReader(`{}`))
				if err != nil {
					t.Error(err)
					continue
				}
				response.Body.Close()
				if response.StatusCode != http.StatusCreated {
					t.Errorf("POST: %s", response.Status)
				}
				if status := get("/vnflcm/v1/vnf_instances"); status != http.StatusOK {
					t.Errorf("GET: %d", status)
				}
				answered.Add(2)
			}
		})
	}
	more := func(p *process) {
		before := answered.Load()
		p.until("busy", func() bool { return answered.Load() >= before+20 })
	}
	for i := range servers {
		more(servers[i])
		servers[i].terminate()
		servers[i] = c.at(addresses[i])
		// The proxy has to know that it is back before the other one goes.
		servers[i].until("asked by the proxy", func() bool {
			return servers[i].metrics().value[`vnfm_http_request_duration_seconds_count{method="GET",route="/vnflcm/v1/vnf_instances",status="200"}`] > 0
		})
	}
	more(servers[0])
	close(stop)
	clients.Wait()
	t.Logf("%d requests were answered", answered.Load())
}
