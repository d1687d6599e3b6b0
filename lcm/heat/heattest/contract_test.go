package heattest_test

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"maps"
	"net/http"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"vnfm/lcm/heat/heattest"
)

// recording is one call to a real OpenStack and its answer. Identifiers and times in it are made up, the same for the same original.
type recording struct {
	name    string
	Service string
	Request struct {
		Method, Path string
		Headers      map[string]string
		Body         any
	}
	Response struct {
		Status  int
		Headers map[string]string
		Body    any
	}
}

func loadRecordings(t *testing.T) map[string]*recording {
	t.Helper()
	files, err := filepath.Glob("testdata/recordings/*.json")
	if err != nil || len(files) == 0 {
		t.Fatalf("no recordings: %v", err)
	}
	out := map[string]*recording{}
	for _, f := range files {
		raw, err := os.ReadFile(f)
		if err != nil {
			t.Fatal(err)
		}
		r := &recording{name: strings.TrimSuffix(filepath.Base(f), ".json")}
		if err := json.Unmarshal(raw, r); err != nil {
			t.Fatalf("%s: %v", f, err)
		}
		out[r.name] = r
	}
	return out
}

// replay asks the simulator what a recording asked the real services.
type replay struct {
	*bundle
	all map[string]*recording
	ids map[string]string // path element of a recording → ours
}

func (p *replay) url(r *recording) string {
	account := p.cloud.Account()
	base := map[string]string{
		"identity": "/identity", "orchestration": "/orchestration/v1/" + account.ProjectID, "compute": "/compute/v2.1", "network": "/network",
		"image": "/image", "volumev3": "/volume/v3/" + account.ProjectID,
	}[r.Service]
	path, query, _ := strings.Cut(r.Request.Path, "?")
	parts := strings.Split(path, "/")
	for i := range parts {
		if ours, ok := p.ids[parts[i]]; ok {
			parts[i] = ours
		}
	}
	for theirs, ours := range p.ids {
		query = strings.ReplaceAll(query, theirs, ours)
	}
	return strings.TrimSuffix(p.cloud.URL()+base+strings.Join(parts, "/")+"?"+query, "?")
}

// ask sends the recording's request; headers replace those of the recording.
func (p *replay) ask(name string, headers map[string]string) (status int, body any) {
	p.Helper()
	r := p.all[name]
	if r == nil {
		p.Fatalf("there is no recording %s", name)
	}
	var content io.Reader
	switch sent := r.Request.Body.(type) {
	case nil:
	case string:
		content = strings.NewReader(sent)
	default:
		raw, err := json.Marshal(sent)
		if err != nil {
			p.Fatal(err)
		}
		content = bytes.NewReader(raw)
	}
	request, err := http.NewRequestWithContext(p.Context(), r.Request.Method, p.url(r), content)
	if err != nil {
		p.Fatal(err)
	}
	request.Header.Set("Accept", "application/json")
	request.Header.Set("X-Auth-Token", p.provider.Token())
	for k, v := range headers {
		request.Header.Set(k, v)
	}
	client := http.Client{CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse }}
	response, err := client.Do(request)
	if err != nil {
		p.Fatalf("%s: %v", name, err)
	}
	defer func() { _ = response.Body.Close() }()
	raw, err := io.ReadAll(response.Body)
	if err != nil {
		p.Fatal(err)
	}
	if json.Unmarshal(raw, &body) != nil && len(raw) > 0 {
		body = string(raw)
	}
	return response.StatusCode, body
}

// compare asks and reports every difference.
func (p *replay) compare(names ...string) {
	p.Helper()
	for _, name := range names {
		status, body := p.ask(name, nil)
		p.check(name, status, body)
	}
}

func (p *replay) check(name string, status int, body any) {
	p.Helper()
	r := p.all[name]
	if status != r.Response.Status {
		p.Errorf("%s: status %d instead of %d: %.300v", name, status, r.Response.Status, body)
		return
	}
	for _, d := range differences("", r.Response.Body, body) {
		p.Errorf("%s: %s", name, d)
	}
}

// spoken are the keys whose texts clients read: they must be equal but for identifiers.
var spoken = []string{"message", "explanation", "title", "type", "code", "stack_status", "stack_status_reason", "output_error", "resource_status_reason",
	"output_key", "resource_type", "rel", "parameter_defaults", "capabilities", "disable_rollback", "timeout_mins", "min_disk", "visibility", "vm_state"}

// differences lists where an answer has another form than the recording.
func differences(at string, want, got any) []string {
	switch want := want.(type) {
	case map[string]any:
		g, ok := got.(map[string]any)
		if !ok {
			return []string{fmt.Sprintf("%s is %.80v instead of an object", at, got)}
		}
		return objectDifferences(at, want, g)
	case []any:
		g, ok := got.([]any)
		if !ok {
			return []string{fmt.Sprintf("%s is %.80v instead of a list", at, got)}
		}
		return listDifferences(at, want, g)
	}
	if fmt.Sprintf("%T", want) != fmt.Sprintf("%T", got) {
		return []string{fmt.Sprintf("%s is %.80v instead of %.80v", at, got, want)}
	}
	if slices.Contains(spoken, at[strings.LastIndex(at, ".")+1:]) && anonymous(want) != anonymous(got) {
		return []string{fmt.Sprintf("%s is %q instead of %q", at, anonymous(got), anonymous(want))}
	}
	return nil
}

// values are objects whose keys are data.
var values = []string{"parameters", "metadata", "addresses", "files", "resources", "resource_registry", "owner_specified", "links"}

func objectDifferences(at string, want, got map[string]any) (out []string) {
	if slices.Contains(values, at[strings.LastIndex(at, ".")+1:]) && at != "" {
		return nil
	}
	for _, key := range slices.Sorted(maps.Keys(want)) {
		if _, ok := got[key]; !ok {
			if !strings.HasPrefix(key, "owner_specified") {
				out = append(out, at+"."+key+" is missing")
			}
			continue
		}
		out = append(out, differences(at+"."+key, want[key], got[key])...)
	}
	for _, key := range slices.Sorted(maps.Keys(got)) {
		if _, ok := want[key]; !ok {
			out = append(out, fmt.Sprintf("%s.%s is too much: %.80v", at, key, got[key]))
		}
	}
	return out
}

// listDifferences wants every item to be like one of the recording; an empty list fits an empty one only.
func listDifferences(at string, want, got []any) []string {
	if (len(want) == 0) != (len(got) == 0) {
		return []string{fmt.Sprintf("%s has %d items instead of %d", at, len(got), len(want))}
	}
	for _, g := range got {
		var closest []string
		for i, w := range want {
			d := differences(at+"[]", w, g)
			if i == 0 || len(d) < len(closest) {
				closest = d
			}
		}
		if len(closest) > 0 {
			return closest
		}
	}
	return nil
}

var (
	identifier = regexp.MustCompile(`[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}|[0-9a-f]{32}|req-[0-9a-f-]+`)
	address    = regexp.MustCompile(`http://[^"<; ]+`)
	memberName = regexp.MustCompile(`resources\.[a-z2-7]{12}\b`)
)

func anonymous(v any) string {
	v = address.ReplaceAllString(fmt.Sprint(v), "URL")
	return memberName.ReplaceAllString(identifier.ReplaceAllString(fmt.Sprint(v), "ID"), "resources.MEMBER")
}

func newReplay(t *testing.T, opts heattest.Options) *replay {
	t.Helper()
	return &replay{bundle: setup(t, opts), all: loadRecordings(t), ids: map[string]string{}}
}

// element is the path element behind another in a recording's path.
func (p *replay) element(name, after string) string {
	parts := strings.Split(strings.SplitN(p.all[name].Request.Path, "?", 2)[0], "/")
	return parts[slices.Index(parts, after)+1]
}

// begin creates the stack of a recording and remembers its id under that of another recording's path.
func (p *replay) begin(create, show string) (name, id string) {
	p.Helper()
	status, body := p.ask(create, nil)
	p.check(create, status, body)
	if status != http.StatusCreated {
		p.FailNow()
	}
	id = body.(map[string]any)["stack"].(map[string]any)["id"].(string)
	name = p.all[create].Request.Body.(map[string]any)["stack_name"].(string)
	p.ids[p.element(show, name)] = id
	return name, id
}

func TestAnswersAreThoseOfTheRealServices(t *testing.T) {
	t.Parallel()
	p := newReplay(t, heattest.Options{})
	name, id := p.begin("heat-stack-create", "heat-stack-show-created")
	if s := p.settle(name, id); s.Status != "CREATE_COMPLETE" {
		t.Fatalf("stack is %s: %s", s.Status, s.StatusReason)
	}
	list := p.resources(name, id)
	p.ids[p.element("compute-server-show", "servers")] = find(list, "master").PhysicalID
	p.ids[p.element("volume-show", "volumes")] = find(list, "master_volume").PhysicalID
	p.ids[p.element("network-port-show", "ports")] = find(list, "worker_cp").PhysicalID
	p.ids[p.element("network-show", "networks")] = p.cloud.NetworkID("net0")
	p.ids[p.element("network-subnet-show", "subnets")] = p.cloud.SubnetID("net0")
	p.ids[p.element("image-show", "images")] = p.cloud.ImageID("cirros-0.5.2-x86_64-disk")
	nestedName, nestedID := holder(find(list, "worker"))
	theirs := p.element("heat-nested-stack-show", "stacks")
	p.ids[theirs], p.ids[p.element("heat-nested-stack-show", theirs)] = nestedName, nestedID
	p.ids[p.element("heat-nested-stack-by-id", "stacks")] = find(list, "workers").PhysicalID
	p.compare("heat-stack-show-created", "heat-stack-show-no-outputs", "heat-stack-by-name", "heat-stack-by-id", "heat-nested-stack-by-id", "heat-resources",
		"heat-resources-created", "heat-resources-by-name", "heat-resources-by-type", "heat-resource-server", "heat-resource-port", "heat-resource-volume",
		"heat-resource-group", "heat-resource-policy", "heat-resource-metadata", "heat-resource-unknown", "heat-resource-events", "heat-events",
		"heat-events-nested", "heat-nested-stack-show", "heat-nested-resource-server", "heat-output", "heat-outputs", "heat-output-unknown",
		"heat-stack-environment", "heat-stack-files", "heat-stacks-by-name", "heat-stacks-none", "heat-stacks-of-owner", "heat-stack-create-duplicate",
		"heat-stack-delete-by-name", "heat-stack-delete-unknown-name", "heat-signal-server", "heat-signal-unknown", "heat-template-validate",
		"heat-stack-update-by-name", "heat-stack-update-put-missing-parameter", "heat-stack-update-put-no-template", "orchestration-unknown-resource")
	p.compare("compute-flavor-list-detail", "compute-flavor-list", "compute-flavor-show", "compute-server-list", "compute-server-list-by-name", "compute-server-list-detail",
		"compute-server-show", "compute-server-groups", "compute-server-interfaces", "compute-server-volumes", "compute-server-addresses", "compute-zones",
		"compute-unknown-resource")
	p.compare("network-list", "network-list-by-name", "network-show", "network-subnet-list", "network-subnet-list-of-network", "network-subnet-show",
		"network-port-list-empty", "network-port-list-of-server", "network-port-show", "network-unknown-resource")
	p.compare("image-list", "image-list-by-name", "image-list-limit", "image-show", "image-unknown-resource", "volume-list", "volume-list-detail", "volume-show", "volumev3-unknown-resource")

	p.compare("heat-stack-update-put")
	p.settle(name, id)
	p.compare("heat-stack-update-put-show-done", "heat-stack-update-put-resources-done", "heat-stack-update-patch")
	p.settle(name, id)
	p.compare("heat-stack-update-patch-show-done", "heat-stack-update-patch-resources-done", "heat-mark-unhealthy-bad-body", "heat-mark-unhealthy-unknown")
	nestedName, nestedID = holder(find(p.resources(name, id), "worker"))
	theirs = p.element("heat-mark-unhealthy-server", "stacks")
	p.ids[theirs], p.ids[p.element("heat-mark-unhealthy-server", theirs)] = nestedName, nestedID
	p.compare("heat-mark-unhealthy-server", "heat-mark-unhealthy-volume", "heat-mark-unhealthy-single", "heat-marked-resources", "heat-marked-stack-show", "heat-marked-nested-stack-show", "heat-heal-update")
	p.settle(name, id)
	p.compare("heat-heal-resources-done", "heat-heal-show-done", "heat-stack-delete")
	p.settle(name, id)
	p.compare("heat-stack-show-deleted", "heat-resources-deleted", "heat-stack-by-name-deleted", "heat-stack-delete-again", "heat-stack-update-deleted")
	if leaks := p.cloud.Leaks(); len(leaks) > 0 {
		t.Errorf("left behind: %v", leaks)
	}
}

// parserWords are recordings in which a parser speaks. Ours has words of its own; status and type are the same.
var parserWords = []string{"heat-refused-not-json", "heat-refused-not-yaml", "heat-refused-parameter-not-json"}

func TestRefusalsAreHeats(t *testing.T) {
	t.Parallel()
	for name, r := range loadRecordings(t) {
		if !strings.HasPrefix(name, "heat-refused-") {
			continue
		}
		t.Run(strings.TrimPrefix(name, "heat-refused-"), func(t *testing.T) {
			t.Parallel()
			var account heattest.Account
			if r.Response.Status == http.StatusForbidden {
				account.Roles = []string{"member"}
			}
			p := newReplay(t, heattest.Options{Account: account})
			status, body := p.ask(name, nil)
			if slices.Contains(parserWords, name) {
				theirs, _ := p.all[name].Response.Body.(map[string]any)["error"].(map[string]any)
				ours, _ := body.(map[string]any)["error"].(map[string]any)
				theirs["message"] = ours["message"]
			}
			p.check(name, status, body)
			if leaks := p.cloud.Leaks(); len(leaks) > 0 {
				t.Errorf("left behind: %v", leaks)
			}
		})
	}
}

func TestFailuresAreHeats(t *testing.T) {
	t.Parallel()
	for _, row := range []struct {
		name    string
		prepare func(*heattest.Cloud)
	}{
		{"address-outside-subnet", nil},
		{"bad-zone", nil},
		{"nested-unknown-flavor", nil},
		{"quota-in-group", func(c *heattest.Cloud) { c.SetInstanceQuota(1) }},
		{"no-valid-host", nil},
		{"no-valid-host-in-group", nil},
	} {
		opts := heattest.Options{Flavors: []heattest.Flavor{{Name: "m1.tiny", VCPUs: 1, RAMMiB: 512, DiskGiB: 1}, {Name: "rec.huge", VCPUs: 1, RAMMiB: 100_000_000, DiskGiB: 1}}}
		t.Run(row.name, func(t *testing.T) {
			t.Parallel()
			p := newReplay(t, opts)
			if row.prepare != nil {
				row.prepare(p.cloud)
			}
			name, id := p.begin("heat-failed-"+row.name+"-create", "heat-failed-"+row.name+"-show")
			p.settle(name, id)
			p.compare("heat-failed-" + row.name + "-show")
			if row.name != "bad-zone" { // whether the volume beside the failing server was begun is a matter of chance
				p.compare("heat-failed-" + row.name + "-resources")
			}
		})
	}
}

func TestKeystoneAnswers(t *testing.T) {
	t.Parallel()
	account := heattest.Account{User: "rec_owner"}
	p := newReplay(t, heattest.Options{Account: account})
	p.compare("identity-versions", "identity-version-v3", "identity-version-v3-slash", "identity-regions", "identity-region", "identity-region-unknown",
		"identity-catalog", "identity-token-empty-body", "identity-token-not-json", "identity-token-unknown-project", "identity-token-unknown-user", "identity-token-wrong-password",
		"identity-projects", "identity-unknown-resource")
	for _, service := range []string{"identity", "orchestration", "compute", "network", "image", "volumev3"} {
		for what, token := range map[string]string{"bad-token": "nonsense", "no-token": ""} {
			name := service + "-" + what
			status, body := p.ask(name, map[string]string{"X-Auth-Token": token})
			p.check(name, status, body)
		}
	}
	for _, service := range []string{"orchestration", "compute", "network", "image", "volumev3", "identity"} {
		p.compare(service + "-unknown-path")
	}
	p.cloud.RevokeTokens()
	p.compare("identity-revoked-token")
}
