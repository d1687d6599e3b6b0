ALTER TABLE vnf_packages
    ADD COLUMN source     bytea, -- sealed: where the content is to be fetched from
    ADD COLUMN csar       oid, -- the CSAR, where the content is a zip file with the CSAR, compressed, and its signature
    ADD COLUMN csar_bytes bigint,
    ADD CHECK (source IS NULL OR onboarding_state = 'UPLOADING');
