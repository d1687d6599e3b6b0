package store

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/google/uuid"
	"github.com/jackc/pgx/v5"
)

// sealedColumn is a column of sealed values. A value is bound to its place: the table, the column and the key of the row.
type sealedColumn struct {
	table, column string
	id, name      string // the parts of the primary key; "": there is no second one
}

var sealedColumns = []sealedColumn{
	{"vims", "auth_cred", "id", ""},
	{"subscriptions", "authentication", "id", ""},
	{"vnf_packages", "source", "id", ""},
	{"vnf_instances", "deployment", "id", ""},
	{"vnf_lcm_op_occs", "request", "id", ""},
	{"vnf_lcm_op_steps", "output", "op_id", "name"},
	{"vnf_lcm_op_node_logs", "lines", "op_id", "node"},
}

// statement fills the names of a column into a statement. They are ours, all of them.
func (c *sealedColumn) statement(text string) string {
	name := c.name
	if name == "" {
		name = "''::text"
	}
	return strings.NewReplacer("$table", c.table, "$column", c.column, "$id", c.id, "$name", name).Replace(text)
}

// place is that of the value in a row.
func (c *sealedColumn) place(id uuid.UUID, name string) string {
	place := c.table + "/" + c.column + "/" + id.String()
	if c.name != "" {
		place += "/" + name
	}
	return place
}

// rotationLock is the advisory lock of whoever replaces keys.
const rotationLock = 7_160_118_463_002

// rotating calls fn while nobody else replaces keys of this database. The file is as it is then.
func (s *Store) rotating(ctx context.Context, fn func(*keyFile) error) error {
	if s.sealer.keys.name == "" {
		return errors.New("there is no key file")
	}
	connection, err := s.pool.Acquire(ctx)
	if err != nil {
		return err
	}
	defer connection.Release()
	var locked bool
	if err := connection.QueryRow(ctx, `SELECT pg_try_advisory_lock($1)`, rotationLock).Scan(&locked); err != nil {
		return err
	}
	if !locked {
		return errors.New("another process is replacing the key")
	}
	defer func() {
		ending, cancel := context.WithTimeout(context.WithoutCancel(ctx), unlockTime)
		defer cancel()
		if _, err := connection.Exec(ending, `SELECT pg_advisory_unlock($1)`, rotationLock); err != nil {
			_ = connection.Conn().Close(ending) // that ends the lock, too
		}
	}()
	file, _, err := readKeyFile(s.sealer.keys.name)
	if err != nil {
		return err
	}
	return fn(file)
}

// PrepareKey adds a key to the key file that opens and does not seal yet: for servers with a file of their own each, which must have the
// key before it is used. A key that was prepared already stays.
func (s *Store) PrepareKey(ctx context.Context) error {
	err := s.rotating(ctx, func(file *keyFile) error {
		if file.next != nil {
			return nil
		}
		file.next = newSecret()
		return replaceKeyFile(s.sealer.keys.name, file)
	})
	if err != nil {
		return fmt.Errorf("prepare a key: %w", err)
	}
	return nil
}

// RotateKey makes a new key the one that seals, and seals anew what other keys have sealed. Servers may be at work. A rotation that was cut
// off is carried on, and so is one whose former key is not retired: then there is no further key. It returns how many values were sealed
// anew, and whether the rotation had been begun before.
func (s *Store) RotateKey(ctx context.Context) (values int, begun bool, err error) {
	err = s.rotating(ctx, func(file *keyFile) error {
		begun = len(file.secrets) > 1 && file.next == nil
		if !begun {
			file.promote()
			if err := replaceKeyFile(s.sealer.keys.name, file); err != nil {
				return err
			}
		}
		values, err = s.sealAnew(ctx)
		return err
	})
	if err != nil {
		return values, begun, fmt.Errorf("rotate the key: %w", err)
	}
	return values, begun, nil
}

// sealPause is between looks for what was sealed with the former key meanwhile, or was locked.
const sealPause = 200 * time.Millisecond

// sealAnew seals with the first key what others have sealed, until there is no such value.
func (s *Store) sealAnew(ctx context.Context) (values int, err error) {
	key := s.sealer.keys.first()
	for {
		var broken error
		for i := range sealedColumns {
			done, err := s.sealColumn(ctx, &sealedColumns[i], key)
			values, broken = values+done, errors.Join(broken, err)
		}
		if broken != nil {
			return values, broken
		}
		left, err := s.countSealed(ctx, ` <> ALL(@keys)`, [][]byte{key.id[:]})
		if left == 0 || err != nil {
			return values, err
		}
		select {
		case <-ctx.Done():
			return values, ctx.Err()
		case <-time.After(sealPause):
		}
	}
}

// sealBatch is how many rows are locked at once, for some milliseconds.
const sealBatch = 50

type sealedRow struct {
	ID     uuid.UUID
	Name   string
	Sealed []byte
}

// sealColumn seals the values of a column anew, but for those of rows that are locked. Values that do not open stay, and are the error.
func (s *Store) sealColumn(ctx context.Context, column *sealedColumn, key Key) (values int, broken error) {
	var last sealedRow
	for {
		var rows []sealedRow
		err := s.InTx(ctx, func(tx pgx.Tx) (err error) {
			if rows, err = column.next(ctx, tx, last, key); err != nil {
				return err
			}
			for _, row := range rows {
				place := column.place(row.ID, row.Name)
				value, err := s.sealer.open(place, row.Sealed)
				if err != nil {
					broken = errors.Join(broken, err)
					continue
				}
				args := pgx.NamedArgs{"id": row.ID, "name": row.Name, "sealed": s.sealer.seal(place, value)}
				write := column.statement(`UPDATE $table SET $column = @sealed WHERE $id = @id AND $name = @name`)
				if _, err := tx.Exec(ctx, write, args); err != nil {
					return err
				}
				values++
			}
			return nil
		})
		if err != nil {
			return values, errors.Join(broken, err)
		}
		if len(rows) < sealBatch {
			return values, broken
		}
		last = rows[len(rows)-1]
	}
}

// next locks the rows after the last one whose values another key has sealed.
func (c *sealedColumn) next(ctx context.Context, tx pgx.Tx, last sealedRow, key Key) ([]sealedRow, error) {
	query := c.statement(`SELECT $id AS id, $name AS name, $column AS sealed FROM $table
		WHERE ($id, $name) > (@id, @name) AND substring($column FROM 1 FOR @bytes) <> @key
		ORDER BY 1, 2 LIMIT @limit FOR NO KEY UPDATE SKIP LOCKED`)
	rows, err := tx.Query(ctx, query, pgx.NamedArgs{
		"id": last.ID, "name": last.Name, "bytes": keyIDBytes, "key": key.id[:], "limit": sealBatch})
	if err != nil {
		return nil, err
	}
	return pgx.CollectRows(rows, pgx.RowToStructByName[sealedRow])
}

// countSealed counts the values whose key compares with the given ones.
func (s *Store) countSealed(ctx context.Context, comparison string, keys [][]byte) (values int64, err error) {
	for i := range sealedColumns {
		query := sealedColumns[i].statement(`SELECT count(*) FROM $table WHERE substring($column FROM 1 FOR @bytes)`) + comparison
		var found int64
		if err := s.pool.QueryRow(ctx, query, pgx.NamedArgs{"bytes": keyIDBytes, "keys": keys}).Scan(&found); err != nil {
			return 0, fmt.Errorf("count the values of %s: %w", sealedColumns[i].table, err)
		}
		values += found
	}
	return values, nil
}

// RetireKeys removes all keys from the key file but the one that seals and the one that is to come, and returns how many. It refuses to
// while a value is sealed with one of them, and sees to it that none will be.
func (s *Store) RetireKeys(ctx context.Context) (retired int, err error) {
	err = s.rotating(ctx, func(file *keyFile) error {
		former, err := (&keyFile{secrets: file.secrets[1:]}).keys()
		if err != nil || len(former) == 0 {
			return err
		}
		ids := make([][]byte, len(former))
		for i := range former {
			ids[i] = former[i].id[:]
		}
		if err := s.refuseUsed(ctx, ids); err != nil {
			return err
		}
		// From here on nobody can seal with them. Those who have just done so end before they are looked for once more.
		const retire = `INSERT INTO retired_keys (id) SELECT unnest(@ids::bytea[]) ON CONFLICT DO NOTHING`
		if _, err := s.pool.Exec(ctx, retire, pgx.NamedArgs{"ids": ids}); err != nil {
			return err
		}
		if err := errors.Join(s.awaitWriters(ctx), s.refuseUsed(ctx, ids)); err != nil {
			const restore = `DELETE FROM retired_keys WHERE id = ANY(@ids)`
			_, restoreErr := s.pool.Exec(ctx, restore, pgx.NamedArgs{"ids": ids})
			return errors.Join(err, restoreErr)
		}
		file.secrets, retired = file.secrets[:1], len(former)
		return replaceKeyFile(s.sealer.keys.name, file)
	})
	if err != nil {
		return 0, fmt.Errorf("retire the former key: %w", err)
	}
	return retired, nil
}

func (s *Store) refuseUsed(ctx context.Context, keys [][]byte) error {
	used, err := s.countSealed(ctx, ` = ANY(@keys)`, keys)
	if err == nil && used > 0 {
		err = fmt.Errorf("%d values are sealed with it: rotate first", used)
	}
	return err
}

// awaitWriters waits until all transactions are over that have written sealed values. Others wait for that moment.
func (s *Store) awaitWriters(ctx context.Context) error {
	for i := range sealedColumns {
		err := s.InTx(ctx, func(tx pgx.Tx) error {
			if _, err := tx.Exec(ctx, `SET LOCAL lock_timeout = '20s'`); err != nil {
				return err
			}
			_, err := tx.Exec(ctx, sealedColumns[i].statement(`LOCK TABLE $table IN SHARE MODE`))
			return err
		})
		if err != nil {
			return fmt.Errorf("wait for writers of %s: %w", sealedColumns[i].table, err)
		}
	}
	return nil
}
