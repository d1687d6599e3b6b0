package main

import (
	"encoding/json"
	"fmt"
	"io/fs"
	"net/http"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"vnfm/lcm/heat/heattest"
	"vnfm/mgmtdriver/kubernetes/kubetest"
	"vnfm/mgmtdriver/ssh/sshtest"
	"vnfm/samples"
)

// kubernetesCluster is a VNF that is a Kubernetes cluster, on machines of the simulated OpenStack.
type kubernetesCluster struct {
	*cluster
	p        *process
	world    *kubetest.World
	flavour  string
	instance string
}

func newKubernetesCluster(t *testing.T, flavour string, times kubetest.Options, options ...string) *kubernetesCluster {
	t.Helper()
	k := &kubernetesCluster{world: kubetest.New(times), flavour: flavour}
	k.cluster = newCluster(t, heattest.Options{VMs: &heattest.SSHVMs{User: "ubuntu", Password: "ubuntu",
		Handler: func(m heattest.Machine) sshtest.Handler { return k.world.Boot(m.Addresses...) }}})
	k.p = k.serve(append(options, "--node-ssh-port", fmt.Sprint(sshtest.DefaultPort))...)
	t.Cleanup(func() {
		if found := k.world.Surprises(); len(found) > 0 {
			t.Errorf("surprises:\n%s", strings.Join(found, "\n"))
		}
	})
	k.registerVim(k.p)
	k.instance = k.create(k.p, k.onboard(k.p, samples.Kubernetes()))
	return k
}

// params is a request of the sample package.
func (k *kubernetesCluster) params(name string, replace ...string) map[string]any {
	k.t.Helper()
	content, err := fs.ReadFile(samples.Kubernetes(), "params/"+name)
	if err != nil {
		k.t.Fatal(err)
	}
	var request map[string]any
	if err := json.Unmarshal([]byte(strings.NewReplacer(replace...).Replace(string(content))), &request); err != nil {
		k.t.Fatal(err)
	}
	return request
}

// begin starts an operation and returns where it is.
func (k *kubernetesCluster) begin(operation string, request map[string]any) string {
	k.t.Helper()
	return k.p.expect(http.StatusAccepted, http.MethodPost, k.instance+"/"+operation, request, nil).Header.Get("Location")
}

// do carries an operation out.
func (k *kubernetesCluster) do(operation string, request map[string]any) {
	k.t.Helper()
	k.p.await(k.begin(operation, request), "COMPLETED")
}

// instantiation is the request of the parameter file.
func (k *kubernetesCluster) instantiation() map[string]any {
	k.t.Helper()
	request := k.params(k.flavour+"_kubernetes_param_file.json", "NETWORK_ID", k.cloud.NetworkID("net0"))
	delete(request, "vimConnectionInfo") // the default VIM
	return request
}

// shown is what is read of the instance.
type shown struct {
	VimConnectionInfo []struct {
		VimID      string
		VimType    string
		AccessInfo map[string]any
	}
	InstantiatedVnfInfo struct {
		VnfcResourceInfo []struct{ ID, VduID string }
	}
}

func (k *kubernetesCluster) show() *shown {
	k.t.Helper()
	found := &shown{}
	k.p.expect(http.StatusOK, http.MethodGet, k.instance, nil, found)
	return found
}

// vnfc is one of a VDU.
func (k *kubernetesCluster) vnfc(vdu string) string {
	k.t.Helper()
	for _, vnfc := range k.show().InstantiatedVnfInfo.VnfcResourceInfo {
		if vnfc.VduID == vdu {
			return vnfc.ID
		}
	}
	k.t.Fatalf("there is no %s", vdu)
	return ""
}

// nodes checks how many nodes of each role there are, all of them ready, and none else.
func (k *kubernetesCluster) nodes(masters, workers int) {
	k.t.Helper()
	var got [2]int
	view := k.world.View()
	for name, n := range view.Nodes {
		if !n.Ready {
			continue
		}
		if n.Master {
			got[0]++
		} else {
			got[1]++
		}
		for address, hosts := range view.Hosts {
			if !strings.Contains(hosts, n.Address+" "+name+"\n") {
				k.t.Errorf("the hosts of %s lack %s %s:\n%s", address, n.Address, name, hosts)
			}
		}
		apart := k.flavour == "podaffinity" && !n.Master
		if label := n.Labels["CIS-node"]; strings.HasPrefix(label, "compute0") != apart {
			k.t.Errorf("%s has the labels %v", name, n.Labels)
		}
	}
	if got != [2]int{masters, workers} {
		k.t.Errorf("masters and workers %v, want %d and %d", got, masters, workers)
	}
}

// vim is the cluster as it is registered, and shown with the instance.
func (k *kubernetesCluster) vim() map[string]any {
	k.t.Helper()
	var list struct{ Vims []map[string]any }
	k.p.expect(http.StatusOK, http.MethodGet, "/v1.0/vims?type=kubernetes", nil, &list)
	if len(list.Vims) != 1 {
		k.t.Fatalf("registered are %v", list.Vims)
	}
	vim, connections := list.Vims[0], k.show().VimConnectionInfo
	if len(connections) != 2 || connections[1].VimID != vim["id"] || connections[1].VimType != "kubernetes" ||
		connections[1].AccessInfo["authUrl"] != vim["auth_url"] {
		k.t.Errorf("VIM %v, connections %+v", vim, connections)
	}
	credentials, _ := vim["auth_cred"].(map[string]any)
	if authority, _ := credentials["ssl_ca_cert"].(string); credentials["bearer_token"] != "***" || !strings.HasPrefix(authority, "-----BEGIN CERT") {
		k.t.Errorf("credentials %v", credentials)
	}
	return vim
}

func TestKubernetesCluster(t *testing.T) {
	t.Parallel()
	for flavour, masters := range map[string]int{"simple": 1, "complex": 3, "podaffinity": 3} {
		t.Run(flavour, func(t *testing.T) {
			t.Parallel()
			k := newKubernetesCluster(t, flavour, kubetest.Options{})
			k.do("instantiate", k.instantiation())
			k.nodes(masters, 2)
			port := map[bool]string{true: ":6443", false: ":16443"}[masters == 1]
			first := k.vim()
			if url, _ := first["auth_url"].(string); !strings.HasPrefix(url, "https://127.10.") || !strings.HasSuffix(url, port) {
				t.Errorf("VIM at %s", url)
			}
			k.do("scale", k.params("scale-out.json"))
			k.nodes(masters, 3)
			k.do("scale", k.params("scale-in.json"))
			k.nodes(masters, 2)
			k.do("heal", k.params("heal.json", "VNFC_ID", k.vnfc("workerNode")))
			k.nodes(masters, 2)
			if masters > 1 {
				k.do("heal", k.params("heal.json", "VNFC_ID", k.vnfc("masterNode")))
				k.nodes(masters, 2)
				if members := k.world.View().Members; len(members) != masters {
					t.Errorf("members of etcd: %q", members)
				}
			} else {
				k.p.expect(http.StatusBadRequest, http.MethodPost, k.instance+"/heal", k.params("heal.json", "VNFC_ID", k.vnfc("masterNode")), nil)
			}
			if k.vim()["id"] != first["id"] {
				t.Error("the cluster has become another VIM")
			}
			k.do("heal", map[string]any{})
			k.nodes(masters, 2)
			if k.vim()["id"] == first["id"] {
				t.Error("the new cluster is the former VIM")
			}
			k.do("terminate", k.params("terminate.json"))
			var list struct{ Vims []any }
			k.p.expect(http.StatusOK, http.MethodGet, "/v1.0/vims?type=kubernetes", nil, &list)
			if len(list.Vims) > 0 {
				t.Errorf("left registered: %v", list.Vims)
			}
			k.leaveNothing()
		})
	}
}

// A server that dies again and again neither loses nor repeats the work on nodes.
func TestKubernetesClusterWithServersThatDie(t *testing.T) {
	t.Parallel()
	k := newKubernetesCluster(t, "complex", kubetest.Options{PrepareTime: 3 * time.Second, JoinTime: time.Second})
	location := k.begin("instantiate", k.instantiation())
	for range 2 {
		k.p.until("busy", func() bool { return k.world.Busy() > 0 })
		k.p.kill()
		k.p = k.serve("--node-ssh-port", fmt.Sprint(sshtest.DefaultPort))
	}
	k.p.await(location, "COMPLETED")
	k.nodes(3, 2)
	k.vim()
	if got := k.world.Scripts(); slices.Max(got) > 2 {
		t.Errorf("scripts were run %v times on the machines", got)
	}
}

// A retry goes on with the node that has failed, and everybody can read why it has.
func TestKubernetesNodeThatFails(t *testing.T) {
	t.Parallel()
	k := newKubernetesCluster(t, "simple", kubetest.Options{})
	k.world.Fail(kubetest.Fault{Command: "script join", Times: 1, Stderr: "E: No space left on device"})
	location := k.begin("instantiate", k.instantiation())
	failed := k.p.await(location, "FAILED_TEMP")
	if failed.Error == nil || !strings.Contains(failed.Error.Detail, "master") || !strings.Contains(failed.Error.Detail, "No space left on device") {
		t.Errorf("error %+v", failed.Error)
	}
	k.p.expect(http.StatusAccepted, http.MethodPost, location+"/retry", nil, nil)
	k.p.await(location, "COMPLETED")
	k.nodes(1, 2)

	k.world.Fail(kubetest.Fault{Command: "script join", Times: 1, Stderr: "E: No space left on device"})
	location = k.begin("scale", k.params("scale-out.json"))
	k.p.await(location, "FAILED_TEMP")
	k.p.expect(http.StatusAccepted, http.MethodPost, location+"/rollback", nil, nil)
	k.p.await(location, "ROLLED_BACK")
	metrics := k.p.metrics()
	metrics.atLeast(1, `vnfm_ssh_action_duration_seconds_count{action="login",outcome="ok"}`)
	metrics.atLeast(1, `vnfm_ssh_action_duration_seconds_count{action="command",outcome="ok"}`)
	metrics.atLeast(1, `vnfm_ssh_action_duration_seconds_count{action="put",outcome="ok"}`)
	k.nodes(1, 2)
	k.do("terminate", k.params("terminate.json"))
	k.leaveNothing()
	k.p.expect(http.StatusNoContent, http.MethodDelete, "/vnflcm/v1/vnf_instances/"+filepath.Base(k.instance), nil, nil)
}
