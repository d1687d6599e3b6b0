"""Heat parameters of the package kubernetes."""

from tacker.vnfm.lcm_user_data.abstract_user_data import AbstractUserData


def _compute(node):
    """Flavor and image of a Vdu.Compute, as the VNFD names them."""
    capability = node['capabilities']['virtual_compute']['properties']
    requested = capability['requested_additional_capabilities']['properties']
    return {
        'flavor': requested['requested_additional_capability_name'],
        'image': node['properties']['sw_image_data']['name'],
    }


def _fixed_ips(ext_cp):
    """Subnets and addresses that the request gives to a connection point."""
    fixed_ips = []
    for config in ext_cp.cp_config or []:
        for protocol in config.cp_protocol_data or []:
            ethernet = protocol.ip_over_ethernet
            for address in (ethernet.ip_addresses if ethernet else None) or []:
                subnet = {'subnet': address.subnet_id} if address.subnet_id else {}
                for ip_address in address.fixed_addresses or []:
                    fixed_ips.append(dict(subnet, ip_address=ip_address))
                if subnet and not address.fixed_addresses:
                    fixed_ips.append(subnet)
    return fixed_ips


class KubernetesClusterUserData(AbstractUserData):
    """One parameter, nfv, with what the VNFD and the request say of each VDU and each connection point."""

    @staticmethod
    def instantiate(base_hot_dict=None, vnfd_dict=None, inst_req_info=None,
                    grant_info=None):
        nodes = vnfd_dict['topology_template']['node_templates']
        vdus = {name: _compute(node) for name, node in nodes.items()
                if node['type'] == 'tosca.nodes.nfv.Vdu.Compute'}
        cps = {}
        for link in inst_req_info.ext_virtual_links or []:
            for ext_cp in link.ext_cps or []:
                cps[ext_cp.cpd_id] = {
                    'network': link.resource_id,
                    'fixed_ips': _fixed_ips(ext_cp),
                }
        return {'nfv': {'VDU': vdus, 'CP': cps}}
