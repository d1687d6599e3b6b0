"""Functions from which user data classes put the Heat parameters together."""

import copy
import re

_SERVER, _GROUP = 'OS::Nova::Server', 'OS::Heat::AutoScalingGroup'
_READERS = (_SERVER, 'OS::Neutron::Port', 'OS::Cinder::Volume')
_BYTES = {
    'b': 1, 'kb': 10 ** 3, 'mb': 10 ** 6, 'gb': 10 ** 9, 'tb': 10 ** 12,
    'kib': 2 ** 10, 'mib': 2 ** 20, 'gib': 2 ** 30, 'tib': 2 ** 40,
}


def create_initial_param_dict(base_hot_dict):
    """The parameter nfv with an empty dict for every VDU and CP that the servers, ports, volumes, flavors and groups read."""
    return _initial(base_hot_dict, _READERS + ('OS::Nova::Flavor',))


def create_initial_param_server_port_dict(base_hot_dict):
    """The same without what only flavors read."""
    return _initial(base_hot_dict, _READERS)


def _initial(base_hot_dict, readers):
    found = {'VDU': {}, 'CP': {}}
    for template in base_hot_dict.values():
        if not _at(template, 'parameters', 'nfv'):
            continue
        for resource in (template.get('resources') or {}).values():
            for value in _values(resource, readers):
                path = value.get('get_param') if isinstance(value, dict) else None
                if isinstance(path, list) and len(path) == 4 and path[0] == 'nfv' and path[1] in found:
                    found[path[1]].setdefault(path[2], {})
    return {'nfv': found}


def _values(resource, readers):
    """The values of a resource's properties in which the parameter is looked for."""
    if resource.get('type') == _GROUP:
        return list((_at(resource, 'properties', 'resource', 'properties') or {}).values())
    if resource.get('type') not in readers:
        return []
    properties = resource.get('properties') or {}
    disks = properties.get('block_device_mapping_v2') if resource['type'] == _SERVER else None
    return list(properties.values()) + [disk.get('image') for disk in disks or [] if isinstance(disk, dict)]


def create_final_param_dict(param_dict, vdu_flavor_dict, vdu_image_dict, cpd_vl_dict):
    """The parameter nfv with the flavor and the image of every VDU, and the network of every CP."""
    final = copy.deepcopy(param_dict)
    for name, vdu in (_at(final, 'nfv', 'VDU') or {}).items():
        vdu['flavor'] = vdu_flavor_dict.get(name)
        vdu['image'] = vdu_image_dict.get(name)
    for name, cp in (_at(final, 'nfv', 'CP') or {}).items():
        given = (cpd_vl_dict or {}).get(name)
        if isinstance(given, dict):
            cp.update({key: copy.copy(given[key]) for key in ('network', 'fixed_ips') if key in given})
        elif given:
            cp['network'] = given
    return final


def create_vdu_flavor_dict(vnfd_dict):
    """vcpus, ram (MiB) and disk (GiB) by VDU, from its capability virtual_compute."""
    flavors = {}
    for name, compute in _computes(vnfd_dict):
        flavor = flavors[name] = {}
        if 'virtual_cpu' in compute:
            flavor['vcpus'] = compute['virtual_cpu']['num_virtual_cpu']
        if 'virtual_memory' in compute:
            flavor['ram'] = _size(compute['virtual_memory']['virtual_mem_size'], 'mib')
        if 'virtual_local_storage' in compute:
            flavor['disk'] = _size(compute['virtual_local_storage'][0]['size_of_storage'], 'gib')
    return flavors


def create_vdu_flavor_capability_name_dict(vnfd_dict):
    """The name of the Nova flavor that the VNFD asks for, by VDU."""
    names = {}
    for name, compute in _computes(vnfd_dict):
        wanted = _at(compute, 'requested_additional_capabilities', 'properties', 'requested_additional_capability_name')
        if wanted is not None:
            names[name] = wanted
    return names


def create_sw_image_dict(vnfd_dict):
    """The name of the software image, by the VDU or storage that has one."""
    images = {name: _at(node, 'properties', 'sw_image_data', 'name') for name, node in _nodes(vnfd_dict)}
    return {name: image for name, image in images.items() if image is not None}


def create_vdu_image_dict(grant_info):
    """The image in the VIM, by VDU."""
    return {vdu: resource.resource_identifier for vdu, resources in (grant_info or {}).items() for resource in resources}


def create_cpd_vl_dict(base_hot_dict, inst_req_info):
    """The network of every external connection point of the request that a template has a resource for."""
    return {cp.cpd_id: link.resource_id for link in inst_req_info.ext_virtual_links or [] for cp in link.ext_cps or []
            if any(cp.cpd_id in (template.get('resources') or {}) for template in base_hot_dict.values())}


def create_network_dict(inst_req_info, param_dict):
    """Network and fixed_ips of every external connection point of the request that the templates read."""
    read = _at(param_dict, 'nfv', 'CP') or {}
    return {cp.cpd_id: {'network': link.resource_id, 'fixed_ips': _fixed_ips(cp)}
            for link in inst_req_info.ext_virtual_links or [] for cp in link.ext_cps or [] if cp.cpd_id in read}


def _fixed_ips(ext_cp):
    fixed = []
    for config in ext_cp.cp_config or []:
        for protocol in config.cp_protocol_data or []:
            ethernet = protocol.ip_over_ethernet
            for wanted in (ethernet.ip_addresses if ethernet else None) or []:
                subnet = {'subnet': wanted.subnet_id} if wanted.subnet_id else {}
                fixed.extend(dict(subnet, ip_address=address) for address in wanted.fixed_addresses or [])
                if subnet and not wanted.fixed_addresses:
                    fixed.append(subnet)
    return fixed


def get_diff_base_hot_param_from_api(base_hot_dict, inst_req_info):
    """The additionalParams of the request that the top template declares as parameters."""
    declared = base_hot_dict['heat_template'].get('parameters') or {}
    given = inst_req_info.additional_params or {}
    return {name: given[name] for name in declared if given.get(name) is not None}


def create_desired_capacity_dict(base_hot_dict, vnfd_dict, inst_req_info):
    """The size of the group of each scaling aspect, at the instantiation level of the request."""
    level = getattr(inst_req_info, 'instantiation_level_id', None)
    scale_levels = {}
    for policy in _policies(vnfd_dict, 'tosca.policies.nfv.InstantiationLevels'):
        properties = policy['properties']
        chosen = properties['levels'].get(level or properties.get('default_level')) or {}
        for aspect, info in (chosen.get('scale_info') or {}).items():
            scale_levels[aspect] = info['scale_level']
    return _capacities(base_hot_dict, vnfd_dict, scale_levels)


def get_desired_capacity_dict(base_hot_dict, vnfd_dict, inst_vnf_info):
    """The size of the group of each scaling aspect, at the scale levels that the VNF has."""
    scale_levels = {scale.aspect_id: scale.scale_level for scale in inst_vnf_info.scale_status or []}
    capacities = _capacities(base_hot_dict, vnfd_dict, scale_levels)
    return {aspect: size for aspect, size in capacities.items() if aspect in scale_levels}


def _capacities(base_hot_dict, vnfd_dict, scale_levels):
    resources = base_hot_dict['heat_template'].get('resources') or {}
    if not any(resource.get('type') == _GROUP for resource in resources.values()):
        return {}
    initial = {}
    for policy in _policies(vnfd_dict, 'tosca.policies.nfv.VduInitialDelta'):
        for vdu in policy['targets']:
            initial[vdu] = policy['properties']['initial_delta']['number_of_instances']
    sizes = {}
    for policy in _policies(vnfd_dict, 'tosca.policies.nfv.VduScalingAspectDeltas'):
        properties = policy['properties']
        steps = [delta['number_of_instances'] for delta in properties['deltas'].values()]
        sizes[properties['aspect']] = initial.get(policy['targets'][0], 1) + steps[-1] * scale_levels.get(properties['aspect'], 0)
    return sizes


def _at(value, *keys):
    """What is at a path of nested dicts, None if it leads nowhere."""
    for key in keys:
        if not isinstance(value, dict):
            return None
        value = value.get(key)
    return value


def _nodes(vnfd_dict):
    return (_at(vnfd_dict, 'topology_template', 'node_templates') or {}).items()


def _computes(vnfd_dict):
    found = ((name, _at(node, 'capabilities', 'virtual_compute', 'properties')) for name, node in _nodes(vnfd_dict))
    return [(name, compute) for name, compute in found if compute]


def _policies(vnfd_dict, kind):
    every = _at(vnfd_dict, 'topology_template', 'policies') or []
    return [policy for entry in every for policy in entry.values() if policy.get('type') == kind]


def _size(text, unit):
    parts = re.fullmatch(r'\s*([0-9.]+)\s*([a-zA-Z]+)\s*', str(text))
    if not parts or parts.group(2).lower() not in _BYTES:
        raise ValueError('%r is not a size with a unit, such as 512 MB' % (text,))
    return int(float(parts.group(1)) * _BYTES[parts.group(2).lower()] / _BYTES[unit])
