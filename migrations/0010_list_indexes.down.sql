DROP INDEX vnf_instances_name, vnf_instances_vnfd, vnf_instances_state, vnf_instances_provider, vnf_instances_product,
    vnf_instances_metadata, vnf_instances_info, vnf_lcm_op_occs_instance, vnf_lcm_op_occs_state;
