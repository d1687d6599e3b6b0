"""User data of the package scripted: the size of the pool is a Heat parameter, which the hooks carry on."""

from tacker.vnfm.lcm_user_data import utils
from tacker.vnfm.lcm_user_data.abstract_user_data import AbstractUserData


class PoolUserData(AbstractUserData):

    @staticmethod
    def instantiate(base_hot_dict=None, vnfd_dict=None, inst_req_info=None,
                    grant_info=None):
        initial = utils.create_initial_param_server_port_dict(base_hot_dict)
        networks = utils.create_network_dict(inst_req_info, initial)
        if 'worker_CP' not in networks:
            raise ValueError('the request connects worker_CP to no network')
        parameters = utils.create_final_param_dict(
            initial,
            utils.create_vdu_flavor_capability_name_dict(vnfd_dict),
            utils.create_sw_image_dict(vnfd_dict),
            networks)
        sizes = utils.create_desired_capacity_dict(
            base_hot_dict, vnfd_dict, inst_req_info)
        return dict(parameters, size=sizes['workers'], healed=0)

    @staticmethod
    def scale(base_hot_dict=None, vnfd_dict=None, scale_vnf_request=None,
              vnf_instance=None, inst_vnf_info=None, param=None,
              resource_number=None):
        return dict(param, size=resource_number)

    @staticmethod
    def heal(base_hot_dict=None, vnfd_dict=None, heal_vnf_request=None,
             vnf_instance=None, inst_vnf_info=None, param=None,
             vnfc_resource_info=None):
        return dict(param, healed=param['healed'] + len(vnfc_resource_info))
