-- A VIM that a VNF instance is itself, such as a Kubernetes cluster: a management driver has registered it.
ALTER TABLE vims ADD COLUMN vnf_instance_id uuid REFERENCES vnf_instances ON DELETE SET NULL;
CREATE UNIQUE INDEX vims_instance ON vims (vnf_instance_id) WHERE vnf_instance_id IS NOT NULL;
