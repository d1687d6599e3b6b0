CREATE TABLE vims (
    id          uuid        PRIMARY KEY,
    created_at  timestamptz NOT NULL DEFAULT now(),
    updated_at  timestamptz,
    tenant_id   text        NOT NULL,
    name        text        NOT NULL,
    description text        NOT NULL,
    type        text        NOT NULL,
    auth_url    text        NOT NULL,
    vim_project jsonb,
    auth_cred   bytea       NOT NULL, -- sealed
    is_default  boolean     NOT NULL,
    extra       jsonb,
    regions     jsonb,
    status      text        NOT NULL
);
CREATE UNIQUE INDEX vims_name ON vims (tenant_id, name);
CREATE UNIQUE INDEX vims_default ON vims (tenant_id) WHERE is_default;
