-- What jobs, such as installations, have written last on the nodes of an operation. Times that are indexed do not change, so that an update touches
-- no index.
CREATE TABLE vnf_lcm_op_node_logs (
    op_id      uuid        NOT NULL REFERENCES vnf_lcm_op_occs ON DELETE CASCADE,
    node       text        NOT NULL, -- with its address
    vnfc_id    text        NOT NULL, -- '' = the node is no VNFC
    job        text        NOT NULL,
    state      text        NOT NULL CHECK (state IN ('RUNNING', 'DONE', 'FAILED')),
    lines      bytea       NOT NULL, -- sealed
    created_at timestamptz NOT NULL DEFAULT now(),
    changed_at timestamptz NOT NULL DEFAULT now(),
    PRIMARY KEY (op_id, node)
);
CREATE INDEX vnf_lcm_op_node_logs_age ON vnf_lcm_op_node_logs (created_at);
CREATE TRIGGER lines_key BEFORE INSERT OR UPDATE OF lines ON vnf_lcm_op_node_logs
    FOR EACH ROW WHEN (sealed_with_retired_key(NEW.lines)) EXECUTE FUNCTION refuse_retired_key();
