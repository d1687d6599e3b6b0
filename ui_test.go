package main

import (
	"context"
	"fmt"
	"html/template"
	"net/http"
	"net/http/httptest"
	"os/exec"
	"path"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/chromedp/cdproto/log"
	"github.com/chromedp/cdproto/runtime"
	"github.com/chromedp/chromedp"

	"vnfm/api/peer/peertest"
	"vnfm/lcm/heat/heattest"
	"vnfm/server/auth"
)

// tab is a page in a headless Chromium.
type tab struct {
	t   *testing.T
	ctx context.Context

	mu     sync.Mutex
	errors []string // what the console has complained of
}

// chromium starts a browser with one tab.
func chromium(t *testing.T) *tab {
	t.Helper()
	var program string
	for _, name := range []string{"chromium", "chromium-browser", "google-chrome"} {
		if found, err := exec.LookPath(name); err == nil && program == "" {
			program = found
		}
	}
	if program == "" {
		t.Skip("Chromium is not installed")
	}
	options := append(slices.Clone(chromedp.DefaultExecAllocatorOptions[:]), chromedp.ExecPath(program), chromedp.NoSandbox, chromedp.DisableGPU,
		chromedp.WSURLReadTimeout(90*time.Second))
	for _, flag := range []string{"disable-quic", "disable-background-networking", "disable-component-update", "disable-sync"} {
		options = append(options, chromedp.Flag(flag, true))
	}
	ctx, stop := chromedp.NewExecAllocator(t.Context(), options...)
	t.Cleanup(stop)
	return newTab(t, ctx)
}

// newTab is a tab of the browser of a context, or of one that is started.
func newTab(t *testing.T, parent context.Context, options ...chromedp.ContextOption) *tab {
	t.Helper()
	ctx, stop := chromedp.NewContext(parent, options...)
	t.Cleanup(stop)
	in := &tab{t: t, ctx: ctx}
	if err := chromedp.Listen(ctx, in.hear); err != nil {
		t.Fatal(err)
	}
	return in
}

// hear notes what the console complains of: what the content security policy has stopped, too.
func (b *tab) hear(event any) {
	b.mu.Lock()
	defer b.mu.Unlock()
	switch event := event.(type) {
	case *runtime.EventConsoleAPICalled:
		if event.Type == "error" || event.Type == "warning" {
			b.errors = append(b.errors, fmt.Sprint(event.Args))
		}
	case *runtime.EventExceptionThrown:
		b.errors = append(b.errors, event.ExceptionDetails.Text)
	case *log.EventEntryAdded:
		if event.Entry.Level == "error" {
			b.errors = append(b.errors, event.Entry.Text+" "+event.Entry.URL)
		}
	}
}

// quiet checks that the console has not complained.
func (b *tab) quiet() {
	b.t.Helper()
	b.mu.Lock()
	defer b.mu.Unlock()
	for _, complaint := range b.errors {
		b.t.Errorf("the browser complains: %s", complaint)
	}
}

func (b *tab) do(steps ...chromedp.Action[chromedp.Void]) {
	b.t.Helper()
	if err := chromedp.Do(b.ctx, steps...); err != nil {
		b.t.Fatal(err)
	}
}

// evaluate is what a script finds in the page.
func evaluate[T any](b *tab, script string, options ...chromedp.EvaluateOption) T {
	b.t.Helper()
	found, err := chromedp.Run(b.ctx, chromedp.Evaluate[T](script, options...))
	if err != nil {
		b.t.Fatalf("%s: %v", script, err)
	}
	return found
}

// shows waits until the page has a text.
func (b *tab) shows(text string) string {
	b.t.Helper()
	shown := ""
	for deadline := time.Now().Add(2 * time.Minute); time.Now().Before(deadline); time.Sleep(50 * time.Millisecond) {
		// While another page is loaded, there is nothing to look at.
		shown, _ = chromedp.Run(b.ctx, chromedp.Evaluate[string](`document.body ? document.body.innerText : ""`))
		if strings.Contains(shown, text) {
			return shown
		}
	}
	b.t.Fatalf("%q does not come: %s", text, shown)
	return ""
}

// press presses the button, or follows the link, with a text.
func (b *tab) press(text string) {
	b.t.Helper()
	const find = `[...document.querySelectorAll("button, a")].find(e => e.innerText.trim() === %q)`
	if !evaluate[bool](b, fmt.Sprintf(`(e => { if (e) e.click(); return !!e })(`+find+`)`, text)) {
		b.t.Fatalf("there is no button %s", text)
	}
}

func (b *tab) signIn(url, user string) {
	b.t.Helper()
	b.do(chromedp.Navigate(url))
	b.shows("Sign in")
	b.do(chromedp.SendKeys("#user", user), chromedp.SendKeys("#password", "geheim"), chromedp.Submit("#password"))
	b.shows(user + " in p1")
}

// stays marks the page; it has been loaded anew where the mark is gone.
func (b *tab) stays() { evaluate[bool](b, `window.stays = true`) }

func (b *tab) hasStayed() {
	b.t.Helper()
	if !evaluate[bool](b, `window.stays === true`) {
		b.t.Error("the page has been loaded anew")
	}
}

// onBehalf sends requests of a user.
type onBehalf struct {
	http.RoundTripper
	user string
}

// RoundTrip implements [http.RoundTripper].
func (o onBehalf) RoundTrip(request *http.Request) (*http.Response, error) {
	request = request.Clone(request.Context())
	request.SetBasicAuth(o.user, "geheim")
	return o.RoundTripper.RoundTrip(request)
}

// TestOperationsPage is somebody at work: what an operation does is seen as it happens, in whatever process it runs, and a decision is a button.
func TestOperationsPage(t *testing.T) {
	t.Parallel()
	browser := chromium(t)
	hash, err := auth.Hash("geheim")
	if err != nil {
		t.Fatal(err)
	}
	users := peertest.File(t, "ann:"+hash+":p1:member\nrita:"+hash+":p1:reader\n")
	c := newCluster(t, heattest.Options{Delays: heattest.Delays{"OS::Nova::Server": {Create: 3 * time.Second}}})
	p, other := c.serve("--auth", "basic", "--auth-users-file", users), c.serve("--auth", "basic", "--auth-users-file", users)
	p.client.Transport = onBehalf{p.client.Transport, "ann"}
	c.registerVim(p)
	instance := c.instance(p)
	w := &walk{cluster: c, t: t, p: p, instance: instance}

	browser.signIn(p.url+"/ui/operations", "ann")
	browser.do(chromedp.Navigate(other.url + "/ui/operations")) // which takes the same session
	browser.shows("No operation has been started")
	browser.stays()
	w.breakServers("CREATE", "", 1)
	operation := w.begin("instantiate", c.instantiation())
	browser.shows("INSTANTIATE")
	browser.hasStayed()
	browser.press("INSTANTIATE")
	browser.shows("Request in the log")
	browser.stays()
	browser.shows("await_stack: stack vnf-")
	if shown := browser.shows("FAILED_TEMP"); !strings.Contains(shown, "No valid host was found") {
		t.Errorf("nobody sees why: %s", shown)
	}
	browser.shows("Retry")
	browser.hasStayed()

	reader := newTab(t, browser.ctx, chromedp.WithNewBrowserContext())
	reader.signIn(other.url+"/ui/operations/"+path.Base(operation), "rita")
	reader.shows("No valid host was found")
	if forms := evaluate[int](reader, `document.querySelectorAll("main form").length`); forms != 0 {
		t.Errorf("a reader has %d buttons", forms)
	}
	reader.quiet()
	retry := fmt.Sprintf(`fetch(%q, {method: "POST"}).then(answer => answer.status)`, "/ui/operations/"+path.Base(operation)+"/retry")
	if status := evaluate[int](reader, retry, chromedp.EvalAwaitPromise); status != http.StatusForbidden {
		t.Errorf("a reader retries: %d", status)
	}
	attacked(t, browser, other.url+"/ui/operations/"+path.Base(operation)+"/fail")
	p.await(operation, "FAILED_TEMP")

	browser.press("Retry")
	browser.shows("COMPLETED")
	browser.hasStayed()
	browser.do(chromedp.Navigate(other.url + "/ui/instances/" + path.Base(instance)))
	browser.shows("controller_CP1")
	for _, page := range []string{"/ui", "/ui/instances", "/ui/packages", "/ui/vims"} {
		browser.do(chromedp.Navigate(other.url + page))
		browser.shows("ann in p1")
	}
	browser.press("Sign out")
	browser.shows("Password")
	browser.quiet()
	p.terminate()
	other.terminate()
}

// attacked opens a page of another site, in the same browser, that sends a form to an address.
func attacked(t *testing.T, browser *tab, address string) {
	t.Helper()
	page := template.Must(template.New("").Parse(`<form method="post" action="{{.}}"></form><script>document.forms[0].submit()</script>`))
	site := httptest.NewServer(http.HandlerFunc(func(response http.ResponseWriter, _ *http.Request) {
		response.Header().Set("Content-Type", "text/html")
		_ = page.Execute(response, address)
	}))
	t.Cleanup(site.Close)
	victim := newTab(t, browser.ctx)
	victim.do(chromedp.Navigate(site.URL))
	victim.shows("another site has sent this request")
}
