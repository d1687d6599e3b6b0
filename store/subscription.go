package store

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"time"

	"github.com/google/uuid"
	"github.com/jackc/pgx/v5"

	"vnfm/api/access"
	"vnfm/lcm"
	"vnfm/lcm/notify"
)

// subscriptionRow is a row of subscriptions.
type subscriptionRow struct {
	ID          uuid.UUID
	CreatedAt   time.Time
	Interface   notify.Interface
	CallbackURI string `db:"callback_uri"`
	Filter      []byte
}

func (r *subscriptionRow) subscription() (*notify.Subscription, error) {
	subscription := &notify.Subscription{ID: r.ID, CreatedAt: r.CreatedAt, Interface: r.Interface, CallbackURI: r.CallbackURI}
	if err := json.Unmarshal(r.Filter, &subscription.Filter); err != nil {
		return nil, fmt.Errorf("read filter of subscription %s: %w", r.ID, err)
	}
	return subscription, nil
}

func subscriptionNotFound(id uuid.UUID) error {
	return &lcm.NotFound{Resource: "subscription", ID: id.String()}
}

// everywhere reports whether the caller hears of all projects.
func everywhere(ctx context.Context) bool {
	caller := access.Of(ctx)
	return caller != nil && caller.Everywhere
}

// subscriptionScope is scope; those that hear of all projects are there only for who may.
func subscriptionScope(ctx context.Context, args pgx.NamedArgs) string {
	mine := scope(ctx, "project_id", args)
	if mine != "" {
		mine += " AND NOT everywhere"
	}
	return mine
}

// authenticationPlace is what the sealed authentication of a subscription is bound to.
func authenticationPlace(id uuid.UUID) string { return "subscriptions/authentication/" + id.String() }

// CreateSubscription implements [notify.Store].
func (s *Store) CreateSubscription(ctx context.Context, subscription *notify.Subscription) error {
	filter, filterErr := json.Marshal(&subscription.Filter)
	authentication, err := document(subscription.Authentication)
	if err := errors.Join(filterErr, err); err != nil {
		return err
	}
	const insert = `
		INSERT INTO subscriptions (id, project_id, everywhere, interface, callback_uri, filter, authentication)
		VALUES (@id, @project, @everywhere, @interface, @uri, @filter, @authentication) RETURNING created_at`
	err = s.pool.QueryRow(ctx, insert, pgx.NamedArgs{
		"id": subscription.ID, "project": access.Project(ctx), "everywhere": everywhere(ctx), "interface": subscription.Interface, "uri": subscription.CallbackURI, "filter": filter,
		"authentication": s.sealer.seal(authenticationPlace(subscription.ID), authentication),
	}).Scan(&subscription.CreatedAt)
	if violated(err, "subscriptions_duplicate") {
		found, err := s.FindSubscription(ctx, subscription)
		switch {
		case err != nil:
			return err
		case found == nil: // it was just deleted
			return s.CreateSubscription(ctx, subscription)
		}
		return &notify.Duplicate{ID: *found}
	}
	if err != nil {
		return fmt.Errorf("store subscription: %w", err)
	}
	return nil
}

// FindSubscription implements [notify.Store].
func (s *Store) FindSubscription(ctx context.Context, like *notify.Subscription) (*uuid.UUID, error) {
	filter, err := json.Marshal(&like.Filter)
	if err != nil {
		return nil, err
	}
	const query = `
		SELECT id FROM subscriptions
		WHERE project_id = @own AND everywhere = @everywhere AND interface = @interface AND md5(callback_uri) = md5(@uri::text) AND md5(filter::text) = md5(@filter::jsonb::text)`
	var id uuid.UUID
	err = s.pool.QueryRow(ctx, query, pgx.NamedArgs{"own": access.Project(ctx), "everywhere": everywhere(ctx), "interface": like.Interface, "uri": like.CallbackURI, "filter": filter}).Scan(&id)
	if errors.Is(err, pgx.ErrNoRows) {
		return nil, nil
	}
	if err != nil {
		return nil, fmt.Errorf("find subscription: %w", err)
	}
	return &id, nil
}

// Subscription implements [notify.Store].
func (s *Store) Subscription(ctx context.Context, of notify.Interface, id uuid.UUID) (*notify.Subscription, error) {
	args := pgx.NamedArgs{"id": id, "interface": of}
	query := `SELECT id, created_at, interface, callback_uri, filter FROM subscriptions WHERE id = @id AND interface = @interface` +
		subscriptionScope(ctx, args)
	found, err := row[subscriptionRow](ctx, s.pool, query, args)
	if errors.Is(err, pgx.ErrNoRows) {
		return nil, subscriptionNotFound(id)
	}
	if err != nil {
		return nil, fmt.Errorf("read subscription %s: %w", id, err)
	}
	return found.subscription()
}

// Subscriptions implements [notify.Store].
func (s *Store) Subscriptions(ctx context.Context, of notify.Interface, asked lcm.Page) ([]*notify.Subscription, bool, error) {
	args := listArgs(asked.Limit, asked.After.CreatedAt, asked.After.ID, asked.Whole)
	args["interface"] = of
	where, err := subscriptionAttributes.where(asked.Where, args)
	if err != nil {
		return nil, false, err
	}
	query := `
		SELECT id, created_at, interface, callback_uri, filter FROM subscriptions
		WHERE interface = @interface AND (created_at, id) > (@after, @id)` + where + subscriptionScope(ctx, args) + `
		ORDER BY created_at, id LIMIT @limit`
	return page(ctx, s.pool, asked.Limit, query, args, (*subscriptionRow).subscription)
}

// subscriptionAttributes are the attributes of LccnSubscription and PkgmSubscription (SOL003 5.5.2.16, 10.5.2.8).
var subscriptionAttributes = attributes{
	"id":          {expression: "id", kind: uuidColumn},
	"callbackUri": {expression: "callback_uri"},
	"filter":      {expression: "nullif(filter, '{}')", kind: documentColumn},
}

// DeleteSubscription implements [notify.Store].
func (s *Store) DeleteSubscription(ctx context.Context, of notify.Interface, id uuid.UUID) error {
	return s.InTx(ctx, func(tx pgx.Tx) error {
		args := pgx.NamedArgs{"id": id, "interface": of}
		deleted, err := tx.Exec(ctx, `DELETE FROM subscriptions WHERE id = @id AND interface = @interface`+subscriptionScope(ctx, args), args)
		if err == nil && deleted.RowsAffected() == 0 {
			return subscriptionNotFound(id)
		}
		if err == nil {
			_, err = tx.Exec(ctx, `DELETE FROM deliveries WHERE subscription_id = $1`, id)
		}
		if err != nil {
			return fmt.Errorf("delete subscription %s: %w", id, err)
		}
		return nil
	})
}
