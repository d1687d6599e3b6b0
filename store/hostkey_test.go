package store_test

import (
	"errors"
	"fmt"
	"sync"
	"testing"
	"time"

	"vnfm/lcm"
	"vnfm/mgmtdriver"
	"vnfm/store/storetest"
)

var (
	worker   = mgmtdriver.Host{VnfcID: "vnfc-1", ServerID: "server-1"}
	registry = mgmtdriver.Host{Address: "10.0.0.9:22"}
)

// knows tells which of the hosts are known.
func knows(t *testing.T, db *storetest.Database, instance *lcm.VnfInstance, hosts ...mgmtdriver.Host) string {
	t.Helper()
	known := ""
	for _, host := range hosts {
		key, err := db.HostKey(t.Context(), instance.ID, host)
		if err != nil {
			t.Fatal(err)
		}
		known += fmt.Sprint(key != "", " ")
	}
	return known
}

func TestHostKeyIsTheFirstOneForAll(t *testing.T) {
	t.Parallel()
	db := storetest.New(t)
	instance := created(t, db)
	run := acquired(t, db, instance, time.Minute)
	if got := knows(t, db, instance, worker, registry); got != "false false " {
		t.Errorf("known at first: %s", got)
	}
	var group sync.WaitGroup
	kept := make([]string, 8)
	for i := range kept {
		group.Go(func() {
			var err error
			if kept[i], err = db.KeepHostKey(t.Context(), run, worker, fmt.Sprint("key ", i)); err != nil {
				t.Error(err)
			}
		})
	}
	group.Wait()
	for _, key := range kept {
		if key != kept[0] || key == "" {
			t.Errorf("several at once are told %q", kept)
			break
		}
	}
	if key, err := db.HostKey(t.Context(), instance.ID, worker); err != nil || key != kept[0] {
		t.Errorf("read %q, %v", key, err)
	}
	healed := mgmtdriver.Host{VnfcID: worker.VnfcID, ServerID: "server-2"}
	if got := knows(t, db, instance, healed, registry); got != "false false " {
		t.Errorf("another server, another host: %s", got)
	}
	if got := knows(t, db, created(t, db), worker); got != "false " {
		t.Errorf("in another instance: %s", got)
	}
	if err := db.CommitRun(t.Context(), run, lcm.Commit{Release: new(time.Duration)}); err != nil {
		t.Fatal(err)
	}
	if _, err := db.KeepHostKey(t.Context(), run, registry, "key"); !errors.Is(err, lcm.ErrSuperseded) {
		t.Errorf("a run that is over gets %v", err)
	}
}

func TestHostKeysGoWithTheirServers(t *testing.T) {
	t.Parallel()
	db := storetest.New(t)
	instance := created(t, db)
	run := acquired(t, db, instance, time.Minute)
	other := mgmtdriver.Host{VnfcID: "vnfc-2", ServerID: "server-2"}
	for _, host := range []mgmtdriver.Host{worker, other, registry} {
		if _, err := db.KeepHostKey(t.Context(), run, host, "key"); err != nil {
			t.Fatal(err)
		}
	}
	for _, row := range []struct {
		name    string
		servers []string
		commit  lcm.Commit
		known   string
	}{
		{"in the middle of an operation", nil, lcm.Commit{Instance: true}, "true true true "},
		{"one server is left", []string{"server-2"}, lcm.Commit{Instance: true, Operation: true}, "false true true "},
		{"nothing is left", nil, lcm.Commit{Instance: true, Operation: true}, "false false false "},
	} {
		run.Instance.InstantiationState, run.Instance.InstantiatedVnfInfo = lcm.NotInstantiated, nil
		if row.servers != nil {
			run.Instance.InstantiationState, run.Instance.InstantiatedVnfInfo = lcm.Instantiated, &lcm.InstantiatedVnfInfo{}
		}
		for _, server := range row.servers {
			run.Instance.InstantiatedVnfInfo.VnfcResourceInfo = append(run.Instance.InstantiatedVnfInfo.VnfcResourceInfo,
				lcm.VnfcResourceInfo{ComputeResource: lcm.ResourceHandle{ResourceID: server}})
		}
		if err := db.CommitRun(t.Context(), run, row.commit); err != nil {
			t.Fatal(err)
		}
		if got := knows(t, db, instance, worker, other, registry); got != row.known {
			t.Errorf("%s: known are %s", row.name, got)
		}
	}
}
