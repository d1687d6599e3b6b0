package store

import (
	"context"
	"fmt"
	"net/http"
	"time"

	"github.com/google/uuid"
	"github.com/jackc/pgx/v5"
	"github.com/riverqueue/river"

	"vnfm/vnfpkg"
)

// sweep looks for lost work until ctx ends. River takes minutes to notice that a process has died; this takes seconds, and
// every process does it, since a job that comes twice does no harm.
func (w *Workers) sweep(ctx context.Context) {
	ticker := time.NewTicker(w.config.SweepInterval)
	defer ticker.Stop()
	for {
		for _, look := range []func(context.Context) error{
			w.store.resumeOperations, w.store.resumeDownloads, w.store.resumeOnboardings, w.store.abandonUploads, w.store.forgetNodeLogs,
			func(ctx context.Context) error { return w.store.forgetEvents(ctx, w.config.AuditRetention) },
		} {
			looking, cancel := context.WithTimeout(ctx, sweepTime)
			if err := look(looking); err != nil && ctx.Err() == nil {
				w.config.Logger.Warn("search for lost work", "error", err)
			}
			cancel()
		}
		select {
		case <-ctx.Done():
			return
		case <-ticker.C:
		}
	}
}

// sweepTime bounds one search, so that a connection that the network has swallowed does not end all searching.
const sweepTime = 20 * time.Second

// sweepLimit bounds how much is taken up in one sweep.
const sweepLimit = 1000

// resumeOperations asks for a run of every operation whose run or job is taken for lost.
func (s *Store) resumeOperations(ctx context.Context) error {
	return s.InTx(ctx, func(tx pgx.Tx) error {
		// A job that waits for a free worker is not lost. The new lease keeps the next sweep from asking again.
		const find = `
			WITH lost AS (
				SELECT o.id FROM vnf_lcm_op_occs o
				WHERE o.state IN ('STARTING', 'PROCESSING', 'ROLLING_BACK') AND o.lease_until < now()
					AND NOT EXISTS (SELECT FROM river.river_job j
						WHERE j.kind = @kind AND j.state IN ('available', 'pending', 'scheduled', 'retryable')
							AND j.args ->> 'operationId' = o.id::text)
				ORDER BY o.lease_until LIMIT @limit FOR UPDATE OF o SKIP LOCKED)
			UPDATE vnf_lcm_op_occs o SET held = false, lease_until = now() + @lease FROM lost WHERE o.id = lost.id RETURNING o.id`
		ids, err := collectIDs(ctx, tx, find, pgx.NamedArgs{"kind": operationJob{}.Kind(), "limit": sweepLimit, "lease": firstLease})
		if err != nil {
			return fmt.Errorf("find lost operations: %w", err)
		}
		for _, id := range ids {
			if err := s.enqueueOperation(ctx, tx, id); err != nil {
				return err
			}
		}
		return nil
	})
}

// These statements find packages with lost work, of all or of one.
const (
	lostPackage = ` AND (@only::uuid IS NULL OR p.id = @only) LIMIT @limit`
	noJobWaits  = ` AND p.updated_at < now() - @age::interval
			AND NOT EXISTS (SELECT FROM river.river_job j
				WHERE j.kind = @kind AND j.state IN ('available', 'pending', 'scheduled', 'retryable')
					AND j.args ->> 'packageId' = p.id::text)` + lostPackage
)

// resumeDownloads asks for the download of every package that nobody fetches.
func (s *Store) resumeDownloads(ctx context.Context) error {
	const find = `
		SELECT p.id FROM vnf_packages p
		WHERE p.source IS NOT NULL` + noJobWaits
	return s.resumePackages(ctx, find, downloadJob{}, s.enqueueDownload)
}

// resumeOnboardings asks for the processing of every package that nobody processes.
func (s *Store) resumeOnboardings(ctx context.Context) error {
	const find = `
		SELECT p.id FROM vnf_packages p
		WHERE p.onboarding_state = 'PROCESSING'` + noJobWaits
	return s.resumePackages(ctx, find, onboardingJob{}, s.enqueueOnboarding)
}

func (s *Store) resumePackages(
	ctx context.Context, find string, job river.JobArgs, enqueue func(context.Context, pgx.Tx, uuid.UUID) error,
) error {
	return s.eachUnlocked(ctx, find, pgx.NamedArgs{"kind": job.Kind(), "age": firstLease}, func(id uuid.UUID) error {
		return s.InTx(ctx, func(tx pgx.Tx) error { return enqueue(ctx, tx, id) })
	})
}

// abandonUploads returns every package to CREATED whose upload has died with its process.
func (s *Store) abandonUploads(ctx context.Context) error {
	const find = `
		SELECT p.id FROM vnf_packages p
		WHERE p.onboarding_state = 'UPLOADING' AND p.source IS NULL` + lostPackage
	return s.eachUnlocked(ctx, find, pgx.NamedArgs{}, func(id uuid.UUID) error {
		return s.abandonUpload(ctx, id, &vnfpkg.Failure{
			Title: "Upload failed", Status: http.StatusInternalServerError, Detail: "the upload was interrupted: upload the package again",
		})
	})
}

// eachUnlocked calls fn for the packages that a query finds, as far as nobody is at work at them, and locks them meanwhile.
func (s *Store) eachUnlocked(ctx context.Context, query string, args pgx.NamedArgs, fn func(uuid.UUID) error) error {
	args["only"], args["limit"] = nil, sweepLimit
	ids, err := collectIDs(ctx, s.pool, query, args)
	if err != nil {
		return fmt.Errorf("find lost packages: %w", err)
	}
	for _, id := range ids {
		connection, ok, err := lockPackage(ctx, s.pool, id)
		if err != nil {
			return err
		}
		if !ok {
			continue
		}
		// Before it was locked the work may have ended, and other work begun.
		args["only"] = id
		still, err := collectIDs(ctx, s.pool, query, args)
		if err == nil && len(still) > 0 {
			err = fn(id)
		}
		unlockPackage(ctx, connection, id)
		if err != nil {
			return err
		}
	}
	return nil
}

func collectIDs(ctx context.Context, q querier, query string, args pgx.NamedArgs) ([]uuid.UUID, error) {
	rows, err := q.Query(ctx, query, args)
	if err != nil {
		return nil, err
	}
	return pgx.CollectRows(rows, pgx.RowTo[uuid.UUID])
}
