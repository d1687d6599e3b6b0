package store

import (
	"context"
	"fmt"
	"time"

	"github.com/google/uuid"
	"github.com/jackc/pgx/v5"

	"vnfm/api/access"
	"vnfm/lcm"
)

// auditRow is a row of audit_events.
type auditRow struct {
	ID        uuid.UUID
	CreatedAt time.Time
	ProjectID string `db:"project_id"`
	UserID    string `db:"user_id"`
	UserName  string
	Address   string
	Method    string
	Path      string
	Status    *int
	EndedAt   *time.Time
}

func (r *auditRow) event() (*access.Event, error) {
	event := &access.Event{
		ID: r.ID, CreatedAt: r.CreatedAt, ProjectID: r.ProjectID, UserID: r.UserID, UserName: r.UserName, Address: r.Address, Method: r.Method, Path: r.Path,
	}
	if r.Status != nil && r.EndedAt != nil {
		event.Status, event.Duration = *r.Status, r.EndedAt.Sub(r.CreatedAt)
	}
	return event, nil
}

// BeginEvent notes a request for a change before it is carried out.
func (s *Store) BeginEvent(ctx context.Context, event *access.Event) error {
	const insert = `
		INSERT INTO audit_events (id, project_id, user_id, user_name, address, method, path)
		VALUES (@id, @project, @user, @name, @address, @method, @path)`
	_, err := s.pool.Exec(ctx, insert, pgx.NamedArgs{
		"id": event.ID, "project": event.ProjectID, "user": event.UserID, "name": event.UserName, "address": event.Address,
		"method": event.Method, "path": event.Path,
	})
	if err != nil {
		return fmt.Errorf("store audit event: %w", err)
	}
	return nil
}

// EndEvent notes with which status a request was answered.
func (s *Store) EndEvent(ctx context.Context, id uuid.UUID, status int) error {
	if _, err := s.pool.Exec(ctx, `UPDATE audit_events SET status = $2, ended_at = now() WHERE id = $1`, id, status); err != nil {
		return fmt.Errorf("store audit event: %w", err)
	}
	return nil
}

// Events returns a page of requests for changes in their order, and whether more follow.
func (s *Store) Events(ctx context.Context, asked lcm.Page) ([]*access.Event, bool, error) {
	args := listArgs(asked.Limit, asked.After.CreatedAt, asked.After.ID, asked.Whole)
	where, err := auditAttributes.where(asked.Where, args)
	if err != nil {
		return nil, false, err
	}
	query := `
		SELECT id, created_at, project_id, user_id, user_name, address, method, path, status, ended_at FROM audit_events
		WHERE true` + where + scope(ctx, "project_id", args) + inOrder("", asked.Newest, args)
	return page(ctx, s.pool, asked.Limit, query, args, (*auditRow).event)
}

// auditAttributes are those of AuditEvent.
var auditAttributes = attributes{
	"id":              {expression: "id", kind: uuidColumn},
	"time":            {expression: "created_at", kind: timeColumn},
	"projectId":       {expression: "project_id"},
	"userId":          {expression: "user_id"},
	"userName":        {expression: "NULLIF(user_name, '')"},
	"address":         {expression: "address"},
	"method":          {expression: "method"},
	"path":            {expression: "path"},
	"status":          {expression: "to_jsonb(status)", kind: documentColumn},
	"durationSeconds": {expression: "to_jsonb(extract(epoch FROM ended_at - created_at))", kind: documentColumn},
}

// forgetEvents removes audit events that are older than it was decided to keep them, some of them at a time.
func (s *Store) forgetEvents(ctx context.Context, keep time.Duration) error {
	const remove = `
		DELETE FROM audit_events WHERE id IN (
			SELECT id FROM audit_events WHERE created_at < now() - @keep::interval ORDER BY created_at LIMIT @most)`
	if _, err := s.pool.Exec(ctx, remove, pgx.NamedArgs{"keep": keep, "most": 10 * sweepLimit}); err != nil {
		return fmt.Errorf("remove old audit events: %w", err)
	}
	return nil
}
