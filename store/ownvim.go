package store

import (
	"context"
	"errors"
	"fmt"

	"github.com/google/uuid"
	"github.com/jackc/pgx/v5"

	"vnfm/lcm"
)

// PutOwnVim implements [lcm.OwnVimStore].
func (s *Store) PutOwnVim(ctx context.Context, run *lcm.Run, vim *lcm.Vim) error {
	return s.inRun(ctx, run, func(tx pgx.Tx) error {
		const known = `
			SELECT own.id, coalesce(nullif(i.project_id, ''), home.tenant_id, '')
			FROM vnf_instances i LEFT JOIN vims own ON own.vnf_instance_id = i.id LEFT JOIN vims home ON home.id = i.vim_id
			WHERE i.id = $1`
		var stored uuid.NullUUID
		if err := tx.QueryRow(ctx, known, run.Instance.ID).Scan(&stored, &vim.TenantID); err != nil {
			return fmt.Errorf("store VIM: %w", err)
		}
		if stored.Valid {
			vim.ID = stored.UUID
		}
		values, err := s.columns(vim)
		if err != nil {
			return err
		}
		const put = `
			INSERT INTO vims (id, tenant_id, name, description, type, auth_url, vim_project, auth_cred, is_default, extra, regions, status,
				vnf_instance_id)
			VALUES (@id, @tenant, @name, @description, @type, @url, @project, @cred, @default, @extra, @regions, @status, @instance)
			ON CONFLICT (id) DO UPDATE SET updated_at = now(), name = @name, auth_url = @url, auth_cred = @cred, extra = @extra`
		if _, err := tx.Exec(ctx, put, values); err != nil {
			return vimConflict(vim, err)
		}
		return nil
	})
}

// RemoveOwnVim implements [lcm.OwnVimStore].
func (s *Store) RemoveOwnVim(ctx context.Context, run *lcm.Run) error {
	return s.inRun(ctx, run, func(tx pgx.Tx) error { return removeOwnVim(ctx, tx, run.Instance.ID) })
}

// removeOwnVim removes the VIM that an instance is; *[lcm.Conflict] if another one uses it.
func removeOwnVim(ctx context.Context, tx pgx.Tx, instanceID uuid.UUID) error {
	const find = `SELECT id FROM vims WHERE vnf_instance_id = $1 FOR UPDATE`
	var id uuid.UUID
	err := tx.QueryRow(ctx, find, instanceID).Scan(&id)
	if errors.Is(err, pgx.ErrNoRows) {
		return nil
	}
	if err != nil {
		return fmt.Errorf("find VIM of VNF instance %s: %w", instanceID, err)
	}
	return removeVim(ctx, tx, id, instanceID)
}

// CheckOwnVim implements [lcm.VimStore].
func (s *Store) CheckOwnVim(ctx context.Context, instanceID uuid.UUID) error {
	const find = `SELECT id FROM vims WHERE vnf_instance_id = $1`
	var id uuid.UUID
	err := s.pool.QueryRow(ctx, find, instanceID).Scan(&id)
	if errors.Is(err, pgx.ErrNoRows) {
		return nil
	}
	if err != nil {
		return fmt.Errorf("find VIM of VNF instance %s: %w", instanceID, err)
	}
	return unusedVim(ctx, s.pool, id, instanceID)
}

// removeVim removes a VIM that no instance but the one excepted uses.
func removeVim(ctx context.Context, tx pgx.Tx, id, except uuid.UUID) error {
	if err := unusedVim(ctx, tx, id, except); err != nil {
		return err
	}
	if _, err := tx.Exec(ctx, `DELETE FROM vims WHERE id = $1`, id); err != nil {
		return fmt.Errorf("delete VIM %s: %w", id, err)
	}
	return nil
}

// unusedVim answers *[lcm.Conflict] if an instance but the one excepted uses a VIM. That one of another project names it holds nobody up.
func unusedVim(ctx context.Context, q querier, id, except uuid.UUID) error {
	const users = `
		SELECT i.id FROM vnf_instances i
		WHERE i.id <> @except AND (i.vim_id = @id
			OR i.vim_connection_info @> jsonb_build_array(jsonb_build_object('vimId', @id::text))
				AND i.project_id IN ('', (SELECT tenant_id FROM vims WHERE id = @id)))
		LIMIT 1`
	var user uuid.UUID
	err := q.QueryRow(ctx, users, pgx.NamedArgs{"id": id, "except": except}).Scan(&user)
	if err == nil {
		return &lcm.Conflict{Detail: fmt.Sprintf("VIM %s is in use by VNF instance %s", id, user)}
	}
	if !errors.Is(err, pgx.ErrNoRows) {
		return fmt.Errorf("find users of VIM %s: %w", id, err)
	}
	return nil
}
