package main

import (
	"bytes"
	"encoding/json"
	"io"
	"io/fs"
	"net"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"vnfm/lcm/heat/heattest"
	"vnfm/samples"
	"vnfm/server/servertest"
	"vnfm/store/storetest"
	"vnfm/vnfpkg"
)

// process is a running vnfm serve.
type process struct {
	t       testing.TB
	command *exec.Cmd
	log     *journal
	url     string
	ended   chan error
	client  *http.Client // checks every response against the OpenAPI documents
}

// journal is the log of a process.
type journal struct {
	mu      sync.Mutex
	content bytes.Buffer
}

// Write implements [io.Writer].
func (j *journal) Write(p []byte) (int, error) {
	j.mu.Lock()
	defer j.mu.Unlock()
	return j.content.Write(p)
}

func (j *journal) String() string {
	j.mu.Lock()
	defer j.mu.Unlock()
	return j.content.String()
}

// command returns vnfm with arguments, which dies with the test.
func command(tb testing.TB, args ...string) *exec.Cmd {
	tb.Helper()
	return commandOf(tb, os.Args[0], args...)
}

// commandOf is command of another version of vnfm.
func commandOf(tb testing.TB, program string, args ...string) *exec.Cmd {
	tb.Helper()
	cmd := exec.CommandContext(tb.Context(), program, args...)
	cmd.Env = append(os.Environ(), asCommand+"=1", "VNFM_RATE_LIMIT=0") // tests ask more often than people do
	cmd.SysProcAttr = &syscall.SysProcAttr{Pdeathsig: syscall.SIGKILL}
	return cmd
}

func freeAddress(tb testing.TB) string {
	tb.Helper()
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		tb.Fatal(err)
	}
	defer listener.Close()
	return listener.Addr().String()
}

// serve starts a process on a database and waits until it is ready.
func serve(tb testing.TB, databaseURL, keyFile string, args ...string) *process {
	tb.Helper()
	return serveProgram(tb, os.Args[0], databaseURL, keyFile, args...)
}

// serveProgram is serve of another version of vnfm.
func serveProgram(tb testing.TB, program, databaseURL, keyFile string, args ...string) *process {
	tb.Helper()
	return startProgram(tb, program, append([]string{"--database-url", databaseURL, "--secret-key-file", keyFile}, args...)...)
}

// start starts a process and waits until it is ready.
func start(tb testing.TB, args ...string) *process {
	tb.Helper()
	return startProgram(tb, os.Args[0], args...)
}

func startProgram(tb testing.TB, program string, args ...string) *process {
	tb.Helper()
	args = append([]string{"serve", "--listen", "127.0.0.1:0", "--log-level", "info", "--log-format", "text"}, args...)
	p := &process{t: tb, command: commandOf(tb, program, args...), log: &journal{}, ended: make(chan error, 1), client: servertest.Client(tb)}
	p.command.Stderr = p.log
	if err := p.command.Start(); err != nil {
		tb.Fatal(err)
	}
	go func() { p.ended <- p.command.Wait() }()
	tb.Cleanup(func() {
		p.kill()
		if tb.Failed() {
			tb.Logf("log of the server at %s:\n%s", p.url, p.log)
		}
	})
	p.until("serving", func() bool {
		_, text, found := strings.Cut(p.log.String(), "msg=serving address=")
		address, _, _ := strings.Cut(text, " ")
		p.url = "http://" + address
		return found
	})
	p.until("ready", func() bool {
		response, err := http.Get(p.url + "/readyz")
		if err != nil {
			return false
		}
		response.Body.Close()
		return response.StatusCode == http.StatusOK
	})
	return p
}

// kill is kill -9.
func (p *process) kill() {
	_ = p.command.Process.Kill()
	select {
	case err := <-p.ended:
		p.ended <- err
	case <-time.After(time.Minute):
		p.t.Error("the process does not end")
	}
}

// terminate is SIGTERM, after which the process has to end by itself and without an error.
func (p *process) terminate() {
	p.t.Helper()
	if err := p.command.Process.Signal(syscall.SIGTERM); err != nil {
		p.t.Fatal(err)
	}
	select {
	case err := <-p.ended:
		p.ended <- err
		if err != nil {
			p.t.Errorf("the process ended with %v", err)
		}
	case <-time.After(time.Minute):
		p.t.Error("the process does not end")
	}
}

// until waits for something that has to come true; a minute and a half is long enough for any machine.
func (p *process) until(what string, done func() bool) {
	p.t.Helper()
	for deadline := time.Now().Add(90 * time.Second); time.Now().Before(deadline); time.Sleep(20 * time.Millisecond) {
		if done() {
			return
		}
	}
	p.t.Fatalf("did not become %s", what)
}

// call sends a JSON request and reads a JSON answer.
func (p *process) call(method, path string, body, into any) *http.Response {
	p.t.Helper()
	var content io.Reader
	if body != nil {
		encoded, err := json.Marshal(body)
		if err != nil {
			p.t.Fatal(err)
		}
		content = bytes.NewReader(encoded)
	}
	return p.send(method, path, "application/json", content, into)
}

func (p *process) send(method, path, contentType string, content io.Reader, into any) *http.Response {
	p.t.Helper()
	request, err := http.NewRequestWithContext(p.t.Context(), method, p.url+strings.TrimPrefix(path, p.url), content)
	if err != nil {
		p.t.Fatal(err)
	}
	if content != nil {
		request.Header.Set("Content-Type", contentType)
	}
	response, err := p.client.Do(request)
	if err != nil {
		p.t.Fatal(err)
	}
	defer response.Body.Close()
	answer, err := io.ReadAll(response.Body)
	if err != nil {
		p.t.Fatal(err)
	}
	if into != nil {
		if err := json.Unmarshal(answer, into); err != nil {
			p.t.Fatalf("%s %s: %s %q: %v", method, path, response.Status, answer, err)
		}
	}
	return response
}

// expect is call, and the status has to be this one.
func (p *process) expect(status int, method, path string, body, into any) *http.Response {
	p.t.Helper()
	response := p.call(method, path, body, into)
	if response.StatusCode != status {
		p.t.Fatalf("%s %s: %s, want %d", method, path, response.Status, status)
	}
	return response
}

// cluster is what processes share: a database, its key, and an OpenStack.
type cluster struct {
	t        testing.TB
	database string
	key      string
	cloud    *heattest.Cloud
}

func newCluster(tb testing.TB, options heattest.Options) *cluster {
	tb.Helper()
	return newClusterOn(tb, storetest.New(tb).URL(), options)
}

func newClusterOn(tb testing.TB, databaseURL string, options heattest.Options) *cluster {
	tb.Helper()
	return &cluster{
		t:        tb,
		database: databaseURL,
		key:      filepath.Join(tb.TempDir(), "secret.key"),
		cloud:    heattest.Start(tb, options),
	}
}

func (c *cluster) serve(args ...string) *process {
	c.t.Helper()
	return serve(c.t, c.database, c.key, args...)
}

// registerVim makes the cloud the default VIM.
func (c *cluster) registerVim(p *process) {
	p.t.Helper()
	account := c.cloud.Account()
	p.expect(http.StatusCreated, http.MethodPost, "/v1.0/vims", map[string]any{"vim": map[string]any{
		"name": "cloud", "type": "openstack", "auth_url": c.cloud.AuthURL(), "is_default": true,
		"vim_project": map[string]any{"name": account.Project, "project_domain_name": account.Domain},
		"auth_cred":   map[string]any{"username": account.User, "password": account.Password, "user_domain_name": account.Domain},
	}}, nil)
}

// instance onboards the sample package and creates an instance; its path is returned.
func (c *cluster) instance(p *process) string {
	p.t.Helper()
	return c.create(p, c.onboard(p, samples.TwoVdu()))
}

// create makes an instance of a VNFD.
func (c *cluster) create(p *process, vnfdID string) string {
	p.t.Helper()
	return p.expect(http.StatusCreated, http.MethodPost, "/vnflcm/v1/vnf_instances", map[string]any{"vnfdId": vnfdID}, nil).Header.Get("Location")
}

// onboard brings a package in, and returns the id of its VNFD.
func (c *cluster) onboard(p *process, source fs.FS) string {
	p.t.Helper()
	info := p.onboard(source)
	if info.OnboardingFailureDetails != nil {
		p.t.Fatalf("onboarding: %s", info.OnboardingFailureDetails.Detail)
	}
	return info.VnfdID
}

// packageInfo is what is read of a VNF package.
type packageInfo struct {
	ID, OnboardingState, VnfdID string
	OnboardingFailureDetails    *struct{ Detail string }
}

// onboard uploads the package of a source tree and waits for the verdict.
func (p *process) onboard(source fs.FS) packageInfo {
	p.t.Helper()
	var csar bytes.Buffer
	if err := vnfpkg.BuildFS(p.t.Context(), source, &csar); err != nil {
		p.t.Fatal(err)
	}
	pkg := p.expect(http.StatusCreated, http.MethodPost, "/vnfpkgm/v1/vnf_packages", map[string]any{}, nil).Header.Get("Location")
	if response := p.send(http.MethodPut, pkg+"/package_content", "application/zip", &csar, nil); response.StatusCode != http.StatusAccepted {
		p.t.Fatalf("upload: %s", response.Status)
	}
	var info packageInfo
	p.until("onboarded", func() bool {
		p.call(http.MethodGet, pkg, nil, &info)
		return info.OnboardingFailureDetails != nil || info.OnboardingState == "ONBOARDED"
	})
	return info
}

// link is a network of the cloud with the connection points that are on it.
func (c *cluster) link(network string, cpds ...string) map[string]any {
	cps := make([]any, len(cpds))
	for i, cpd := range cpds {
		address := map[string]any{"type": "IPV4", "numDynamicAddresses": 1, "subnetId": c.cloud.SubnetID(network)}
		cps[i] = map[string]any{"cpdId": cpd, "cpConfig": []any{map[string]any{"cpProtocolData": []any{map[string]any{
			"layerProtocol": "IP_OVER_ETHERNET", "ipOverEthernet": map[string]any{"ipAddresses": []any{address}},
		}}}}}
	}
	return map[string]any{"id": network, "resourceId": c.cloud.NetworkID(network), "extCps": cps}
}

// instantiation is a request for the sample package.
func (c *cluster) instantiation() map[string]any {
	return map[string]any{
		"flavourId":        "simple",
		"extVirtualLinks":  []any{c.link("net0", "controller_CP1", "worker_CP1"), c.link("net1", "controller_CP2", "worker_CP2")},
		"additionalParams": map[string]any{"admin": map[string]any{"password": "streng-geheim"}},
	}
}

// operation is what is read of an operation occurrence.
type operation struct {
	OperationState string
	Error          *struct {
		Status int
		Detail string
	}
}

// await follows an operation until it is in one of the states.
func (p *process) await(path string, states ...string) operation {
	p.t.Helper()
	var current operation
	p.until(strings.Join(states, " or "), func() bool {
		current = operation{}
		p.expect(http.StatusOK, http.MethodGet, path, nil, &current)
		if current.OperationState == "FAILED_TEMP" && !slices.Contains(states, "FAILED_TEMP") {
			p.t.Fatalf("operation failed: %+v", current.Error)
		}
		return slices.Contains(states, current.OperationState)
	})
	return current
}

// servers are those that exist.
func (c *cluster) servers() []heattest.Item {
	return slices.DeleteFunc(c.cloud.Leaks(), func(item heattest.Item) bool { return item.Kind != "server" })
}

func (c *cluster) leaveNothing() {
	c.t.Helper()
	if leaks := c.cloud.Leaks(); len(leaks) > 0 {
		c.t.Errorf("left behind in the cloud: %+v", leaks)
	}
}
