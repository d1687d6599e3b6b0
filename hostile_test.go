package main

import (
	"fmt"
	"net"
	"net/http"
	"strings"
	"sync"
	"syscall"
	"testing"

	"vnfm/lcm/heat/heattest"
)

// Ten thousand connections, of which one half has never sent anything and the other has fallen silent, keep nobody from working.
func TestIdleConnections(t *testing.T) {
	t.Parallel()
	const many = 10_000
	var files syscall.Rlimit
	if err := syscall.Getrlimit(syscall.RLIMIT_NOFILE, &files); err != nil || files.Cur < many+2000 {
		t.Skipf("this machine gives its users no more than %d files: %v", files.Cur, err)
	}
	c := newCluster(t, heattest.Options{})
	p := c.serve("--rate-limit", "0")
	address := strings.TrimPrefix(p.url, "http://")
	open := make([]net.Conn, many)
	var opening sync.WaitGroup
	for worker := range 8 {
		opening.Go(func() {
			for i := worker; i < many; i += 8 {
				connection, err := (&net.Dialer{}).DialContext(t.Context(), "tcp", address)
				if err != nil {
					t.Error(err)
					return
				}
				open[i] = connection
				if i%2 == 0 {
					fmt.Fprint(connection, "GET /healthz HTTP/1.1\r\nHost: vnfm.example\r\n\r\n")
				}
			}
		})
	}
	opening.Wait()
	t.Cleanup(func() {
		for _, connection := range open {
			if connection != nil {
				connection.Close()
			}
		}
	})
	if t.Failed() {
		return
	}
	c.registerVim(p)
	instance := c.instance(p)
	location := p.expect(http.StatusAccepted, http.MethodPost, instance+"/instantiate", c.instantiation(), nil).Header.Get("Location")
	p.await(location, "COMPLETED")
}

func TestLimitsThatAreOptions(t *testing.T) {
	t.Parallel()
	c := newCluster(t, heattest.Options{})
	p := c.serve("--rate-limit", "0.001", "--api-root", "https://vnfm.example/")
	p.expect(http.StatusOK, http.MethodGet, "/vnflcm/v1/api_versions", nil, nil)
	p.expect(http.StatusTooManyRequests, http.MethodGet, "/vnflcm/v1/api_versions", nil, nil)
	for host, want := range map[string]int{"vnfm.example": http.StatusOK, "evil.example": http.StatusMisdirectedRequest} {
		request, err := http.NewRequestWithContext(t.Context(), http.MethodGet, p.url+"/healthz", nil)
		if err != nil {
			t.Fatal(err)
		}
		request.Host = host
		response, err := http.DefaultClient.Do(request)
		if err != nil {
			t.Fatal(err)
		}
		response.Body.Close()
		if response.StatusCode != want {
			t.Errorf("%s: %s, want %d", host, response.Status, want)
		}
	}
}
