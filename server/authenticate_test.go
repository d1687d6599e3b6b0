package server_test

import (
	"encoding/json"
	"fmt"
	"net/http"
	"path"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/google/uuid"
	"golang.org/x/crypto/bcrypt"

	"vnfm/api/peer/peertest"
	"vnfm/server"
	"vnfm/server/auth"
	"vnfm/server/servertest"
)

// people are the users of a guarded server: their projects and roles.
var people = map[string][2]string{
	"adam": {"p0", "admin"}, "ann": {"p1", "member"}, "mona": {"p1", "manager"}, "rita": {"p1", "reader"}, "gus": {"p1", "guest"}, "bob": {"p2", "member"},
}

// guarded is a server that lets in who has a password.
func guarded(t *testing.T) *bench {
	t.Helper()
	return guardedWith(t, func(*server.Config) {})
}

// guardedWith is guarded with a configuration.
func guardedWith(t *testing.T, configure func(*server.Config)) *bench {
	t.Helper()
	hash, err := bcrypt.GenerateFromPassword([]byte("geheim"), bcrypt.MinCost)
	if err != nil {
		t.Fatal(err)
	}
	var lines strings.Builder
	for name, of := range people {
		fmt.Fprintf(&lines, "%s:%s:%s:%s\n", name, hash, of[0], of[1])
	}
	gate, err := (&auth.Options{Auth: "basic", UsersFile: peertest.File(t, lines.String())}).Gate()
	if err != nil {
		t.Fatal(err)
	}
	return setupOn(t, nil, func(config *server.Config) { config.Gate = gate; configure(config) })
}

// loggedIn is a transport that adds a user and a password.
type loggedIn struct {
	http.RoundTripper
	user, password string
}

// RoundTrip implements [http.RoundTripper].
func (l loggedIn) RoundTrip(request *http.Request) (*http.Response, error) {
	request = request.Clone(request.Context())
	request.SetBasicAuth(l.user, l.password)
	return l.RoundTripper.RoundTrip(request)
}

// as is the server for a user.
func (b *bench) as(t *testing.T, user string) *bench {
	t.Helper()
	in := *b
	in.t, in.client = t, servertest.Client(t)
	in.client.Transport = loggedIn{in.client.Transport, user, "geheim"}
	return &in
}

var free = regexp.MustCompile(`/api_versions$|^/openapi`)

func TestWhoMayDoWhat(t *testing.T) {
	t.Parallel()
	b := guarded(t)
	may := map[string]func(resource, verb string) bool{
		"adam": func(string, string) bool { return true },
		"ann":  func(resource, _ string) bool { return resource != "metrics" && resource != "audit/v1/events" },
		"mona": func(resource, _ string) bool { return resource != "metrics" },
		"rita": func(resource, verb string) bool {
			return resource != "metrics" && resource != "audit/v1/events" && verb == "read"
		},
		"gus": func(string, string) bool { return false },
	}
	for _, route := range b.server.Routes() {
		t.Run(strings.ReplaceAll(route, "/", "|"), func(t *testing.T) {
			t.Parallel()
			method, path, _ := strings.Cut(route, " ")
			address := regexp.MustCompile(`\{\w+\}`).ReplaceAllString(path, uuid.NewString())
			nobody := *b
			nobody.t, nobody.client = t, servertest.Client(t)
			if path == "/healthz" || path == "/readyz" {
				nobody.expect(http.StatusOK, method, address, "")
				nobody.client = http.DefaultClient // the documents have no other methods of it
				nobody.expect(http.StatusUnauthorized, http.MethodPost, address, "")
				return
			}
			for _, authorization := range []string{"", "Bearer abc", "Basic abc", "Basic YW5uOmZhbHNjaA=="} { // ann:falsch
				a := nobody.expect(http.StatusUnauthorized, method, address, "", "Authorization", authorization)
				if challenge := a.Header.Get("WWW-Authenticate"); !strings.HasPrefix(challenge, "Basic ") || a.Header.Get("Version") == "" {
					t.Errorf("%q: WWW-Authenticate %q, Version %q", authorization, challenge, a.Header.Get("Version"))
				}
			}
			resource, verb := strings.Trim(path, "/"), "write"
			if method == http.MethodGet {
				verb = "read"
			}
			for user, allowed := range may {
				a := b.as(t, user).do(method, address, "")
				refused := a.StatusCode == http.StatusForbidden
				if a.StatusCode == http.StatusUnauthorized || refused == (allowed(resource, verb) || free.MatchString(path)) {
					t.Errorf("%s: %s %s", user, a.Status, a.body)
				}
			}
		})
	}
}

// tenancy is what a project has: an onboarded package, an instance with resources, its operation, a VIM and subscriptions.
type tenancy struct{ pkg, vnfd, instance, opOcc, vim, lcmSubscription, pkgmSubscription string }

func (b *bench) tenancy(t *testing.T, user, callback string) *tenancy {
	t.Helper()
	in := b.as(t, user)
	in.registerVim()
	var vims struct{ Vims []struct{ ID string } }
	if err := json.Unmarshal(in.expect(http.StatusOK, http.MethodGet, "/v1.0/vims", "").body, &vims); err != nil {
		t.Fatal(err)
	}
	made := &tenancy{vim: "/v1.0/vims/" + vims.Vims[0].ID}
	made.pkg, made.vnfd, _ = in.onboard()
	made.instance = in.instance(made.vnfd)
	made.opOcc = in.start(made.instance, "instantiate", in.instantiation())
	in.carryOut(made.opOcc)
	subscribe := func(path string) string {
		return in.expect(http.StatusCreated, http.MethodPost, path, `{"callbackUri": "`+callback+`"}`).Header.Get("Location")
	}
	made.lcmSubscription, made.pkgmSubscription = subscribe(lcmSubscriptions), subscribe(pkgmSubscriptions)
	return made
}

// resources are the paths of what is in a tenancy, as the documents write them.
func (x *tenancy) resources() map[string]string {
	return map[string]string{
		"/vnfpkgm/v1/vnf_packages/{vnfPkgId}": x.pkg, "/vnfpkgm/v1/onboarded_vnf_packages/{vnfdId}": "/vnfpkgm/v1/onboarded_vnf_packages/" + x.vnfd,
		"/vnflcm/v1/vnf_instances/{vnfInstanceId}": x.instance, "/vnflcm/v1/vnf_lcm_op_occs/{vnfLcmOpOccId}": x.opOcc, "/v1.0/vims/{vimId}": x.vim,
		"/vnflcm/v1/subscriptions/{subscriptionId}": x.lcmSubscription, "/vnfpkgm/v1/subscriptions/{subscriptionId}": x.pkgmSubscription,
	}
}

// bodyOf is a request that is right as far as one can say without knowing the resource.
func (b *bench) bodyOf(method, route string) (body, mediaType string) {
	switch last := path.Base(route); {
	case method == http.MethodPatch && strings.Contains(route, "vnf_packages"):
		return `{"operationalState": "DISABLED"}`, "application/json"
	case method == http.MethodPatch:
		return `{"vnfInstanceName": "mine"}`, "application/merge-patch+json"
	case method == http.MethodPut && last == "package_content":
		return "PK", "application/zip"
	case method == http.MethodPut:
		return `{"vim": {"description": "mine"}}`, "application/json"
	case method != http.MethodPost:
		return "", ""
	default:
		return map[string]string{
			"instantiate": b.instantiation(), "scale": `{"type": "SCALE_OUT", "aspectId": "worker_instance"}`, "scale_to_level": `{"instantiationLevelId": "a"}`,
			"change_flavour": `{"newFlavourId": "simple"}`, "heal": `{}`, "operate": `{"changeStateTo": "STOPPED"}`, "terminate": `{"terminationType": "FORCEFUL"}`,
			"change_ext_conn": b.json(map[string]any{"extVirtualLinks": []any{b.link("net0", "worker_CP1")}}), "cancel": `{"cancelMode": "FORCEFUL"}`,
			"upload_from_uri": `{"addressInformation": "https://192.0.2.1/a.csar"}`,
		}[last], "application/json"
	}
}

// TestProjectsAreApart tries every method of every resource on what belongs to another project: it must not be there, and must stay as it is.
func TestProjectsAreApart(t *testing.T) {
	t.Parallel()
	b, uri := guarded(t), callback(t, http.StatusNoContent)
	of, ann, bob, adam := b.tenancy(t, "ann", uri), b.as(t, "ann"), b.as(t, "bob"), b.as(t, "adam")
	lists := []string{"/vnfpkgm/v1/vnf_packages", "/vnfpkgm/v1/onboarded_vnf_packages", "/vnflcm/v1/vnf_instances", "/vnflcm/v1/vnf_lcm_op_occs",
		"/v1.0/vims", lcmSubscriptions, pkgmSubscriptions}
	state := func() (all []string) {
		for _, address := range of.resources() {
			all = append(all, string(ann.expect(http.StatusOK, http.MethodGet, address, "").body))
		}
		slices.Sort(all)
		return all
	}
	before := state()
	for _, list := range lists {
		for user, count := range map[*bench]int{ann: 1, bob: 0, adam: 1} {
			a := user.expect(http.StatusOK, http.MethodGet, list, "")
			if got := elements(t, a.body); got != count {
				t.Errorf("%s: %d elements, want %d: %s", list, got, count, a.body)
			}
		}
	}
	tried := 0
	for _, route := range b.server.Routes() {
		method, pattern, _ := strings.Cut(route, " ")
		for prefix, address := range of.resources() {
			rest, found := strings.CutPrefix(pattern, prefix)
			if !found {
				continue
			}
			tried++
			body, mediaType := bob.bodyOf(method, pattern)
			a := bob.do(method, address+strings.Replace(rest, "{artifactPath}", "Scripts/none.sh", 1), body, "Content-Type", mediaType)
			if a.StatusCode != http.StatusNotFound {
				t.Errorf("%s: %s %s", route, a.Status, a.body)
			}
		}
	}
	if tried < 35 {
		t.Errorf("only %d routes were tried", tried)
	}
	if after := state(); !slices.Equal(before, after) {
		t.Errorf("what belongs to another project has changed:\n%s\n%s", before, after)
	}
	for _, address := range of.resources() {
		adam.expect(http.StatusOK, http.MethodGet, address, "")
	}
}

// elements is the length of a list.
func elements(t *testing.T, body []byte) int {
	t.Helper()
	var list []any
	if json.Unmarshal(body, &list) == nil {
		return len(list)
	}
	var vims struct{ Vims []any }
	if err := json.Unmarshal(body, &vims); err != nil {
		t.Errorf("%s: %v", body, err)
	}
	return len(vims.Vims)
}

func TestProjectsHaveTheSame(t *testing.T) {
	t.Parallel()
	b, uri := guarded(t), callback(t, http.StatusNoContent)
	ann, bob := b.tenancy(t, "ann", uri), b.tenancy(t, "bob", uri)
	if ann.vnfd != bob.vnfd || ann.pkg == bob.pkg || ann.lcmSubscription == bob.lcmSubscription {
		t.Errorf("%+v and %+v: want the same VNFD, packages and subscriptions of their own", ann, bob)
	}
	// An administrator has of each VNFD that of the own project, or else the first.
	if a := b.as(t, "adam").expect(http.StatusOK, http.MethodGet, "/vnfpkgm/v1/onboarded_vnf_packages/"+ann.vnfd, ""); !strings.Contains(string(a.body), path.Base(ann.pkg)) {
		t.Errorf("%s, want that of %s", a.body, ann.pkg)
	}
	adam := b.tenancy(t, "adam", uri)
	if a := b.as(t, "adam").expect(http.StatusOK, http.MethodGet, "/vnfpkgm/v1/onboarded_vnf_packages/"+ann.vnfd, ""); !strings.Contains(string(a.body), path.Base(adam.pkg)) {
		t.Errorf("%s, want that of %s", a.body, adam.pkg)
	}
}

func TestVimsOfOtherProjectsAreNotUsed(t *testing.T) {
	t.Parallel()
	b, uri := guarded(t), callback(t, http.StatusNoContent)
	of := b.tenancy(t, "ann", uri)
	bob := b.as(t, "bob")
	_, vnfd, _ := bob.onboard()
	instance := bob.instance(vnfd)
	a := bob.expect(http.StatusBadRequest, http.MethodPost, instance+"/instantiate", bob.instantiation())
	if !strings.Contains(a.detail(t), "no default VIM") {
		t.Errorf("%s", a.body)
	}
	named := strings.Replace(bob.instantiation(), "{", `{"vimConnectionInfo": [{"id": "a", "vimId": "`+path.Base(of.vim)+
		`", "vimType": "ETSINFV.OPENSTACK_KEYSTONE.V_3"}], `, 1)
	a = bob.expect(http.StatusBadRequest, http.MethodPost, instance+"/instantiate", named)
	if !strings.Contains(a.detail(t), "/vimConnectionInfo/0/vimId") {
		t.Errorf("%s", a.body)
	}
	// Nor does an administrator mix projects by mistake: what belongs to the instance's project counts.
	b.as(t, "adam").expect(http.StatusBadRequest, http.MethodPost, instance+"/instantiate", named)

	account := b.cloud.Account()
	vim := bob.json(map[string]any{"vim": map[string]any{
		"name": "cloud", "type": "openstack", "auth_url": b.cloud.AuthURL(), "tenant_id": "p1",
		"vim_project": map[string]any{"name": account.Project, "project_domain_name": account.Domain},
		"auth_cred":   map[string]any{"username": account.User, "password": account.Password, "user_domain_name": account.Domain},
	}})
	bob.expect(http.StatusForbidden, http.MethodPost, "/v1.0/vims", vim)
	b.as(t, "adam").expect(http.StatusConflict, http.MethodPost, "/v1.0/vims", vim) // there is one of that name
}
