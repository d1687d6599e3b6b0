package heattest_test

import (
	"bytes"
	"context"
	"fmt"
	"net"
	"net/netip"
	"strings"
	"testing"
	"time"

	"golang.org/x/crypto/ssh"

	"github.com/gophercloud/gophercloud/v2/openstack/networking/v2/ports"
	"github.com/gophercloud/gophercloud/v2/openstack/orchestration/v1/stacks"

	"vnfm/lcm/heat/heattest"
	"vnfm/mgmtdriver/ssh/sshtest"
)

// hostname logs in and asks for the name.
func hostname(t *testing.T, addr netip.Addr) (name string, key ssh.PublicKey, err error) {
	t.Helper()
	client, err := ssh.Dial("tcp", netip.AddrPortFrom(addr, sshtest.DefaultPort).String(), &ssh.ClientConfig{
		User: "ubuntu", Auth: []ssh.AuthMethod{ssh.Password("ubuntu")}, Timeout: 10 * time.Second,
		HostKeyCallback: func(_ string, _ net.Addr, k ssh.PublicKey) error { key = k; return nil },
	})
	if err != nil {
		return "", nil, err
	}
	defer func() { _ = client.Close() }()
	session, err := client.NewSession()
	if err != nil {
		return "", nil, err
	}
	out, err := session.Output("hostname")
	return strings.TrimSpace(string(out)), key, err
}

func TestServersAreMachines(t *testing.T) {
	t.Parallel()
	vms := &heattest.SSHVMs{User: "ubuntu", Password: "ubuntu", Handler: func(m heattest.Machine) sshtest.Handler {
		return func(ctx context.Context, s *sshtest.Session) int {
			if s.Command != "hostname" {
				return sshtest.Unknown(ctx, s)
			}
			_, _ = fmt.Fprintln(s.Stdout, m.Name)
			return 0
		}
	}}
	b := setup(t, heattest.Options{VMs: vms})
	body := vnfBody("vnf")
	body["template"] = strings.Replace(vnfTemplate, "resources:\n", `resources:
  master_FIP: {type: OS::Neutron::FloatingIP, properties: {floating_network: public, port_id: {get_resource: master_CP}}}
`, 1)
	s := b.create(body)
	if s.Status != "CREATE_COMPLETE" {
		t.Fatal(s.StatusReason)
	}
	list := b.resources("vnf", s.ID)
	addressOf := func(port string) netip.Addr {
		t.Helper()
		p, err := ports.Get(t.Context(), b.neutron, find(list, port).PhysicalID).Extract()
		if err != nil {
			t.Fatal(err)
		}
		return netip.MustParseAddr(p.FixedIPs[0].IPAddress)
	}
	addr := addressOf("worker_CP")
	if !b.cloud.CIDR("net0").Contains(addr) || !addr.IsLoopback() {
		t.Errorf("the port has %s", addr)
	}
	name, key, err := hostname(t, addr)
	if err != nil || !strings.Contains(name, "-worker-") {
		t.Fatalf("worker says %q, %v", name, err)
	}
	if fixed, _, err := hostname(t, addressOf("master_CP")); err != nil || !strings.Contains(fixed, "-master-") {
		t.Errorf("master says %q, %v", fixed, err)
	}
	var floating netip.Addr
	for _, item := range b.cloud.Leaks() {
		if item.Kind == "floatingip" {
			floating = netip.MustParseAddr(item.Name)
		}
	}
	if fixed, _, err := hostname(t, floating); err != nil || !strings.Contains(fixed, "-master-") {
		t.Errorf("master says %q at its floating IP, %v", fixed, err)
	}

	b.mark(find(list, "worker"))
	if s = b.update("vnf", s.ID, stackBody{}); s.Status != "UPDATE_COMPLETE" {
		t.Fatal(s.StatusReason)
	}
	again, newKey, err := hostname(t, addr)
	if err != nil || again == name || bytes.Equal(key.Marshal(), newKey.Marshal()) {
		t.Errorf("the healed worker says %q, %v, and its host key is the same: %t", again, err, err == nil && bytes.Equal(key.Marshal(), newKey.Marshal()))
	}

	if err := stacks.Delete(t.Context(), b.heat, "vnf", s.ID).ExtractErr(); err != nil {
		t.Fatal(err)
	}
	b.settle("vnf", s.ID)
	for vms.Machine(addr) != nil { // switching off ends a little later than the deletion
		pause(t.Context())
	}
	if _, _, err := hostname(t, addr); err == nil {
		t.Error("a deleted server answers")
	}
}

func TestCloudsBesideEachOtherHaveTheirOwnAddresses(t *testing.T) {
	t.Parallel()
	used := map[string]bool{}
	for range 3 {
		b := setup(t, heattest.Options{VMs: &heattest.SSHVMs{Password: "x"}})
		s := b.create(vnfBody("vnf"))
		if s.Status != "CREATE_COMPLETE" {
			t.Fatal(s.StatusReason)
		}
		pages, err := ports.List(b.neutron, nil).AllPages(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		list, err := ports.ExtractPorts(pages)
		if err != nil {
			t.Fatal(err)
		}
		for _, p := range list {
			if used[p.FixedIPs[0].IPAddress] {
				t.Errorf("%s was given away twice", p.FixedIPs[0].IPAddress)
			}
			used[p.FixedIPs[0].IPAddress] = true
		}
	}
}
