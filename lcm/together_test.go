package lcm_test

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"net/http"
	"slices"
	"testing"
	"testing/fstest"
	"time"

	"github.com/google/go-cmp/cmp"

	"vnfm/lcm"
	"vnfm/lcm/grant/granttest"
	"vnfm/lcm/heat/heattest"
	"vnfm/mgmtdriver"
)

// This file tests what parts of operations do together that are tested alone elsewhere: images, hooks, grants, and the ways out of a failure.

// driven adds the driver recorder for a hook to both flavours of a package with images.
func driven(tree fstest.MapFS, hook mgmtdriver.Hook) fstest.MapFS {
	for _, flavour := range []string{"simple", "large"} {
		file := tree["Definitions/topology_df_"+flavour+".yaml"]
		const node = "      type: vnfm.samples.Topology\n"
		file.Data = bytes.Replace(file.Data, []byte(node),
			fmt.Appendf(nil, "%s      interfaces:\n        Vnflcm:\n          %s: { implementation: recorder }\n", node, hook), 1)
	}
	return tree
}

// TestRollbackAfterTheLastHookFindsItsImages has a driver fail after the VNF has its new flavour: the former images are needed again.
func TestRollbackAfterTheLastHookFindsItsImages(t *testing.T) {
	t.Parallel()
	driver := newRecorder()
	b := setupWith(t, heattest.Options{}, mgmtdriver.Drivers{"recorder": driver})
	instance := b.instanceOf(driven(twoFlavours(t), mgmtdriver.ChangeFlavourEnd))
	b.expect(b.run(instance, b.manager.Instantiate, b.toService(), -1), lcm.StateCompleted)
	image := b.image()
	driver.faults["change_flavour_end"] = &mgmtdriver.Failure{Detail: "no"}
	failed := b.run(instance, b.manager.ChangeFlavour, `{"newFlavourId": "large"}`, -1)
	b.expect(failed, lcm.StateFailedTemp)
	b.expect(b.rollBack(failed), lcm.StateRolledBack)
	if now := b.image(); now != image {
		t.Errorf("the VNF has gone back to the image %s, and there is %s", image, now)
	}
	b.expect(b.run(instance, b.manager.Terminate, forceful, -1), lcm.StateCompleted)
	b.leaveNothing()
}

// TestGrantedOperationKeepsInMindWhatWasUploaded deletes an uploaded image, which healing then brings back, whatever was granted before.
func TestGrantedOperationKeepsInMindWhatWasUploaded(t *testing.T) {
	t.Parallel()
	b, nfvo := setup(t), granttest.Start(t)
	instance := b.instanceOf(topology(t))
	b.expect(b.do(nfvo, instance, b.manager.Instantiate, b.toService()), lcm.StateCompleted)
	b.expect(b.do(nfvo, instance, b.manager.Scale, `{"type": "SCALE_OUT", "aspectId": "worker_group"}`), lcm.StateCompleted)
	b.cloud.DeleteImage(b.image())
	b.expect(b.do(nfvo, instance, b.manager.Heal, `{}`), lcm.StateCompleted)
	b.image()
	b.expect(b.do(nfvo, instance, b.manager.Terminate, forceful), lcm.StateCompleted)
	b.leaveNothing()
}

// TestHealedVnfIsMadeFromItsNewImage gives up a healing that has made the stack anew: what follows goes by the new image.
func TestHealedVnfIsMadeFromItsNewImage(t *testing.T) {
	t.Parallel()
	b := setup(t)
	instance := b.instanceOf(topology(t))
	b.expect(b.run(instance, b.manager.Instantiate, b.toService(), -1), lcm.StateCompleted)
	b.cloud.DeleteImage(b.image())
	b.cloud.FailResource(heattest.ResourceFault{Type: "OS::Nova::Server", Name: "frontend", Action: "CREATE", Times: 1, Reason: "no"})
	failed := b.run(instance, b.manager.Heal, `{}`, -1)
	b.expect(failed, lcm.StateFailedTemp)
	image := b.image()
	if _, err := b.manager.Fail(t.Context(), failed.ID); err != nil {
		t.Fatal(err)
	}
	b.expect(b.run(instance, b.manager.Scale, `{"type": "SCALE_OUT", "aspectId": "worker_group"}`, -1), lcm.StateCompleted)
	if now := b.image(); now != image {
		t.Errorf("the image %s became %s", image, now)
	}
	b.expect(b.run(instance, b.manager.Terminate, forceful, -1), lcm.StateCompleted)
	b.leaveNothing()
}

// TestRollbackCanBeAskedForAgain has Heat fail to go back once.
func TestRollbackCanBeAskedForAgain(t *testing.T) {
	t.Parallel()
	b, driver, instance := setupHooked(t)
	b.instantiate(instance)
	driver.faults["change_external_connectivity_end"] = &mgmtdriver.Failure{Detail: "no"}
	failed := b.run(instance, b.manager.ChangeExtConn, b.moved(), -1)
	b.expect(failed, lcm.StateFailedTemp)
	b.cloud.FailResource(heattest.ResourceFault{Type: "OS::Neutron::Port", Times: 1, Reason: "no"})
	for _, state := range []lcm.OperationState{lcm.StateFailedTemp, lcm.StateRolledBack} {
		if _, err := b.manager.Rollback(t.Context(), failed.ID); err != nil {
			t.Fatal(err)
		}
		b.expect(b.follow(b.engine(b.db), failed.ID), state)
	}
}

// TestGracefulPeriodBeginsWithTheGrant has the NFVO take longer than the VNF is to be given for its end.
func TestGracefulPeriodBeginsWithTheGrant(t *testing.T) {
	t.Parallel()
	b, nfvo := setup(t), granttest.Start(t)
	instance := b.instantiated()
	nfvo.Answer(granttest.Later(8)) // asked every 0.2 s
	ended := b.do(nfvo, instance, b.manager.Terminate, `{"terminationType": "GRACEFUL", "gracefulTerminationTimeout": 1}`)
	b.expect(ended, lcm.StateCompleted)
	at := slices.IndexFunc(ended.Steps, func(step lcm.StepRecord) bool { return step.Name == "graceful_period" })
	if step := ended.Steps[at]; step.FinishedAt.Sub(step.StartedAt) < time.Second {
		t.Errorf("the VNF was given %s, want 1 s", step.FinishedAt.Sub(step.StartedAt))
	}
}

// TestVnfStaysInItsVimWhateverTheDefaultIs takes the mark of the default VIM away after it was used.
func TestVnfStaysInItsVimWhateverTheDefaultIs(t *testing.T) {
	t.Parallel()
	b := setup(t)
	instance := b.instantiated()
	vims, err := b.vims.Vims(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	if _, err := b.vims.Update(t.Context(), vims[0].ID, lcm.VimChange{IsDefault: new(bool)}); err != nil {
		t.Fatal(err)
	}
	b.expect(b.run(instance, b.manager.Scale, `{"type": "SCALE_OUT", "aspectId": "worker_group"}`, -1), lcm.StateCompleted)
	b.expect(b.run(instance, b.manager.Heal, `{}`, -1), lcm.StateCompleted)
}

// inline is a connection to the cloud that is in the request alone.
func (b *bench) inline(id, password string) string {
	account := b.cloud.Account()
	return fmt.Sprintf(`, "vimConnectionInfo": [{"id": %q, "vimType": "ETSINFV.OPENSTACK_KEYSTONE.V_3", "interfaceInfo": {"endpoint": %q},
		"accessInfo": {"username": %q, "password": %q, "project": %q}}]`, id, b.cloud.AuthURL(), account.User, password, account.Project)
}

// TestWrongPasswordDoesNotKeepAnInstance has a client mistype what only its request holds: nobody can ever log in to clean up.
func TestWrongPasswordDoesNotKeepAnInstance(t *testing.T) {
	t.Parallel()
	for _, way := range []string{"rollback", "fail"} {
		t.Run(way, func(t *testing.T) {
			t.Parallel()
			b := setup(t)
			instance := b.instanceOf(topology(t))
			failed := b.run(instance, b.manager.Instantiate, b.toService(b.inline("mine", "wrong")), -1)
			b.expect(failed, lcm.StateFailedTemp)
			if failed.Error.Status != http.StatusUnauthorized {
				t.Errorf("error %+v", failed.Error)
			}
			var err error
			if way == "fail" {
				_, err = b.manager.Fail(t.Context(), failed.ID)
			} else if _, err = b.manager.Rollback(t.Context(), failed.ID); err == nil {
				b.expect(b.follow(b.engine(b.db), failed.ID), lcm.StateRolledBack)
			}
			if err != nil {
				t.Fatal(err)
			}
			if err := b.manager.DeleteInstance(t.Context(), instance.ID); err != nil {
				t.Error(err)
			}
		})
	}
}

// TestClientsMayCallDifferentVimsTheSame has two clients name their own VIMs alike: each gets its image, and each is removed.
func TestClientsMayCallDifferentVimsTheSame(t *testing.T) {
	t.Parallel()
	here, elsewhere := setup(t), heattest.Start(t, heattest.Options{})
	pkg := here.onboard(topology(t))
	there := *here
	there.cloud = elsewhere
	first, second := here.create(pkg.Description.VnfdID), here.create(pkg.Description.VnfdID)
	here.expect(here.run(first, here.manager.Instantiate, here.toService(here.inline("mine", here.cloud.Account().Password)), -1), lcm.StateCompleted)
	there.expect(there.run(second, there.manager.Instantiate, there.toService(there.inline("mine", elsewhere.Account().Password)), -1), lcm.StateCompleted)
	if here.image() == there.image() {
		t.Error("two clouds have one image")
	}
	here.expect(here.run(first, here.manager.Terminate, forceful, -1), lcm.StateCompleted)
	here.leaveNothing()
	there.expect(there.run(second, there.manager.Terminate, forceful, -1), lcm.StateCompleted)
	there.leaveNothing()
}

// TestInstanceTellsTheConnectionsOfAGrant has the NFVO hand out another connection with an operation that changes no resources.
func TestInstanceTellsTheConnectionsOfAGrant(t *testing.T) {
	t.Parallel()
	b, nfvo := setup(t), granttest.Start(t)
	instance := b.instantiated()
	nfvo.Fill(func(_ *lcm.GrantRequest, g *lcm.Grant) {
		g.VimConnections = []lcm.VimConnectionInfo{{ID: "k8s", VimType: "kubernetes", AccessInfo: map[string]any{"bearer_token": "geheim"}}}
	})
	b.expect(b.do(nfvo, instance, b.manager.Operate, `{"changeStateTo": "STOPPED"}`), lcm.StateCompleted)
	want := append(slices.Clone(instance.VimConnectionInfo),
		lcm.VimConnectionInfo{ID: "k8s", VimType: "kubernetes", AccessInfo: map[string]any{"bearer_token": lcm.Masked}})
	if diff := cmp.Diff(want, b.read(instance).VimConnectionInfo); diff != "" {
		t.Errorf("connections (-want +got):\n%s", diff)
	}
}

// TestWrongRequestIsNoFaultOfTheServer has an instantiation fail for what the client, and the NFVO, have left out.
func TestWrongRequestIsNoFaultOfTheServer(t *testing.T) {
	t.Parallel()
	b, nfvo := setup(t), granttest.Start(t)
	b.manager.ExpectGrants()
	instance := b.instance()
	operation, err := b.manager.Instantiate(t.Context(), instance.ID, json.RawMessage(`{"flavourId": "simple"}`))
	if err != nil {
		t.Fatal(err)
	}
	failed := b.follow(b.asking(nfvo, b.db, time.Minute), operation.ID)
	b.expect(failed, lcm.StateFailedTemp)
	if failed.Error.Status != http.StatusBadRequest {
		t.Errorf("error %+v", failed.Error)
	}
}

// TestRetryAfterHalfARollback lets Glance refuse to remove the new image for as long as a rollback has patience for it.
func TestRetryAfterHalfARollback(t *testing.T) {
	t.Parallel()
	driver := newRecorder()
	b := setupWith(t, heattest.Options{}, mgmtdriver.Drivers{"recorder": driver})
	instance := b.instanceOf(driven(twoFlavours(t), mgmtdriver.ChangeFlavourEnd))
	b.expect(b.run(instance, b.manager.Instantiate, b.toService(), -1), lcm.StateCompleted)
	before := maps.Clone(servers(b.read(instance), "worker"))
	driver.faults["change_flavour_end"] = &mgmtdriver.Failure{Detail: "no"}
	failed := b.run(instance, b.manager.ChangeFlavour, `{"newFlavourId": "large"}`, -1)
	b.expect(failed, lcm.StateFailedTemp)
	if err := b.cloud.Inject(heattest.Fault{Method: http.MethodDelete, Path: `/images/`, Status: http.StatusServiceUnavailable}); err != nil {
		t.Fatal(err)
	}
	if _, err := b.manager.Rollback(t.Context(), failed.ID); err != nil {
		t.Fatal(err)
	}
	b.expect(b.follow(b.engine(b.db), failed.ID), lcm.StateFailedTemp)
	b.cloud.ClearFaults()
	if _, err := b.manager.Retry(t.Context(), failed.ID); err != nil {
		t.Fatal(err)
	}
	b.expect(b.follow(b.engine(b.db), failed.ID), lcm.StateCompleted)
	b.image()
	if len(servers(b.read(instance), "worker")) != len(before) {
		t.Errorf("workers %v, before %v", servers(b.read(instance), "worker"), before)
	}
	b.expect(b.run(instance, b.manager.Terminate, forceful, -1), lcm.StateCompleted)
	b.leaveNothing()
}

// TestGivenUpInstantiationWithImagesCannotBeDeleted refuses it in words for the client.
func TestGivenUpInstantiationWithImagesCannotBeDeleted(t *testing.T) {
	t.Parallel()
	b := setup(t)
	instance := b.instanceOf(topology(t))
	b.cloud.FailResource(heattest.ResourceFault{Type: "OS::Nova::Server", Action: "CREATE", Times: 1, Reason: "no"})
	failed := b.run(instance, b.manager.Instantiate, b.toService(), -1)
	b.expect(failed, lcm.StateFailedTemp)
	if _, err := b.manager.Fail(t.Context(), failed.ID); err != nil {
		t.Fatal(err)
	}
	if err := b.manager.DeleteInstance(t.Context(), instance.ID); !errors.As(err, new(*lcm.Conflict)) {
		t.Errorf("deletion with images left: %v", err)
	}
}

// TestEverythingTogetherWithDeathBeforeEveryCommit has the NFVO grant another flavour, with images and a driver of its own.
func TestEverythingTogetherWithDeathBeforeEveryCommit(t *testing.T) {
	t.Parallel()
	tree := driven(twoFlavours(t), mgmtdriver.ChangeFlavourEnd)
	for kill := range 20 {
		t.Run(fmt.Sprintf("commit %d", kill+1), func(t *testing.T) {
			t.Parallel()
			b, nfvo := setupWith(t, heattest.Options{}, mgmtdriver.Drivers{"recorder": newRecorder()}), granttest.Start(t)
			instance := b.instanceOf(tree)
			b.expect(b.do(nfvo, instance, b.manager.Instantiate, b.toService()), lcm.StateCompleted)
			image := b.image()
			operation, err := b.manager.ChangeFlavour(t.Context(), instance.ID, json.RawMessage(`{"newFlavourId": "large"}`))
			if err != nil {
				t.Fatal(err)
			}
			_, _ = b.asking(nfvo, &dying{b.db, kill}, time.Minute).Run(t.Context(), operation.ID)
			b.expect(b.follow(b.asking(nfvo, b.db, time.Minute), operation.ID), lcm.StateCompleted)
			if b.image() == image {
				t.Error("the image is the former one")
			}
			b.expect(b.do(nfvo, instance, b.manager.Terminate, forceful), lcm.StateCompleted)
			b.leaveNothing()
		})
	}
}

// TestImageGoesThoughItsVimIsNamedMoreExactly has a client add the region of the VIM after the image was made.
func TestImageGoesThoughItsVimIsNamedMoreExactly(t *testing.T) {
	t.Parallel()
	b := setup(t)
	instance := b.instanceOf(topology(t))
	b.expect(b.run(instance, b.manager.Instantiate, b.toService(), -1), lcm.StateCompleted)
	connection := b.read(instance).VimConnectionInfo[0].ID
	b.expect(b.modify(b.read(instance), fmt.Sprintf(`{"vimConnectionInfo": [{"id": %q, "accessInfo": {"region": %q}}]}`,
		connection, b.cloud.Account().Region), -1), lcm.StateCompleted)
	b.expect(b.run(instance, b.manager.Terminate, forceful, -1), lcm.StateCompleted)
	b.leaveNothing()
}
