package notify_test

import (
	"cmp"
	"context"
	"crypto/tls"
	"encoding/json"
	"encoding/pem"
	"io"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/google/uuid"

	"vnfm/api/peer"
	"vnfm/api/peer/peertest"
	"vnfm/lcm"
	"vnfm/lcm/notify"
	"vnfm/store/storetest"
	"vnfm/vnfpkg"
)

// notification is what a consumer has got.
type notification struct {
	NotificationType notify.Type
	SubscriptionID   uuid.UUID
	VnfInstanceID    uuid.UUID
	OperationState   lcm.OperationState
	Links            map[string]lcm.Link `json:"_links"`
	authorization    string
}

// what tells a notification from the others of its instance.
func (n notification) what() string {
	return cmp.Or(string(n.OperationState), string(n.NotificationType))
}

// consumer takes notifications.
type consumer struct {
	*httptest.Server
	mu     sync.Mutex
	got    []notification
	calls  int
	answer func(call int, n notification) int // nil: 204
}

func newConsumer(t *testing.T, answer func(call int, n notification) int) *consumer {
	t.Helper()
	c := &consumer{answer: answer}
	c.Server = httptest.NewServer(http.HandlerFunc(c.take))
	t.Cleanup(c.Close)
	return c
}

func (c *consumer) take(response http.ResponseWriter, request *http.Request) {
	body, _ := io.ReadAll(request.Body)
	n := notification{authorization: request.Header.Get("Authorization")}
	if err := json.Unmarshal(body, &n); err != nil {
		response.WriteHeader(http.StatusBadRequest)
		return
	}
	c.mu.Lock()
	c.calls++
	call := c.calls
	c.mu.Unlock()
	status := http.StatusNoContent
	if c.answer != nil {
		status = c.answer(call, n)
	}
	if status == http.StatusNoContent {
		c.mu.Lock()
		c.got = append(c.got, n)
		c.mu.Unlock()
	}
	response.WriteHeader(status)
}

// await returns what has come when it is that much.
func (c *consumer) await(t *testing.T, count int) []notification {
	t.Helper()
	for deadline := time.Now().Add(time.Minute); ; time.Sleep(5 * time.Millisecond) {
		c.mu.Lock()
		got := slices.Clone(c.got)
		c.mu.Unlock()
		if len(got) >= count {
			return got
		}
		if time.Now().After(deadline) {
			t.Fatalf("%d notifications, want %d: %+v", len(got), count, got)
		}
	}
}

// bench is a database with a package, of which events happen.
type bench struct {
	*storetest.Database
	t testing.TB
}

func setup(tb testing.TB) *bench {
	tb.Helper()
	b := &bench{storetest.New(tb), tb}
	pkg := &vnfpkg.Package{ID: uuid.New(), OnboardingState: vnfpkg.Created, OperationalState: vnfpkg.Disabled}
	if err := b.CreatePackage(tb.Context(), pkg); err != nil {
		tb.Fatal(err)
	}
	if err := b.WriteContent(tb.Context(), pkg.ID, strings.NewReader("a CSAR"), 100); err != nil {
		tb.Fatal(err)
	}
	_, err := b.UpdatePackage(tb.Context(), pkg.ID, func(pkg *vnfpkg.Package) error {
		pkg.OnboardingState, pkg.OperationalState = vnfpkg.Onboarded, vnfpkg.Enabled
		pkg.Description = &vnfpkg.Description{VnfdID: "vnfd", Provider: "Company", Vnfd: &vnfpkg.Vnfd{}}
		return nil
	})
	if err != nil {
		tb.Fatal(err)
	}
	return b
}

// subscribe subscribes to everything, or to what change leaves of that.
func (b *bench) subscribe(uri string, change func(*notify.Subscription)) *notify.Subscription {
	b.t.Helper()
	subscription := &notify.Subscription{Interface: notify.Vnflcm, CallbackURI: uri}
	if change != nil {
		change(subscription)
	}
	registry := notify.NewRegistry(b, notify.RegistryConfig{Certificate: true})
	if err := registry.Create(b.t.Context(), subscription); err != nil {
		b.t.Fatal(err)
	}
	return subscription
}

// sender starts a sender, which ends with the test or by the function that is returned.
func (b *bench) sender(config notify.SenderConfig) (stop func()) {
	b.t.Helper()
	if config.Client == nil {
		config.Client = peer.Policy{}.Client(nil, notify.CallTime)
	}
	config.APIRoot, config.Backoff, config.Poll, config.Logger = "http://vnfm", 10*time.Millisecond, 50*time.Millisecond, slog.New(slog.DiscardHandler)
	return b.run(notify.NewSender(b, config))
}

// run runs a sender until the test ends, or the function that is returned is called.
func (b *bench) run(sender *notify.Sender) (stop func()) {
	ctx, cancel := context.WithCancel(b.t.Context())
	ended := make(chan struct{})
	go func() {
		defer close(ended)
		_ = sender.Run(ctx)
	}()
	stop = sync.OnceFunc(func() {
		cancel()
		<-ended
	})
	b.t.Cleanup(stop)
	return stop
}

// create makes an instance, which is an event.
func (b *bench) create() *lcm.VnfInstance {
	b.t.Helper()
	instance := &lcm.VnfInstance{ID: uuid.New(), VnfdID: "vnfd", InstantiationState: lcm.NotInstantiated}
	if err := b.CreateInstance(b.t.Context(), instance); err != nil {
		b.t.Fatal(err)
	}
	return instance
}

// operate walks an operation of an instance through states, each of which is an event.
func (b *bench) operate(instance *lcm.VnfInstance, states ...lcm.OperationState) {
	b.t.Helper()
	operation := &lcm.Operation{ID: uuid.New(), State: lcm.StateStarting, VnfInstanceID: instance.ID, Type: lcm.OpInstantiate, Params: json.RawMessage(`{}`)}
	if err := b.StartOperation(b.t.Context(), operation, json.RawMessage(`{}`), lcm.Precondition{State: lcm.NotInstantiated}); err != nil {
		b.t.Fatal(err)
	}
	for _, state := range states {
		_, err := b.ChangeOperation(b.t.Context(), operation.ID, func(o *lcm.Operation) error {
			o.State = state
			return nil
		})
		if err != nil {
			b.t.Fatal(err)
		}
	}
}

var life = []lcm.OperationState{lcm.StateProcessing, lcm.StateFailedTemp, lcm.StateProcessing, lcm.StateCompleted}

// lived is what a consumer hears, for each instance, of one that was created and lived.
var lived = []string{string(notify.IdentifierCreation), "STARTING", "PROCESSING", "FAILED_TEMP", "PROCESSING", "COMPLETED"}

// heard groups what has come by instance. A repetition of the last one is left out: delivery is at least once.
func heard(got []notification) map[uuid.UUID][]string {
	all := map[uuid.UUID][]string{}
	for _, n := range got {
		if so := all[n.VnfInstanceID]; len(so) == 0 || so[len(so)-1] != n.what() {
			all[n.VnfInstanceID] = append(so, n.what())
		}
	}
	return all
}

func TestEventsOfAnInstanceArriveInOrderThroughTrouble(t *testing.T) {
	t.Parallel()
	for name, trouble := range map[string]func(call int, n notification) int{
		"none": nil,
		"every third call fails": func(call int, _ notification) int {
			if call%3 == 0 {
				return http.StatusServiceUnavailable
			}
			return http.StatusNoContent
		},
		"nothing at first": func(call int, _ notification) int {
			if call < 4 {
				return http.StatusNotFound
			}
			return http.StatusNoContent
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			b, c := setup(t), newConsumer(t, trouble)
			b.subscribe(c.URL, nil)
			b.sender(notify.SenderConfig{})
			b.sender(notify.SenderConfig{}) // of another process
			var group sync.WaitGroup
			const instances = 10
			for range instances {
				group.Go(func() { b.operate(b.create(), life...) })
			}
			group.Wait()
			for instance, told := range heard(c.await(t, instances*len(lived))) {
				if !slices.Equal(told, lived) {
					t.Errorf("instance %s: %v, want %v", instance, told, lived)
				}
			}
		})
	}
}

func TestSenderThatEndsLeavesItsWorkToAnother(t *testing.T) {
	t.Parallel()
	b := setup(t)
	hangs, release := make(chan struct{}), make(chan struct{})
	c := newConsumer(t, func(call int, _ notification) int {
		if call == 1 {
			close(hangs)
			<-release
			return http.StatusServiceUnavailable
		}
		return http.StatusNoContent
	})
	b.subscribe(c.URL, nil)
	b.operate(b.create(), life...)
	stop := b.sender(notify.SenderConfig{})
	<-hangs
	stop()
	close(release)
	b.sender(notify.SenderConfig{})
	for instance, told := range heard(c.await(t, len(lived))) {
		if !slices.Equal(told, lived) {
			t.Errorf("instance %s: %v, want %v", instance, told, lived)
		}
	}
}

func TestConsumerThatTakesNothingHoldsNobodyUp(t *testing.T) {
	t.Parallel()
	b := setup(t)
	release := make(chan struct{})
	hangs := newConsumer(t, func(int, notification) int {
		<-release
		return http.StatusServiceUnavailable
	})
	t.Cleanup(func() { close(release) })
	dead, well := newConsumer(t, nil), newConsumer(t, nil)
	dead.Close()
	for _, uri := range []string{hangs.URL, dead.URL, "http://169.254.169.254/latest", well.URL} {
		b.subscribe(uri, nil)
	}
	b.sender(notify.SenderConfig{})
	b.operate(b.create(), life...)
	well.await(t, len(lived))
}

func TestNotificationsAreGivenUpInTheEnd(t *testing.T) {
	t.Parallel()
	t.Run("refused", func(t *testing.T) {
		t.Parallel()
		b := setup(t)
		c := newConsumer(t, func(_ int, n notification) int {
			if n.OperationState == lcm.StateFailedTemp {
				return http.StatusBadRequest
			}
			return http.StatusNoContent
		})
		b.subscribe(c.URL, nil)
		b.sender(notify.SenderConfig{})
		b.operate(b.create(), life...)
		got := c.await(t, len(lived)-1)
		if last := got[len(got)-1].what(); last != "COMPLETED" {
			t.Errorf("the last one is %s: %+v", last, got)
		}
		if c.calls != len(lived)-1+3 {
			t.Errorf("%d calls, want that the refused one is tried three times", c.calls)
		}
	})
	t.Run("too late", func(t *testing.T) {
		t.Parallel()
		b, c := setup(t), newConsumer(t, nil)
		b.subscribe(c.URL, nil)
		b.create()
		time.Sleep(20 * time.Millisecond)
		b.sender(notify.SenderConfig{Retention: 10 * time.Millisecond})
		for ids := []uuid.UUID{{}}; len(ids) > 0; time.Sleep(5 * time.Millisecond) {
			var err error
			if ids, err = b.DueSubscriptions(t.Context(), uuid.New()); err != nil {
				t.Fatal(err)
			}
		}
		if c.calls > 0 {
			t.Errorf("%d calls", c.calls)
		}
	})
}

func TestConsumersAreAuthenticatedTo(t *testing.T) {
	t.Parallel()
	b := setup(t)
	tokens := 0
	endpoint := httptest.NewServer(http.HandlerFunc(func(response http.ResponseWriter, request *http.Request) {
		if user, password, _ := request.BasicAuth(); user != "client" || password != "geheim" {
			response.WriteHeader(http.StatusUnauthorized)
			return
		}
		tokens++
		response.Header().Set("Content-Type", "application/json")
		_, _ = io.WriteString(response, `{"access_token": "token-`+strings.Repeat("i", tokens)+`", "token_type": "Bearer", "expires_in": 3600}`)
	}))
	t.Cleanup(endpoint.Close)
	only := func(authorization string) func(int, notification) int {
		return func(_ int, n notification) int {
			if n.authorization != authorization {
				return http.StatusUnauthorized
			}
			return http.StatusNoContent
		}
	}
	basic, oauth2 := newConsumer(t, only("Basic dXNlcjpnZWhlaW0=")), newConsumer(t, only("Bearer token-ii")) // the first token is of no use any more
	b.subscribe(basic.URL, func(s *notify.Subscription) {
		s.Authentication = &notify.Authentication{AuthType: []notify.AuthType{notify.AuthBasic},
			ParamsBasic: &notify.BasicParams{UserName: "user", Password: "geheim"}}
	})
	b.subscribe(oauth2.URL, func(s *notify.Subscription) {
		s.Authentication = &notify.Authentication{AuthType: []notify.AuthType{notify.AuthOAuth2},
			ParamsOauth2ClientCredentials: &notify.CredentialsParams{ClientID: "client", ClientPassword: "geheim", TokenEndpoint: endpoint.URL}}
	})
	b.sender(notify.SenderConfig{})
	b.operate(b.create(), life...)
	basic.await(t, len(lived))
	oauth2.await(t, len(lived))
	if tokens != 2 {
		t.Errorf("%d tokens were asked for, want one and another in place of the one that was refused", tokens)
	}
}

func TestConsumerKnowsUsByACertificate(t *testing.T) {
	t.Parallel()
	b := setup(t)
	certFile, keyFile, authority := peertest.Certificate(t)
	c := &consumer{}
	c.Server = httptest.NewUnstartedServer(http.HandlerFunc(c.take))
	c.TLS = &tls.Config{ClientAuth: tls.RequireAndVerifyClientCert, ClientCAs: authority}
	c.StartTLS()
	t.Cleanup(c.Close)
	files := peer.TLSFiles{CertFile: certFile, KeyFile: keyFile,
		CAFile: peertest.File(t, string(pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: c.Certificate().Raw})))}
	security, err := files.Config("--callback-")
	if err != nil {
		t.Fatal(err)
	}
	b.subscribe(c.URL, func(s *notify.Subscription) {
		s.Authentication = &notify.Authentication{AuthType: []notify.AuthType{notify.AuthTLS}}
	})
	b.sender(notify.SenderConfig{Client: peer.Policy{}.Client(security, notify.CallTime)})
	b.create()
	c.await(t, 1)
}

func TestDeletedSubscriptionGetsNothingMore(t *testing.T) {
	t.Parallel()
	b, c := setup(t), newConsumer(t, nil)
	subscription := b.subscribe(c.URL, nil)
	b.create()
	if err := b.DeleteSubscription(t.Context(), notify.Vnflcm, subscription.ID); err != nil {
		t.Fatal(err)
	}
	witness := newConsumer(t, nil)
	b.subscribe(witness.URL, nil)
	b.sender(notify.SenderConfig{})
	b.create()
	if got := witness.await(t, 1); got[0].Links["vnfInstance"].Href != "http://vnfm/vnflcm/v1/vnf_instances/"+got[0].VnfInstanceID.String() {
		t.Errorf("links %v", got[0].Links)
	}
	if c.calls > 0 {
		t.Errorf("%d calls after the end of the subscription", c.calls)
	}
}
