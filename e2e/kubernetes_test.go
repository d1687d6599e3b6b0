//go:build e2e

package e2e

import (
	"encoding/json"
	"maps"
	"os"
	"slices"
	"strings"
	"testing"
)

// TestKubernetes makes Kubernetes clusters of servers of the real OpenStack, which are hosts with a real OpenSSH server, in all flavours of the
// sample package and with its requests.
func TestKubernetes(t *testing.T) {
	if testing.Short() {
		t.Skip("short")
	}
	startHosts(t)
	for _, row := range []struct {
		flavour string
		masters int
		life    func(*kubernetes)
	}{
		{"simple", 1, (*kubernetes).onlyMasterStays},
		{"complex", 3, (*kubernetes).deadMasterIsHealed},
		{"podaffinity", 3, (*kubernetes).masterIsHealed},
	} {
		t.Run(row.flavour, func(t *testing.T) {
			k := newKubernetes(t, row.flavour, row.masters)
			openstack(t, "vnflcm", "instantiate", k.instanceID, writeFile(t, "instantiate.json", k.request))
			k.completed("INSTANTIATE")
			k.check(2)
			k.installed()
			first := k.vim()["id"]

			k.workersComeAndGo()
			row.life(k)
			if k.vim()["id"] != first {
				t.Error("the cluster has become another VIM")
			}

			openstack(t, "vnflcm", "heal", k.instanceID)
			k.completed("HEAL")
			k.check(2)
			if k.vim()["id"] == first {
				t.Error("the new cluster is the former VIM")
			}
			refused(t, "vim", "delete", k.vim()["name"].(string))

			openstack(t, "vnflcm", "terminate", k.instanceID)
			k.completed("TERMINATE")
			if left := k.vims(); len(left) > 0 {
				t.Errorf("left registered: %v", left)
			}
			if left := k.cloud.stacks(t, k.instanceID); len(left) > 0 {
				t.Errorf("stacks are left: %v", left)
			}
			k.noSecretsAreTold()
		})
	}
}

// workersComeAndGo scales the workers out and in again, and heals one.
func (k *kubernetes) workersComeAndGo() {
	k.t.Helper()
	before := k.nodes("workerNode")
	openstack(k.t, "vnflcm", "scale", "--type", "SCALE_OUT", "--aspect-id", "worker_instance", "--number-of-steps", "1", k.instanceID)
	k.completed("SCALE")
	k.check(3)
	grown := k.nodes("workerNode")
	for id, worker := range grown {
		if before[id] != worker {
			k.ran(worker, "kubeadm join --config", 1)
		}
	}

	openstack(k.t, "vnflcm", "scale", "--type", "SCALE_IN", "--aspect-id", "worker_instance", "--number-of-steps", "1", k.instanceID)
	k.completed("SCALE")
	k.check(2)
	left := k.nodes("workerNode")
	for id, worker := range grown {
		if left[id] != worker { // Heat says which one goes
			k.left(worker, "cordon "+worker.name, "drain "+worker.name, "spec.nodeName="+worker.name, "delete node "+worker.name)
		}
	}

	for id, worker := range left {
		healed := k.heal(id, worker)
		k.left(worker, "cordon "+worker.name, "drain "+worker.name, "delete node "+worker.name)
		k.ran(healed, "kubeadm join --config", 1)
		break
	}
}

// heal heals a VNFC, and returns it as it is then.
func (k *kubernetes) heal(id string, ill node) node {
	k.t.Helper()
	openstack(k.t, "vnflcm", "heal", "--cause", "ill", "--vnfc-instance", id, "--", k.instanceID)
	k.completed("HEAL")
	k.check(2)
	healed := k.nodes(ill.vdu)[id]
	if healed.server == ill.server || healed.address != ill.address {
		k.t.Errorf("%+v has become %+v", ill, healed)
	}
	return healed
}

func (k *kubernetes) onlyMasterStays() {
	k.t.Helper()
	for id := range k.nodes("masterNode") {
		if out := refused(k.t, "vnflcm", "heal", "--vnfc-instance", id, "--", k.instanceID); !strings.Contains(out, "Master-Nodes is 1") {
			k.t.Errorf("the only master is refused with %s", out)
		}
	}
}

func (k *kubernetes) masterIsHealed() {
	k.t.Helper()
	for id, master := range k.nodes("masterNode") {
		k.masterHeals(id, master)
		return
	}
}

// deadMasterIsHealed heals the master that had the address of the cluster.
func (k *kubernetes) deadMasterIsHealed() {
	k.t.Helper()
	address := k.address()
	for id, master := range k.nodes("masterNode") {
		if !master.has(k.t, address) {
			continue
		}
		openstack(k.t, "server", "stop", master.server)
		eventually(k.t, "another master has the address "+address, func() bool {
			for _, other := range k.nodes("masterNode") {
				if other != master && other.has(k.t, address) {
					return true
				}
			}
			return false
		})
		k.masterHeals(id, master)
		return
	}
	k.t.Errorf("no master has the address %s", address)
}

func (k *kubernetes) masterHeals(id string, master node) {
	k.t.Helper()
	others := k.nodes("masterNode")
	delete(others, id)
	reloads := map[node]int{}
	for _, other := range others {
		reloads[other] = k.count(other, "systemctl reload-or-restart haproxy")
	}
	healed := k.heal(id, master)
	k.left(master, "member remove", "delete node "+master.name)
	k.ran(healed, "kubeadm join --config", 1)
	for _, other := range others {
		if k.count(other, "systemctl reload-or-restart haproxy") < reloads[other]+2 {
			k.t.Errorf("the load balancer of %s was not told that %s goes and comes", other.name, master.name)
		}
	}
}

// installed checks by the journals of the hosts how the cluster was made.
func (k *kubernetes) installed() {
	k.t.Helper()
	inits := 0
	for _, n := range k.nodes("") {
		begins := k.count(n, "kubeadm init --config")
		inits += begins
		k.ran(n, "kubeadm join --config", 1-begins)
		k.ran(n, "apt-get -o DPkg::Lock::Timeout=300 -y -qq install --allow-change-held-packages kubelet kubeadm kubectl", 1)
		k.ran(n, "systemctl restart containerd", 1)
		master := map[bool]int{true: 1}[n.vdu == "masterNode"]
		k.ran(n, "kubeadm config images pull", master)
		if k.masters > 1 {
			k.ran(n, "systemctl restart haproxy keepalived", master)
		}
	}
	if inits != 1 {
		k.t.Errorf("%d masters have made a cluster", inits)
	}
}

// noSecretsAreTold looks for what joins clusters and what the user has sent in secret, in all that was written down.
func (k *kubernetes) noSecretsAreTold() {
	k.t.Helper()
	secrets := slices.Clone(k.secrets)
	for _, store := range k.stores() {
		secrets = append(secrets, store.Admin, store.Bearer)
		secrets = append(append(secrets, store.Tokens...), store.Keys...)
	}
	if len(secrets) < 6 {
		k.t.Fatalf("only %d secrets", len(secrets))
	}
	told := map[string]string{"log of the server": string(readFile(k.t, os.Getenv("E2E_DIR")+"/vnfm.log"))}
	operations, err := json.Marshal(read[any](k.t, "/vnflcm/v1/vnf_lcm_op_occs?all_fields"))
	if err != nil {
		k.t.Fatal(err)
	}
	told["operations"] = string(operations)
	told["instance"] = openstack(k.t, "vnflcm", "show", k.instanceID)
	for server := range k.seen {
		told["journal of "+server] = string(readFile(k.t, journalPath(server)))
	}
	maps.Copy(told, k.traces)
	for where, text := range told {
		for _, secret := range secrets {
			if strings.Contains(text, secret) {
				k.t.Errorf("%s tells the secret %s", where, secret)
			}
		}
	}
}
