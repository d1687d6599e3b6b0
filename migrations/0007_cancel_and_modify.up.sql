ALTER TABLE vnf_lcm_op_occs
    ADD COLUMN cancel_mode  text CHECK (cancel_mode IN ('GRACEFUL', 'FORCEFUL')), -- asked for, and not yet in effect
    ADD COLUMN changed_info jsonb;
