// Package granttest is an NFVO for tests: it checks the grant requests that it gets as SOL003 v2.6.1 clause 9 has them, and answers what
// the test wants.
//
//	nfvo := granttest.Start(t)
//	nfvo.Answer(granttest.Status(500), granttest.Later(2)) // the first two requests; those after them are granted at once
//	… // use nfvo.URL() as the address of the grants
//	requests := nfvo.Requests()
package granttest

import (
	"bytes"
	"encoding/json"
	"io"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/google/uuid"

	"vnfm/lcm"
)

// Path is where an NFVO has its grants.
const Path = "/grant/v1/grants"

// NFVO is an NFVO. It is safe for concurrent use.
type NFVO struct {
	tb     testing.TB
	server *httptest.Server

	mu       sync.Mutex
	script   []Reply
	fill     func(*lcm.GrantRequest, *lcm.Grant)
	requests []*lcm.GrantRequest
	bodies   map[string][]byte // of the first request, by operation occurrence
	grants   []*decision
}

// decision is a grant, and how often it is still said to be undecided.
type decision struct {
	grant   *lcm.Grant
	later   int
	refused string
}

// Reply is how the NFVO answers a request.
type Reply struct {
	status  int
	later   int
	refused string
	body    string
	silent  bool
}

// Granted answers 201 with the grant, which is also what happens without a reply.
func Granted() Reply { return Reply{} }

// Later answers 202, and the grant comes when it has been asked for so many times in vain.
func Later(times int) Reply { return Reply{later: times} }

// Refused answers 403 with a problem document.
func Refused(detail string) Reply { return Reply{refused: detail} }

// RefusedLater answers 202 first, and 403 when it has been asked so many times.
func RefusedLater(times int, detail string) Reply { return Reply{later: times, refused: detail} }

// Status answers with a status and no body.
func Status(status int) Reply { return Reply{status: status} }

// Says answers with a status and a body that need not make sense.
func Says(status int, body string) Reply { return Reply{status: status, body: body} }

// Silence does not answer until the client has gone.
func Silence() Reply { return Reply{silent: true} }

// Start starts an NFVO that ends with the test.
func Start(tb testing.TB) *NFVO {
	tb.Helper()
	n := New(tb)
	n.server = httptest.NewServer(n)
	tb.Cleanup(n.server.Close)
	return n
}

// New returns an NFVO to be served by the test itself.
func New(tb testing.TB) *NFVO {
	tb.Helper()
	return &NFVO{tb: tb, bodies: map[string][]byte{}}
}

// URL is the address of the grants.
func (n *NFVO) URL() string { return n.server.URL + Path }

// Answer sets how the next requests are answered, in their order.
func (n *NFVO) Answer(replies ...Reply) {
	n.mu.Lock()
	defer n.mu.Unlock()
	n.script = append(n.script, replies...)
}

// Fill sets what is added to every grant before it is given.
func (n *NFVO) Fill(fill func(*lcm.GrantRequest, *lcm.Grant)) {
	n.mu.Lock()
	defer n.mu.Unlock()
	n.fill = fill
}

// Requests are the requests so far, repeated ones included.
func (n *NFVO) Requests() []*lcm.GrantRequest {
	n.mu.Lock()
	defer n.mu.Unlock()
	return slices.Clone(n.requests)
}

// Grants is the number of grants that have been made.
func (n *NFVO) Grants() int {
	n.mu.Lock()
	defer n.mu.Unlock()
	return len(n.grants)
}

// ServeHTTP implements [http.Handler].
func (n *NFVO) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	if !strings.HasPrefix(r.Header.Get("Version"), "1.") {
		n.tb.Errorf("%s %s with Version %q", r.Method, r.URL, r.Header.Get("Version"))
	}
	switch {
	case r.Method == http.MethodPost && r.URL.Path == Path:
		n.request(w, r)
	case r.Method == http.MethodGet && strings.HasPrefix(r.URL.Path, Path+"/"):
		n.read(w, strings.TrimPrefix(r.URL.Path, Path+"/"))
	default:
		n.tb.Errorf("the NFVO has no %s %s", r.Method, r.URL)
		w.WriteHeader(http.StatusNotFound)
	}
}

func (n *NFVO) request(w http.ResponseWriter, r *http.Request) {
	body, err := io.ReadAll(r.Body)
	if err != nil {
		return // the client has gone
	}
	decoder := json.NewDecoder(bytes.NewReader(body))
	decoder.DisallowUnknownFields()
	asked := &lcm.GrantRequest{}
	if err := decoder.Decode(asked); err != nil || r.Header.Get("Content-Type") != "application/json" {
		n.tb.Errorf("grant request of type %q: %v: %s", r.Header.Get("Content-Type"), err, body)
	}
	if err := Check(asked); err != nil {
		n.tb.Errorf("grant request: %v: %s", err, body)
	}
	reply, decided := n.decide(asked, body)
	switch {
	case reply.silent:
		<-r.Context().Done()
	case reply.status != 0:
		w.WriteHeader(reply.status)
		_, _ = io.WriteString(w, reply.body)
	case reply.later > 0:
		w.Header().Set("Location", Path+"/"+decided.grant.ID)
		w.WriteHeader(http.StatusAccepted)
	case reply.refused != "":
		refuse(w, reply.refused)
	default:
		w.Header().Set("Location", Path+"/"+decided.grant.ID)
		write(w, http.StatusCreated, "application/json", decided.grant)
	}
}

// decide makes a grant. A request that is repeated, since its answer was lost, gets the one that was made before.
func (n *NFVO) decide(asked *lcm.GrantRequest, body []byte) (Reply, *decision) {
	n.mu.Lock()
	defer n.mu.Unlock()
	n.requests = append(n.requests, asked)
	if first, ok := n.bodies[asked.VnfLcmOpOccID]; ok && !bytes.Equal(first, body) {
		n.tb.Errorf("another grant request for the same operation: %s, and first: %s", body, first)
	}
	n.bodies[asked.VnfLcmOpOccID] = body
	var reply Reply
	if len(n.script) > 0 {
		reply, n.script = n.script[0], n.script[1:]
	}
	if reply.silent || reply.status != 0 {
		return reply, nil
	}
	for _, known := range n.grants {
		if known.grant.VnfLcmOpOccID == asked.VnfLcmOpOccID {
			return reply, known
		}
	}
	made := &decision{grant: grantFor(asked), later: reply.later, refused: reply.refused}
	if n.fill != nil {
		n.fill(asked, made.grant)
	}
	n.grants = append(n.grants, made)
	return reply, made
}

func grantFor(asked *lcm.GrantRequest) *lcm.Grant {
	infos := func(definitions []lcm.ResourceDefinition) []lcm.GrantInfo {
		var infos []lcm.GrantInfo
		for _, definition := range definitions {
			infos = append(infos, lcm.GrantInfo{ResourceDefinitionID: definition.ID})
		}
		return infos
	}
	id := uuid.NewString()
	return &lcm.Grant{
		ID: id, VnfInstanceID: asked.VnfInstanceID, VnfLcmOpOccID: asked.VnfLcmOpOccID,
		AddResources:    infos(asked.AddResources),
		RemoveResources: infos(asked.RemoveResources),
		UpdateResources: infos(asked.UpdateResources),
		Links:           lcm.GrantLinks{Self: lcm.Link{Href: Path + "/" + id}},
	}
}

func (n *NFVO) read(w http.ResponseWriter, id string) {
	n.mu.Lock()
	defer n.mu.Unlock()
	i := slices.IndexFunc(n.grants, func(d *decision) bool { return d.grant.ID == id })
	switch {
	case i < 0:
		w.WriteHeader(http.StatusNotFound)
	case n.grants[i].later > 0:
		n.grants[i].later--
		w.WriteHeader(http.StatusAccepted)
	case n.grants[i].refused != "":
		refuse(w, n.grants[i].refused)
	default:
		write(w, http.StatusOK, "application/json", n.grants[i].grant)
	}
}

func refuse(w http.ResponseWriter, detail string) {
	write(w, http.StatusForbidden, "application/problem+json",
		map[string]any{"title": "No resources", "status": http.StatusForbidden, "detail": detail})
}

func write(w http.ResponseWriter, status int, contentType string, body any) {
	w.Header().Set("Content-Type", contentType)
	w.WriteHeader(status)
	_ = json.NewEncoder(w).Encode(body) // the client may have gone
}
