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
	"vnfm/vnfpkg"
)

// packageRow is a row of vnf_packages.
type packageRow struct {
	ID               uuid.UUID
	ProjectID        string `db:"project_id"`
	CreatedAt        time.Time
	UpdatedAt        time.Time
	OnboardingState  vnfpkg.OnboardingState
	OperationalState vnfpkg.OperationalState
	InUse            bool
	UserDefinedData  []byte
	Failure          []byte
	ContentBytes     *int64  `db:"content_bytes"`
	ContentSHA512    *string `db:"content_sha512"`
	Description      []byte
	SoftwareImages   []byte
	Artifacts        []byte
	Vnfd             []byte
}

func (r *packageRow) pkg() (*vnfpkg.Package, error) {
	pkg := &vnfpkg.Package{
		ID: r.ID, ProjectID: r.ProjectID, OnboardingState: r.OnboardingState, OperationalState: r.OperationalState, UsageState: vnfpkg.NotInUse,
		CreatedAt: r.CreatedAt, UpdatedAt: r.UpdatedAt,
	}
	if r.InUse {
		pkg.UsageState = vnfpkg.InUse
	}
	if r.ContentBytes != nil && r.ContentSHA512 != nil {
		pkg.Content = &vnfpkg.Content{SizeBytes: *r.ContentBytes, SHA512: *r.ContentSHA512}
	}
	err := errors.Join(read(r.UserDefinedData, &pkg.UserDefinedData), read(r.Failure, &pkg.Failure),
		read(r.Description, &pkg.Description))
	if pkg.Description != nil {
		d := pkg.Description
		err = errors.Join(err, read(r.SoftwareImages, &d.SoftwareImages), read(r.Artifacts, &d.Artifacts), read(r.Vnfd, &d.Vnfd))
	}
	if err != nil {
		return nil, fmt.Errorf("read VNF package %s: %w", r.ID, err)
	}
	return pkg, nil
}

const selectPackage = `
	SELECT p.id, p.project_id, p.created_at, p.updated_at, p.onboarding_state, p.operational_state, p.user_defined_data, p.failure, p.content_bytes,
		p.content_sha512, p.description, p.software_images, p.artifacts, p.vnfd,
		EXISTS (SELECT FROM vnf_instances i WHERE i.vnf_pkg_id = p.id) AS in_use
	FROM vnf_packages p`

// selectSmall leaves out what lists do not show: most of a package is its VNFD.
const selectSmall = `
	SELECT p.id, p.project_id, p.created_at, p.updated_at, p.onboarding_state, p.operational_state, p.failure, p.content_bytes, p.content_sha512,
		p.description, NULL::jsonb AS vnfd, CASE WHEN @whole THEN p.user_defined_data END AS user_defined_data,
		CASE WHEN @whole THEN p.software_images END AS software_images, CASE WHEN @whole THEN p.artifacts END AS artifacts,
		EXISTS (SELECT FROM vnf_instances i WHERE i.vnf_pkg_id = p.id) AS in_use
	FROM vnf_packages p`

// CreatePackage implements [vnfpkg.Store].
func (s *Store) CreatePackage(ctx context.Context, pkg *vnfpkg.Package) error {
	data, err := object(pkg.UserDefinedData)
	if err != nil {
		return err
	}
	pkg.ProjectID = access.Project(ctx)
	const insert = `
		INSERT INTO vnf_packages (id, project_id, onboarding_state, operational_state, user_defined_data)
		VALUES (@id, @project, @onboarding, @operational, @data) RETURNING created_at, updated_at`
	err = s.pool.QueryRow(ctx, insert, pgx.NamedArgs{
		"id": pkg.ID, "project": pkg.ProjectID, "onboarding": pkg.OnboardingState, "operational": pkg.OperationalState, "data": data,
	}).Scan(&pkg.CreatedAt, &pkg.UpdatedAt)
	if err != nil {
		return fmt.Errorf("store VNF package: %w", err)
	}
	return nil
}

// Package implements [vnfpkg.Store].
func (s *Store) Package(ctx context.Context, id uuid.UUID) (*vnfpkg.Package, error) {
	args := pgx.NamedArgs{"id": id}
	return readPackage(ctx, s.pool, selectPackage+` WHERE p.id = @id`+scope(ctx, "p.project_id", args), args)
}

// PackageOfVnfd implements [vnfpkg.Store]. Who sees several projects gets the package of its own first.
func (s *Store) PackageOfVnfd(ctx context.Context, vnfdID string) (*vnfpkg.Package, error) {
	args := pgx.NamedArgs{"vnfd": vnfdID, "own": access.Project(ctx)}
	query := selectPackage + ` WHERE p.vnfd_id = @vnfd` + scope(ctx, "p.project_id", args) + ` ORDER BY p.project_id = @own DESC, p.created_at LIMIT 1`
	return readPackage(ctx, s.pool, query, args)
}

// lockedPackage reads a package after it has been locked. One statement for both would see who uses the package as it was before
// the wait for the lock.
func lockedPackage(ctx context.Context, tx pgx.Tx, id uuid.UUID) (*vnfpkg.Package, error) {
	if _, err := tx.Exec(ctx, `SELECT FROM vnf_packages WHERE id = $1 FOR UPDATE`, id); err != nil {
		return nil, fmt.Errorf("lock VNF package %s: %w", id, err)
	}
	args := pgx.NamedArgs{"id": id}
	return readPackage(ctx, tx, selectPackage+` WHERE p.id = @id`+scope(ctx, "p.project_id", args), args)
}

func readPackage(ctx context.Context, q querier, query string, args pgx.NamedArgs) (*vnfpkg.Package, error) {
	found, err := row[packageRow](ctx, q, query, args)
	if errors.Is(err, pgx.ErrNoRows) {
		return nil, vnfpkg.ErrNotFound
	}
	if err != nil {
		return nil, fmt.Errorf("read VNF package: %w", err)
	}
	return found.pkg()
}

// Packages implements [vnfpkg.Store].
func (s *Store) Packages(ctx context.Context, asked vnfpkg.Page) ([]*vnfpkg.Package, bool, error) {
	args := listArgs(asked.Limit, asked.After.CreatedAt, asked.After.ID, asked.Whole)
	where, err := packageAttributes.where(asked.Where, args)
	if err != nil {
		return nil, false, err
	}
	query := selectSmall + `
		WHERE true` + where + scope(ctx, "p.project_id", args) + inOrder("p.", asked.Newest, args)
	return page(ctx, s.pool, asked.Limit, query, args, (*packageRow).pkg)
}

// CountPackages implements [vnfpkg.Store].
func (s *Store) CountPackages(ctx context.Context) (map[vnfpkg.OnboardingState]int, error) {
	args := pgx.NamedArgs{}
	return counts[vnfpkg.OnboardingState](ctx, s.pool, `
		SELECT onboarding_state, count(*) FROM vnf_packages WHERE true`+scope(ctx, "project_id", args)+` GROUP BY onboarding_state`, args)
}

// packageAttributes are the attributes of VnfPkgInfo (SOL003 10.5.2.2).
var packageAttributes = attributes{
	"id":                 {expression: "p.id", kind: uuidColumn},
	"vnfdId":             {expression: "p.vnfd_id"},
	"vnfProvider":        {expression: "p.description ->> 'vnfProvider'"},
	"vnfProductName":     {expression: "p.description ->> 'vnfProductName'"},
	"vnfSoftwareVersion": {expression: "p.description ->> 'vnfSoftwareVersion'"},
	"vnfdVersion":        {expression: "p.description ->> 'vnfdVersion'"},
	"checksum": {kind: documentColumn, expression: `CASE WHEN p.content_sha512 IS NOT NULL THEN
		jsonb_build_object('algorithm', 'SHA-512', 'hash', p.content_sha512) END`},
	"softwareImages": {kind: documentColumn, expression: `(SELECT jsonb_agg(jsonb_build_object('createdAt', p.created_at) || image)
		FROM jsonb_path_query(p.software_images, '$[*] ? (@.type() == "object")') image)`,
		names: map[string]string{"minDisk": "minDiskBytes", "minRam": "minRamBytes", "size": "sizeBytes", "imagePath": "path"}},
	"additionalArtifacts": {expression: "p.artifacts", kind: documentColumn},
	"onboardingState":     {expression: "p.onboarding_state"},
	"operationalState":    {expression: "p.operational_state"},
	"usageState": {expression: `CASE WHEN EXISTS (SELECT FROM vnf_instances i WHERE i.vnf_pkg_id = p.id) THEN 'IN_USE'
		ELSE 'NOT_IN_USE' END`},
	"userDefinedData":          {expression: "p.user_defined_data", kind: documentColumn},
	"onboardingFailureDetails": {expression: "p.failure", kind: documentColumn},
}

// UpdatePackage implements [vnfpkg.Store].
func (s *Store) UpdatePackage(ctx context.Context, id uuid.UUID, change func(*vnfpkg.Package) error) (*vnfpkg.Package, error) {
	var pkg *vnfpkg.Package
	err := s.InTx(ctx, func(tx pgx.Tx) (err error) {
		if pkg, err = lockedPackage(ctx, tx, id); err != nil {
			return err
		}
		before := *pkg
		if err := change(pkg); err != nil {
			return err
		}
		if pkg.OnboardingState == vnfpkg.Created {
			pkg.Content, pkg.Description = nil, nil
			if err := unlinkContent(ctx, tx, id); err != nil {
				return err
			}
		}
		if err := writePackage(ctx, tx, pkg); err != nil {
			return err
		}
		return publishPackage(ctx, tx, &before, pkg)
	})
	if err != nil {
		return nil, err
	}
	return pkg, nil
}

func writePackage(ctx context.Context, tx pgx.Tx, pkg *vnfpkg.Package) error {
	data, dataErr := object(pkg.UserDefinedData)
	failure, failureErr := document(pkg.Failure)
	args := pgx.NamedArgs{
		"id": pkg.ID, "onboarding": pkg.OnboardingState, "operational": pkg.OperationalState, "data": data, "failure": failure,
		"vnfd_id": nil, "description": nil, "images": nil, "artifacts": nil, "vnfd": nil,
	}
	if err := errors.Join(dataErr, failureErr, describe(args, pkg.Description)); err != nil {
		return err
	}
	const update = `
		UPDATE vnf_packages SET updated_at = now(), onboarding_state = @onboarding, operational_state = @operational,
			user_defined_data = @data, failure = @failure, vnfd_id = @vnfd_id, description = @description, software_images = @images,
			artifacts = @artifacts, vnfd = @vnfd, source = CASE WHEN @onboarding = 'UPLOADING' THEN source END
		WHERE id = @id RETURNING updated_at`
	err := tx.QueryRow(ctx, update, args).Scan(&pkg.UpdatedAt)
	if violated(err, "vnf_packages_vnfd") {
		return &vnfpkg.DuplicateVnfd{VnfdID: pkg.Description.VnfdID}
	}
	if err != nil {
		return fmt.Errorf("store VNF package %s: %w", pkg.ID, err)
	}
	return nil
}

// describe sets the columns that hold a description: its large parts apart from what lists show.
func describe(args pgx.NamedArgs, description *vnfpkg.Description) error {
	if description == nil {
		return nil
	}
	small := *description
	small.SoftwareImages, small.Artifacts, small.Vnfd = nil, nil, nil
	args["vnfd_id"] = description.VnfdID
	var errs [4]error
	args["description"], errs[0] = json.Marshal(small)
	args["images"], errs[1] = json.Marshal(description.SoftwareImages)
	args["artifacts"], errs[2] = json.Marshal(description.Artifacts)
	args["vnfd"], errs[3] = json.Marshal(description.Vnfd)
	return errors.Join(errs[:]...)
}

// DeletePackage implements [vnfpkg.Store].
func (s *Store) DeletePackage(ctx context.Context, id uuid.UUID, check func(*vnfpkg.Package) error) error {
	return s.InTx(ctx, func(tx pgx.Tx) error {
		pkg, err := lockedPackage(ctx, tx, id)
		if err != nil {
			return err
		}
		if err := check(pkg); err != nil {
			return err
		}
		if err := unlinkContent(ctx, tx, id); err != nil {
			return err
		}
		if _, err := tx.Exec(ctx, `DELETE FROM vnf_packages WHERE id = $1`, id); err != nil {
			return fmt.Errorf("delete VNF package %s: %w", id, err)
		}
		return publishPackage(ctx, tx, pkg, nil)
	})
}

// unlinkContent removes the content of a package, if it has any.
func unlinkContent(ctx context.Context, tx pgx.Tx, id uuid.UUID) error {
	const unlink = `
		WITH stored AS (SELECT unnest(ARRAY[content, csar]) AS oid FROM vnf_packages WHERE id = @id),
			unlinked AS (SELECT lo_unlink(oid) FROM stored WHERE oid IS NOT NULL)
		SELECT count(*) FROM unlinked`
	var count int
	if err := tx.QueryRow(ctx, unlink, pgx.NamedArgs{"id": id}).Scan(&count); err != nil {
		return fmt.Errorf("remove content of VNF package %s: %w", id, err)
	}
	const forget = `
		UPDATE vnf_packages SET onboarding_state = 'CREATED', vnfd_id = NULL, content = NULL, content_bytes = NULL, content_sha512 = NULL,
			csar = NULL, csar_bytes = NULL
		WHERE id = $1 AND content IS NOT NULL`
	if _, err := tx.Exec(ctx, forget, id); err != nil {
		return fmt.Errorf("remove content of VNF package %s: %w", id, err)
	}
	return nil
}
