package heattest

import (
	"net/http"

	"vnfm/lcm/heat/heattest/hotlang"
)

// serverKind is OS::Nova::Server.
func serverKind() *kind {
	return &kind{
		nameLimit: 53, failsLate: true, properties: serverProperties(),
		check: checkServer, create: createServer, ready: serverReady, update: updateServer, attributes: serverAttributes, attribute: serverAttribute,
		spoil: func(c *Cloud, r *resource, err error) {
			if s, ok := c.nova.servers.get(r.physical); ok {
				s.failWith(err.Error())
			}
		},
		yield: func(c *Cloud, r *resource) {
			if s, ok := c.nova.servers.get(r.physical); ok {
				c.shutMachine(s)
				c.releasePorts(s)
			}
		},
		remove: func(c *Cloud, r *resource) error {
			if s, ok := c.nova.servers.get(r.physical); ok {
				c.removeServer(s)
			}
			return nil
		},
		broken: func(c *Cloud, r *resource) bool {
			s, ok := c.nova.servers.get(r.physical)
			return !ok || s.status == serverError
		},
	}
}

func serverProperties() map[string]property {
	return map[string]property{
		"name":                      {typ: "string"},
		"flavor":                    {typ: "string", required: true, exists: "nova.flavor"},
		"image":                     {typ: "string", exists: "glance.image"},
		"key_name":                  {typ: "string", exists: "nova.keypair", replace: true},
		"availability_zone":         {typ: "string", replace: true},
		"scheduler_hints":           {typ: "map", replace: true},
		"metadata":                  {typ: "map"},
		"user_data":                 {typ: "any", replace: true},
		"user_data_format":          {typ: "string", replace: true, allowed: []string{"HEAT_CFNTOOLS", "RAW", "SOFTWARE_CONFIG"}},
		"user_data_update_policy":   {typ: "string", allowed: []string{"REPLACE", "IGNORE"}},
		"config_drive":              {typ: "boolean", replace: true},
		"security_groups":           {typ: "list"},
		"admin_pass":                {typ: "string"},
		"admin_user":                {typ: "string"},
		"reservation_id":            {typ: "string", replace: true},
		"diskConfig":                {typ: "string", replace: true, allowed: []string{"AUTO", "MANUAL"}},
		"personality":               {typ: "map", replace: true},
		"software_config_transport": {typ: "string"},
		"flavor_update_policy":      {typ: "string", allowed: []string{"RESIZE", "REPLACE"}},
		"image_update_policy":       {typ: "string", allowed: []string{"REBUILD", "REPLACE", "REBUILD_PRESERVE_EPHEMERAL"}},
		"deployment_swift_data":     {typ: "map"},
		"tags":                      {typ: "list"},
		"networks": {typ: "list", item: &property{typ: "map", fields: map[string]property{
			"network": {typ: "string", exists: "neutron.network"}, "uuid": {typ: "string", exists: "neutron.network"},
			"port": {typ: "string", exists: "neutron.port"}, "subnet": {typ: "string", exists: "neutron.subnet"},
			"fixed_ip": {typ: "string", exists: "ip_addr"}, "floating_ip": {typ: "string"}, "port_extra_properties": {typ: "map"},
			"allocate_network": {typ: "string", allowed: []string{"none", "auto"}}, "tag": {typ: "string"},
		}}},
		"block_device_mapping": {typ: "list", replace: true},
		"block_device_mapping_v2": {typ: "list", replace: true, item: &property{typ: "map", fields: map[string]property{
			"device_name": {typ: "string"}, "volume_id": {typ: "string", exists: "cinder.volume"}, "image": {typ: "string", exists: "glance.image"},
			"image_id": {typ: "string", exists: "glance.image"}, "snapshot_id": {typ: "string"}, "swap_size": {typ: "integer"},
			"ephemeral_size": {typ: "integer"}, "ephemeral_format": {typ: "string"}, "device_type": {typ: "string"}, "disk_bus": {typ: "string"},
			"boot_index": {typ: "integer"}, "volume_size": {typ: "integer"}, "delete_on_termination": {typ: "boolean"}, "tag": {typ: "string"},
			"volume_type": {typ: "string", exists: "cinder.vtype"},
		}}},
	}
}

// bootable tells whether an entry of block_device_mapping_v2 would be booted from.
func bootable(device object) bool {
	index, set := device["boot_index"].(int)
	return !set || index == 0
}

func checkServer(_ *Cloud, properties object, name string) error {
	sources := 0
	if properties["image"] != nil {
		sources++
	}
	devices, _ := properties["block_device_mapping_v2"].([]any)
	for _, d := range devices {
		device, _ := d.(object)
		if device["volume_id"] == nil && device["image"] == nil && device["image_id"] == nil && device["snapshot_id"] == nil &&
			device["swap_size"] == nil && device["ephemeral_size"] == nil {
			return validation(`Either volume_id, snapshot_id, image_id, swap_size, ephemeral_size or ephemeral_format must be specified.`)
		}
		if bootable(device) && device["swap_size"] == nil && device["ephemeral_size"] == nil {
			sources++
		}
	}
	switch {
	case sources > 1:
		return validation("Multiple bootable sources for instance " + name + ".")
	case sources == 0 && properties["block_device_mapping"] == nil:
		return validation("Neither image nor bootable volume is specified for instance " + name)
	}
	return nil
}

func createServer(c *Cloud, r *resource) error {
	p := r.properties
	s := &server{name: text(p, "name"), metadata: child(p, "metadata"), zone: text(p, "availability_zone"), key: text(p, "key_name"), flavor: c.findFlavor(text(p, "flavor"))}
	if s.name == "" {
		s.name = r.physicalName
	}
	if s.flavor == nil {
		return novaFailure(http.StatusBadRequest, "badRequest", "Flavor "+text(p, "flavor")+" could not be found.")
	}
	if ref := text(p, "image"); ref != "" {
		i, err := c.findImage(ref)
		if err != nil {
			return err
		}
		s.image = i
	}
	if data := p["user_data"]; data != nil {
		s.userData = encodeUserData(hotlang.Text(data))
	}
	if drive, _ := p["config_drive"].(bool); drive {
		s.configDrive = "True"
	}
	if ref := hotlang.Text(child(p, "scheduler_hints")["group"]); ref != "" {
		if s.group = c.findGroup(ref); s.group == nil {
			return novaFailure(http.StatusBadRequest, "badRequest", "Invalid input received: The requested server group "+ref+" could not be found.")
		}
	}
	if err := c.checkQuota(); err != nil {
		return err
	}
	if err := c.blockDevices(s, p); err != nil {
		return err
	}
	if err := c.plug(s, p); err != nil {
		return err
	}
	if err := c.addServer(s); err != nil {
		c.unplug(s)
		return err
	}
	r.physical = s.id
	return nil
}

// blockDevices finds the volumes of a server and makes those that come from an image.
func (c *Cloud) blockDevices(s *server, p object) error {
	devices, _ := p["block_device_mapping_v2"].([]any)
	for _, d := range devices {
		device, _ := d.(object)
		ref := text(device, "image")
		if ref == "" {
			ref = text(device, "image_id")
		}
		switch {
		case text(device, "volume_id") != "":
			v, ok := c.cinder.volumes.get(text(device, "volume_id"))
			if !ok {
				return novaFailure(http.StatusBadRequest, "badRequest", "Block Device Mapping is Invalid: failed to get volume "+text(device, "volume_id")+".")
			}
			s.volumes = append(s.volumes, v)
		case ref != "":
			i, err := c.findImage(ref)
			if err != nil {
				return err
			}
			size, _ := device["volume_size"].(int)
			v := &volume{image: i, sizeGiB: max(size, i.minDiskGiB, 1), ownedByServer: device["delete_on_termination"] != false}
			c.addVolume(v)
			v.status = "available"
			s.volumes = append(s.volumes, v)
		}
	}
	return nil
}

func serverReady(c *Cloud, r *resource, done func(error)) {
	s, ok := c.nova.servers.get(r.physical)
	if !ok {
		done(&resourceError{class: "NotFound", message: "Instance " + r.physical + " could not be found. (HTTP 404)"})
		return
	}
	if err := c.schedule(s); err != nil {
		s.failWith(err.Error())
		done(err)
		return
	}
	c.boot(s, func(err error) {
		switch {
		case err != nil:
			s.failWith(err.Error())
			done(inError("Message: " + err.Error() + ", Code: 500"))
		case c.nova.servers.items[s.id] == nil:
			done(&resourceError{class: "NotFound", message: "Instance " + s.id + " could not be found. (HTTP 404)"})
		default:
			c.activate(s)
			done(nil)
		}
	})
}

// updateServer changes what Nova can change without a new server.
func updateServer(c *Cloud, r *resource, before, after object) error {
	s, ok := c.nova.servers.get(r.physical)
	if !ok {
		return &resourceError{class: "NotFound", message: "Instance " + r.physical + " could not be found. (HTTP 404)"}
	}
	if name := text(after, "name"); name != "" {
		s.name = name
	}
	s.metadata = child(after, "metadata")
	if f := c.findFlavor(text(after, "flavor")); f != nil {
		s.flavor = f
	}
	if ref := text(after, "image"); ref != "" {
		i, err := c.findImage(ref)
		if err != nil {
			return err
		}
		s.image = i
	}
	if hotlang.Equal(before["networks"], after["networks"]) {
		return nil
	}
	return c.replug(s, after)
}
