ALTER TABLE vnf_lcm_op_occs ADD COLUMN grant_id text, ADD COLUMN grant_uri text;
