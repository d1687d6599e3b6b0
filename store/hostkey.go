package store

import (
	"context"
	"errors"
	"fmt"

	"github.com/google/uuid"
	"github.com/jackc/pgx/v5"

	"vnfm/lcm"
	"vnfm/mgmtdriver"
)

// HostKey implements [lcm.HostKeyStore].
func (s *Store) HostKey(ctx context.Context, instanceID uuid.UUID, host mgmtdriver.Host) (string, error) {
	key, err := hostKey(ctx, s.pool, instanceID, host)
	if errors.Is(err, pgx.ErrNoRows) {
		return "", nil
	}
	return key, err
}

func hostKey(ctx context.Context, q querier, instanceID uuid.UUID, host mgmtdriver.Host) (string, error) {
	const query = `
		SELECT key FROM host_keys
		WHERE vnf_instance_id = @instance AND vnfc_id = @vnfc AND server_id = @server AND address = @address`
	var key string
	if err := q.QueryRow(ctx, query, hostArguments(instanceID, host)).Scan(&key); err != nil {
		return "", fmt.Errorf("read host key: %w", err)
	}
	return key, nil
}

// KeepHostKey implements [lcm.HostKeyStore].
func (s *Store) KeepHostKey(ctx context.Context, run *lcm.Run, host mgmtdriver.Host, key string) (string, error) {
	var kept string
	err := s.inRun(ctx, run, func(tx pgx.Tx) error {
		const insert = `
			INSERT INTO host_keys (vnf_instance_id, vnfc_id, server_id, address, key) VALUES (@instance, @vnfc, @server, @address, @key)
			ON CONFLICT DO NOTHING`
		arguments := hostArguments(run.Instance.ID, host)
		arguments["key"] = key
		if _, err := tx.Exec(ctx, insert, arguments); err != nil {
			return err
		}
		var err error
		kept, err = hostKey(ctx, tx, run.Instance.ID, host)
		return err
	})
	if err != nil {
		return "", fmt.Errorf("keep host key: %w", err)
	}
	return kept, nil
}

func hostArguments(instanceID uuid.UUID, host mgmtdriver.Host) pgx.NamedArgs {
	return pgx.NamedArgs{"instance": instanceID, "vnfc": host.VnfcID, "server": host.ServerID, "address": host.Address}
}

// forgetHostKeys removes the keys of servers that an instance does not have any more, and all when it has no resources.
func forgetHostKeys(ctx context.Context, tx pgx.Tx, instance *lcm.VnfInstance) error {
	servers := []string{}
	if instance.InstantiatedVnfInfo != nil {
		for _, vnfc := range instance.InstantiatedVnfInfo.VnfcResourceInfo {
			servers = append(servers, vnfc.ComputeResource.ResourceID)
		}
	}
	const remove = `
		DELETE FROM host_keys
		WHERE vnf_instance_id = @instance AND server_id <> ALL (@servers) AND (server_id <> '' OR @gone)`
	_, err := tx.Exec(ctx, remove, pgx.NamedArgs{
		"instance": instance.ID, "servers": servers, "gone": instance.InstantiationState == lcm.NotInstantiated,
	})
	if err != nil {
		return fmt.Errorf("forget host keys of vnf instance %s: %w", instance.ID, err)
	}
	return nil
}
