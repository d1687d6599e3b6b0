package store

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"strconv"
	"strings"

	"github.com/golang-migrate/migrate/v4"
	migratepgx "github.com/golang-migrate/migrate/v4/database/pgx/v5"
	"github.com/golang-migrate/migrate/v4/source/iofs"
	"github.com/jackc/pgx/v5/stdlib"
	"github.com/riverqueue/river/riverdriver/riverpgxv5"
	"github.com/riverqueue/river/rivermigrate"

	"vnfm/migrations"
)

const (
	riverSchema   = "river"
	migrationLock = 7_160_118_463_001 // a number nobody else uses for an advisory lock
)

// Migrate brings the database to the schema of this version: ours first, then that of the job queue. Processes that start
// together wait for each other, since rivermigrate takes no lock of its own.
func (s *Store) Migrate(ctx context.Context) (err error) {
	connection, err := s.pool.Acquire(ctx)
	if err != nil {
		return fmt.Errorf("migrate the database: %w", err)
	}
	defer connection.Release()
	if _, err := connection.Exec(ctx, `SELECT pg_advisory_lock($1)`, migrationLock); err != nil {
		return fmt.Errorf("migrate the database: %w", err)
	}
	defer func() {
		_, unlockErr := connection.Exec(context.WithoutCancel(ctx), `SELECT pg_advisory_unlock($1)`, migrationLock)
		err = errors.Join(err, unlockErr)
	}()
	migrator, err := s.migrator()
	if err != nil {
		return fmt.Errorf("migrate the database: %w", err)
	}
	defer migrator.Close()
	if err := up(migrator); err != nil {
		return fmt.Errorf("migrate the database: %w", err)
	}
	river, err := rivermigrate.New(riverpgxv5.New(s.pool), &rivermigrate.Config{Schema: riverSchema})
	if err != nil {
		return fmt.Errorf("migrate the job queue: %w", err)
	}
	if _, err := river.Migrate(ctx, rivermigrate.DirectionUp, nil); err != nil {
		return fmt.Errorf("migrate the job queue: %w", err)
	}
	return nil
}

// up applies what is missing. A schema that a newer version has made is left alone: during an upgrade processes of the older
// version are restarted, too.
func up(migrator *migrate.Migrate) error {
	newest, err := newestMigration()
	if err != nil {
		return err
	}
	version, dirty, err := migrator.Version()
	if err == nil && !dirty && int(version) > newest {
		return nil
	}
	if err := migrator.Up(); !errors.Is(err, migrate.ErrNoChange) {
		return err
	}
	return nil
}

func (s *Store) migrator() (*migrate.Migrate, error) {
	source, err := iofs.New(migrations.Files, ".")
	if err != nil {
		return nil, err
	}
	driver, err := migratepgx.WithInstance(stdlib.OpenDBFromPool(s.pool), &migratepgx.Config{})
	if err != nil {
		return nil, err
	}
	return migrate.NewWithInstance("iofs", source, "pgx5", driver)
}

// newestMigration is the version that this binary brings a database to.
func newestMigration() (int, error) {
	names, err := fs.Glob(migrations.Files, "*.up.sql")
	if err != nil || len(names) == 0 {
		return 0, fmt.Errorf("no migrations in the binary: %w", err)
	}
	number, _, _ := strings.Cut(names[len(names)-1], "_")
	return strconv.Atoi(number)
}
