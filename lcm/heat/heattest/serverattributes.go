package heattest

import (
	"fmt"
	"maps"
)

func serverAttributes(c *Cloud, r *resource) object {
	s, ok := c.nova.servers.get(r.physical)
	if !ok {
		return object{}
	}
	o := c.serverView(nil, s)
	o["flavor"] = object{"vcpus": s.flavor.vcpus, "ram": s.flavor.ramMiB, "disk": s.flavor.diskGiB, "ephemeral": s.flavor.ephemeralGiB,
		"swap": s.flavor.swapMiB, "original_name": s.flavor.name, "extra_specs": orEmpty(s.flavor.extra)}
	groups := []string{}
	if s.group != nil {
		groups = append(groups, s.group.id)
	}
	maps.Copy(o, object{
		"OS-EXT-SRV-ATTR:reservation_id": "r-" + s.id[:8], "OS-EXT-SRV-ATTR:launch_index": 0, "OS-EXT-SRV-ATTR:hostname": s.name,
		"OS-EXT-SRV-ATTR:kernel_id": "", "OS-EXT-SRV-ATTR:ramdisk_id": "", "OS-EXT-SRV-ATTR:root_device_name": "/dev/sda",
		"OS-EXT-SRV-ATTR:user_data": s.userData, "host_status": "UP", "locked": false, "locked_reason": nil, "description": nil, "tags": []string{},
		"trusted_image_certificates": nil, "server_groups": groups, "os_collect_config": object{},
	})
	for _, v := range o["os-extended-volumes:volumes_attached"].([]object) {
		v["delete_on_termination"] = false
	}
	return o
}

// serverAttribute adds to Nova's view what Heat offers to get_attr alone.
func serverAttribute(c *Cloud, r *resource, name string, path []any) (value any, rest []any, err error) {
	s, ok := c.nova.servers.get(r.physical)
	if !ok {
		return nil, nil, nil
	}
	switch name {
	case "first_address":
		if a := s.addresses(); len(a) > 0 {
			return a[0].String(), path, nil
		}
		return "", path, nil
	case "instance_name":
		return fmt.Sprintf("instance-%08x", s.number), path, nil
	case "addresses", "networks":
		return serverNetworks(c, s, name == "addresses"), path, nil
	case "show":
		return jsonValue(serverAttributes(c, r)), path, nil
	case "console_urls":
		return nil, nil, nil
	}
	value, known := serverAttributes(c, r)[name]
	if !known {
		return nil, nil, badAttribute(r.name, name)
	}
	return jsonValue(value), path, nil
}

// serverNetworks are lists by the name and by the id of each network: of addresses, or of their descriptions.
func serverNetworks(c *Cloud, s *server, described bool) object {
	out := object{}
	for _, p := range s.ports {
		list, _ := out[p.network.name].([]any)
		for _, a := range c.serverAddresses(s)[p.network.name].([]object) {
			if a["OS-EXT-IPS-MAC:mac_addr"] != p.mac {
				continue
			}
			if described {
				a["port"] = p.id
				list = append(list, a)
			} else {
				list = append(list, a["addr"])
			}
		}
		out[p.network.name], out[p.network.id] = list, list
	}
	return out
}
