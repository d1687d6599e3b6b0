CREATE TABLE vnf_lcm_op_occs (
    id                      uuid        PRIMARY KEY,
    created_at              timestamptz NOT NULL DEFAULT now(), -- startTime
    state                   text        NOT NULL CHECK (state IN
        ('STARTING', 'PROCESSING', 'COMPLETED', 'FAILED_TEMP', 'ROLLING_BACK', 'ROLLED_BACK', 'FAILED')),
    state_entered_at        timestamptz NOT NULL DEFAULT now(),
    vnf_instance_id         uuid        NOT NULL,
    type                    text        NOT NULL,
    is_automatic_invocation boolean     NOT NULL,
    params                  jsonb       NOT NULL, -- secrets masked
    request                 bytea       NOT NULL, -- sealed
    error                   jsonb,
    resource_changes        jsonb,
    run                     bigint      NOT NULL DEFAULT 0, -- fencing: only the newest run may write
    held                    boolean     NOT NULL DEFAULT false, -- whether a run is at work
    lease_until             timestamptz NOT NULL -- when the run, or the job that was asked for, is taken for lost
);
-- One operation that is not over locks its instance.
CREATE UNIQUE INDEX vnf_lcm_op_occs_active ON vnf_lcm_op_occs (vnf_instance_id)
    WHERE state NOT IN ('COMPLETED', 'ROLLED_BACK', 'FAILED');
CREATE INDEX vnf_lcm_op_occs_order ON vnf_lcm_op_occs (created_at, id);
CREATE INDEX vnf_lcm_op_occs_lease ON vnf_lcm_op_occs (lease_until) WHERE state IN ('STARTING', 'PROCESSING', 'ROLLING_BACK');

CREATE TABLE vnf_lcm_op_steps (
    op_id       uuid        NOT NULL REFERENCES vnf_lcm_op_occs ON DELETE CASCADE,
    position    integer     NOT NULL,
    name        text        NOT NULL,
    state       text        NOT NULL CHECK (state IN ('PENDING', 'RUNNING', 'DONE', 'FAILED', 'UNDOING')),
    detail      text        NOT NULL,
    output      bytea, -- sealed
    started_at  timestamptz,
    finished_at timestamptz,
    PRIMARY KEY (op_id, name)
);
