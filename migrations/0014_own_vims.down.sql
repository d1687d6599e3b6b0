ALTER TABLE vims DROP COLUMN vnf_instance_id;
