package store

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"

	"github.com/google/uuid"
	"github.com/jackc/pgx/v5"

	"vnfm/vnfpkg"
)

func sourcePlace(id uuid.UUID) string { return "vnf_packages/source/" + id.String() }

// RequestContent implements [vnfpkg.ContentStore].
func (s *Store) RequestContent(ctx context.Context, id uuid.UUID, source *vnfpkg.Source) error {
	encoded, err := json.Marshal(source) //nolint:gosec // it is sealed
	if err != nil {
		return fmt.Errorf("store the source of VNF package %s: %w", id, err)
	}
	return s.InTx(ctx, func(tx pgx.Tx) error {
		pkg, err := lockedPackage(ctx, tx, id)
		if err == nil {
			err = beginUpload(pkg)
		}
		if err != nil {
			return err
		}
		if err := writePackage(ctx, tx, pkg); err != nil {
			return err
		}
		const update = `UPDATE vnf_packages SET source = @source WHERE id = @id`
		if _, err := tx.Exec(ctx, update, pgx.NamedArgs{"id": id, "source": s.sealer.seal(sourcePlace(id), encoded)}); err != nil {
			return fmt.Errorf("store the source of VNF package %s: %w", id, err)
		}
		return s.enqueueDownload(ctx, tx, id)
	})
}

// errLocked is returned for a package at which another run is.
var errLocked = errors.New("another run is at the VNF package")

// FetchContent implements [vnfpkg.ContentStore]. Like WriteContent it holds a connection of the pool for uploads. A run that dies leaves
// the package UPLOADING with its source, for the next one.
func (s *Store) FetchContent(ctx context.Context, id uuid.UUID, fetch func(*vnfpkg.Source) (io.ReadCloser, error), limit int64) error {
	connection, ok, err := lockPackage(ctx, s.uploads, id)
	if err != nil {
		return fmt.Errorf("fetch the content of VNF package %s: %w", id, err)
	}
	if !ok {
		return errLocked
	}
	defer unlockPackage(ctx, connection, id)
	from, err := s.sourceOf(ctx, id)
	if from == nil || err != nil {
		return err
	}
	body := &source{}
	content, err := fetch(from)
	if err != nil {
		err = fmt.Errorf("fetch the content of VNF package %s: %w", id, err)
		body.failed = errors.As(err, new(*vnfpkg.DownloadError))
	} else {
		defer content.Close()
		body.reader = content
		err = s.finishUpload(ctx, connection, id, body, limit)
	}
	// Whoever is told to stop leaves the work to another run, but another one would be no quicker.
	late := errors.Is(ctx.Err(), context.DeadlineExceeded)
	if err == nil || ctx.Err() != nil && !late || !late && !body.failed && !errors.Is(err, vnfpkg.ErrTooLarge) {
		return err
	}
	abandoning, cancel := context.WithTimeout(context.WithoutCancel(ctx), abandonTime)
	defer cancel()
	return s.abandonUpload(abandoning, id, body.failure(err))
}

// sourceOf returns where the content of a package was requested to be fetched from; nil if it was not, or has been.
func (s *Store) sourceOf(ctx context.Context, id uuid.UUID) (*vnfpkg.Source, error) {
	var sealed []byte
	err := s.pool.QueryRow(ctx, `SELECT source FROM vnf_packages WHERE id = $1 AND source IS NOT NULL`, id).Scan(&sealed)
	if errors.Is(err, pgx.ErrNoRows) {
		return nil, nil
	}
	var found *vnfpkg.Source
	if err == nil {
		var opened []byte
		opened, err = s.sealer.open(sourcePlace(id), sealed)
		err = errors.Join(err, read(opened, &found))
	}
	if err != nil {
		return nil, fmt.Errorf("read the source of VNF package %s: %w", id, err)
	}
	return found, nil
}
