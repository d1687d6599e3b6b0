DROP TABLE vnf_lcm_op_steps;
DROP TABLE vnf_lcm_op_occs;
