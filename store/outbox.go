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
	"vnfm/lcm/notify"
	"vnfm/vnfpkg"
)

// publish makes a delivery of an event in a project for every subscription that wants it: those of the project, and those that hear of all. It belongs to the transaction in which the event happens,
// after the row of its subject was locked, or of the one operation of it that is not over: so the deliveries of one subject are numbered in
// the order of its events.
func publish(ctx context.Context, tx pgx.Tx, of notify.Interface, project string, happened func() (*notify.Event, error)) error {
	const query = `SELECT id, filter FROM subscriptions WHERE interface = $1 AND (project_id = $2 OR everywhere)`
	rows, err := tx.Query(ctx, query, of, project)
	if err != nil {
		return fmt.Errorf("read subscriptions: %w", err)
	}
	subscriptions, err := pgx.CollectRows(rows, pgx.RowToStructByPos[struct {
		ID     uuid.UUID
		Filter notify.Filter
	}])
	if err != nil {
		return fmt.Errorf("read subscriptions: %w", err)
	}
	if len(subscriptions) == 0 {
		return nil
	}
	event, err := happened()
	if err != nil {
		return err
	}
	var wanted []uuid.UUID
	for i := range subscriptions {
		if subscriptions[i].Filter.Allows(event) {
			wanted = append(wanted, subscriptions[i].ID)
		}
	}
	if len(wanted) == 0 {
		return nil
	}
	body, err := json.Marshal(&event.Body)
	if err != nil {
		return err
	}
	// Who listens is told when the transaction is committed.
	const insert = `
		WITH told AS (SELECT pg_notify('deliveries', '')),
			happened AS (INSERT INTO notifications (subject, body) SELECT @subject, @body FROM told RETURNING seq)
		INSERT INTO deliveries (subscription_id, seq) SELECT unnest(@wanted::uuid[]), seq FROM happened`
	if _, err := tx.Exec(ctx, insert, pgx.NamedArgs{"subject": event.Subject, "body": body, "wanted": wanted}); err != nil {
		return fmt.Errorf("store notification: %w", err)
	}
	return nil
}

// publishOperation publishes that an operation has entered its state.
func publishOperation(ctx context.Context, tx pgx.Tx, operation *lcm.Operation) error {
	return publish(ctx, tx, notify.Vnflcm, operation.ProjectID, func() (*notify.Event, error) {
		of, err := instance(ctx, tx, operation.VnfInstanceID)
		if err != nil {
			return nil, err
		}
		return notify.OfOperation(operation, of), nil
	})
}

// publishIdentifier publishes that the identifier of an instance was made, or is being deleted.
func publishIdentifier(ctx context.Context, tx pgx.Tx, kind notify.Type, instance *lcm.VnfInstance) error {
	return publish(ctx, tx, notify.Vnflcm, instance.ProjectID, func() (*notify.Event, error) { return notify.OfIdentifier(kind, instance), nil })
}

// publishPackage publishes how a package was changed, if subscribers are to hear of it; after is nil if it was deleted.
func publishPackage(ctx context.Context, tx pgx.Tx, before, after *vnfpkg.Package) error {
	event := notify.OfPackage(before, after)
	if event == nil {
		return nil
	}
	return publish(ctx, tx, notify.Vnfpkgm, before.ProjectID, func() (*notify.Event, error) { return event, nil })
}

// DueSubscriptions implements [notify.Outbox].
func (s *Store) DueSubscriptions(ctx context.Context, sender uuid.UUID) ([]uuid.UUID, error) {
	const query = `
		SELECT s.id FROM subscriptions s
		WHERE s.due <= now() AND (s.sender_until < now() OR s.sender = @sender)
			AND EXISTS (SELECT FROM deliveries d WHERE d.subscription_id = s.id)
		ORDER BY s.due`
	ids, err := collectIDs(ctx, s.pool, query, pgx.NamedArgs{"sender": sender})
	if err != nil {
		return nil, fmt.Errorf("find subscriptions with deliveries: %w", err)
	}
	return ids, nil
}

// deliveryRow is a delivery with what it delivers.
type deliveryRow struct {
	Seq      int64
	Subject  uuid.UUID
	At       time.Time
	Rejected int
	Body     json.RawMessage
}

// TakeDeliveries implements [notify.Outbox].
func (s *Store) TakeDeliveries(ctx context.Context, id, sender uuid.UUID, lease time.Duration, limit int) (*notify.Batch, error) {
	var batch *notify.Batch
	err := s.InTx(ctx, func(tx pgx.Tx) error {
		const take = `
			UPDATE subscriptions SET sender = @sender, sender_until = now() + @lease::interval
			WHERE id = @id AND due <= now() AND (sender_until < now() OR sender = @sender)
			RETURNING interface, callback_uri, authentication, failures`
		found := &notify.Batch{Subscription: &notify.Subscription{ID: id}}
		of := found.Subscription
		var sealed []byte
		err := tx.QueryRow(ctx, take, pgx.NamedArgs{"id": id, "sender": sender, "lease": lease}).
			Scan(&of.Interface, &of.CallbackURI, &sealed, &found.Failures)
		if errors.Is(err, pgx.ErrNoRows) {
			return nil
		}
		if err != nil {
			return err
		}
		authentication, err := s.sealer.open(authenticationPlace(id), sealed)
		if err != nil {
			return err
		}
		if err := read(authentication, &of.Authentication); err != nil {
			return err
		}
		const query = `
			SELECT d.seq, n.subject, n.created_at AS at, d.rejected, n.body
			FROM deliveries d JOIN notifications n ON n.seq = d.seq
			WHERE d.subscription_id = @id ORDER BY d.seq LIMIT @limit`
		rows, err := tx.Query(ctx, query, pgx.NamedArgs{"id": id, "limit": limit})
		if err != nil {
			return err
		}
		deliveries, err := pgx.CollectRows(rows, pgx.RowToStructByName[deliveryRow])
		if err != nil {
			return err
		}
		if len(deliveries) == 0 {
			_, err := tx.Exec(ctx, `UPDATE subscriptions SET sender_until = '-infinity' WHERE id = $1`, id)
			return err
		}
		for _, delivery := range deliveries {
			found.Deliveries = append(found.Deliveries, notify.Delivery(delivery))
		}
		batch = found
		return nil
	})
	if err != nil {
		return nil, fmt.Errorf("take deliveries of subscription %s: %w", id, err)
	}
	return batch, nil
}

// SettleDeliveries implements [notify.Outbox].
func (s *Store) SettleDeliveries(ctx context.Context, id, sender uuid.UUID, outcome notify.Outcome) error {
	err := s.InTx(ctx, func(tx pgx.Tx) error {
		// The subscription before its deliveries, as DeleteSubscription does, or the two could wait for each other.
		const release = `
			UPDATE subscriptions SET failures = @failures, due = now() + @pause::interval, sender_until = '-infinity'
			WHERE id = @id AND sender = @sender`
		_, err := tx.Exec(ctx, release, pgx.NamedArgs{
			"id": id, "sender": sender, "failures": outcome.Failures, "pause": outcome.Pause})
		if err != nil {
			return err
		}
		const done = `DELETE FROM deliveries WHERE subscription_id = $1 AND seq = ANY($2)`
		if _, err := tx.Exec(ctx, done, id, outcome.Done); err != nil {
			return err
		}
		const rejected = `UPDATE deliveries SET rejected = rejected + 1 WHERE subscription_id = $1 AND seq = ANY($2)`
		_, err = tx.Exec(ctx, rejected, id, outcome.Rejected)
		return err
	})
	if err != nil {
		return fmt.Errorf("settle deliveries of subscription %s: %w", id, err)
	}
	return nil
}

// ListenForDeliveries implements [notify.Outbox]. It has a connection of its own.
func (s *Store) ListenForDeliveries(ctx context.Context, news func()) error {
	connection, err := pgx.ConnectConfig(ctx, s.pool.Config().ConnConfig)
	if err != nil {
		return fmt.Errorf("listen for deliveries: %w", err)
	}
	defer func() { _ = connection.Close(context.WithoutCancel(ctx)) }()
	if _, err := connection.Exec(ctx, `LISTEN deliveries`); err != nil {
		return fmt.Errorf("listen for deliveries: %w", err)
	}
	for {
		news() // what came before somebody listened
		if _, err := connection.WaitForNotification(ctx); err != nil {
			return fmt.Errorf("listen for deliveries: %w", err)
		}
	}
}

// SweepNotifications implements [notify.Outbox].
func (s *Store) SweepNotifications(ctx context.Context) error {
	const orphans = `DELETE FROM deliveries d WHERE NOT EXISTS (SELECT FROM subscriptions s WHERE s.id = d.subscription_id)`
	if _, err := s.pool.Exec(ctx, orphans); err != nil {
		return fmt.Errorf("remove deliveries without a subscription: %w", err)
	}
	const delivered = `
		DELETE FROM notifications n
		WHERE n.created_at < now() - interval '1 minute' AND NOT EXISTS (SELECT FROM deliveries d WHERE d.seq = n.seq)`
	if _, err := s.pool.Exec(ctx, delivered); err != nil {
		return fmt.Errorf("remove notifications without a delivery: %w", err)
	}
	return nil
}
