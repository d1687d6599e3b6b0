package heattest

import (
	"cmp"
	"fmt"
	"net/http"
	"slices"
	"strconv"
	"strings"
	"time"

	"vnfm/lcm/heat/heattest/hotlang"
)

const computeBase = computePrefix + "/v2.1"

func (c *Cloud) computeRoutes() {
	c.open("GET "+computePrefix+"/{$}", func(_ http.ResponseWriter, r *http.Request) (*reply, error) {
		return ok(object{"versions": []object{c.novaVersion(r, false)}})
	})
	version := func(_ http.ResponseWriter, r *http.Request) (*reply, error) {
		return ok(object{"version": c.novaVersion(r, true)})
	}
	c.open("GET "+computeBase, version)
	c.open("GET "+computeBase+"/{$}", version)
	c.guarded("GET "+computeBase+"/servers", c.listServers(func(r *http.Request, s *server) object {
		return object{"id": s.id, "name": s.name, "links": c.serverLinks(r, s.id)}
	}))
	c.guarded("GET "+computeBase+"/servers/detail", c.listServers(c.serverView))
	c.guarded("GET "+computeBase+"/servers/{id}", c.onServer(func(_ http.ResponseWriter, r *http.Request, s *server) (*reply, error) {
		return ok(object{"server": c.serverView(r, s)})
	}))
	c.guarded("DELETE "+computeBase+"/servers/{id}", c.onServer(func(_ http.ResponseWriter, _ *http.Request, s *server) (*reply, error) {
		c.removeServer(s)
		return &reply{status: http.StatusNoContent}, nil
	}))
	c.guarded("POST "+computeBase+"/servers/{id}/action", c.onServer(c.serverAction))
	c.guarded("GET "+computeBase+"/servers/{id}/os-volume_attachments", c.onServer(c.listAttachments))
	c.guarded("DELETE "+computeBase+"/servers/{id}/os-volume_attachments/{volume}", c.onServer(c.detach))
	c.guarded("GET "+computeBase+"/servers/{id}/os-interface", c.onServer(c.listInterfaces))
	c.guarded("GET "+computeBase+"/servers/{id}/ips", c.onServer(func(_ http.ResponseWriter, _ *http.Request, s *server) (*reply, error) {
		addresses := object{}
		for network, list := range c.serverAddresses(s) {
			addresses[network] = listOf(list.([]object), func(a object) object { return object{"version": a["version"], "addr": a["addr"]} })
		}
		return ok(object{"addresses": addresses})
	}))
	c.flavorRoutes()
	c.guarded("GET "+computeBase+"/os-availability-zone", func(_ http.ResponseWriter, _ *http.Request) (*reply, error) {
		return ok(object{"availabilityZoneInfo": []object{{"zoneName": "nova", "zoneState": object{"available": true}, "hosts": nil}}})
	})
	c.guarded("GET "+computeBase+"/os-server-groups", func(_ http.ResponseWriter, _ *http.Request) (*reply, error) {
		return ok(object{"server_groups": listOf(c.nova.groups.list(nil), groupView)})
	})
	c.guarded("GET "+computeBase+"/os-keypairs", func(_ http.ResponseWriter, _ *http.Request) (*reply, error) {
		return ok(object{"keypairs": listOf(hotlang.SortedKeys(c.nova.keys), func(name string) object {
			return object{"keypair": object{"name": name, "public_key": c.nova.keys[name], "fingerprint": ""}}
		})})
	})
	c.guarded("GET "+computeBase+"/limits", func(_ http.ResponseWriter, _ *http.Request) (*reply, error) {
		limit := c.quota
		if limit == 0 {
			limit = -1
		}
		return ok(object{"limits": object{"rate": []any{}, "absolute": object{"maxTotalInstances": limit, "totalInstancesUsed": len(c.nova.servers.items)}}})
	})
}

func (c *Cloud) novaVersion(r *http.Request, full bool) object {
	v := object{"id": "v2.1", "status": "CURRENT", "version": "2.93", "min_version": "2.1", "updated": "2013-07-23T11:33:21Z",
		"links": []object{{"rel": "self", "href": c.baseURL(r) + computeBase + "/"}}}
	if full {
		v["links"] = append(v["links"].([]object), object{"rel": "describedby", "type": "text/html", "href": "http://docs.openstack.org/"})
		v["media-types"] = []object{{"base": "application/json", "type": "application/vnd.openstack.compute+json;version=2.1"}}
	}
	return v
}

func (c *Cloud) listServers(view func(*http.Request, *server) object) handler {
	return func(_ http.ResponseWriter, r *http.Request) (*reply, error) {
		q := r.URL.Query()
		found := c.nova.servers.list(func(s *server) bool {
			return (!q.Has("name") || strings.Contains(s.name, q.Get("name"))) && (!q.Has("status") || strings.EqualFold(q.Get("status"), s.status)) &&
				(!q.Has("host") || q.Get("host") == s.host)
		})
		slices.Reverse(found) // Nova lists the newest first
		page, next := paginate(listOf(found, func(s *server) object { return view(r, s) }), r, c.baseURL(r)+r.URL.Path)
		body := object{"servers": page}
		if next != nil {
			body["servers_links"] = next
		}
		return ok(body)
	}
}

func (c *Cloud) onServer(h func(http.ResponseWriter, *http.Request, *server) (*reply, error)) handler {
	return func(w http.ResponseWriter, r *http.Request) (*reply, error) {
		s, found := c.nova.servers.get(r.PathValue("id"))
		if !found {
			return nil, novaFailure(http.StatusNotFound, "itemNotFound", "Instance "+r.PathValue("id")+" could not be found.")
		}
		return h(w, r, s)
	}
}

// serverAction knows os-start, os-stop and reboot, which happen at once.
func (c *Cloud) serverAction(w http.ResponseWriter, r *http.Request, s *server) (*reply, error) {
	body, err := decode(w, r)
	if err != nil || len(body) != 1 {
		return nil, novaFailure(http.StatusBadRequest, "badRequest", "There is no such action")
	}
	action := hotlang.SortedKeys(body)[0]
	var from, to string
	switch action {
	case "os-start":
		from, to = serverShutoff, serverActive
	case "os-stop":
		from, to = serverActive, serverShutoff
	case "reboot":
		from, to = serverActive, serverActive
	default:
		return nil, novaFailure(http.StatusBadRequest, "badRequest", "There is no such action: "+action)
	}
	if s.status != from {
		return nil, novaFailure(http.StatusConflict, "conflictingRequest", fmt.Sprintf("Cannot '%s' instance %s while it is in vm_state %s",
			strings.TrimPrefix(action, "os-"), s.id, vmState(s.status)))
	}
	c.power(s, to, func(error) {})
	return &reply{status: http.StatusAccepted}, nil
}

// power starts or stops a server; done is called with the lock held when its machine followed.
func (c *Cloud) power(s *server, to string, done func(error)) {
	before := s.status
	s.status, s.updated = to, time.Now()
	switch {
	case to == serverShutoff:
		c.shutMachine(s)
		done(nil)
	case before == serverShutoff:
		c.boot(s, done)
	default:
		done(nil)
	}
}

func (c *Cloud) listAttachments(_ http.ResponseWriter, _ *http.Request, s *server) (*reply, error) {
	return ok(object{"volumeAttachments": listOf(s.volumes, func(v *volume) object {
		return object{"id": v.id, "volumeId": v.id, "serverId": s.id, "device": v.device}
	})})
}

func (c *Cloud) detach(_ http.ResponseWriter, r *http.Request, s *server) (*reply, error) {
	id := r.PathValue("volume")
	i := slices.IndexFunc(s.volumes, func(v *volume) bool { return v.id == id })
	if i < 0 {
		return nil, novaFailure(http.StatusNotFound, "itemNotFound", "volume_id not found: "+id)
	}
	c.detachVolume(s.volumes[i])
	s.volumes = slices.Delete(s.volumes, i, i+1)
	return &reply{status: http.StatusAccepted}, nil
}

func (c *Cloud) listInterfaces(_ http.ResponseWriter, _ *http.Request, s *server) (*reply, error) {
	return ok(object{"interfaceAttachments": listOf(s.ports, func(p *port) object {
		return object{"port_id": p.id, "net_id": p.network.id, "mac_addr": p.mac, "port_state": "ACTIVE", "fixed_ips": c.portView(p)["fixed_ips"]}
	})})
}

func (c *Cloud) serverLinks(r *http.Request, id string) []object {
	return []object{{"rel": "self", "href": c.baseURL(r) + computeBase + "/servers/" + id}, {"rel": "bookmark", "href": c.baseURL(r) + computePrefix + "/servers/" + id}}
}

func vmState(status string) string {
	switch status {
	case serverBuild:
		return "building"
	case serverShutoff:
		return "stopped"
	}
	return strings.ToLower(status)
}

func (c *Cloud) serverView(r *http.Request, s *server) object {
	power := map[string]int{serverActive: 1, serverShutoff: 4}[s.status]
	o := object{
		"id": s.id, "name": s.name, "status": s.status, "tenant_id": c.account.ProjectID, "user_id": c.account.UserID, "metadata": orEmpty(s.metadata),
		"hostId": s.hostID(c.account.ProjectID), "image": "", "flavor": object{"id": s.flavor.id,
			"links": []object{{"rel": "bookmark", "href": c.baseURL(r) + computePrefix + "/flavors/" + s.flavor.id}}},
		"created": stamp(s.created), "updated": stamp(s.updated), "addresses": c.serverAddresses(s), "accessIPv4": "", "accessIPv6": "",
		"links": c.serverLinks(r, s.id), "OS-DCF:diskConfig": "MANUAL", "OS-EXT-AZ:availability_zone": "", "config_drive": s.configDrive,
		"key_name": orNil(s.key), "OS-SRV-USG:launched_at": nil, "OS-SRV-USG:terminated_at": nil, "OS-EXT-SRV-ATTR:host": orNil(s.host),
		"OS-EXT-SRV-ATTR:instance_name": fmt.Sprintf("instance-%08x", s.number), "OS-EXT-SRV-ATTR:hypervisor_hostname": orNil(s.host),
		"OS-EXT-STS:task_state": nil, "OS-EXT-STS:vm_state": vmState(s.status), "OS-EXT-STS:power_state": power,
		"os-extended-volumes:volumes_attached": listOf(s.volumes, func(v *volume) object { return object{"id": v.id} }),
		"security_groups":                      []object{{"name": "default"}},
	}
	if !slices.Contains(c.account.Roles, "admin") {
		for _, key := range []string{"OS-EXT-SRV-ATTR:host", "OS-EXT-SRV-ATTR:instance_name", "OS-EXT-SRV-ATTR:hypervisor_hostname"} {
			delete(o, key)
		}
	}
	if s.image != nil {
		o["image"] = object{"id": s.image.id, "links": []object{{"rel": "bookmark", "href": c.baseURL(r) + computePrefix + "/images/" + s.image.id}}}
	}
	switch s.status {
	case serverBuild:
		o["OS-EXT-STS:task_state"], o["progress"] = "spawning", 0
	case serverActive:
		o["progress"] = 0
		fallthrough
	case serverShutoff:
		o["OS-EXT-AZ:availability_zone"] = s.zone
		o["OS-SRV-USG:launched_at"] = s.created.UTC().Format(microseconds)
	case serverError:
		o["fault"] = object{"code": 500, "created": stamp(s.updated), "message": s.fault}
	}
	return o
}

// serverAddresses are fixed and floating addresses by the name of their network.
func (c *Cloud) serverAddresses(s *server) object {
	out := object{}
	for _, p := range s.ports {
		list, _ := out[p.network.name].([]object)
		for _, ip := range p.fixed {
			list = append(list, object{"version": 4, "addr": ip.addr.String(), "OS-EXT-IPS:type": "fixed", "OS-EXT-IPS-MAC:mac_addr": p.mac})
		}
		for _, f := range c.neutron.fips.list(func(f *floatingIP) bool { return f.port == p }) {
			list = append(list, object{"version": 4, "addr": f.address.addr.String(), "OS-EXT-IPS:type": "floating", "OS-EXT-IPS-MAC:mac_addr": p.mac})
		}
		out[p.network.name] = list
	}
	return out
}

func groupView(g *serverGroup) object {
	members := g.members
	if members == nil {
		members = []string{}
	}
	return object{"id": g.id, "name": g.name, "policies": []string{g.policy}, "metadata": object{}, "members": members}
}

func (c *Cloud) flavorRoutes() {
	c.guarded("GET "+computeBase+"/flavors", func(_ http.ResponseWriter, r *http.Request) (*reply, error) {
		return ok(object{"flavors": listOf(c.nova.flavors.list(nil), func(f *flavor) object {
			return object{"id": f.id, "name": f.name, "links": c.flavorLinks(r, f)}
		})})
	})
	c.guarded("GET "+computeBase+"/flavors/detail", func(_ http.ResponseWriter, r *http.Request) (*reply, error) {
		return ok(object{"flavors": listOf(c.nova.flavors.list(nil), func(f *flavor) object { return c.flavorView(r, f) })})
	})
	c.guarded("GET "+computeBase+"/flavors/{id}", func(_ http.ResponseWriter, r *http.Request) (*reply, error) {
		f, found := c.nova.flavors.get(r.PathValue("id"))
		if !found {
			return nil, novaFailure(http.StatusNotFound, "itemNotFound", "Flavor "+r.PathValue("id")+" could not be found.")
		}
		return ok(object{"flavor": c.flavorView(r, f)})
	})
}

func (c *Cloud) flavorLinks(r *http.Request, f *flavor) []object {
	return []object{{"rel": "self", "href": c.baseURL(r) + computeBase + "/flavors/" + f.id}, {"rel": "bookmark", "href": c.baseURL(r) + computePrefix + "/flavors/" + f.id}}
}

func (c *Cloud) flavorView(r *http.Request, f *flavor) object {
	swap := any("")
	if f.swapMiB > 0 {
		swap = strconv.Itoa(f.swapMiB)
	}
	o := object{"id": f.id, "name": f.name, "ram": f.ramMiB, "disk": f.diskGiB, "swap": swap, "OS-FLV-EXT-DATA:ephemeral": f.ephemeralGiB,
		"OS-FLV-DISABLED:disabled": false, "vcpus": f.vcpus, "os-flavor-access:is_public": f.public, "rxtx_factor": f.rxtx, "links": c.flavorLinks(r, f)}
	if minor := microversion(r); minor >= 55 {
		o["description"] = nil
		if minor >= 61 {
			o["extra_specs"] = orEmpty(f.extra)
		}
	}
	return o
}

// microversion is the second number of the version of Nova's API that a request asks for.
func microversion(r *http.Request) int {
	version := cmp.Or(strings.TrimPrefix(r.Header.Get("OpenStack-API-Version"), "compute "), r.Header.Get("X-OpenStack-Nova-API-Version"))
	minor, err := strconv.Atoi(strings.TrimPrefix(version, "2."))
	if err != nil {
		return 1
	}
	return minor
}
