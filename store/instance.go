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

// instanceRow is a row of vnf_instances.
type instanceRow struct {
	ID                        uuid.UUID
	CreatedAt                 time.Time
	UpdatedAt                 time.Time
	Version                   int64
	Name                      string
	Description               string
	VnfdID                    string    `db:"vnfd_id"`
	VnfPkgID                  uuid.UUID `db:"vnf_pkg_id"`
	Provider                  string
	ProductName               string
	SoftwareVersion           string
	VnfdVersion               string
	InstantiationState        lcm.InstantiationState
	InstantiatedVnfInfo       []byte
	VimConnectionInfo         []byte
	Metadata                  []byte
	Extensions                []byte
	VnfConfigurableProperties []byte
	Deployed                  bool
	ProjectID                 string `db:"project_id"`
}

func (r *instanceRow) instance() (*lcm.VnfInstance, error) {
	instance := &lcm.VnfInstance{
		ID:                 r.ID,
		Name:               r.Name,
		Description:        r.Description,
		ProjectID:          r.ProjectID,
		VnfdID:             r.VnfdID,
		VnfPkgID:           r.VnfPkgID,
		Provider:           r.Provider,
		ProductName:        r.ProductName,
		SoftwareVersion:    r.SoftwareVersion,
		VnfdVersion:        r.VnfdVersion,
		InstantiationState: r.InstantiationState,
		Deployed:           r.Deployed,
		Version:            r.Version,
		CreatedAt:          r.CreatedAt,
		UpdatedAt:          r.UpdatedAt,
	}
	err := errors.Join(
		read(r.InstantiatedVnfInfo, &instance.InstantiatedVnfInfo),
		read(r.VimConnectionInfo, &instance.VimConnectionInfo),
		read(r.Metadata, &instance.Metadata),
		read(r.Extensions, &instance.Extensions),
		read(r.VnfConfigurableProperties, &instance.VnfConfigurableProperties),
	)
	if err != nil {
		return nil, fmt.Errorf("read vnf instance %s: %w", r.ID, err)
	}
	return instance, nil
}

// CreateInstance implements [lcm.InstanceStore].
func (s *Store) CreateInstance(ctx context.Context, instance *lcm.VnfInstance) error {
	metadata, err := object(instance.Metadata)
	if err != nil {
		return err
	}
	args := pgx.NamedArgs{
		"id": instance.ID, "name": instance.Name, "description": instance.Description, "vnfd": instance.VnfdID,
		"state": instance.InstantiationState, "metadata": metadata, "own": access.Project(ctx),
	}
	// The package is locked, so that it cannot be disabled or deleted between the check and the insert. The instance belongs to its project.
	insert := `
		WITH package AS (
			SELECT id, description, project_id FROM vnf_packages
			WHERE vnfd_id = @vnfd AND onboarding_state = 'ONBOARDED' AND operational_state = 'ENABLED'` + scope(ctx, "project_id", args) + `
			ORDER BY project_id = @own DESC, created_at LIMIT 1
			FOR SHARE)
		INSERT INTO vnf_instances (id, project_id, name, description, vnfd_id, vnf_pkg_id, provider, product_name, software_version,
			vnfd_version, instantiation_state, metadata)
		SELECT @id, p.project_id, @name, @description, @vnfd, p.id, p.description ->> 'vnfProvider', p.description ->> 'vnfProductName',
			p.description ->> 'vnfSoftwareVersion', p.description ->> 'vnfdVersion', @state, @metadata
		FROM package p
		RETURNING project_id, vnf_pkg_id, provider, product_name, software_version, vnfd_version, created_at, updated_at, version`
	err = s.InTx(ctx, func(tx pgx.Tx) error {
		err := tx.QueryRow(ctx, insert, args).Scan(&instance.ProjectID, &instance.VnfPkgID, &instance.Provider, &instance.ProductName,
			&instance.SoftwareVersion, &instance.VnfdVersion, &instance.CreatedAt, &instance.UpdatedAt, &instance.Version)
		if err != nil {
			return err
		}
		return publishIdentifier(ctx, tx, notify.IdentifierCreation, instance)
	})
	if errors.Is(err, pgx.ErrNoRows) {
		return &lcm.Unprocessable{Attribute: "/vnfdId",
			Detail: fmt.Sprintf("no VNF package with VNFD id %s is onboarded and enabled", instance.VnfdID)}
	}
	if err != nil {
		return fmt.Errorf("store vnf instance: %w", err)
	}
	return nil
}

// Instance implements [lcm.InstanceStore].
func (s *Store) Instance(ctx context.Context, id uuid.UUID) (*lcm.VnfInstance, error) {
	return instance(ctx, s.pool, id)
}

func instance(ctx context.Context, q querier, id uuid.UUID) (*lcm.VnfInstance, error) {
	args := pgx.NamedArgs{"id": id}
	query := `
		SELECT i.id, i.project_id, i.created_at, i.updated_at, i.version, i.name, i.description, i.vnfd_id, i.vnf_pkg_id, i.provider,
			i.product_name, i.software_version, i.vnfd_version, i.instantiation_state, i.instantiated_vnf_info,
			i.vim_connection_info, i.metadata, i.extensions, i.vnf_configurable_properties, i.deployment IS NOT NULL AS deployed
		FROM vnf_instances i
		WHERE i.id = @id` + scope(ctx, "i.project_id", args)
	found, err := row[instanceRow](ctx, q, query, args)
	if errors.Is(err, pgx.ErrNoRows) {
		return nil, instanceNotFound(id)
	}
	if err != nil {
		return nil, fmt.Errorf("read vnf instance %s: %w", id, err)
	}
	return found.instance()
}

func instanceNotFound(id uuid.UUID) error {
	return &lcm.NotFound{Resource: "vnf instance", ID: id.String()}
}

// Instances implements [lcm.InstanceStore].
func (s *Store) Instances(ctx context.Context, asked lcm.Page) ([]*lcm.VnfInstance, bool, error) {
	args := listArgs(asked.Limit, asked.After.CreatedAt, asked.After.ID, asked.Whole)
	where, err := instanceAttributes.where(asked.Where, args)
	if err != nil {
		return nil, false, err
	}
	where += scope(ctx, "i.project_id", args)
	if where, err = s.narrow(ctx, asked.Where, where, args); err != nil {
		return nil, false, err
	}
	query := `
		SELECT i.id, i.project_id, i.created_at, i.updated_at, i.version, i.name, i.description, i.vnfd_id, i.vnf_pkg_id, i.provider,
			i.product_name, i.software_version, i.vnfd_version, i.instantiation_state, i.deployment IS NOT NULL AS deployed,
			CASE WHEN @whole THEN i.instantiated_vnf_info END AS instantiated_vnf_info,
			CASE WHEN @whole THEN i.vim_connection_info END AS vim_connection_info,
			CASE WHEN @whole THEN i.metadata END AS metadata,
			CASE WHEN @whole THEN i.extensions END AS extensions,
			CASE WHEN @whole THEN i.vnf_configurable_properties END AS vnf_configurable_properties
		FROM vnf_instances i
		WHERE true` + where + inOrder("i.", asked.Newest, args)
	return page(ctx, s.pool, asked.Limit, query, args, (*instanceRow).instance)
}

// CountInstances implements [lcm.InstanceStore].
func (s *Store) CountInstances(ctx context.Context) (map[lcm.InstantiationState]int, error) {
	args := pgx.NamedArgs{}
	return counts[lcm.InstantiationState](ctx, s.pool, `
		SELECT instantiation_state, count(*) FROM vnf_instances WHERE true`+scope(ctx, "project_id", args)+` GROUP BY instantiation_state`, args)
}

// instanceAttributes are the attributes of VnfInstance (SOL003 5.5.2.2).
var instanceAttributes = attributes{
	"id":                        {expression: "i.id", kind: uuidColumn},
	"vnfInstanceName":           {expression: "NULLIF(i.name, '')"},
	"vnfInstanceDescription":    {expression: "NULLIF(i.description, '')"},
	"vnfdId":                    {expression: "i.vnfd_id"},
	"vnfProvider":               {expression: "i.provider"},
	"vnfProductName":            {expression: "i.product_name"},
	"vnfSoftwareVersion":        {expression: "i.software_version"},
	"vnfdVersion":               {expression: "i.vnfd_version"},
	"vnfPkgId":                  {expression: "i.vnf_pkg_id", kind: uuidColumn},
	"instantiationState":        {expression: "i.instantiation_state"},
	"instantiatedVnfInfo":       {expression: "i.instantiated_vnf_info", kind: documentColumn},
	"vimConnectionInfo":         {expression: "i.vim_connection_info", kind: documentColumn},
	"metadata":                  {expression: "i.metadata", kind: documentColumn},
	"extensions":                {expression: "i.extensions", kind: documentColumn},
	"vnfConfigurableProperties": {expression: "i.vnf_configurable_properties", kind: documentColumn},
}

// DeleteInstance implements [lcm.InstanceStore].
func (s *Store) DeleteInstance(ctx context.Context, id uuid.UUID) error {
	return s.InTx(ctx, func(tx pgx.Tx) error {
		args := pgx.NamedArgs{"id": id}
		lock := `SELECT instantiation_state, deployment IS NOT NULL FROM vnf_instances WHERE id = @id` + scope(ctx, "project_id", args) + ` FOR UPDATE`
		var state lcm.InstantiationState
		var deployed bool
		err := tx.QueryRow(ctx, lock, args).Scan(&state, &deployed)
		if errors.Is(err, pgx.ErrNoRows) {
			return instanceNotFound(id)
		}
		if err != nil {
			return fmt.Errorf("delete vnf instance %s: %w", id, err)
		}
		if state != lcm.NotInstantiated {
			return &lcm.Conflict{Detail: fmt.Sprintf("VNF instance %s is %s: terminate it before it is deleted", id, state)}
		}
		// Asked after the lock was got, so that an operation which began just before it is seen.
		const active = `SELECT EXISTS (
			SELECT FROM vnf_lcm_op_occs WHERE vnf_instance_id = $1 AND state NOT IN ('COMPLETED', 'ROLLED_BACK', 'FAILED'))`
		var busy bool
		if err := tx.QueryRow(ctx, active, id).Scan(&busy); err != nil {
			return fmt.Errorf("delete vnf instance %s: %w", id, err)
		}
		if busy {
			return &lcm.Conflict{Detail: fmt.Sprintf("VNF instance %s has an operation that is not over", id)}
		}
		if deployed {
			return &lcm.Conflict{Detail: fmt.Sprintf(
				"a failed operation may have left resources of VNF instance %s in the VIM: terminate it before it is deleted", id)}
		}
		// A VNFD may name no driver for the end of a termination.
		if err := removeOwnVim(ctx, tx, id); err != nil {
			return err
		}
		going, err := instance(ctx, tx, id)
		if err != nil {
			return err
		}
		if err := publishIdentifier(ctx, tx, notify.IdentifierDeletion, going); err != nil {
			return err
		}
		if _, err := tx.Exec(ctx, `DELETE FROM vnf_instances WHERE id = $1`, id); err != nil {
			return fmt.Errorf("delete vnf instance %s: %w", id, err)
		}
		return nil
	})
}

// writeInstance stores what operations change of an instance, and counts its version up.
func writeInstance(ctx context.Context, tx pgx.Tx, instance *lcm.VnfInstance) error {
	info, err := document(instance.InstantiatedVnfInfo)
	if err != nil {
		return err
	}
	var connections []byte
	if instance.VimConnectionInfo != nil {
		if connections, err = json.Marshal(instance.VimConnectionInfo); err != nil {
			return err
		}
	}
	metadata, metadataErr := object(instance.Metadata)
	extensions, extensionsErr := object(instance.Extensions)
	properties, propertiesErr := object(instance.VnfConfigurableProperties)
	if err := errors.Join(metadataErr, extensionsErr, propertiesErr); err != nil {
		return err
	}
	const update = `
		UPDATE vnf_instances SET updated_at = now(), version = version + 1, name = @name, description = @description,
			vnfd_id = @vnfd, vnf_pkg_id = @package, provider = @provider, product_name = @product, software_version = @software,
			vnfd_version = @vnfdVersion,
			instantiation_state = @state, instantiated_vnf_info = @info, vim_connection_info = @connections, metadata = @metadata,
			extensions = @extensions, vnf_configurable_properties = @properties
		WHERE id = @id RETURNING version, updated_at`
	return tx.QueryRow(ctx, update, pgx.NamedArgs{
		"id": instance.ID, "name": instance.Name, "description": instance.Description, "state": instance.InstantiationState,
		"info": info, "connections": connections, "metadata": metadata, "extensions": extensions, "properties": properties,
		"vnfd": instance.VnfdID, "package": instance.VnfPkgID, "provider": instance.Provider, "product": instance.ProductName,
		"software": instance.SoftwareVersion, "vnfdVersion": instance.VnfdVersion,
	}).Scan(&instance.Version, &instance.UpdatedAt)
}
