CREATE TABLE vnf_instances (
    id                          uuid        PRIMARY KEY,
    created_at                  timestamptz NOT NULL DEFAULT now(),
    updated_at                  timestamptz NOT NULL DEFAULT now(),
    version                     bigint      NOT NULL DEFAULT 1,
    name                        text        NOT NULL,
    description                 text        NOT NULL,
    vnfd_id                     text        NOT NULL,
    vnf_pkg_id                  uuid        NOT NULL REFERENCES vnf_packages,
    provider                    text        NOT NULL,
    product_name                text        NOT NULL,
    software_version            text        NOT NULL,
    vnfd_version                text        NOT NULL,
    instantiation_state         text        NOT NULL CHECK (instantiation_state IN ('NOT_INSTANTIATED', 'INSTANTIATED')),
    instantiated_vnf_info       jsonb,
    vim_connection_info         jsonb, -- secrets masked
    metadata                    jsonb,
    extensions                  jsonb,
    vnf_configurable_properties jsonb,
    vim_id                      uuid REFERENCES vims, -- the registered VIM that holds its resources
    deployment                  bytea, -- sealed
    CHECK ((instantiation_state = 'INSTANTIATED') = (instantiated_vnf_info IS NOT NULL))
);
CREATE INDEX vnf_instances_order ON vnf_instances (created_at, id);
CREATE INDEX vnf_instances_package ON vnf_instances (vnf_pkg_id);
CREATE INDEX vnf_instances_vim ON vnf_instances (vim_id) WHERE vim_id IS NOT NULL;
