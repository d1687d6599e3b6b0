ALTER TABLE vnf_packages DROP COLUMN csar, DROP COLUMN csar_bytes;
