//go:build e2e

package e2e

import (
	"encoding/json"
	"io/fs"
	"maps"
	"math"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/gophercloud/gophercloud/v2/openstack/compute/v2/servers"
)

// hostsDir is where e2e/openstack/hosts keeps the hosts.
func hostsDir() string {
	if state := os.Getenv("TESTBED_STATE"); state != "" {
		return state + "/hosts"
	}
	return "/var/tmp/openstack-testbed/hosts"
}

func clustersDir() string { return hostsDir() + "/shared/kubernetes" }

func journalPath(server string) string { return hostsDir() + "/journal/" + server + ".jsonl" }

// startHosts gives the servers of OpenStack bodies on which the commands of Kubernetes behave as those of a cluster do, until the test ends. More
// folders have programs in place of those.
func startHosts(t *testing.T, more ...string) {
	t.Helper()
	script(t, "openstack/hosts", "stop")
	responses := hostsDir() + "/responses"
	t.Cleanup(func() {
		script(t, "openstack/hosts", "stop")
		for _, dir := range []string{responses, clustersDir()} {
			if err := os.RemoveAll(dir); err != nil {
				t.Error(err)
			}
		}
	})
	for _, dir := range []string{responses, clustersDir()} {
		if err := os.RemoveAll(dir); err != nil {
			t.Fatal(err)
		}
	}
	for _, standIns := range []string{"kubernetes", "registry"} {
		if err := os.CopyFS(responses, os.DirFS(standIns)); err != nil {
			t.Fatal(err)
		}
	}
	if err := os.WriteFile(responses+"/curl.real", readFile(t, "/usr/bin/curl"), 0o755); err != nil {
		t.Fatal(err)
	}
	for _, folder := range more {
		if out, err := exec.CommandContext(t.Context(), "cp", "-rT", folder, responses).CombinedOutput(); err != nil {
			t.Fatalf("%v: %s", err, out)
		}
	}
	if err := os.MkdirAll(clustersDir(), 0o777); err != nil {
		t.Fatal(err)
	}
	if err := os.Chmod(clustersDir(), 0o777); err != nil {
		t.Fatal(err)
	}
	script(t, "openstack/hosts", "start")
}

// node is a VNFC as a node of the cluster.
type node struct{ vdu, server, host, address, name string }

// storageServer is the VDU that is no node.
const storageServer = "storage_server"

// nodes are those of a VDU, or of all that are nodes, by the ids of the VNFCs.
func (k *kubernetes) nodes(vdu string) map[string]node {
	k.t.Helper()
	found := map[string]node{}
	for _, vnfc := range read[vnfInstance](k.t, instancePath(k.instanceID)).InstantiatedVnfInfo.VnfcResourceInfo {
		if vdu != vnfc.VduID && (vdu != "" || vnfc.VduID == storageServer) {
			continue
		}
		server, err := servers.Get(k.t.Context(), k.cloud.nova, vnfc.ComputeResource.ResourceID).Extract()
		if err != nil {
			k.t.Fatal(err)
		}
		addresses, err := json.Marshal(server.Addresses)
		if err != nil {
			k.t.Fatal(err)
		}
		var networks map[string][]struct{ Addr string }
		if err := json.Unmarshal(addresses, &networks); err != nil || len(networks["net0"]) != 1 {
			k.t.Fatalf("addresses of a node: %s", addresses)
		}
		n := node{vdu: vnfc.VduID, server: server.ID, host: server.Host, address: networks["net0"][0].Addr}
		n.name = strings.TrimSuffix(n.vdu, "Node") + n.address[strings.LastIndexByte(n.address, '.')+1:]
		found[vnfc.ID] = n
	}
	return found
}

// has reports whether a host has an address.
func (n node) has(t *testing.T, address string) bool {
	t.Helper()
	out, err := exec.CommandContext(t.Context(), "ip", "netns", "exec", "tb-"+n.server[:13], "ip", "-o", "addr").Output()
	return err == nil && strings.Contains(string(out), " "+address+"/")
}

// file is what a file of a host holds.
func (n node) file(t *testing.T, path string) string {
	t.Helper()
	return string(readFile(t, hostsDir()+"/fs/vms/"+n.server+"/root"+path))
}

// noteHosts notes what has been written down on the hosts of the nodes.
func (k *kubernetes) noteHosts() {
	k.t.Helper()
	hosts := k.nodes("")
	maps.Copy(hosts, k.nodes(storageServer))
	for _, n := range hosts {
		k.seen[n.server] = true
		for _, dir := range []string{"/home/ubuntu/.vnfm", "/tmp", "/var/log"} {
			root := hostsDir() + "/fs/vms/" + n.server + "/root" + dir
			_ = filepath.WalkDir(root, func(path string, entry fs.DirEntry, err error) error {
				if err != nil || !entry.Type().IsRegular() {
					return nil //nolint:nilerr // what a host has removed tells nothing
				}
				if content, err := os.ReadFile(path); err == nil {
					k.traces[strings.TrimPrefix(path, hostsDir())] = string(content)
				}
				return nil
			})
		}
	}
}

// ran is a command that a host has run.
type ran struct {
	time    float64
	command string
}

// journal are the commands that have stand-ins, in the order in which a host has run them.
func (k *kubernetes) journal(n node) []ran {
	k.t.Helper()
	var commands []ran
	for line := range strings.Lines(string(readFile(k.t, journalPath(n.server)))) {
		var entry struct {
			Time    float64
			Command string
			Argv    []string
		}
		if err := json.Unmarshal([]byte(line), &entry); err != nil {
			k.t.Fatalf("journal of %s: %v", n.name, err)
		}
		commands = append(commands, ran{entry.Time, strings.Join(append([]string{entry.Command}, entry.Argv...), " ")})
	}
	return commands
}

// count is how often a host has run a command, of which the beginning is given.
func (k *kubernetes) count(n node, command string) int {
	k.t.Helper()
	times := 0
	for _, ran := range k.journal(n) {
		if strings.HasPrefix(ran.command, command) {
			times++
		}
	}
	return times
}

// ran checks how often a host has run a command.
func (k *kubernetes) ran(n node, command string, times int) {
	k.t.Helper()
	if got := k.count(n, command); got != times {
		k.t.Errorf("%s has run %q %d times, not %d", n.name, command, got, times)
	}
}

// left checks that one of the masters has run commands about a node that goes, in this order; a part of each is given.
func (k *kubernetes) left(gone node, parts ...string) {
	k.t.Helper()
	var all []ran
	for _, master := range k.nodes("masterNode") {
		all = append(all, k.journal(master)...)
	}
	slices.SortFunc(all, func(a, b ran) int { return int(math.Copysign(1, a.time-b.time)) })
	missing := parts
	for _, ran := range all {
		if len(missing) > 0 && strings.Contains(ran.command, missing[0]) {
			missing = missing[1:]
		}
	}
	if len(missing) > 0 {
		k.t.Errorf("of %q, before %s went, this was not done in its place: %q", parts, gone.name, missing[0])
	}
}
