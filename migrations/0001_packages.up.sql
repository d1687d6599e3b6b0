CREATE TABLE vnf_packages (
    id                uuid        PRIMARY KEY,
    created_at        timestamptz NOT NULL DEFAULT now(),
    updated_at        timestamptz NOT NULL DEFAULT now(),
    onboarding_state  text        NOT NULL CHECK (onboarding_state IN ('CREATED', 'UPLOADING', 'PROCESSING', 'ONBOARDED')),
    operational_state text        NOT NULL CHECK (operational_state IN ('ENABLED', 'DISABLED')),
    user_defined_data jsonb,
    failure           jsonb,
    content           oid,
    content_bytes     bigint,
    content_sha512    text,
    vnfd_id           text,
    description       jsonb, -- what lists show; the large parts follow
    software_images   jsonb,
    artifacts         jsonb,
    vnfd              jsonb,
    CHECK ((onboarding_state IN ('PROCESSING', 'ONBOARDED')) = (content IS NOT NULL)),
    CHECK ((onboarding_state = 'ONBOARDED') = (vnfd_id IS NOT NULL))
);
CREATE UNIQUE INDEX vnf_packages_vnfd ON vnf_packages (vnfd_id);
CREATE INDEX vnf_packages_order ON vnf_packages (created_at, id);
