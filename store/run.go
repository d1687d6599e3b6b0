package store

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"time"

	"github.com/google/uuid"
	"github.com/jackc/pgx/v5"

	"vnfm/lcm"
)

// AcquireRun implements [lcm.RunStore].
func (s *Store) AcquireRun(ctx context.Context, operationID uuid.UUID, lease time.Duration) (*lcm.Run, error) {
	var run *lcm.Run
	err := s.InTx(ctx, func(tx pgx.Tx) error {
		var sealedRequest []byte
		run = &lcm.Run{}
		// Held by nobody, or by a run that was not heard of for the length of its lease.
		const take = `
			UPDATE vnf_lcm_op_occs SET run = run + 1, held = true, lease_until = now() + @lease
			WHERE id = @id AND state IN ('STARTING', 'PROCESSING', 'ROLLING_BACK') AND (NOT held OR lease_until < now())
			RETURNING run, request`
		err := tx.QueryRow(ctx, take, pgx.NamedArgs{"id": operationID, "lease": lease}).Scan(&run.Number, &sealedRequest)
		if errors.Is(err, pgx.ErrNoRows) {
			return lcm.ErrNothingToDo
		}
		if err != nil {
			return err
		}
		if run.Request, err = s.sealer.open(requestPlace(operationID), sealedRequest); err != nil {
			return err
		}
		return s.readRun(ctx, tx, operationID, run)
	})
	if err != nil {
		return nil, err
	}
	return run, nil
}

func (s *Store) readRun(ctx context.Context, tx pgx.Tx, operationID uuid.UUID, run *lcm.Run) error {
	found, err := row[operationRow](ctx, tx, selectOperation, pgx.NamedArgs{"id": operationID})
	if err != nil {
		return err
	}
	if run.Operation, err = found.operation(); err != nil {
		return err
	}
	run.HearCancel(run.Operation.CancelMode)
	if run.Operation.Steps, err = s.steps(ctx, tx, operationID, true); err != nil {
		return err
	}
	if run.Instance, err = instance(ctx, tx, found.VnfInstanceID); err != nil {
		return err
	}
	var sealed []byte
	if err := tx.QueryRow(ctx, `SELECT deployment FROM vnf_instances WHERE id = $1`, found.VnfInstanceID).Scan(&sealed); err != nil {
		return err
	}
	deployment, err := s.sealer.open(deploymentPlace(found.VnfInstanceID), sealed)
	if err != nil || deployment == nil {
		return err
	}
	run.Deployment = &lcm.Deployment{}
	return json.Unmarshal(deployment, run.Deployment)
}

// RenewRun implements [lcm.RunStore].
func (s *Store) RenewRun(ctx context.Context, run *lcm.Run, lease time.Duration) error {
	const renew = `
		WITH renewed AS (
			UPDATE vnf_lcm_op_occs SET lease_until = now() + @lease WHERE id = @id AND run = @run AND held
			RETURNING coalesce(cancel_mode, '') AS cancel
		), told AS (
			UPDATE vnf_lcm_op_steps SET detail = @detail
			WHERE op_id = @id AND name = @step AND state = 'RUNNING' AND detail <> @detail AND EXISTS (SELECT FROM renewed)
		)
		SELECT cancel FROM renewed`
	waiting := cmp.Or(run.Waiting(), &lcm.Waiting{})
	err := fenced(ctx, s.pool, run, renew, pgx.NamedArgs{
		"id": run.Operation.ID, "run": run.Number, "lease": lease, "step": waiting.Step, "detail": waiting.Detail,
	})
	if err != nil && !errors.Is(err, lcm.ErrSuperseded) {
		return fmt.Errorf("renew run of operation %s: %w", run.Operation.ID, err)
	}
	return err
}

// fenced executes a statement that changes the operation of a run, if it is the newest, and returns the cancellation asked for.
func fenced(ctx context.Context, q querier, run *lcm.Run, statement string, args pgx.NamedArgs) error {
	var cancel lcm.CancelMode
	err := q.QueryRow(ctx, statement, args).Scan(&cancel)
	if errors.Is(err, pgx.ErrNoRows) {
		return lcm.ErrSuperseded
	}
	if err == nil {
		run.HearCancel(cancel)
	}
	return err
}

// CommitRun implements [lcm.RunStore].
func (s *Store) CommitRun(ctx context.Context, run *lcm.Run, commit lcm.Commit) error {
	return s.InTx(ctx, func(tx pgx.Tx) error {
		// The instance is locked before the operation everywhere, or two transactions could wait for each other.
		const lock = `SELECT FROM vnf_instances WHERE id = $1 FOR NO KEY UPDATE`
		if _, err := tx.Exec(ctx, lock, run.Instance.ID); err != nil {
			return fmt.Errorf("commit run: %w", err)
		}
		// The update locks the row, so that no newer run can begin before the rest is committed.
		const fence = `
			UPDATE vnf_lcm_op_occs SET held = held AND @keep,
				lease_until = CASE WHEN @keep THEN lease_until ELSE now() + @release::interval + @grace::interval END
			WHERE id = @id AND run = @run AND held
			RETURNING coalesce(cancel_mode, '')`
		keep, release := commit.Release == nil, time.Duration(0)
		if !keep {
			release = *commit.Release
		}
		err := fenced(ctx, tx, run, fence, pgx.NamedArgs{
			"id": run.Operation.ID, "run": run.Number, "keep": keep, "release": release, "grace": firstLease,
		})
		if err != nil {
			return fmt.Errorf("commit run: %w", err)
		}
		entered := false
		if commit.Operation {
			if entered, err = writeOperation(ctx, tx, run.Operation); err != nil {
				return fmt.Errorf("write operation %s: %w", run.Operation.ID, err)
			}
		}
		if commit.Instance {
			if err := writeInstance(ctx, tx, run.Instance); err != nil {
				return fmt.Errorf("write vnf instance %s: %w", run.Instance.ID, err)
			}
		}
		if commit.Instance && commit.Operation { // the operation is over
			if err := forgetHostKeys(ctx, tx, run.Instance); err != nil {
				return err
			}
		}
		if commit.Deployment {
			if err := s.writeDeployment(ctx, tx, run.Instance.ID, run.Deployment); err != nil {
				return fmt.Errorf("write deployment of vnf instance %s: %w", run.Instance.ID, err)
			}
		}
		for _, step := range commit.Steps {
			if err := s.writeStep(ctx, tx, run.Operation.ID, step); err != nil {
				return fmt.Errorf("write step %s of operation %s: %w", step.Name, run.Operation.ID, err)
			}
		}
		if entered {
			return publishOperation(ctx, tx, run.Operation)
		}
		return nil
	})
}

// writeOperation stores what a run changes of an operation, and reports whether it has entered another state.
func writeOperation(ctx context.Context, tx pgx.Tx, operation *lcm.Operation) (entered bool, err error) {
	problem, problemErr := document(operation.Error)
	changes, err := document(operation.ResourceChanges)
	if err := errors.Join(problemErr, err); err != nil {
		return false, err
	}
	var info, links []byte
	if operation.ChangedInfo != nil {
		if info, err = json.Marshal(operation.ChangedInfo); err != nil {
			return false, err
		}
	}
	if operation.ChangedExtConnectivity != nil {
		if links, err = json.Marshal(operation.ChangedExtConnectivity); err != nil {
			return false, err
		}
	}
	// A cancellation that comes while STARTING ends is meant for PROCESSING.
	const update = `
		UPDATE vnf_lcm_op_occs SET state = @state, error = @error, resource_changes = @changes, changed_info = @info,
			grant_id = NULLIF(@grant, ''), grant_uri = NULLIF(@grantURI, ''),
			changed_ext_connectivity = @links, cancel_mode = CASE WHEN @state = 'PROCESSING' THEN cancel_mode END,
			state_entered_at = CASE WHEN state = @state THEN state_entered_at ELSE now() END
		WHERE id = @id RETURNING state_entered_at`
	before := operation.StateEnteredAt
	err = tx.QueryRow(ctx, update, pgx.NamedArgs{
		"id": operation.ID, "state": operation.State, "error": problem, "changes": changes, "info": info, "links": links,
		"grant": operation.GrantID, "grantURI": operation.GrantURI,
	}).Scan(&operation.StateEnteredAt)
	return !operation.StateEnteredAt.Equal(before), err
}

func (s *Store) writeDeployment(ctx context.Context, tx pgx.Tx, instanceID uuid.UUID, deployment *lcm.Deployment) error {
	content, err := document(deployment)
	if err != nil {
		return err
	}
	var vim uuid.NullUUID
	if deployment != nil && len(deployment.VimConnectionInfo) > 0 {
		if id, err := uuid.Parse(deployment.VimConnectionInfo[0].VimID); err == nil {
			vim = uuid.NullUUID{UUID: id, Valid: true}
		}
	}
	const update = `UPDATE vnf_instances SET deployment = @deployment, vim_id = @vim WHERE id = @id`
	_, err = tx.Exec(ctx, update, pgx.NamedArgs{
		"id": instanceID, "deployment": s.sealer.seal(deploymentPlace(instanceID), content), "vim": vim,
	})
	return err
}

func (s *Store) writeStep(ctx context.Context, tx pgx.Tx, operationID uuid.UUID, step lcm.StepRecord) error {
	const upsert = `
		INSERT INTO vnf_lcm_op_steps (op_id, position, name, state, detail, output, started_at, finished_at)
		VALUES (@op, (SELECT count(*) FROM vnf_lcm_op_steps WHERE op_id = @op), @name, @state, @detail, @output, @started, @finished)
		ON CONFLICT (op_id, name) DO UPDATE SET state = excluded.state, detail = excluded.detail, output = excluded.output,
			started_at = excluded.started_at, finished_at = excluded.finished_at`
	_, err := tx.Exec(ctx, upsert, pgx.NamedArgs{
		"op": operationID, "name": step.Name, "state": step.State, "detail": step.Detail,
		"output":  s.sealer.seal(outputPlace(operationID, step.Name), step.Output),
		"started": orNull(step.StartedAt), "finished": orNull(step.FinishedAt),
	})
	return err
}

func orNull(t time.Time) *time.Time {
	if t.IsZero() {
		return nil
	}
	return &t
}

// EndOperation implements [lcm.OperationStore]. Nothing is locked while the function calls others: that nobody has changed the operation
// meanwhile is looked at in the end.
func (s *Store) EndOperation(ctx context.Context, id uuid.UUID, change func(*lcm.Run) error) (*lcm.Operation, error) {
	run := &lcm.Run{}
	err := s.InTx(ctx, func(tx pgx.Tx) error {
		args := pgx.NamedArgs{"id": id}
		err := tx.QueryRow(ctx, `SELECT run FROM vnf_lcm_op_occs WHERE id = @id`+scope(ctx, "project_id", args), args).Scan(&run.Number)
		if errors.Is(err, pgx.ErrNoRows) {
			return operationNotFound(id)
		}
		if err != nil {
			return fmt.Errorf("read operation %s: %w", id, err)
		}
		return s.readRun(ctx, tx, id, run)
	})
	if err != nil {
		return nil, err
	}
	before := run.Operation.State
	if err := change(run); err != nil {
		return nil, err
	}
	err = s.InTx(ctx, func(tx pgx.Tx) error {
		if _, err := tx.Exec(ctx, `SELECT FROM vnf_instances WHERE id = $1 FOR NO KEY UPDATE`, run.Instance.ID); err != nil {
			return err
		}
		const unchanged = `SELECT run = $2 AND state = $3 AND NOT held FROM vnf_lcm_op_occs WHERE id = $1 FOR UPDATE`
		var ok bool
		if err := tx.QueryRow(ctx, unchanged, id, run.Number, before).Scan(&ok); err != nil {
			return err
		}
		if !ok {
			return &lcm.Conflict{Detail: fmt.Sprintf("operation %s has changed meanwhile", id)}
		}
		if _, err := writeOperation(ctx, tx, run.Operation); err != nil {
			return err
		}
		if err := writeInstance(ctx, tx, run.Instance); err != nil {
			return err
		}
		if err := s.writeDeployment(ctx, tx, run.Instance.ID, run.Deployment); err != nil {
			return err
		}
		return publishOperation(ctx, tx, run.Operation)
	})
	if err != nil {
		return nil, fmt.Errorf("end operation %s: %w", id, err)
	}
	return run.Operation, nil
}
