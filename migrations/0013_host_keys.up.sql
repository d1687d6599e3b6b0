-- SSH host keys by which the hosts are known that management drivers log in to. They differ between VNF instances: addresses do, too.
CREATE TABLE host_keys (
    vnf_instance_id uuid        NOT NULL REFERENCES vnf_instances ON DELETE CASCADE,
    vnfc_id         text        NOT NULL, -- '' = a host that is no VNFC
    server_id       text        NOT NULL, -- in Nova; '' = a host that is no VNFC
    address         text        NOT NULL, -- with port; '' = a VNFC
    key             text        NOT NULL,
    created_at      timestamptz NOT NULL DEFAULT now(),
    PRIMARY KEY (vnf_instance_id, vnfc_id, server_id, address)
);
