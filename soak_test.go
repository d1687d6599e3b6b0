package main

import (
	"encoding/json"
	"fmt"
	"maps"
	"net/http"
	"net/netip"
	"os"
	"path"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/google/uuid"
	"github.com/jackc/pgx/v5"

	"vnfm/lcm/heat/heattest"
	"vnfm/samples"
	"vnfm/server/servertest"
)

// soak is three processes under a mixed load, of which one is killed every minute.
type soak struct {
	*cluster
	t           *testing.T
	ends        time.Time
	processes   [3]*process
	addresses   [3]atomic.Pointer[string] // where clients look for them
	vnfd        string
	consumer    *soakConsumer
	accepted    set // operations, by id
	identifiers set // instances and packages that were made; false: and removed
	counts      counts
	db          *pgx.Conn
	kills       int
	measured    []figures
}

// set is a set that goroutines share.
type set struct {
	mu  sync.Mutex
	all map[string]bool
}

func (s *set) put(id string, value bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.all == nil {
		s.all = map[string]bool{}
	}
	s.all[id] = value
}

func (s *set) add(id string)    { s.put(id, true) }
func (s *set) remove(id string) { s.put(id, false) }

// TestSoak lets clients do everything that they do, for as long as VNFM_SOAK says, while a process is killed every minute and started anew.
// Nothing is lost, nothing is done twice, nothing that is used up is not given back. It prints a table of figures.
func TestSoak(t *testing.T) {
	length := os.Getenv("VNFM_SOAK")
	if length == "" {
		t.Skip("VNFM_SOAK does not say for how long; make soak does")
	}
	s := newSoak(t)
	began := time.Now()
	s.ends = began.Add(soakLength(t, length))
	var load sync.WaitGroup
	for range 10 {
		load.Go((&life{soakClient: s.client()}).run)
	}
	for _, client := range []func(*soakClient){(*soakClient).read, (*soakClient).read, (*soakClient).upload, (*soakClient).subscribe, (*soakClient).mistake} {
		load.Go(func() { client(s.client()) })
	}
	s.kill()
	load.Wait()
	s.processes[0].until("told of everything", func() bool { return s.count("deliveries") == 0 })
	verdict := s.judge()
	s.leave()
	t.Logf("\nsoak of %s, a process killed %d times\n%s\n%s\nrows at the end: %s", time.Since(began).Round(time.Second), s.kills, verdict,
		s.table(), s.rows())
}

func newSoak(t *testing.T) *soak {
	t.Helper()
	s := &soak{t: t, consumer: newSoakConsumer(t), cluster: newCluster(t, heattest.Options{
		Delays: heattest.Delays{"OS::Nova::Server": {Create: 800 * time.Millisecond, Update: 200 * time.Millisecond, Delete: 400 * time.Millisecond}},
		Networks: []heattest.Network{ // with addresses for all
			{Name: "net0", CIDR: netip.MustParsePrefix("10.10.0.0/16")}, {Name: "net1", CIDR: netip.MustParsePrefix("10.11.0.0/16")},
			{Name: "net_mgmt", CIDR: netip.MustParsePrefix("10.12.0.0/16")},
		},
	})}
	var err error
	if s.db, err = pgx.Connect(t.Context(), s.database); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { s.db.Close(t.Context()) })
	for i := range s.processes {
		s.restart(i)
	}
	p := s.processes[0]
	s.registerVim(p)
	s.vnfd = s.onboard(p, samples.TwoVdu())
	for _, subscription := range []struct{ of, at, filter string }{
		{"vnflcm", "everything", `{}`}, {"vnflcm", "ends", `{"operationStates": ["COMPLETED"]}`}, {"vnfpkgm", "packages", `{}`},
	} {
		p.expect(http.StatusCreated, http.MethodPost, "/"+subscription.of+"/v1/subscriptions", map[string]any{
			"callbackUri": s.consumer.URL + "/" + subscription.at, "filter": json.RawMessage(subscription.filter),
		}, nil)
	}
	return s
}

// restart starts a process, and tells clients where it is.
func (s *soak) restart(i int) {
	s.processes[i] = s.serve()
	s.addresses[i].Store(&s.processes[i].url)
}

func (s *soak) client() *soakClient {
	return &soakClient{soak: s, http: servertest.Client(s.t)}
}

func (s *soak) over() bool { return time.Now().After(s.ends) }

// soakPatience is how long after the end something may still be on its way.
const soakPatience = 30 * time.Minute

// lost reports, and tells, that what somebody waits for does not come any more.
func (s *soak) lost(what string, arguments ...any) bool {
	if s.ends.IsZero() || time.Now().Before(s.ends.Add(soakPatience)) {
		return false
	}
	s.t.Errorf("lost: "+what, arguments...)
	return true
}

// kill kills a process every minute, and starts it anew. The first one lives throughout, so that it shows whether anything grows.
func (s *soak) kill() {
	kill, measure := time.NewTicker(time.Minute), time.NewTicker(5*time.Second)
	defer kill.Stop()
	defer measure.Stop()
	for !s.over() {
		select {
		case <-kill.C:
			victim := 1 + s.kills%2
			s.processes[victim].kill()
			s.kills++
			pause(time.Second) // meanwhile clients look for it in vain
			s.restart(victim)
		case <-measure.C:
			s.measure()
		}
	}
}

// listed is what is read of the operations in a list.
type listed struct{ ID, Operation, OperationState string }

// judge looks whether everything is as it has to be, and tells it.
func (s *soak) judge() string {
	c := s.client()
	operations := all[listed](c, operationsPath)
	states, kinds, listedIDs := map[string]int{}, map[string]int{}, map[string]bool{}
	lost, missing := 0, 0
	for _, operation := range operations {
		states[operation.OperationState]++
		kinds[operation.Operation]++
		listedIDs[operation.ID] = true
		if !slices.Contains([]string{"COMPLETED", "FAILED", "ROLLED_BACK"}, operation.OperationState) {
			s.t.Errorf("operation %s is %s", operation.ID, operation.OperationState)
			lost++
		}
		if !s.accepted.all[operation.ID] {
			s.t.Errorf("nobody has asked for operation %s", operation.ID)
		}
		if lacks := s.consumer.missing(operation.ID, operation.OperationState); lacks > 0 {
			s.t.Errorf("%d notifications about operation %s lack: %v", lacks, operation.ID, s.consumer.of("everything", operation.ID))
			missing += lacks
		}
	}
	for id := range s.accepted.all {
		if !listedIDs[id] {
			s.t.Errorf("operation %s was accepted and does not exist", id)
			lost++
		}
	}
	missing += s.missingIdentifiers()
	var text strings.Builder
	row := func(name string, value any) { fmt.Fprintf(&text, "%-44s %v\n", name, value) }
	row("operations accepted", len(s.accepted.all))
	row("  by kind", sorted(kinds))
	row("  by end", sorted(states))
	row("  lost", lost)
	row("  failed without being made to", s.counts.unasked.Load())
	row("  made to fail, cancelled", fmt.Sprint(s.counts.provoked.Load(), ", ", s.counts.cancelled.Load()))
	row("  retries, rollbacks, given up", fmt.Sprint(s.counts.retries.Load(), ", ", s.counts.rollbacks.Load(), ", ", s.counts.givenUp.Load()))
	row("  refused during another", s.counts.conflicts.Load())
	row("  found by listing after a cut connection", s.counts.unknown.Load())
	row("instances that are not as the stacks", s.untrue(c))
	row("requests answered", s.counts.answered.Load())
	row("  with mistakes, refused as such", s.counts.mistakes.Load())
	row("  connections refused, cut", fmt.Sprint(s.counts.refused.Load(), ", ", s.counts.cut.Load()))
	row("packages brought in and removed", s.counts.packages.Load())
	row("subscriptions made and removed", s.counts.subscriptions.Load())
	row("notifications", s.consumer.all)
	row("  missing or out of order", missing)
	row("  that came twice", s.consumer.duplicates)
	return text.String()
}

func sorted(counts map[string]int) string {
	var told []string
	for _, name := range slices.Sorted(maps.Keys(counts)) {
		told = append(told, fmt.Sprintf("%s %d", name, counts[name]))
	}
	return strings.Join(told, ", ")
}

// missingIdentifiers is how many notifications lack of the making and the end of instances and packages.
func (s *soak) missingIdentifiers() (missing int) {
	for id, exists := range s.identifiers.all {
		got := append(s.consumer.of("everything", id), s.consumer.of("packages", id)...)
		var kinds []string
		for _, news := range got {
			kinds = append(kinds, news.NotificationType+news.ChangeType)
		}
		told := strings.Join(kinds, " ")
		want := "VnfIdentifierCreationNotification"
		if !exists {
			want += " VnfIdentifierDeletionNotification"
		}
		if strings.HasPrefix(told, "VnfPackage") || told == "" {
			want = "VnfPackageOnboardingNotification VnfPackageChangeNotificationOP_STATE_CHANGE VnfPackageChangeNotificationPKG_DELETE"
		}
		if told != want {
			s.t.Errorf("of %s there was told %q, want %q", id, told, want)
			missing++
		}
	}
	return missing
}

// untrue is how many instances are not as their stacks: they tell of servers that do not exist, or are instantiated without a stack. Nor
// may there be a server or a stack that belongs to none.
func (s *soak) untrue(c *soakClient) int {
	var untrue []string
	servers, stacks := map[string]bool{}, map[string]bool{}
	for _, item := range s.cloud.Leaks() {
		if id, ok := strings.CutPrefix(item.Name, "vnf-"); ok && item.Kind == "stack" && uuid.Validate(id) == nil { // not one in another
			stacks[id] = true
		} else if item.Kind == "server" {
			servers[item.ID] = true
		}
	}
	for _, instance := range all[struct{ ID, InstantiationState string }](c, instancesPath) {
		var shown shownInstance
		c.get(instancesPath+"/"+instance.ID, &shown)
		for _, vnfc := range shown.InstantiatedVnfInfo.VnfcResourceInfo {
			if !servers[vnfc.ComputeResource.ResourceID] {
				untrue = append(untrue, "instance "+instance.ID+" tells of a server that does not exist")
			}
			delete(servers, vnfc.ComputeResource.ResourceID)
		}
		if stacks[instance.ID] != (instance.InstantiationState == "INSTANTIATED") {
			untrue = append(untrue, fmt.Sprintf("instance %s is %s, and has a stack: %t", instance.ID, instance.InstantiationState, stacks[instance.ID]))
		}
		delete(stacks, instance.ID)
	}
	for of, left := range map[string]map[string]bool{"server": servers, "stack": stacks} {
		for id := range left {
			untrue = append(untrue, of+" "+id+" belongs to no instance")
		}
	}
	for _, what := range untrue {
		s.t.Error(what)
	}
	return len(untrue)
}

// leave ends every VNF, of which nothing remains in the cloud.
func (s *soak) leave() {
	c := s.client()
	for _, instance := range all[struct{ ID string }](c, instancesPath) {
		l := &life{soakClient: c, instance: path.Join(instancesPath, instance.ID), known: map[string]bool{}}
		l.end()
	}
	s.leaveNothing()
}
