package heattest

import (
	"fmt"
	"net/http"
	"time"
)

// cinder is the state of the volume service. The cloud's lock guards it.
type cinder struct {
	volumes table[*volume]
	types   []volumeType
}

type volumeType struct{ id, name string }

type volume struct {
	id, name, status string // status: creating, available, reserved, in-use, deleting
	typ, zone        string
	description      string
	image            *image
	sizeGiB          int
	metadata         object
	server           *server
	attachment       string
	device           string
	created, updated time.Time
	ownedByServer    bool // goes with the server
}

func (c *Cloud) findVolumeType(ref string) (volumeType, bool) {
	for _, t := range c.cinder.types {
		if t.id == ref || t.name == ref {
			return t, true
		}
	}
	return volumeType{}, false
}

func (c *Cloud) addVolume(v *volume) {
	v.id, v.status, v.created, v.updated = newID(), "creating", time.Now(), time.Now()
	if v.typ == "" {
		v.typ = "__DEFAULT__"
	}
	if v.zone == "" {
		v.zone = "nova"
	}
	c.cinder.volumes.put(v.id, v)
}

// reserve is Cinder's check before Nova attaches; the text is the one that a server whose volume is still in use fails with.
func (v *volume) reserve() error {
	if v.status == "available" || v.status == "downloading" {
		return nil
	}
	return novaFailure(http.StatusBadRequest, "badRequest", fmt.Sprintf(
		"Invalid volume: Volume %s status must be available or downloading to reserve, but the current status is %s.", v.id, v.status))
}

func (v *volume) attach(s *server) {
	v.server, v.status, v.attachment, v.updated = s, "in-use", newID(), time.Now()
	n := 0
	for _, other := range s.volumes {
		if other == v {
			break
		}
		n++
	}
	if s.image != nil {
		n++ // the image is the first disk
	}
	v.device = "/dev/sd" + string(rune('a'+n%26))
}

func (c *Cloud) detachVolume(v *volume) {
	v.server, v.attachment, v.device, v.updated = nil, "", "", time.Now()
	if v.status == "in-use" {
		v.status = "available"
	}
}

func (c *Cloud) volumeRoutes() {
	const base = volumePrefix + "/v3/{project}"
	version := func(_ http.ResponseWriter, r *http.Request) (*reply, error) {
		return &reply{status: http.StatusMultipleChoices, body: object{"versions": []object{{
			"id": "v3.0", "status": "CURRENT", "version": "3.70", "min_version": "3.0", "updated": "2022-08-31T00:00:00Z",
			"links": []object{{"rel": "describedby", "type": "text/html", "href": "https://docs.openstack.org/"},
				{"rel": "self", "href": c.baseURL(r) + volumePrefix + "/v3/"}},
			"media-types": []object{{"base": "application/json", "type": "application/vnd.openstack.volume+json;version=3"}}}}}}, nil
	}
	c.open("GET "+volumePrefix+"/{$}", version)
	c.open("GET "+volumePrefix+"/v3/{$}", version)
	list := func(view func(*http.Request, *volume) object) handler {
		return func(_ http.ResponseWriter, r *http.Request) (*reply, error) {
			q := r.URL.Query()
			found := c.cinder.volumes.list(func(v *volume) bool {
				return (!q.Has("name") || q.Get("name") == v.name) && (!q.Has("status") || q.Get("status") == v.status)
			})
			return ok(object{"volumes": listOf(found, func(v *volume) object { return view(r, v) })})
		}
	}
	c.guarded("GET "+base+"/volumes", list(func(r *http.Request, v *volume) object {
		return object{"id": v.id, "name": v.name, "links": c.volumeLinks(r, v)}
	}))
	c.guarded("GET "+base+"/volumes/detail", list(c.volumeView))
	c.guarded("GET "+base+"/volumes/{id}", func(_ http.ResponseWriter, r *http.Request) (*reply, error) {
		v, err := c.volumeOf(r)
		if err != nil {
			return nil, err
		}
		return ok(object{"volume": c.volumeView(r, v)})
	})
	c.guarded("DELETE "+base+"/volumes/{id}", func(_ http.ResponseWriter, r *http.Request) (*reply, error) {
		v, err := c.volumeOf(r)
		if err != nil {
			return nil, err
		}
		if v.server != nil {
			return nil, novaFailure(http.StatusBadRequest, "badRequest", "Invalid volume: Volume status must be available or error or error_restoring or "+
				"error_extending or error_managing and must not be migrating, attached, belong to a group, have snapshots, awaiting a transfer, or be disassociated from snapshots after volume transfer.")
		}
		c.cinder.volumes.drop(v.id)
		return &reply{status: http.StatusAccepted}, nil
	})
	c.guarded("GET "+base+"/types", func(_ http.ResponseWriter, _ *http.Request) (*reply, error) {
		return ok(object{"volume_types": listOf(c.cinder.types, func(t volumeType) object {
			return object{"id": t.id, "name": t.name, "is_public": true, "description": nil, "extra_specs": object{}, "qos_specs_id": nil,
				"os-volume-type-access:is_public": true}
		})})
	})
	c.guarded("GET "+base+"/os-availability-zone", func(_ http.ResponseWriter, _ *http.Request) (*reply, error) {
		return ok(object{"availabilityZoneInfo": []object{{"zoneName": "nova", "zoneState": object{"available": true}, "hosts": nil}}})
	})
}

func (c *Cloud) volumeOf(r *http.Request) (*volume, error) {
	v, ok := c.cinder.volumes.get(r.PathValue("id"))
	if !ok {
		return nil, novaFailure(http.StatusNotFound, "itemNotFound", "Volume "+r.PathValue("id")+" could not be found.")
	}
	return v, nil
}

func (c *Cloud) volumeLinks(r *http.Request, v *volume) []object {
	base := c.baseURL(r) + volumePrefix
	return []object{{"rel": "self", "href": base + "/v3/" + c.account.ProjectID + "/volumes/" + v.id},
		{"rel": "bookmark", "href": base + "/" + c.account.ProjectID + "/volumes/" + v.id}}
}

const microseconds = "2006-01-02T15:04:05.000000"

func (c *Cloud) volumeView(r *http.Request, v *volume) object {
	attachments, bootable := []object{}, "false"
	if v.server != nil {
		attachments = append(attachments, object{"id": v.id, "attachment_id": v.attachment, "volume_id": v.id, "server_id": v.server.id,
			"host_name": orNil(v.server.host), "device": v.device, "attached_at": v.updated.UTC().Format(microseconds)})
	}
	o := object{
		"id": v.id, "status": v.status, "size": v.sizeGiB, "availability_zone": v.zone, "created_at": v.created.UTC().Format(microseconds),
		"updated_at": v.updated.UTC().Format(microseconds), "name": v.name, "description": orNil(v.description), "volume_type": v.typ, "snapshot_id": nil,
		"source_volid": nil, "metadata": orEmpty(v.metadata), "links": c.volumeLinks(r, v), "user_id": c.account.UserID, "bootable": bootable,
		"encrypted": false, "replication_status": nil, "consistencygroup_id": nil, "multiattach": false, "attachments": attachments,
		"migration_status": nil, "os-vol-tenant-attr:tenant_id": c.account.ProjectID, "os-vol-mig-status-attr:migstat": nil,
		"os-vol-mig-status-attr:name_id": nil, "os-vol-host-attr:host": "testbed@null#null",
	}
	if v.image != nil {
		o["bootable"] = "true"
	}
	return o
}

func orEmpty(m object) object {
	if m == nil {
		return object{}
	}
	return m
}
