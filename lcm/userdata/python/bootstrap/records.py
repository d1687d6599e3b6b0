"""The objects that user data classes get: the data of SOL003 with attributes in snake case, as the classes in use read them."""

# The attributes of each kind: None is plain data, [] a plain list, {} a mapping taken as it is, another kind or a list of one otherwise.
KINDS = {
    'InstantiateVnfRequest': {
        'flavour_id': None, 'instantiation_level_id': None, 'localization_language': None,
        'ext_virtual_links': ['ExtVirtualLinkData'], 'ext_managed_virtual_links': ['ExtManagedVirtualLinkData'],
        'vim_connection_info': ['VimConnectionInfo'], 'additional_params': {}, 'extensions': {}, 'vnf_configurable_properties': {},
    },
    'ExtVirtualLinkData': {
        'id': None, 'vim_connection_id': None, 'resource_provider_id': None, 'resource_id': None,
        'ext_cps': ['VnfExtCpData'], 'ext_link_ports': ['ExtLinkPortData'],
    },
    'VnfExtCpData': {'cpd_id': None, 'cp_config': ['VnfExtCpConfig']},
    'VnfExtCpConfig': {'cp_instance_id': None, 'link_port_id': None, 'cp_protocol_data': ['CpProtocolData']},
    'CpProtocolData': {'layer_protocol': None, 'ip_over_ethernet': 'IpOverEthernetAddressData'},
    'IpOverEthernetAddressData': {'mac_address': None, 'ip_addresses': ['IpAddressReq']},
    'IpAddressReq': {
        'type': None, 'subnet_id': None, 'fixed_addresses': [], 'num_dynamic_addresses': None, 'address_range': 'AddressRange',
    },
    'AddressRange': {'min_address': None, 'max_address': None},
    'ExtLinkPortData': {'id': None, 'resource_handle': 'ResourceHandle'},
    'ExtManagedVirtualLinkData': {
        'id': None, 'vnf_virtual_link_desc_id': None, 'virtual_link_desc_id': None, 'vim_connection_id': None, 'resource_id': None,
    },
    'VimConnectionInfo': {'id': None, 'vim_id': None, 'vim_type': None, 'interface_info': {}, 'access_info': {}, 'extra': {}},
    'ResourceHandle': {
        'vim_connection_id': None, 'resource_provider_id': None, 'resource_id': None, 'vim_level_resource_type': None,
    },
    'ScaleVnfRequest': {'type': None, 'aspect_id': None, 'number_of_steps': None, 'additional_params': {}},
    'HealVnfRequest': {'cause': None, 'vnfc_instance_id': [], 'additional_params': {}},
    'VnfInstance': {
        'id': None, 'vnf_instance_name': None, 'vnf_instance_description': None, 'instantiation_state': None, 'vnfd_id': None,
        'vnf_provider': None, 'vnf_product_name': None, 'vnf_software_version': None, 'vnfd_version': None,
        'vim_connection_info': ['VimConnectionInfo'], 'vnf_metadata': {}, 'instantiated_vnf_info': 'InstantiatedVnfInfo',
    },
    'InstantiatedVnfInfo': {
        'flavour_id': None, 'vnf_instance_id': None, 'instance_id': None, 'instantiation_level_id': None, 'vnf_state': None,
        'scale_status': ['ScaleInfo'], 'ext_cp_info': ['VnfExtCpInfo'], 'ext_virtual_link_info': ['ExtVirtualLinkInfo'],
        'ext_managed_virtual_link_info': ['ExtManagedVirtualLinkInfo'], 'vnfc_resource_info': ['VnfcResourceInfo'],
        'vnf_virtual_link_resource_info': ['VnfVirtualLinkResourceInfo'],
        'virtual_storage_resource_info': ['VirtualStorageResourceInfo'], 'vnfc_info': ['VnfcInfo'], 'additional_params': {},
    },
    'ScaleInfo': {'aspect_id': None, 'scale_level': None},
    'VnfExtCpInfo': {
        'id': None, 'cpd_id': None, 'cp_protocol_info': ['CpProtocolInfo'], 'ext_link_port_id': None, 'associated_vnfc_cp_id': None,
    },
    'CpProtocolInfo': {'layer_protocol': None, 'ip_over_ethernet': 'IpOverEthernetAddressInfo'},
    'IpOverEthernetAddressInfo': {'mac_address': None, 'ip_addresses': ['IpAddress']},
    'IpAddress': {'type': None, 'subnet_id': None, 'is_dynamic': None, 'addresses': []},
    'ExtVirtualLinkInfo': {'id': None, 'resource_handle': 'ResourceHandle', 'ext_link_ports': ['ExtLinkPortInfo']},
    'ExtLinkPortInfo': {'id': None, 'resource_handle': 'ResourceHandle', 'cp_instance_id': None},
    'ExtManagedVirtualLinkInfo': {
        'id': None, 'vnf_virtual_link_desc_id': None, 'network_resource': 'ResourceHandle', 'vnf_link_ports': ['VnfLinkPortInfo'],
    },
    'VnfLinkPortInfo': {'id': None, 'resource_handle': 'ResourceHandle', 'cp_instance_id': None},
    'VnfcResourceInfo': {
        'id': None, 'vdu_id': None, 'compute_resource': 'ResourceHandle', 'storage_resource_ids': [],
        'vnfc_cp_info': ['VnfcCpInfo'], 'metadata': {},
    },
    'VnfcCpInfo': {
        'id': None, 'cpd_id': None, 'vnf_ext_cp_id': None, 'cp_protocol_info': ['CpProtocolInfo'], 'vnf_link_port_id': None,
    },
    'VnfVirtualLinkResourceInfo': {
        'id': None, 'vnf_virtual_link_desc_id': None, 'network_resource': 'ResourceHandle', 'vnf_link_ports': ['VnfLinkPortInfo'],
    },
    'VirtualStorageResourceInfo': {'id': None, 'virtual_storage_desc_id': None, 'storage_resource': 'ResourceHandle'},
    'VnfcInfo': {'id': None, 'vdu_id': None, 'vnfc_state': None},
    'VnfResource': {
        'vnf_instance_id': None, 'resource_name': None, 'resource_type': None, 'resource_identifier': None,
    },
}


class Record(object):
    """An object of one kind. Its attributes are also items, and what the request leaves out is None or empty."""

    def __getitem__(self, name):
        return self.__dict__[name]

    def __contains__(self, name):
        return name in self.__dict__

    def get(self, name, default=None):
        return self.__dict__.get(name, default)

    def to_dict(self):
        return {name: [element.to_dict() if isinstance(element, Record) else element for element in value] if isinstance(value, list)
                else value.to_dict() if isinstance(value, Record) else value for name, value in self.__dict__.items()}

    def __repr__(self):
        return type(self).__name__


CLASSES = {kind: type(kind, (Record,), {}) for kind in KINDS}


def camel(name):
    """Returns the name that an attribute has in SOL003."""
    first, *others = name.split('_')
    return first + ''.join(word.capitalize() for word in others)


def build(kind, value):
    """Makes the object of a kind from its JSON form."""
    if kind is None:
        return value
    if kind == []:
        return value or []
    if isinstance(kind, list):
        return [build(kind[0], element) for element in value or []]
    if kind == {}:
        return value or {}
    if isinstance(kind, dict):
        return {name: build(kind['*'], element) for name, element in (value or {}).items()}
    if value is None:
        return None
    record = CLASSES[kind]()
    for name, of in KINDS[kind].items():
        setattr(record, name, build(of, value.get(camel(name))))
    return record
