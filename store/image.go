package store

import (
	"context"
	"errors"
	"fmt"

	"github.com/google/uuid"
	"github.com/jackc/pgx/v5"

	"vnfm/lcm"
)

// inRun runs fn in a transaction in which no newer run of the operation can begin.
func (s *Store) inRun(ctx context.Context, run *lcm.Run, fn func(pgx.Tx) error) error {
	return s.InTx(ctx, func(tx pgx.Tx) error {
		const fence = `SELECT FROM vnf_lcm_op_occs WHERE id = @id AND run = @run AND held FOR SHARE`
		fenced, err := tx.Exec(ctx, fence, pgx.NamedArgs{"id": run.Operation.ID, "run": run.Number})
		if err != nil {
			return err
		}
		if fenced.RowsAffected() == 0 {
			return lcm.ErrSuperseded
		}
		return fn(tx)
	})
}

// UseImage implements [lcm.ImageStore].
func (s *Store) UseImage(ctx context.Context, run *lcm.Run, key lcm.ImageKey) (lcm.ImageUse, error) {
	var use lcm.ImageUse
	err := s.inRun(ctx, run, func(tx pgx.Tx) error {
		arguments := pgx.NamedArgs{
			"new": uuid.New(), "vim": key.Vim, "package": key.VnfPkgID, "digest": key.Digest,
			"op": run.Operation.ID, "run": run.Number, "instance": run.Instance.ID,
		}
		const insert = `
			INSERT INTO vim_images (id, vim, vnf_pkg_id, digest, op_id, run) VALUES (@new, @vim, @package, @digest, @op, @run)
			ON CONFLICT (vim, vnf_pkg_id, digest) WHERE condemned_by IS NULL DO NOTHING`
		if _, err := tx.Exec(ctx, insert, arguments); err != nil {
			return err
		}
		// Who makes an image is alive for as long as its lease lasts.
		const claim = `
			SELECT i.id, i.ready, NOT i.ready AND i.op_id <> @op AND EXISTS (
				SELECT FROM vnf_lcm_op_occs o WHERE o.id = i.op_id AND o.run = i.run AND o.held AND o.lease_until > now())
			FROM vim_images i
			WHERE i.vim = @vim AND i.vnf_pkg_id = @package AND i.digest = @digest AND i.condemned_by IS NULL
			FOR UPDATE OF i`
		err := tx.QueryRow(ctx, claim, arguments).Scan(&use.ID, &use.Ready, &use.Busy)
		if errors.Is(err, pgx.ErrNoRows) { // given up in this very moment
			use.Busy = true
			return nil
		}
		if err != nil {
			return err
		}
		arguments["id"] = use.ID
		const register = `INSERT INTO vim_image_users (image_id, vnf_instance_id) VALUES (@id, @instance) ON CONFLICT DO NOTHING`
		if _, err := tx.Exec(ctx, register, arguments); err != nil || use.Ready || use.Busy {
			return err
		}
		const take = `UPDATE vim_images SET op_id = @op, run = @run WHERE id = @id`
		_, err = tx.Exec(ctx, take, arguments)
		return err
	})
	if err != nil {
		return lcm.ImageUse{}, fmt.Errorf("use image of VNF package %s: %w", key.VnfPkgID, err)
	}
	return use, nil
}

// ImageReady implements [lcm.ImageStore].
func (s *Store) ImageReady(ctx context.Context, run *lcm.Run, id uuid.UUID) error {
	const update = `UPDATE vim_images SET ready = true WHERE id = @id AND op_id = @op AND run = @run AND condemned_by IS NULL`
	return s.changeImage(ctx, run, update, id)
}

// CondemnImage implements [lcm.ImageStore].
func (s *Store) CondemnImage(ctx context.Context, run *lcm.Run, id uuid.UUID) error {
	const update = `UPDATE vim_images SET condemned_by = @instance WHERE id = @id AND condemned_by IS NULL`
	return s.changeImage(ctx, run, update, id)
}

func (s *Store) changeImage(ctx context.Context, run *lcm.Run, update string, id uuid.UUID) error {
	return s.inRun(ctx, run, func(tx pgx.Tx) error {
		_, err := tx.Exec(ctx, update, pgx.NamedArgs{"id": id, "op": run.Operation.ID, "run": run.Number, "instance": run.Instance.ID})
		if err != nil {
			return fmt.Errorf("change image %s: %w", id, err)
		}
		return nil
	})
}

// ReleaseImages implements [lcm.ImageStore].
func (s *Store) ReleaseImages(ctx context.Context, run *lcm.Run, vim string, keep []uuid.UUID) ([]lcm.CondemnedImage, error) {
	var condemned []lcm.CondemnedImage
	err := s.inRun(ctx, run, func(tx pgx.Tx) error {
		arguments := pgx.NamedArgs{"instance": run.Instance.ID, "keep": append([]uuid.UUID{}, keep...), "vim": vim}
		// Whoever wants to use one of them waits for the lock, and then does not find it any more.
		const lock = `
			SELECT i.id FROM vim_images i JOIN vim_image_users u ON u.image_id = i.id
			WHERE u.vnf_instance_id = @instance AND i.id <> ALL (@keep) ORDER BY i.id FOR UPDATE OF i`
		rows, err := tx.Query(ctx, lock, arguments)
		if err != nil {
			return err
		}
		if arguments["released"], err = pgx.CollectRows(rows, pgx.RowTo[uuid.UUID]); err != nil {
			return err
		}
		const release = `DELETE FROM vim_image_users WHERE vnf_instance_id = @instance AND image_id = ANY (@released)`
		if _, err := tx.Exec(ctx, release, arguments); err != nil {
			return err
		}
		// What the instance calls its VIM may have changed since, as when a region was added.
		const condemn = `
			UPDATE vim_images i SET condemned_by = @instance, vim = @vim
			WHERE i.id = ANY (@released) AND i.condemned_by IS NULL
				AND NOT EXISTS (SELECT FROM vim_image_users u WHERE u.image_id = i.id)`
		if _, err := tx.Exec(ctx, condemn, arguments); err != nil {
			return err
		}
		const query = `SELECT id, condemned_by = @instance AS own FROM vim_images WHERE vim = @vim AND condemned_by IS NOT NULL ORDER BY id`
		if rows, err = tx.Query(ctx, query, arguments); err != nil {
			return err
		}
		condemned, err = pgx.CollectRows(rows, pgx.RowToStructByName[lcm.CondemnedImage])
		return err
	})
	if err != nil {
		return nil, fmt.Errorf("release images of vnf instance %s: %w", run.Instance.ID, err)
	}
	return condemned, nil
}

// ForgetImage implements [lcm.ImageStore].
func (s *Store) ForgetImage(ctx context.Context, id uuid.UUID) error {
	const remove = `DELETE FROM vim_images WHERE id = $1 AND condemned_by IS NOT NULL`
	if _, err := s.pool.Exec(ctx, remove, id); err != nil {
		return fmt.Errorf("forget image %s: %w", id, err)
	}
	return nil
}
