package store

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"time"

	"github.com/google/uuid"
	"github.com/jackc/pgx/v5"

	"vnfm/lcm"
)

// vimRow is a row of vims.
type vimRow struct {
	ID          uuid.UUID
	CreatedAt   time.Time
	UpdatedAt   *time.Time
	TenantID    string `db:"tenant_id"`
	Name        string
	Description string
	Type        string
	AuthURL     string `db:"auth_url"`
	VimProject  []byte
	AuthCred    []byte
	IsDefault   bool
	Extra       []byte
	Regions     []byte
	Status      string
	InstanceID  uuid.NullUUID `db:"vnf_instance_id"`
}

const selectVim = `
	SELECT id, created_at, updated_at, tenant_id, name, description, type, auth_url, vim_project, auth_cred, is_default, extra,
		regions, status, vnf_instance_id
	FROM vims`

func vimPlace(id uuid.UUID) string { return "vims/auth_cred/" + id.String() }

func (s *Store) vim(r *vimRow) (*lcm.Vim, error) {
	vim := &lcm.Vim{
		ID: r.ID, TenantID: r.TenantID, Name: r.Name, Description: r.Description, Type: r.Type, AuthURL: r.AuthURL,
		IsDefault: r.IsDefault, Status: r.Status, InstanceID: r.InstanceID.UUID, CreatedAt: r.CreatedAt,
	}
	if r.UpdatedAt != nil {
		vim.UpdatedAt = *r.UpdatedAt
	}
	credentials, err := s.sealer.open(vimPlace(r.ID), r.AuthCred)
	err = errors.Join(err, read(credentials, &vim.AuthCred), read(r.VimProject, &vim.VimProject), read(r.Extra, &vim.Extra),
		read(r.Regions, &vim.Regions))
	if err != nil {
		return nil, fmt.Errorf("read VIM %s: %w", r.ID, err)
	}
	return vim, nil
}

// columns returns the values of a VIM's columns that change.
func (s *Store) columns(vim *lcm.Vim) (pgx.NamedArgs, error) {
	project, projectErr := object(vim.VimProject)
	extra, extraErr := object(vim.Extra)
	credentials, credentialsErr := json.Marshal(vim.AuthCred)
	regions, regionsErr := json.Marshal(vim.Regions)
	return pgx.NamedArgs{
		"id": vim.ID, "tenant": vim.TenantID, "name": vim.Name, "description": vim.Description, "type": vim.Type,
		"url": vim.AuthURL, "project": project, "cred": s.sealer.seal(vimPlace(vim.ID), credentials), "default": vim.IsDefault,
		"extra": extra, "regions": regions, "status": vim.Status,
		"instance": uuid.NullUUID{UUID: vim.InstanceID, Valid: vim.InstanceID != uuid.Nil},
	}, errors.Join(projectErr, extraErr, credentialsErr, regionsErr)
}

// vimConflict turns the violation of a unique index into what the client has to know.
func vimConflict(vim *lcm.Vim, err error) error {
	switch {
	case violated(err, "vims_name"):
		return &lcm.Conflict{Detail: fmt.Sprintf("a VIM with the name %q exists already", vim.Name)}
	case violated(err, "vims_default"):
		return &lcm.Conflict{Detail: "a default VIM exists already: make it no default first"}
	}
	return fmt.Errorf("store VIM: %w", err)
}

// CreateVim implements [lcm.VimStore].
func (s *Store) CreateVim(ctx context.Context, vim *lcm.Vim) error {
	values, err := s.columns(vim)
	if err != nil {
		return err
	}
	const insert = `
		INSERT INTO vims (id, tenant_id, name, description, type, auth_url, vim_project, auth_cred, is_default, extra, regions, status)
		VALUES (@id, @tenant, @name, @description, @type, @url, @project, @cred, @default, @extra, @regions, @status)
		RETURNING created_at`
	if err := s.pool.QueryRow(ctx, insert, values).Scan(&vim.CreatedAt); err != nil {
		return vimConflict(vim, err)
	}
	return nil
}

// Vim implements [lcm.VimStore].
func (s *Store) Vim(ctx context.Context, id uuid.UUID) (*lcm.Vim, error) {
	return s.readVim(ctx, s.pool, "", id)
}

func (s *Store) readVim(ctx context.Context, q querier, lock string, id uuid.UUID) (*lcm.Vim, error) {
	args := pgx.NamedArgs{"id": id}
	found, err := row[vimRow](ctx, q, selectVim+` WHERE id = @id`+scope(ctx, "tenant_id", args)+lock, args)
	if errors.Is(err, pgx.ErrNoRows) {
		return nil, &lcm.NotFound{Resource: "VIM", ID: id.String()}
	}
	if err != nil {
		return nil, fmt.Errorf("read VIM %s: %w", id, err)
	}
	return s.vim(&found)
}

// Vims implements [lcm.VimStore].
func (s *Store) Vims(ctx context.Context) ([]*lcm.Vim, error) {
	args := pgx.NamedArgs{}
	vims, _, err := page(ctx, s.pool, 0, selectVim+` WHERE true`+scope(ctx, "tenant_id", args)+` ORDER BY created_at, id LIMIT @limit`, args, s.vim)
	return vims, err
}

// VimPage implements [lcm.VimStore].
func (s *Store) VimPage(ctx context.Context, asked lcm.Page) ([]*lcm.Vim, bool, error) {
	args := listArgs(asked.Limit, asked.After.CreatedAt, asked.After.ID, false)
	query := `
		SELECT id, created_at, updated_at, tenant_id, name, description, type, auth_url, vim_project, NULL::bytea AS auth_cred, is_default,
			extra, regions, status, vnf_instance_id
		FROM vims WHERE true` + scope(ctx, "tenant_id", args) + inOrder("", asked.Newest, args)
	return page(ctx, s.pool, asked.Limit, query, args, s.vim)
}

// CountVims implements [lcm.VimStore].
func (s *Store) CountVims(ctx context.Context) (int, error) {
	args := pgx.NamedArgs{}
	var number int
	err := s.pool.QueryRow(ctx, `SELECT count(*) FROM vims WHERE true`+scope(ctx, "tenant_id", args), args).Scan(&number)
	if err != nil {
		return 0, fmt.Errorf("count: %w", err)
	}
	return number, nil
}

// UpdateVim implements [lcm.VimStore].
func (s *Store) UpdateVim(ctx context.Context, id uuid.UUID, change func(*lcm.Vim) error) (*lcm.Vim, error) {
	var vim *lcm.Vim
	err := s.InTx(ctx, func(tx pgx.Tx) (err error) {
		if vim, err = s.readVim(ctx, tx, ` FOR UPDATE`, id); err != nil {
			return err
		}
		if err := change(vim); err != nil {
			return err
		}
		values, err := s.columns(vim)
		if err != nil {
			return err
		}
		const update = `
			UPDATE vims SET updated_at = now(), name = @name, description = @description, vim_project = @project, auth_cred = @cred,
				is_default = @default, extra = @extra, regions = @regions, status = @status
			WHERE id = @id RETURNING updated_at`
		if err := tx.QueryRow(ctx, update, values).Scan(&vim.UpdatedAt); err != nil {
			return vimConflict(vim, err)
		}
		return nil
	})
	if err != nil {
		return nil, err
	}
	return vim, nil
}

// DeleteVim implements [lcm.VimStore].
func (s *Store) DeleteVim(ctx context.Context, id uuid.UUID) error {
	return s.InTx(ctx, func(tx pgx.Tx) error {
		if _, err := s.readVim(ctx, tx, ` FOR UPDATE`, id); err != nil {
			return err
		}
		return removeVim(ctx, tx, id, uuid.Nil)
	})
}
