package store

import (
	"context"
	"fmt"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgxpool"

	"vnfm/lcm"
)

// loadRow is one number of what there is to do.
type loadRow struct {
	Of, Name, State string
	Count           int
	OldestSeconds   float64
}

// maxCounted bounds the deliveries that are counted: there may be millions where a consumer has been away for a day.
const maxCounted = 100_000

// Load returns what there is to do. It is one query, which reads indexes of what is not over and never the whole history.
func (s *Store) Load(ctx context.Context) (*lcm.Load, error) {
	const query = `
		SELECT 'operations' AS of, type AS name, state, count(*), 0::float8 AS oldest_seconds
		FROM vnf_lcm_op_occs WHERE state NOT IN ('COMPLETED', 'ROLLED_BACK', 'FAILED') GROUP BY type, state
		UNION ALL
		SELECT 'queue', queue, '', count(*), extract(epoch FROM now() - min(scheduled_at))
		FROM river.river_job WHERE state IN ('available', 'scheduled', 'retryable') AND scheduled_at <= now() GROUP BY queue
		UNION ALL
		SELECT 'deliveries', '', '', count(*), coalesce(extract(epoch FROM now() - (
			SELECT created_at FROM notifications WHERE seq = (SELECT min(seq) FROM deliveries))), 0)
		FROM (SELECT FROM deliveries LIMIT @most) AS counted`
	rows, err := s.pool.Query(ctx, query, pgx.NamedArgs{"most": maxCounted})
	if err != nil {
		return nil, fmt.Errorf("read the load: %w", err)
	}
	found, err := pgx.CollectRows(rows, pgx.RowToStructByName[loadRow])
	if err != nil {
		return nil, fmt.Errorf("read the load: %w", err)
	}
	load := &lcm.Load{}
	for _, row := range found {
		oldest := time.Duration(row.OldestSeconds * float64(time.Second))
		switch row.Of {
		case "operations":
			load.Operations = append(load.Operations,
				lcm.OperationCount{Type: lcm.OperationType(row.Name), State: lcm.OperationState(row.State), Count: row.Count})
		case "queue":
			load.Queues = append(load.Queues, lcm.QueueLoad{Queue: row.Name, Jobs: row.Count, Oldest: oldest})
		default:
			load.Deliveries, load.OldestDelivery = row.Count, oldest
		}
	}
	return load, nil
}

// Queues are the names of those that [Store.Load] may tell of.
func (*Store) Queues() []string { return []string{operationQueue, onboardingQueue, downloadQueue} }

// Connections returns how the connections of this process are used.
func (s *Store) Connections() []lcm.Connections {
	of := func(name string, pool *pgxpool.Pool) lcm.Connections {
		stat := pool.Stat()
		return lcm.Connections{Pool: name, Max: int(stat.MaxConns()), InUse: int(stat.AcquiredConns()), Idle: int(stat.IdleConns()),
			Waits: stat.EmptyAcquireCount(), WaitTime: stat.EmptyAcquireWaitTime()}
	}
	return []lcm.Connections{of("main", s.pool), of("uploads", s.uploads)}
}
