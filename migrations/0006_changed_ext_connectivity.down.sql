ALTER TABLE vnf_lcm_op_occs DROP COLUMN changed_ext_connectivity;
