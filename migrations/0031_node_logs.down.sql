DROP TABLE vnf_lcm_op_node_logs;
