package main

import (
	"net/http"
	"net/http/httptest"
	"net/http/httputil"
	"net/url"
	"strings"
	"sync"
	"sync/atomic"
	"testing"

	"vnfm/api/peer/peertest"
	"vnfm/lcm/heat/heattest"
	"vnfm/samples"
)

// nfvo is an NFVO that has a package: another server of ours, behind a login. The content comes when release is closed.
type nfvo struct {
	*httptest.Server
	vnfdID, pkgID string
	downloads     atomic.Int32
	asked         chan struct{} // a download was asked for
	release       chan struct{}
}

func newNFVO(t *testing.T) *nfvo {
	t.Helper()
	p := newCluster(t, heattest.Options{}).serve()
	pkg := p.onboard(samples.TwoVdu())
	n := &nfvo{vnfdID: pkg.VnfdID, pkgID: pkg.ID, asked: make(chan struct{}, 10), release: make(chan struct{})}
	target, err := url.Parse(p.url)
	if err != nil {
		t.Fatal(err)
	}
	proxy := httputil.NewSingleHostReverseProxy(target)
	n.Server = httptest.NewServer(http.HandlerFunc(func(response http.ResponseWriter, request *http.Request) {
		if user, password, _ := request.BasicAuth(); user != "vnfm" || password != "nfvo-geheim" {
			response.WriteHeader(http.StatusUnauthorized)
			return
		}
		if strings.HasSuffix(request.URL.Path, "/package_content") {
			n.downloads.Add(1)
			n.asked <- struct{}{}
			<-n.release
		}
		proxy.ServeHTTP(response, request)
	}))
	t.Cleanup(n.Close)
	return n
}

func (n *nfvo) options(t *testing.T, url string) []string {
	t.Helper()
	return []string{"--nfvo-packages-url", url + "/vnfpkgm/v1/vnf_packages", "--nfvo-packages-username", "vnfm",
		"--nfvo-packages-password-file", peertest.File(t, "nfvo-geheim\n")}
}

func TestPackagesThatAnNFVOHas(t *testing.T) {
	t.Parallel()
	n := newNFVO(t)
	close(n.release)
	p := newCluster(t, heattest.Options{}).serve(n.options(t, n.URL)...)
	const instances = "/vnflcm/v1/vnf_instances"
	request := map[string]any{"vnfdId": n.vnfdID}
	var clients sync.WaitGroup
	for range 3 {
		clients.Go(func() { p.expect(http.StatusCreated, "POST", instances, request, nil) })
	}
	clients.Wait()
	if downloads := n.downloads.Load(); downloads != 1 {
		t.Errorf("%d downloads for three clients", downloads)
	}
	var pkg struct{ VnfdID, OnboardingState, UsageState string }
	p.expect(http.StatusOK, "GET", "/vnfpkgm/v1/vnf_packages/"+n.pkgID, nil, &pkg)
	if pkg.VnfdID != n.vnfdID || pkg.OnboardingState != "ONBOARDED" || pkg.UsageState != "IN_USE" {
		t.Errorf("the package is %+v", pkg)
	}
	var problem struct{ Detail string }
	p.expect(http.StatusUnprocessableEntity, "POST", instances, map[string]any{"vnfdId": "no'such, id"}, &problem)
	if !strings.Contains(problem.Detail, "/vnfdId") {
		t.Errorf("an unknown VNFD: %s", problem.Detail)
	}

	away := newCluster(t, heattest.Options{}).serve(n.options(t, "http://"+freeAddress(t))...)
	away.expect(http.StatusServiceUnavailable, "POST", instances, request, &problem)
	if !strings.Contains(problem.Detail, "NFVO") {
		t.Errorf("an NFVO that is away: %s", problem.Detail)
	}
	stranger := newCluster(t, heattest.Options{}).serve("--nfvo-packages-url", n.URL+"/vnfpkgm/v1/vnf_packages")
	stranger.expect(http.StatusUnprocessableEntity, "POST", instances, request, &problem)
	if !strings.Contains(problem.Detail, "401") {
		t.Errorf("an NFVO that does not know us: %s", problem.Detail)
	}
	if log := p.log.String(); strings.Contains(log, "nfvo-geheim") {
		t.Error("the password of the NFVO is in the log")
	}
}

func TestPackageOfAnNFVOComesThroughTheDeathOfTheProcess(t *testing.T) {
	t.Parallel()
	n, c := newNFVO(t), newCluster(t, heattest.Options{})
	p := c.serve(n.options(t, n.URL)...)
	go func() {
		response, err := http.Post(p.url+"/vnflcm/v1/vnf_instances", "application/json", strings.NewReader(`{"vnfdId": "`+n.vnfdID+`"}`))
		if err == nil {
			response.Body.Close()
		}
	}()
	<-n.asked
	p.kill()
	close(n.release)
	p = c.serve(n.options(t, n.URL)...)
	p.expect(http.StatusCreated, "POST", "/vnflcm/v1/vnf_instances", map[string]any{"vnfdId": n.vnfdID}, nil)
}
