-- The CSAR of a package whose content is a zip file with the CSAR, compressed, and its signature.
ALTER TABLE vnf_packages ADD COLUMN csar oid, ADD COLUMN csar_bytes bigint;
