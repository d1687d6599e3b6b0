ALTER TABLE vnf_packages DROP COLUMN source, DROP COLUMN csar, DROP COLUMN csar_bytes;
