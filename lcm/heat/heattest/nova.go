package heattest

import (
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"net/http"
	"net/netip"
	"slices"
	"strings"
	"time"
)

// nova is the state of the compute service. The cloud's lock guards it.
type nova struct {
	servers   table[*server]
	flavors   table[*flavor]
	groups    table[*serverGroup]
	keys      map[string]string // public keys by name of the pair
	instances int               // servers ever made
	scheduled int               // servers ever given to a host
}

type flavor struct {
	id, name               string
	vcpus, ramMiB, diskGiB int
	ephemeralGiB, swapMiB  int
	public                 bool
	rxtx                   float64
	extra                  object
}

type serverGroup struct {
	id, name, policy string
	members          []string
}

// server states as Nova names them.
const (
	serverBuild   = "BUILD"
	serverActive  = "ACTIVE"
	serverShutoff = "SHUTOFF"
	serverError   = "ERROR"
)

type server struct {
	id, name, status string
	number           int
	flavor           *flavor
	image            *image // nil when booted from a volume
	ports            []*port
	ownPorts         []*port // made by Nova, gone with the server
	volumes          []*volume
	metadata         object
	zone, host       string
	key, userData    string
	configDrive      string
	group            *serverGroup
	fault            string
	machine          *machine // nil unless it is reachable
	created, updated time.Time
}

func (c *Cloud) findFlavor(ref string) *flavor {
	if f, ok := c.nova.flavors.get(ref); ok {
		return f
	}
	return first(c.nova.flavors.list(func(f *flavor) bool { return f.name == ref }))
}

func (c *Cloud) findGroup(ref string) *serverGroup {
	if g, ok := c.nova.groups.get(ref); ok {
		return g
	}
	return first(c.nova.groups.list(func(g *serverGroup) bool { return g.name == ref }))
}

// checkQuota is Nova's answer when one more server is too many.
func (c *Cloud) checkQuota() error {
	if used := len(c.nova.servers.items); c.quota > 0 && used >= c.quota {
		return novaFailure(http.StatusForbidden, "forbidden",
			fmt.Sprintf("Quota exceeded for instances: Requested 1, but already used %d of %d instances", used, c.quota))
	}
	return nil
}

// What a host has. Nothing is ever used up.
const (
	hostVCPUs   = 1000
	hostRAMMiB  = 8_000_000
	hostDiskGiB = 600_000
)

// schedule picks a host; anti-affinity excludes those of the group's members. No host is an error that shows on the server.
func (c *Cloud) schedule(s *server) error {
	if s.flavor.vcpus > hostVCPUs || s.flavor.ramMiB > hostRAMMiB || s.flavor.diskGiB > hostDiskGiB {
		return inError("Message: No valid host was found. , Code: 500")
	}
	hosts := c.opts.Hosts
	if name, host, forced := strings.Cut(s.zone, ":"); forced {
		s.zone, hosts = name, []string{host}
	}
	var taken []string
	if s.group != nil {
		for _, id := range s.group.members {
			if member, ok := c.nova.servers.get(id); ok && member != s {
				taken = append(taken, member.host)
			}
		}
	}
	for i := range hosts {
		host := hosts[(c.nova.scheduled+i)%len(hosts)]
		if s.group != nil && (s.group.policy == "anti-affinity" && slices.Contains(taken, host) ||
			s.group.policy == "affinity" && len(taken) > 0 && !slices.Contains(taken, host)) {
			continue
		}
		c.nova.scheduled++
		s.host = host
		return nil
	}
	return inError("Message: No valid host was found. There are not enough hosts available., Code: 500")
}

// addServer makes a server in state BUILD with the given ports and volumes, which must be free.
func (c *Cloud) addServer(s *server) error {
	if err := c.checkQuota(); err != nil {
		return err
	}
	if zone, _, _ := strings.Cut(s.zone, ":"); zone != "" && zone != "nova" {
		return novaFailure(http.StatusBadRequest, "badRequest", "The requested availability zone is not available")
	}
	for _, v := range s.volumes {
		if err := v.reserve(); err != nil {
			return err
		}
	}
	for _, p := range s.ports {
		if p.device != "" {
			return novaFailure(http.StatusBadRequest, "badRequest", fmt.Sprintf("Port %s is still in use.", p.id))
		}
	}
	c.nova.instances++
	s.id, s.number, s.status, s.created, s.updated = newID(), c.nova.instances, serverBuild, time.Now(), time.Now()
	c.nova.servers.put(s.id, s)
	for _, p := range s.ports {
		p.device = s.id
		p.touch()
	}
	for _, v := range s.volumes {
		v.attach(s)
	}
	if s.group != nil {
		s.group.members = append(s.group.members, s.id)
	}
	return nil
}

// activate ends BUILD.
func (c *Cloud) activate(s *server) {
	if s.zone == "" {
		s.zone = "nova"
	}
	s.status, s.updated = serverActive, time.Now()
	for _, p := range s.ports {
		p.host = s.host
		p.touch()
	}
}

func (s *server) failWith(reason string) {
	s.status, s.fault, s.updated = serverError, reason, time.Now()
}

// releasePorts takes the ports away from the server, which will not come back.
func (c *Cloud) releasePorts(s *server) {
	for _, p := range s.ports {
		p.device, p.host = "", ""
		p.touch()
	}
	for _, p := range s.ownPorts {
		c.removePort(p)
	}
	s.ports, s.ownPorts = nil, nil
}

// removeServer deletes a server; its volumes are free and its machine is switched off.
func (c *Cloud) removeServer(s *server) {
	c.shutMachine(s)
	c.releasePorts(s)
	for _, v := range s.volumes {
		c.detachVolume(v)
		if v.ownedByServer {
			c.cinder.volumes.drop(v.id)
		}
	}
	if s.group != nil {
		s.group.members = slices.DeleteFunc(s.group.members, func(id string) bool { return id == s.id })
	}
	c.nova.servers.drop(s.id)
}

// DeleteServer deletes a server as an operator would with "openstack server delete", behind the back of its stack. It tells whether it existed.
func (c *Cloud) DeleteServer(id string) bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	s, ok := c.nova.servers.get(id)
	if ok {
		c.removeServer(s)
	}
	return ok
}

// addresses are the server's fixed addresses by network, in the order of its ports.
func (s *server) addresses() []netip.Addr {
	var out []netip.Addr
	for _, p := range s.ports {
		for _, ip := range p.fixed {
			out = append(out, ip.addr)
		}
	}
	return out
}

func (s *server) hostID(project string) string {
	if s.host == "" {
		return ""
	}
	sum := sha256.Sum224([]byte(project + s.host))
	return hex.EncodeToString(sum[:])
}

func inError(reason string) error {
	return &resourceError{class: "ResourceInError", message: "Went to status ERROR due to \"" + reason + "\""}
}

func novaFailure(status int, kind, message string) error {
	return &failure{status: status, message: message, body: object{kind: object{"code": status, "message": message}}}
}
