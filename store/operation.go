package store

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/google/uuid"
	"github.com/jackc/pgx/v5"

	"vnfm/lcm"
)

// operationRow is a row of vnf_lcm_op_occs.
type operationRow struct {
	ID                     uuid.UUID
	CreatedAt              time.Time
	State                  lcm.OperationState
	StateEnteredAt         time.Time
	ProjectID              string    `db:"project_id"`
	VnfInstanceID          uuid.UUID `db:"vnf_instance_id"`
	Type                   lcm.OperationType
	GrantID                *string
	GrantURI               *string `db:"grant_uri"`
	IsAutomaticInvocation  bool
	CancelMode             *lcm.CancelMode
	Params                 []byte
	Error                  []byte
	ResourceChanges        []byte
	ChangedInfo            []byte
	ChangedExtConnectivity []byte
	Progress               []byte
	RequestID              *string
	TraceParent            *string
}

func (r *operationRow) operation() (*lcm.Operation, error) {
	operation := &lcm.Operation{
		ID:                    r.ID,
		State:                 r.State,
		StateEnteredAt:        r.StateEnteredAt,
		StartedAt:             r.CreatedAt,
		ProjectID:             r.ProjectID,
		VnfInstanceID:         r.VnfInstanceID,
		Type:                  r.Type,
		IsAutomaticInvocation: r.IsAutomaticInvocation,
		Params:                r.Params,
	}
	if r.CancelMode != nil {
		operation.CancelMode = *r.CancelMode
	}
	if r.GrantID != nil && r.GrantURI != nil {
		operation.GrantID, operation.GrantURI = *r.GrantID, *r.GrantURI
	}
	if r.RequestID != nil {
		operation.Origin.RequestID = *r.RequestID
	}
	if r.TraceParent != nil {
		operation.Origin.TraceParent = *r.TraceParent
	}
	err := errors.Join(read(r.Error, &operation.Error), read(r.ResourceChanges, &operation.ResourceChanges),
		read(r.ChangedInfo, &operation.ChangedInfo), read(r.ChangedExtConnectivity, &operation.ChangedExtConnectivity),
		read(r.Progress, &operation.Progress))
	if err != nil {
		return nil, fmt.Errorf("read operation %s: %w", r.ID, err)
	}
	return operation, nil
}

func operationNotFound(id uuid.UUID) error {
	return &lcm.NotFound{Resource: "vnf lcm operation occurrence", ID: id.String()}
}

// firstLease is how long a new operation waits for its job to be taken before it is taken for lost.
const firstLease = 10 * time.Second

// StartOperation implements [lcm.OperationStore].
func (s *Store) StartOperation(ctx context.Context, operation *lcm.Operation, request json.RawMessage, required lcm.Precondition) error {
	return s.InTx(ctx, func(tx pgx.Tx) error {
		args := pgx.NamedArgs{"id": operation.VnfInstanceID}
		lock := `SELECT project_id, instantiation_state, version FROM vnf_instances WHERE id = @id` + scope(ctx, "project_id", args) + ` FOR UPDATE`
		var state lcm.InstantiationState
		var version int64
		err := tx.QueryRow(ctx, lock, args).Scan(&operation.ProjectID, &state, &version)
		if errors.Is(err, pgx.ErrNoRows) {
			return instanceNotFound(operation.VnfInstanceID)
		}
		if err != nil {
			return fmt.Errorf("start operation: %w", err)
		}
		if required.Versions != nil && !slices.Contains(required.Versions, version) {
			return &lcm.PreconditionFailed{Detail: fmt.Sprintf(
				"VNF instance %s has changed since it was read: read it again", operation.VnfInstanceID)}
		}
		if state != required.State {
			return &lcm.Conflict{Detail: fmt.Sprintf("VNF instance %s is %s", operation.VnfInstanceID, state)}
		}
		const insert = `
			INSERT INTO vnf_lcm_op_occs (id, project_id, state, vnf_instance_id, type, is_automatic_invocation, params, request, lease_until,
				request_id, trace_parent)
			VALUES (@id, @project, @state, @instance, @type, @automatic, @params, @request, now() + @lease,
				NULLIF(@requestID, ''), NULLIF(@traceParent, ''))
			RETURNING created_at, state_entered_at`
		err = tx.QueryRow(ctx, insert, pgx.NamedArgs{
			"id": operation.ID, "project": operation.ProjectID, "state": operation.State, "instance": operation.VnfInstanceID, "type": operation.Type,
			"automatic": operation.IsAutomaticInvocation, "params": operation.Params,
			"request": s.sealer.seal(requestPlace(operation.ID), request), "lease": firstLease,
			"requestID": operation.Origin.RequestID, "traceParent": operation.Origin.TraceParent,
		}).Scan(&operation.StartedAt, &operation.StateEnteredAt)
		if violated(err, "vnf_lcm_op_occs_active") {
			return &lcm.Conflict{Detail: fmt.Sprintf("another operation of VNF instance %s is not over", operation.VnfInstanceID)}
		}
		if err != nil {
			return fmt.Errorf("start operation: %w", err)
		}
		if err := publishOperation(ctx, tx, operation); err != nil {
			return err
		}
		return s.enqueueOperation(ctx, tx, operation.ID)
	})
}

// requestPlace, outputPlace and deploymentPlace are what sealed values are bound to.
func requestPlace(id uuid.UUID) string { return "vnf_lcm_op_occs/request/" + id.String() }
func outputPlace(id uuid.UUID, step string) string {
	return "vnf_lcm_op_steps/output/" + id.String() + "/" + step
}
func deploymentPlace(id uuid.UUID) string { return "vnf_instances/deployment/" + id.String() }

// progressExpression is what an operation is doing: the step that runs.
const progressExpression = `(
	SELECT jsonb_build_object('step', step.name, 'since', step.started_at, 'detail', step.detail)
	FROM vnf_lcm_op_steps step
	WHERE step.op_id = vnf_lcm_op_occs.id AND step.state = 'RUNNING' AND vnf_lcm_op_occs.state IN ('STARTING', 'PROCESSING', 'ROLLING_BACK')
	ORDER BY step.position DESC LIMIT 1)`

const selectOperation = `
	SELECT id, project_id, created_at, state, state_entered_at, vnf_instance_id, type, grant_id, grant_uri, is_automatic_invocation,
		cancel_mode, params, error, resource_changes, changed_info, changed_ext_connectivity, request_id, trace_parent,
		` + progressExpression + ` AS progress
	FROM vnf_lcm_op_occs WHERE id = @id`

// Operation implements [lcm.OperationStore].
func (s *Store) Operation(ctx context.Context, id uuid.UUID) (*lcm.Operation, error) {
	args := pgx.NamedArgs{"id": id}
	found, err := row[operationRow](ctx, s.pool, selectOperation+scope(ctx, "project_id", args), args)
	if errors.Is(err, pgx.ErrNoRows) {
		return nil, operationNotFound(id)
	}
	if err != nil {
		return nil, fmt.Errorf("read operation %s: %w", id, err)
	}
	operation, err := found.operation()
	if err != nil {
		return nil, err
	}
	operation.Steps, err = s.steps(ctx, s.pool, id, false)
	return operation, err
}

// ChangeOperation implements [lcm.OperationStore].
func (s *Store) ChangeOperation(ctx context.Context, id uuid.UUID, change func(*lcm.Operation) error) (*lcm.Operation, error) {
	var operation *lcm.Operation
	err := s.InTx(ctx, func(tx pgx.Tx) error {
		args := pgx.NamedArgs{"id": id}
		found, err := row[operationRow](ctx, tx, selectOperation+scope(ctx, "project_id", args)+` FOR UPDATE`, args)
		if errors.Is(err, pgx.ErrNoRows) {
			return operationNotFound(id)
		}
		if err != nil {
			return fmt.Errorf("read operation %s: %w", id, err)
		}
		if operation, err = found.operation(); err != nil {
			return err
		}
		before := operation.State
		if err := change(operation); err != nil {
			return err
		}
		const update = `
			UPDATE vnf_lcm_op_occs SET state = @state, cancel_mode = nullif(@cancel, ''), lease_until = now() + @lease,
				state_entered_at = CASE WHEN state = @state THEN state_entered_at ELSE now() END
			WHERE id = @id RETURNING state_entered_at`
		err = tx.QueryRow(ctx, update, pgx.NamedArgs{
			"id": id, "state": operation.State, "cancel": operation.CancelMode, "lease": firstLease}).
			Scan(&operation.StateEnteredAt)
		if err != nil {
			return fmt.Errorf("change operation %s: %w", id, err)
		}
		if operation.State != before {
			if err := publishOperation(ctx, tx, operation); err != nil {
				return err
			}
		}
		if !operation.State.Transient() {
			return nil
		}
		return s.enqueueOperation(ctx, tx, id)
	})
	if err != nil {
		return nil, err
	}
	return operation, nil
}

// Operations implements [lcm.OperationStore].
func (s *Store) Operations(ctx context.Context, asked lcm.Page) ([]*lcm.Operation, bool, error) {
	args := listArgs(asked.Limit, asked.After.CreatedAt, asked.After.ID, asked.Whole)
	args["told"] = asked.Whole || asked.Told
	where, err := operationAttributes.where(asked.Where, args)
	if err != nil {
		return nil, false, err
	}
	query := `
		SELECT id, project_id, created_at, state, state_entered_at, vnf_instance_id, type, grant_id, grant_uri, is_automatic_invocation,
			cancel_mode, request_id, trace_parent,
			CASE WHEN @whole THEN params END AS params, CASE WHEN @told THEN error END AS error,
			CASE WHEN @whole THEN resource_changes END AS resource_changes, CASE WHEN @whole THEN changed_info END AS changed_info,
			CASE WHEN @whole THEN changed_ext_connectivity END AS changed_ext_connectivity,
			CASE WHEN @told THEN ` + progressExpression + ` END AS progress
		FROM vnf_lcm_op_occs WHERE true` + where + scope(ctx, "project_id", args) + inOrder("", asked.Newest, args)
	return page(ctx, s.pool, asked.Limit, query, args, (*operationRow).operation)
}

// CountOperations implements [lcm.OperationStore].
func (s *Store) CountOperations(ctx context.Context) (map[lcm.OperationState]int, error) {
	args := pgx.NamedArgs{}
	return counts[lcm.OperationState](ctx, s.pool, `
		SELECT state, count(*) FROM vnf_lcm_op_occs
		WHERE state NOT IN ('COMPLETED', 'ROLLED_BACK', 'FAILED')`+scope(ctx, "project_id", args)+` GROUP BY state`, args)
}

// operationAttributes are the attributes of VnfLcmOpOcc (SOL003 5.5.2.13).
var operationAttributes = attributes{
	"id":                     {expression: "id", kind: uuidColumn},
	"operationState":         {expression: "state"},
	"stateEnteredTime":       {expression: "state_entered_at", kind: timeColumn},
	"startTime":              {expression: "created_at", kind: timeColumn},
	"vnfInstanceId":          {expression: "vnf_instance_id", kind: uuidColumn},
	"operation":              {expression: "type"},
	"grantId":                {expression: "grant_id"},
	"isAutomaticInvocation":  {expression: "is_automatic_invocation", kind: boolColumn},
	"isCancelPending":        {expression: "(cancel_mode IS NOT NULL)", kind: boolColumn},
	"cancelMode":             {expression: "cancel_mode"},
	"operationParams":        {expression: "params", kind: documentColumn},
	"error":                  {expression: "error", kind: documentColumn},
	"resourceChanges":        {expression: "resource_changes", kind: documentColumn},
	"changedInfo":            {expression: "changed_info", kind: documentColumn},
	"changedExtConnectivity": {expression: "changed_ext_connectivity", kind: documentColumn},
	"progress":               {expression: progressExpression, kind: documentColumn},
}

// stepRow is a row of vnf_lcm_op_steps.
type stepRow struct {
	Name       string
	State      lcm.StepState
	Detail     string
	Output     []byte
	StartedAt  *time.Time
	FinishedAt *time.Time
}

// steps returns the steps of an operation, with their outputs opened if wanted.
func (s *Store) steps(ctx context.Context, q querier, id uuid.UUID, outputs bool) ([]lcm.StepRecord, error) {
	const query = `
		SELECT name, state, detail, CASE WHEN @outputs THEN output END AS output, started_at, finished_at
		FROM vnf_lcm_op_steps WHERE op_id = @id ORDER BY position`
	rows, err := q.Query(ctx, query, pgx.NamedArgs{"id": id, "outputs": outputs})
	if err != nil {
		return nil, fmt.Errorf("read steps of operation %s: %w", id, err)
	}
	found, err := pgx.CollectRows(rows, pgx.RowToStructByName[stepRow])
	if err != nil {
		return nil, fmt.Errorf("read steps of operation %s: %w", id, err)
	}
	steps := make([]lcm.StepRecord, len(found))
	for i, step := range found {
		steps[i] = lcm.StepRecord{Name: step.Name, State: step.State, Detail: step.Detail}
		if steps[i].Output, err = s.sealer.open(outputPlace(id, step.Name), step.Output); err != nil {
			return nil, err
		}
		if step.StartedAt != nil {
			steps[i].StartedAt = *step.StartedAt
		}
		if step.FinishedAt != nil {
			steps[i].FinishedAt = *step.FinishedAt
		}
	}
	return steps, nil
}
