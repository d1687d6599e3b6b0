package store

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"time"

	"github.com/google/uuid"
	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgconn"
	"github.com/jackc/pgx/v5/pgtype"
	"github.com/jackc/pgx/v5/pgxpool"
	"github.com/riverqueue/river"
	"github.com/riverqueue/river/riverdriver/riverpgxv5"

	"vnfm/lcm"
	"vnfm/lcm/notify"
	"vnfm/vnfpkg"
)

// Config says where the database is.
type Config struct {
	URL            string   // postgres://…
	Keys           *Keyring // for secrets
	MaxConnections int32    // without those of uploads; default 20
	MaxUploads     int32    // uploads at once, each with a connection, further ones wait; default 10
}

// Store is an open database. Its methods may be called concurrently.
type Store struct {
	pool    *pgxpool.Pool
	uploads *pgxpool.Pool // for what holds a connection as long as a client takes
	sealer  sealer
	jobs    *river.Client[pgx.Tx] // inserts jobs only
}

var (
	_ lcm.InstanceStore   = (*Store)(nil)
	_ lcm.OperationStore  = (*Store)(nil)
	_ lcm.RunStore        = (*Store)(nil)
	_ lcm.VimStore        = (*Store)(nil)
	_ vnfpkg.Store        = (*Store)(nil)
	_ vnfpkg.ContentStore = (*Store)(nil)
	_ notify.Store        = (*Store)(nil)
	_ notify.Outbox       = (*Store)(nil)
)

const (
	defaultMaxConnections = 20
	defaultMaxUploads     = 10
)

// Open connects to a database. The schema may still be missing, see [Store.Migrate].
func Open(ctx context.Context, config Config) (_ *Store, err error) {
	if config.Keys == nil {
		return nil, errors.New("a database needs a key for its secrets")
	}
	s := &Store{sealer: sealer{config.Keys}}
	defer func() {
		if err != nil {
			s.Close()
		}
	}()
	// Transactions here are short. A process that is paused in one must not keep others from taking its work over.
	idle := map[string]string{"idle_in_transaction_session_timeout": "15s"}
	if s.pool, err = openPool(ctx, config.URL, cmp.Or(config.MaxConnections, defaultMaxConnections), 2, idle); err != nil {
		return nil, err
	}
	if s.uploads, err = openPool(ctx, config.URL, cmp.Or(config.MaxUploads, defaultMaxUploads), 0, nil); err != nil {
		return nil, err
	}
	if err := s.pool.Ping(ctx); err != nil {
		return nil, fmt.Errorf("connect to the database: %w", err)
	}
	// River tells the workers of only one job in the cool-down; the others would wait until somebody looks.
	jobs := &river.Config{Schema: riverSchema, FetchCooldown: river.FetchCooldownMin}
	if s.jobs, err = river.NewClient(riverpgxv5.New(s.pool), jobs); err != nil {
		return nil, fmt.Errorf("open job queue: %w", err)
	}
	return s, nil
}

func openPool(ctx context.Context, url string, maxConnections, minIdle int32, parameters map[string]string) (*pgxpool.Pool, error) {
	settings, err := pgxpool.ParseConfig(url)
	if err != nil {
		return nil, fmt.Errorf("database URL: %w", err)
	}
	settings.MaxConns, settings.MinIdleConns = maxConnections, minIdle
	settings.MaxConnIdleTime = 5 * time.Minute
	settings.HealthCheckPeriod = 5 * time.Second
	// A connection that the network has swallowed is given up, rather than waited for as long as TCP does.
	settings.PingTimeout = 5 * time.Second
	if settings.ConnConfig.ConnectTimeout == 0 {
		settings.ConnConfig.ConnectTimeout = 5 * time.Second
	}
	// The server notices within half a minute that the machine of a client is gone, and gives its locks free.
	all := map[string]string{
		"application_name": "vnfm", "tcp_keepalives_idle": "15", "tcp_keepalives_interval": "5", "tcp_keepalives_count": "3",
	}
	maps.Copy(all, parameters)
	for name, value := range all {
		if _, given := settings.ConnConfig.RuntimeParams[name]; !given {
			settings.ConnConfig.RuntimeParams[name] = value
		}
	}
	pool, err := pgxpool.NewWithConfig(ctx, settings)
	if err != nil {
		return nil, fmt.Errorf("open database: %w", err)
	}
	return pool, nil
}

// Close ends all connections.
func (s *Store) Close() {
	for _, pool := range []*pgxpool.Pool{s.uploads, s.pool} {
		if pool != nil {
			pool.Close()
		}
	}
}

// Ready reports whether the database can be reached and has this version's schema.
func (s *Store) Ready(ctx context.Context) error {
	var version int
	var dirty bool
	if err := s.pool.QueryRow(ctx, `SELECT version, dirty FROM schema_migrations`).Scan(&version, &dirty); err != nil {
		return fmt.Errorf("read the version of the schema: %w", err)
	}
	newest, err := newestMigration()
	switch {
	case err != nil:
		return err
	case dirty:
		return fmt.Errorf("migration %d of the schema has failed", version)
	case version < newest:
		return fmt.Errorf("the schema has version %d, not %d", version, newest)
	}
	return nil
}

// InTx runs fn in a transaction, which is committed if fn returns nil and rolled back otherwise.
func (s *Store) InTx(ctx context.Context, fn func(tx pgx.Tx) error) error {
	return pgx.BeginFunc(ctx, s.pool, fn)
}

// querier is the pool or a transaction.
type querier interface {
	Query(ctx context.Context, sql string, args ...any) (pgx.Rows, error)
	QueryRow(ctx context.Context, sql string, args ...any) pgx.Row
	Exec(ctx context.Context, sql string, args ...any) (pgconn.CommandTag, error)
}

// row returns the one row of a query; pgx.ErrNoRows if there is none.
func row[T any](ctx context.Context, q querier, sql string, args pgx.NamedArgs) (T, error) {
	rows, err := q.Query(ctx, sql, args)
	if err != nil {
		var zero T
		return zero, err
	}
	return pgx.CollectExactlyOneRow(rows, pgx.RowToStructByName[T])
}

// listArgs are the arguments of a list in the order of creation: its place, its length plus one (0 = all) and whether it is whole.
func listArgs(limit int, afterMicroseconds int64, afterID uuid.UUID, whole bool) pgx.NamedArgs {
	args := pgx.NamedArgs{"after": time.UnixMicro(afterMicroseconds), "id": afterID, "limit": nil, "whole": whole}
	if limit > 0 {
		args["limit"] = limit + 1
	}
	return args
}

// inOrder is SQL that begins with AND and finds what follows a place in a list (@after, @id), with the order of the list. Columns begin with prefix.
func inOrder(prefix string, newest bool, args pgx.NamedArgs) string {
	compare, direction := ">", ""
	if newest {
		compare, direction = "<", " DESC"
		if args["id"] == uuid.Nil {
			args["after"] = pgtype.Timestamptz{InfinityModifier: pgtype.Infinity, Valid: true}
		}
	}
	at, id := prefix+"created_at", prefix+"id"
	return " AND (" + at + ", " + id + ") " + compare + " (@after, @id)\n\t\tORDER BY " + at + direction + ", " + id + direction + " LIMIT @limit"
}

// counts returns how many rows there are of each state; the query has rows of a state and a number.
func counts[State ~string](ctx context.Context, q querier, sql string, args pgx.NamedArgs) (map[State]int, error) {
	rows, err := q.Query(ctx, sql, args)
	if err != nil {
		return nil, fmt.Errorf("count: %w", err)
	}
	found := map[State]int{}
	var state State
	var number int
	_, err = pgx.ForEachRow(rows, []any{&state, &number}, func() error {
		found[state] = number
		return nil
	})
	if err != nil {
		return nil, fmt.Errorf("count: %w", err)
	}
	return found, nil
}

// page returns at most limit elements (0 = all) of a list, made of the rows of a query that is asked for one more, and whether there
// are more.
func page[Row, Element any](ctx context.Context, q querier, limit int, sql string, args pgx.NamedArgs, element func(*Row) (Element, error),
) ([]Element, bool, error) {
	rows, err := q.Query(ctx, sql, args)
	if err != nil {
		return nil, false, fmt.Errorf("read list: %w", err)
	}
	found, err := pgx.CollectRows(rows, pgx.RowToStructByName[Row])
	if err != nil {
		return nil, false, fmt.Errorf("read list: %w", err)
	}
	more := limit > 0 && len(found) > limit
	if more {
		found = found[:limit]
	}
	elements := make([]Element, len(found))
	for i := range found {
		if elements[i], err = element(&found[i]); err != nil {
			return nil, false, err
		}
	}
	return elements, more, nil
}

// violated reports whether err is the violation of the constraint or unique index of that name.
func violated(err error, constraint string) bool {
	var failure *pgconn.PgError
	return errors.As(err, &failure) && failure.ConstraintName == constraint
}

// document returns the JSON form of a value for a jsonb column; nil for a nil value, which becomes NULL.
func document[T any](value *T) ([]byte, error) {
	if value == nil {
		return nil, nil
	}
	return json.Marshal(value)
}

func object(value map[string]any) ([]byte, error) {
	if value == nil {
		return nil, nil
	}
	return json.Marshal(value)
}

// read decodes a jsonb column into a value, which stays as it is for NULL.
func read(column []byte, into any) error {
	if column == nil {
		return nil
	}
	return json.Unmarshal(column, into)
}
