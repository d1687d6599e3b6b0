ALTER TABLE vnf_lcm_op_occs DROP COLUMN grant_uri, DROP COLUMN grant_id;
