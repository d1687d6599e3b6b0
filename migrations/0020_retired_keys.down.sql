DROP TRIGGER auth_cred_key ON vims;
DROP TRIGGER deployment_key ON vnf_instances;
DROP TRIGGER request_key ON vnf_lcm_op_occs;
DROP TRIGGER output_key ON vnf_lcm_op_steps;
DROP TRIGGER authentication_key ON subscriptions;
DROP TRIGGER source_key ON vnf_packages;
DROP FUNCTION refuse_retired_key;
DROP FUNCTION sealed_with_retired_key;
DROP TABLE retired_keys;
