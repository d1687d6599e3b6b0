package heattest

import (
	"net/http"

	"vnfm/lcm/heat/heattest/hotlang"
)

// volumeKind is OS::Cinder::Volume.
func volumeKind() *kind {
	return &kind{
		properties: map[string]property{
			"name": {typ: "string"}, "size": {typ: "integer", bounded: true, least: 1}, "image": {typ: "string", exists: "glance.image", replace: true},
			"volume_type": {typ: "string", exists: "cinder.vtype"}, "availability_zone": {typ: "string", replace: true}, "description": {typ: "string"},
			"metadata": {typ: "map"}, "snapshot_id": {typ: "string", replace: true}, "source_volid": {typ: "string", replace: true},
			"backup_id": {typ: "string", replace: true}, "scheduler_hints": {typ: "map", replace: true}, "read_only": {typ: "boolean"},
			"multiattach": {typ: "boolean", replace: true}, "imageRef": {typ: "string", exists: "glance.image", replace: true},
		},
		check: func(_ *Cloud, p object, _ string) error {
			if p["size"] == nil && p["snapshot_id"] == nil && p["source_volid"] == nil && p["backup_id"] == nil {
				return validation(`If neither "backup_id" nor "size" is provided, one and only one of "source_volid", "snapshot_id" must be specified, but currently specified options: [].`)
			}
			return nil
		},
		create: createVolume,
		ready: func(c *Cloud, r *resource, done func(error)) {
			if v, ok := c.cinder.volumes.get(r.physical); ok && v.status == "creating" {
				v.status = "available"
			}
			done(nil)
		},
		update: updateVolume,
		remove: removeVolume,
		broken: func(c *Cloud, r *resource) bool {
			v, ok := c.cinder.volumes.get(r.physical)
			return !ok || v.status == "error"
		},
		attributes: func(c *Cloud, r *resource) object {
			v, ok := c.cinder.volumes.get(r.physical)
			if !ok {
				return object{}
			}
			return c.volumeView(nil, v)
		},
	}
}

func createVolume(c *Cloud, r *resource) error {
	p := r.properties
	v := &volume{name: text(p, "name"), typ: text(p, "volume_type"), zone: text(p, "availability_zone"), description: text(p, "description"),
		metadata: child(p, "metadata")}
	v.sizeGiB, _ = p["size"].(int)
	if v.name == "" {
		v.name = r.physicalName
	}
	ref := text(p, "image")
	if ref == "" {
		ref = text(p, "imageRef")
	}
	if ref != "" {
		i, err := c.findImage(ref)
		if err != nil {
			return err
		}
		v.image = i
	}
	c.addVolume(v)
	r.physical = v.id
	return nil
}

func updateVolume(c *Cloud, r *resource, _, after object) error {
	v, ok := c.cinder.volumes.get(r.physical)
	if !ok {
		return novaFailure(http.StatusNotFound, "itemNotFound", "Volume "+r.physical+" could not be found.")
	}
	size, _ := after["size"].(int)
	if size != 0 && size < v.sizeGiB {
		return &resourceError{class: "NotSupported", message: "Shrinking volume is not supported."}
	}
	v.sizeGiB, v.metadata = max(size, v.sizeGiB), child(after, "metadata")
	if name := text(after, "name"); name != "" {
		v.name = name
	}
	return nil
}

// removeVolume refuses while a server that is not going away has it.
func removeVolume(c *Cloud, r *resource) error {
	v, ok := c.cinder.volumes.get(r.physical)
	if !ok {
		return nil
	}
	if v.server != nil {
		return &resourceError{class: "Error", message: "Volume in use"}
	}
	c.cinder.volumes.drop(v.id)
	return nil
}

// attachmentKind is OS::Cinder::VolumeAttachment.
func attachmentKind() *kind {
	return &kind{
		properties: map[string]property{
			"instance_uuid": {typ: "string", required: true, replace: true}, "volume_id": {typ: "string", required: true, replace: true, exists: "cinder.volume"},
			"mountpoint": {typ: "string", replace: true},
		},
		create: func(c *Cloud, r *resource) error {
			s, ok := c.nova.servers.get(text(r.properties, "instance_uuid"))
			if !ok {
				return novaFailure(http.StatusNotFound, "itemNotFound", "Instance "+text(r.properties, "instance_uuid")+" could not be found.")
			}
			v, ok := c.cinder.volumes.get(text(r.properties, "volume_id"))
			if !ok {
				return novaFailure(http.StatusNotFound, "itemNotFound", "Volume "+text(r.properties, "volume_id")+" could not be found.")
			}
			if err := v.reserve(); err != nil {
				return err
			}
			s.volumes = append(s.volumes, v)
			v.attach(s)
			r.physical = v.id
			return nil
		},
		yield:  detachResource,
		remove: func(c *Cloud, r *resource) error { detachResource(c, r); return nil },
		attributes: func(_ *Cloud, _ *resource) object {
			return object{}
		},
	}
}

func detachResource(c *Cloud, r *resource) {
	v, ok := c.cinder.volumes.get(r.physical)
	if !ok || v.server == nil || v.server.id != text(r.properties, "instance_uuid") {
		return
	}
	s := v.server
	for i := range s.volumes {
		if s.volumes[i] == v {
			s.volumes = append(s.volumes[:i:i], s.volumes[i+1:]...)
			break
		}
	}
	c.detachVolume(v)
}

// volumeTypeKind is OS::Cinder::VolumeType.
func volumeTypeKind() *kind {
	return &kind{
		adminOnly: true,
		properties: map[string]property{
			"name": {typ: "string", required: true}, "metadata": {typ: "map"}, "is_public": {typ: "boolean"}, "description": {typ: "string"}, "projects": {typ: "list"},
		},
		create: func(c *Cloud, r *resource) error {
			t := volumeType{newID(), text(r.properties, "name")}
			c.cinder.types = append(c.cinder.types, t)
			r.physical = t.id
			return nil
		},
		update: func(*Cloud, *resource, object, object) error { return nil },
		remove: func(c *Cloud, r *resource) error {
			for i, t := range c.cinder.types {
				if t.id == r.physical {
					c.cinder.types = append(c.cinder.types[:i:i], c.cinder.types[i+1:]...)
					break
				}
			}
			return nil
		},
		attributes: func(c *Cloud, r *resource) object {
			t, _ := c.findVolumeType(r.physical)
			return object{"id": t.id, "name": t.name}
		},
	}
}

// serverGroupKind is OS::Nova::ServerGroup.
func serverGroupKind() *kind {
	return &kind{
		properties: map[string]property{
			"name": {typ: "string"},
			"policies": {typ: "list", replace: true, item: &property{typ: "string",
				allowed: []string{"anti-affinity", "affinity", "soft-anti-affinity", "soft-affinity"}}},
			"rules": {typ: "map", replace: true},
		},
		create: func(c *Cloud, r *resource) error {
			g := &serverGroup{id: newID(), name: text(r.properties, "name"), policy: "affinity"}
			if g.name == "" {
				g.name = r.physicalName
			}
			if list, _ := r.properties["policies"].([]any); len(list) > 0 {
				g.policy = hotlang.Text(list[0])
			}
			c.nova.groups.put(g.id, g)
			r.physical = g.id
			return nil
		},
		update: func(c *Cloud, r *resource, _, after object) error {
			if g, ok := c.nova.groups.get(r.physical); ok && text(after, "name") != "" {
				g.name = text(after, "name")
			}
			return nil
		},
		remove: func(c *Cloud, r *resource) error { c.nova.groups.drop(r.physical); return nil },
		attributes: func(c *Cloud, r *resource) object {
			g, ok := c.nova.groups.get(r.physical)
			if !ok {
				return object{}
			}
			return object{"id": g.id, "name": g.name, "policy": g.policy, "rules": object{}, "members": groupView(g)["members"],
				"project_id": c.account.ProjectID, "user_id": c.account.UserID}
		},
	}
}

// flavorKind is OS::Nova::Flavor.
func flavorKind() *kind {
	return &kind{
		adminOnly: true,
		properties: map[string]property{
			"name": {typ: "string"}, "flavorid": {typ: "string", replace: true}, "ram": {typ: "integer", required: true, replace: true},
			"vcpus": {typ: "integer", required: true, replace: true}, "disk": {typ: "integer", replace: true}, "swap": {typ: "integer", replace: true},
			"ephemeral": {typ: "integer", replace: true}, "rxtx_factor": {typ: "number", replace: true}, "extra_specs": {typ: "map"},
			"is_public": {typ: "boolean", replace: true}, "tenants": {typ: "list"},
		},
		create: func(c *Cloud, r *resource) error {
			p := r.properties
			f := &flavor{id: text(p, "flavorid"), name: text(p, "name"), public: p["is_public"] != false, rxtx: 1, extra: child(p, "extra_specs")}
			if f.id == "" || f.id == "auto" {
				f.id = newID()
			}
			if f.name == "" {
				f.name = r.physicalName
			}
			if c.findFlavor(f.id) != nil {
				return novaFailure(http.StatusConflict, "conflictingRequest", "Flavor with ID "+f.id+" already exists.")
			}
			f.ramMiB, _ = p["ram"].(int)
			f.vcpus, _ = p["vcpus"].(int)
			f.diskGiB, _ = p["disk"].(int)
			f.ephemeralGiB, _ = p["ephemeral"].(int)
			f.swapMiB, _ = p["swap"].(int)
			c.nova.flavors.put(f.id, f)
			r.physical = f.id
			return nil
		},
		update: func(c *Cloud, r *resource, _, after object) error {
			if f, ok := c.nova.flavors.get(r.physical); ok {
				f.extra = child(after, "extra_specs")
			}
			return nil
		},
		remove: func(c *Cloud, r *resource) error { c.nova.flavors.drop(r.physical); return nil },
		attributes: func(c *Cloud, r *resource) object {
			f, ok := c.nova.flavors.get(r.physical)
			if !ok {
				return object{}
			}
			o := c.flavorView(nil, f)
			o["extra_specs"] = orEmpty(f.extra)
			return o
		},
	}
}
