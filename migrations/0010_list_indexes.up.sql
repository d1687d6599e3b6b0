-- Lists are filtered by these attributes and ordered by the time of creation.
CREATE INDEX vnf_instances_name ON vnf_instances (name, created_at, id);
CREATE INDEX vnf_instances_vnfd ON vnf_instances (vnfd_id, created_at, id);
CREATE INDEX vnf_instances_state ON vnf_instances (instantiation_state, created_at, id);
CREATE INDEX vnf_instances_provider ON vnf_instances (provider, created_at, id);
CREATE INDEX vnf_instances_product ON vnf_instances (product_name, created_at, id);
CREATE INDEX vnf_instances_metadata ON vnf_instances USING gin (metadata jsonb_path_ops);
CREATE INDEX vnf_instances_info ON vnf_instances USING gin (instantiated_vnf_info jsonb_path_ops);
CREATE INDEX vnf_lcm_op_occs_instance ON vnf_lcm_op_occs (vnf_instance_id, created_at, id);
CREATE INDEX vnf_lcm_op_occs_state ON vnf_lcm_op_occs (state, created_at, id);
