package store

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"time"

	"github.com/google/uuid"
	"github.com/jackc/pgx/v5"

	"vnfm/lcm"
	"vnfm/mgmtdriver"
)

func nodeLogPlace(id uuid.UUID, node string) string {
	return "vnf_lcm_op_node_logs/lines/" + id.String() + "/" + node
}

// nodeLogRow is a row of vnf_lcm_op_node_logs.
type nodeLogRow struct {
	Node      string
	VnfcID    string
	Job       string
	State     mgmtdriver.JobState
	Lines     []byte
	ChangedAt time.Time
}

// NodeLogs implements [lcm.OperationStore] and [lcm.NodeLogStore].
func (s *Store) NodeLogs(ctx context.Context, id uuid.UUID) ([]lcm.NodeLog, error) {
	args := pgx.NamedArgs{"id": id}
	var found bool
	err := s.pool.QueryRow(ctx, `SELECT true FROM vnf_lcm_op_occs WHERE id = @id`+scope(ctx, "project_id", args), args).Scan(&found)
	if errors.Is(err, pgx.ErrNoRows) {
		return nil, operationNotFound(id)
	}
	if err != nil {
		return nil, fmt.Errorf("read operation %s: %w", id, err)
	}
	const query = `SELECT node, vnfc_id, job, state, lines, changed_at FROM vnf_lcm_op_node_logs WHERE op_id = @id ORDER BY node`
	rows, err := s.pool.Query(ctx, query, pgx.NamedArgs{"id": id})
	if err != nil {
		return nil, fmt.Errorf("read node logs of operation %s: %w", id, err)
	}
	kept, err := pgx.CollectRows(rows, pgx.RowToStructByName[nodeLogRow])
	if err != nil {
		return nil, fmt.Errorf("read node logs of operation %s: %w", id, err)
	}
	logs := make([]lcm.NodeLog, len(kept))
	for i, log := range kept {
		lines, err := s.sealer.open(nodeLogPlace(id, log.Node), log.Lines)
		if err != nil { // as when its key is no more: nothing depends on what people look at
			slog.WarnContext(ctx, "last lines of a node cannot be read", "node", log.Node, "error", err)
		}
		logs[i] = lcm.NodeLog{Node: log.Node, VnfcID: log.VnfcID, Job: log.Job, State: log.State, Lines: string(lines), ChangedAt: log.ChangedAt}
	}
	return logs, nil
}

// KeepNodeLogs implements [lcm.NodeLogStore].
func (s *Store) KeepNodeLogs(ctx context.Context, run *lcm.Run, logs []lcm.NodeLog) error {
	count := len(logs)
	nodes, vnfcs, jobs, states, lines := make([]string, count), make([]string, count), make([]string, count), make([]string, count), make([][]byte, count)
	for i, log := range logs {
		nodes[i], vnfcs[i], jobs[i], states[i] = log.Node, log.VnfcID, log.Job, string(log.State)
		lines[i] = s.sealer.seal(nodeLogPlace(run.Operation.ID, log.Node), []byte(log.Lines))
	}
	err := s.inRun(ctx, run, func(tx pgx.Tx) error {
		const put = `
			INSERT INTO vnf_lcm_op_node_logs (op_id, node, vnfc_id, job, state, lines)
			SELECT @op::uuid, * FROM unnest(@nodes::text[], @vnfcs::text[], @jobs::text[], @states::text[], @lines::bytea[])
			ON CONFLICT (op_id, node) DO UPDATE SET vnfc_id = excluded.vnfc_id, job = excluded.job, state = excluded.state, lines = excluded.lines,
				changed_at = now()`
		_, err := tx.Exec(ctx, put, pgx.NamedArgs{
			"op": run.Operation.ID, "nodes": nodes, "vnfcs": vnfcs, "jobs": jobs, "states": states, "lines": lines})
		return err
	})
	if err != nil {
		return fmt.Errorf("keep node logs of operation %s: %w", run.Operation.ID, err)
	}
	return nil
}

// nodeLogTime is how long it is known what jobs have written, since the end of the operation.
const nodeLogTime = 30 * 24 * time.Hour

// forgetNodeLogs removes what jobs of operations have written that ended long ago, some of it at a time.
func (s *Store) forgetNodeLogs(ctx context.Context) error {
	const remove = `
		DELETE FROM vnf_lcm_op_node_logs WHERE (op_id, node) IN (
			SELECT l.op_id, l.node FROM vnf_lcm_op_node_logs l JOIN vnf_lcm_op_occs o ON o.id = l.op_id
			WHERE l.created_at < now() - @keep::interval -- for the index: nothing is written after the end
				AND o.state_entered_at < now() - @keep::interval AND o.state IN ('COMPLETED', 'ROLLED_BACK', 'FAILED')
			ORDER BY l.created_at LIMIT @most)`
	if _, err := s.pool.Exec(ctx, remove, pgx.NamedArgs{"keep": nodeLogTime, "most": sweepLimit}); err != nil {
		return fmt.Errorf("remove old node logs: %w", err)
	}
	return nil
}
