package server_test

import (
	"bufio"
	"context"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/http/cookiejar"
	"net/url"
	"path"
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/google/uuid"

	"vnfm/lcm"
	"vnfm/mgmtdriver"
	"vnfm/server"
)

// visitor is somebody who looks at the operations page, and follows no redirect.
type visitor struct {
	t      *testing.T
	url    string
	client *http.Client
}

func newVisitor(t *testing.T, b *bench) *visitor {
	t.Helper()
	jar, err := cookiejar.New(nil)
	if err != nil {
		t.Fatal(err)
	}
	return &visitor{t, b.url, &http.Client{Jar: jar,
		CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse }}}
}

// signedIn is the visitor of a user.
func signedIn(t *testing.T, b *bench, user string) *visitor {
	t.Helper()
	in := newVisitor(t, b)
	if a := in.post("/ui/sign-in", url.Values{"user": {user}, "password": {"geheim"}}); a.StatusCode != http.StatusSeeOther {
		t.Fatalf("%s: %s", user, a.Status)
	}
	return in
}

func (b *visitor) do(method, address string, form url.Values, header ...string) *answer {
	b.t.Helper()
	response := b.open(b.t.Context(), method, address, form, header...)
	defer response.Body.Close()
	content, err := io.ReadAll(response.Body)
	if err != nil {
		b.t.Fatal(err)
	}
	return &answer{response, content}
}

// open is do without reading the body.
func (b *visitor) open(ctx context.Context, method, address string, form url.Values, header ...string) *http.Response {
	b.t.Helper()
	request, err := http.NewRequestWithContext(ctx, method, b.url+address, strings.NewReader(form.Encode()))
	if err != nil {
		b.t.Fatal(err)
	}
	if form != nil {
		request.Header.Set("Content-Type", "application/x-www-form-urlencoded")
	}
	for i := 0; i+1 < len(header); i += 2 {
		request.Header.Set(header[i], header[i+1])
	}
	response, err := b.client.Do(request)
	if err != nil {
		b.t.Fatal(err)
	}
	return response
}

func (b *visitor) get(address string) *answer {
	b.t.Helper()
	return b.do(http.MethodGet, address, nil)
}

func (b *visitor) post(address string, form url.Values, header ...string) *answer {
	b.t.Helper()
	return b.do(http.MethodPost, address, form, append(header, "Origin", b.url)...)
}

// pageOf is the address of an operation's page.
func pageOf(opOcc string) string { return "/ui/operations/" + path.Base(opOcc) }

// once ends a stream after its first events.
func once(t *testing.T) context.Context {
	t.Helper()
	ctx, stop := context.WithCancel(t.Context())
	t.Cleanup(stop)
	return ctx
}

func TestWhoMaySeeWhichPage(t *testing.T) {
	t.Parallel()
	b := guarded(t)
	visitors := map[string]*visitor{"": newVisitor(t, b)}
	for user := range people {
		visitors[user] = signedIn(t, b, user)
	}
	for _, route := range b.server.Pages() {
		t.Run(route.Method+strings.ReplaceAll(route.Path, "/", "|"), func(t *testing.T) {
			t.Parallel()
			address := regexp.MustCompile(`:\w+`).ReplaceAllString(route.Path, uuid.NewString())
			for user, in := range visitors {
				if route.Public {
					in = newVisitor(t, b) // one that may be signed out by it
				}
				a := in.open(once(t), route.Method, address, nil, "Origin", b.url)
				defer a.Body.Close()
				refused := a.StatusCode == http.StatusForbidden
				asked := strings.HasPrefix(a.Header.Get("Location"), "/ui/sign-in")
				_, verb, _ := strings.Cut(route.Action, ":")
				allowed := route.Action == "" || user != "gus" && (verb == "read" || user != "rita")
				switch {
				case route.Public:
					if refused || a.StatusCode == http.StatusUnauthorized && route.Method == http.MethodGet {
						t.Errorf("%q: %s", user, a.Status)
					}
				case user == "" && route.Stream:
					if line, _ := bufio.NewReader(a.Body).ReadString('\x00'); !strings.Contains(line, "The session is over") || strings.Contains(line, "overview") {
						t.Errorf("%q", line)
					}
				case user == "":
					if a.StatusCode != http.StatusSeeOther || !asked {
						t.Errorf("nobody: %s %s", a.Status, a.Header.Get("Location"))
					}
				case route.Stream && !allowed:
					if line, _ := bufio.NewReader(a.Body).ReadString('\x00'); !strings.Contains(line, "You may not see this any more") {
						t.Errorf("%s: %q", user, line)
					}
				case asked || refused == allowed:
					t.Errorf("%s: %s, allowed %v", user, a.Status, allowed)
				}
			}
		})
	}
}

func TestOtherSitesChangeNothing(t *testing.T) {
	t.Parallel()
	b := guarded(t)
	of := b.as(t, "ann")
	of.registerVim()
	_, vnfd, _ := of.onboard()
	page := pageOf(of.start(of.instance(vnfd), "instantiate", of.instantiation()))
	in := signedIn(t, b, "ann")
	cancel := url.Values{"mode": {"GRACEFUL"}}
	for name, header := range map[string][]string{
		"another site":             {"Sec-Fetch-Site", "cross-site"},
		"another host of the site": {"Sec-Fetch-Site", "same-site"},
		"an old browser":           {"Origin", "https://elsewhere.example"},
		"a sandbox":                {"Origin", "null"},
	} {
		for address, form := range map[string]url.Values{page + "/cancel": cancel, "/ui/sign-out": {}, "/ui/sign-in": {"user": {"ann"}, "password": {"geheim"}}} {
			if a := in.do(http.MethodPost, address, form, header...); a.StatusCode != http.StatusForbidden || a.Header.Get("Set-Cookie") != "" {
				t.Errorf("%s: %s: %s", name, address, a.Status)
			}
		}
	}
	if a := in.get(page + "/cancel"); a.StatusCode != http.StatusMethodNotAllowed {
		t.Errorf("a link cancels: %s", a.Status)
	}
	if a := signedIn(t, b, "rita").post(page+"/cancel", cancel); a.StatusCode != http.StatusForbidden {
		t.Errorf("a reader cancels: %s", a.Status)
	}
	if a := signedIn(t, b, "bob").post(page+"/cancel", cancel); a.StatusCode != http.StatusNotFound {
		t.Errorf("another project cancels: %s", a.Status)
	}
	if a := in.get(page); strings.Contains(string(a.body), "cancel pending") {
		t.Error("one of them has cancelled the operation")
	}
	if a := in.post(page+"/cancel", url.Values{"mode": {"SOON"}}); a.StatusCode != http.StatusBadRequest {
		t.Errorf("a mode that there is not: %s", a.Status)
	}
	if a := in.post(page+"/retry", url.Values{}); a.StatusCode != http.StatusConflict {
		t.Errorf("retry of what has not failed: %s", a.Status)
	}
	if a := in.post(page+"/cancel", cancel, "Sec-Fetch-Site", "same-origin"); a.StatusCode != http.StatusSeeOther || a.Header.Get("Location") != page {
		t.Errorf("%s %s", a.Status, a.Header.Get("Location"))
	}
	if a := in.get(page); !strings.Contains(string(a.body), "cancel pending: graceful") {
		t.Errorf("%s", a.body)
	}
	noted := b.as(t, "adam").events("(eq,path," + page + "/cancel)")
	if len(noted) != 4 || noted[3].UserID != "ann" || noted[3].Status != http.StatusSeeOther {
		t.Errorf("noted: %+v", noted)
	}
}

// buttons are what a page offers to do.
func buttons(page []byte) (found []string) {
	for _, match := range regexp.MustCompile(`action="[^"]*/(\w+)"`).FindAllStringSubmatch(string(page), -1) {
		found = append(found, match[1])
	}
	return found
}

func TestPagesShowWhatTheCallerMay(t *testing.T) {
	t.Parallel()
	b := guarded(t)
	of := b.as(t, "ann")
	of.registerVim()
	_, vnfd, _ := of.onboard()
	instance := of.instance(vnfd)
	opOcc := of.start(instance, "instantiate", of.instantiation())
	pages := []string{"/ui", "/ui/operations", pageOf(opOcc), "/ui/instances", "/ui/instances/" + path.Base(instance), "/ui/packages", "/ui/vims"}
	for user, want := range map[string]string{"ann": "[cancel cancel]", "rita": "[]", "adam": "[cancel cancel]", "bob": "[]"} {
		in := signedIn(t, b, user)
		for _, address := range pages {
			a := in.get(address)
			hidden := user == "bob" && strings.Count(address, "/") > 2
			if hidden != (a.StatusCode == http.StatusNotFound) {
				t.Errorf("%s: %s: %s", user, address, a.Status)
			}
			if seen := strings.Contains(string(a.body), path.Base(opOcc)) || strings.Contains(string(a.body), path.Base(instance)); user == "bob" && seen && !hidden {
				t.Errorf("%s shows bob what is ann's: %s", address, a.body)
			}
			if strings.Contains(string(a.body), b.cloud.Account().Password) || strings.Contains(string(a.body), "streng-geheim") {
				t.Errorf("%s shows a password", address)
			}
		}
		if user == "bob" {
			continue
		}
		if got := fmt.Sprint(buttons(in.get(pageOf(opOcc)).body)); got != want {
			t.Errorf("%s may %s, want %s", user, got, want)
		}
	}
}

func TestPagesOfHostileNames(t *testing.T) {
	t.Parallel()
	const hostile = `</td><script>alert(1)</script><img src=x onerror=alert(1)>"'javascript:alert(1)`
	b := setup(t)
	b.registerVim()
	_, vnfd, _ := b.onboard()
	instance := b.expect(http.StatusCreated, http.MethodPost, "/vnflcm/v1/vnf_instances",
		b.json(map[string]any{"vnfdId": vnfd, "vnfInstanceName": hostile, "vnfInstanceDescription": hostile, "metadata": map[string]any{hostile: hostile}})).
		Header.Get("Location")
	request := map[string]any{"flavourId": "simple", "additionalParams": map[string]any{hostile: hostile},
		"extVirtualLinks": []any{b.link("net0", "controller_CP1", "worker_CP1"), b.link("net1", "controller_CP2", "worker_CP2")}}
	opOcc := b.start(instance, "instantiate", b.json(request))
	run, err := b.db.AcquireRun(t.Context(), uuid.MustParse(path.Base(opOcc)), time.Minute)
	if err != nil {
		t.Fatal(err)
	}
	if err := b.db.KeepNodeLogs(t.Context(), run, []lcm.NodeLog{{Node: hostile, Job: hostile, State: mgmtdriver.JobRunning, Lines: "busy\n" + hostile}}); err != nil {
		t.Fatal(err)
	}
	in := newVisitor(t, b)
	if a := in.get(pageOf(opOcc)); !strings.Contains(string(a.body), "busy\n") {
		t.Errorf("what the node writes is not there: %s", a.body)
	}
	for _, address := range []string{"/ui", "/ui/instances", "/ui/instances/" + path.Base(instance), "/ui/operations", pageOf(opOcc),
		"/ui/" + url.PathEscape(hostile), "/ui/operations/" + url.PathEscape(hostile), "/ui/operations?state=" + url.QueryEscape(hostile)} {
		a := in.get(address)
		header := a.Header
		if strings.Contains(string(a.body), "<script>alert") || strings.Contains(string(a.body), "<img") || strings.Contains(string(a.body), hostile) {
			t.Errorf("%s: %s", address, a.body)
		}
		for name, want := range map[string]string{"Content-Security-Policy": "default-src 'none'; script-src 'self'; style-src 'self'; connect-src 'self'; img-src 'self'; form-action 'self'; base-uri 'none'; frame-ancestors 'none'", "X-Content-Type-Options": "nosniff",
			"Cache-Control": "no-store", "Referrer-Policy": "same-origin", "Content-Type": "text/html"} {
			if !strings.HasPrefix(header.Get(name), want) {
				t.Errorf("%s: %s: %q", address, name, header.Get(name))
			}
		}
	}
	if a := in.get("/ui/static/..%2fui.go"); a.StatusCode != http.StatusNotFound {
		t.Errorf("%s %s", a.Status, a.body)
	}
}

// await reads a stream until one of its events has a text, and returns what has come.
func await(t *testing.T, body io.Reader, text string) string {
	t.Helper()
	var come strings.Builder
	lines := bufio.NewScanner(body)
	for lines.Scan() {
		come.WriteString(lines.Text() + "\n")
		if strings.Contains(lines.Text(), text) {
			return come.String()
		}
	}
	t.Fatalf("the stream ended without %q: %s", text, come.String())
	return ""
}

func TestPagesAreResources(t *testing.T) {
	t.Parallel()
	b := setup(t)
	in := newVisitor(t, b)
	for _, route := range b.server.Pages() {
		address := regexp.MustCompile(`:\w+`).ReplaceAllString(route.Path, uuid.NewString())
		if a := in.do(http.MethodOptions, address, nil); a.StatusCode != http.StatusNoContent || !strings.Contains(a.Header.Get("Allow"), route.Method) {
			t.Errorf("OPTIONS %s: %s, Allow %s", route.Path, a.Status, a.Header.Get("Allow"))
		}
		if a := in.do(http.MethodDelete, address, nil); a.StatusCode != http.StatusMethodNotAllowed || !strings.Contains(string(a.body), "Method") && !strings.Contains(string(a.body), "method") {
			t.Errorf("DELETE %s: %s %s", route.Path, a.Status, a.body)
		}
	}
	if a := in.do(http.MethodHead, "/ui", nil); a.StatusCode != http.StatusOK || len(a.body) > 0 {
		t.Errorf("HEAD: %s %s", a.Status, a.body)
	}
	style := in.get("/ui/static/style.css")
	if a := in.do(http.MethodGet, "/ui/static/style.css", nil, "If-None-Match", style.Header.Get("Etag")); a.StatusCode != http.StatusNotModified {
		t.Errorf("a file that the browser has: %s", a.Status)
	}
	in.get("/ui/instances/" + uuid.NewString())
	metrics := string(b.expect(http.StatusOK, http.MethodGet, "/metrics", "").body)
	if !strings.Contains(metrics, `method="GET",route="/ui/instances/:vnfInstanceId",status="404"`) {
		t.Error("pages have no metrics")
	}
}

func TestPagesTellWhatChanges(t *testing.T) {
	t.Parallel()
	b := setup(t)
	b.registerVim()
	_, vnfd, _ := b.onboard()
	opOcc := b.start(b.instance(vnfd), "instantiate", b.instantiation())
	in := newVisitor(t, b)
	page := string(in.get(pageOf(opOcc)).body)
	connect := regexp.MustCompile(`sse-connect="([^"]+)"`).FindStringSubmatch(page)
	if connect == nil || !strings.Contains(page, "STARTING") {
		t.Fatalf("%s", page)
	}
	response := in.open(t.Context(), http.MethodGet, strings.ReplaceAll(connect[1], "&amp;", "&"), nil)
	defer response.Body.Close()
	if kind := response.Header.Get("Content-Type"); !strings.HasPrefix(kind, "text/event-stream") {
		t.Fatalf("%s %s", response.Status, kind)
	}
	done := make(chan struct{})
	go func() {
		defer close(done)
		b.carryOut(opOcc)
	}()
	all, err := io.ReadAll(response.Body) // it ends when nothing changes any more
	if err != nil {
		t.Error(err)
	}
	for text, there := range map[string]bool{"COMPLETED</span>": true, "read_resources": true, "event: over\n": true, "STARTING</span>": false} {
		if strings.Contains(string(all), text) != there {
			t.Errorf("%q is in the stream: %v: %s", text, !there, all)
		}
	}
	<-done
	if page := string(in.get(pageOf(opOcc)).body); strings.Contains(page, "sse-connect") {
		t.Error("the page of what is over waits for changes")
	}
}

func TestStreamsOfWhatIsGoneEnd(t *testing.T) {
	t.Parallel()
	b := setup(t)
	b.registerVim()
	_, vnfd, _ := b.onboard()
	instance := b.instance(vnfd)
	in := newVisitor(t, b)
	address := "/ui/instances/" + path.Base(instance) + "/events"
	response := in.open(once(t), http.MethodGet, address, nil)
	defer response.Body.Close()
	await(t, response.Body, "event: instance-head")
	b.expect(http.StatusNoContent, http.MethodDelete, strings.TrimPrefix(instance, b.url), "")
	_, _ = io.ReadAll(response.Body) // the browser comes again then
	a := in.get(address)
	if text := string(a.body); a.StatusCode != http.StatusOK || !strings.Contains(text, "no longer there") || !strings.Contains(text, "event: over\n") {
		t.Errorf("%s %s", a.Status, a.body)
	}
}

func TestPagesThatAreLookedAtHoldNoServerUp(t *testing.T) {
	t.Parallel()
	b := setupOn(t, nil, func(config *server.Config) { config.Deadline = time.Hour })
	listener, err := (&net.ListenConfig{}).Listen(t.Context(), "tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	ctx, stop := context.WithCancel(t.Context())
	ended := make(chan error, 1)
	go func() { ended <- b.server.Serve(ctx, listener) }()
	in := newVisitor(t, b)
	in.url = "http://" + listener.Addr().String()
	began := time.Now()
	response := in.open(t.Context(), http.MethodGet, "/ui/events", nil)
	defer response.Body.Close()
	await(t, response.Body, "Waiting for a decision")
	stop()
	if _, err := io.ReadAll(response.Body); err != nil {
		t.Errorf("the stream was cut: %v", err)
	}
	if err := <-ended; err != nil {
		t.Error(err)
	}
	t.Logf("ended after %s", time.Since(began))
}

func TestStreamsEndWithTheTimeOfARequest(t *testing.T) {
	t.Parallel()
	b := setupOn(t, nil, func(config *server.Config) { config.Deadline = 3 * time.Second })
	response := newVisitor(t, b).open(t.Context(), http.MethodGet, "/ui/events", nil)
	defer response.Body.Close()
	if _, err := io.ReadAll(response.Body); err != nil { // the browser comes again, and says anew who it is
		t.Error(err)
	}
}
