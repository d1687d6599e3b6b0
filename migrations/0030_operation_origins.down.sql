ALTER TABLE vnf_lcm_op_occs
    DROP COLUMN request_id,
    DROP COLUMN trace_parent;
