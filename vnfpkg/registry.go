package vnfpkg

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"

	"github.com/google/uuid"

	"vnfm/vnfpkg/filter"
)

// Store keeps packages and their content. Its methods return [ErrNotFound] for an unknown id.
type Store interface {
	CreatePackage(ctx context.Context, pkg *Package) error
	Package(ctx context.Context, id uuid.UUID) (*Package, error)
	PackageOfVnfd(ctx context.Context, vnfdID string) (*Package, error)
	// Packages returns a page in the order of creation, and whether more follow. Vnfd is left out, and unless the page is to be whole
	// SoftwareImages, Artifacts and UserDefinedData as well, as SOL003 does by default.
	Packages(ctx context.Context, page Page) ([]*Package, bool, error)
	// CountPackages returns how many there are in each state.
	CountPackages(ctx context.Context) (map[OnboardingState]int, error)
	// UpdatePackage changes a package by a function inside a transaction; an error of the function leaves it as it was. The
	// content of a package that comes to be CREATED is removed. *[DuplicateVnfd] if the package comes to be ONBOARDED and
	// another one has the VNFD id.
	UpdatePackage(ctx context.Context, id uuid.UUID, change func(*Package) error) (*Package, error)
	// DeletePackage removes a package with its content, provided that check, which sees it locked, returns nil.
	DeletePackage(ctx context.Context, id uuid.UUID, check func(*Package) error) error
}

// ContentStore keeps the content of packages, of any size, in constant memory.
type ContentStore interface {
	// WriteContent moves a package from CREATED to UPLOADING (else *[Conflict]), stores what it reads from body up to limit
	// bytes ([ErrTooLarge]), and moves the package to PROCESSING, asking for a run of [Registry.Process], in one transaction.
	// On any failure, the death of the process included, the package comes back to CREATED with a Failure and no content.
	WriteContent(ctx context.Context, id uuid.UUID, body io.Reader, limit int64) error
	// RequestContent moves a package from CREATED to UPLOADING (else *[Conflict]) and asks for a run of [Registry.Fetch] in one
	// transaction. The source is kept, sealed, as long as the package is UPLOADING.
	RequestContent(ctx context.Context, id uuid.UUID, source *Source) error
	// FetchContent is WriteContent for a package whose content was requested: fetch opens it. A package of which no content was requested
	// is left alone. *[DownloadError] of fetch, or the deadline of ctx, ends it. Any other error means that the work could not be done now
	// and has to be tried again.
	FetchContent(ctx context.Context, id uuid.UUID, fetch func(*Source) (io.ReadCloser, error), limit int64) error
	// OpenContent opens the stored content for reading at any offset. Close must be called.
	OpenContent(ctx context.Context, id uuid.UUID) (ContentReader, error)
	// WriteCSAR keeps the CSAR that is compressed in the content of a package, since it is read at any offset; it goes with the content.
	WriteCSAR(ctx context.Context, id uuid.UUID, csar io.Reader) error
	// OpenCSAR opens what WriteCSAR has kept, or else the content. Close must be called.
	OpenCSAR(ctx context.Context, id uuid.UUID) (ContentReader, error)
}

// ContentReader reads stored content.
type ContentReader interface {
	io.ReaderAt
	io.Closer
	Size() int64 // bytes
}

// Page asks for a part of the list of packages, in the order of creation.
type Page struct {
	Limit int // the greatest number of elements; 0 = all
	After Cursor
	Where []filter.Condition
	Whole bool // with the attributes that SOL003 leaves out of lists by default
	// Newest turns the order round: the newest package is the first.
	Newest bool
}

// Cursor names the last element that a client has seen; the zero value starts at the beginning.
type Cursor struct {
	CreatedAt int64 // microseconds since 1970
	ID        uuid.UUID
}

// Registry is the VNF package management interface: packages and their way from CREATED to ONBOARDED.
type Registry struct {
	store     Store
	content   ContentStore
	limits    Limits
	trust     Trust
	downloads Downloads
	check     func(*Description) error
}

// NewRegistry returns a registry on a store. check, if not nil, may refuse a package at onboarding for reasons outside of
// this package, such as a management driver that does not exist.
func NewRegistry(store Store, content ContentStore, limits Limits, check func(*Description) error) *Registry {
	return &Registry{store: store, content: content, limits: limits, downloads: Downloads{}.withDefaults(), check: check}
}

// Trust says whose packages are accepted from now on; without it, the zero value holds. It must be called before the registry is used.
func (r *Registry) Trust(trust Trust) { r.trust = trust }

// Downloads says how content is fetched from now on. It must be called before the registry is used.
func (r *Registry) Downloads(how Downloads) { r.downloads = how.withDefaults() }

// Create makes a package resource without content.
func (r *Registry) Create(ctx context.Context, userDefinedData map[string]any) (*Package, error) {
	pkg := newPackage(uuid.New(), userDefinedData)
	if err := r.store.CreatePackage(ctx, pkg); err != nil {
		return nil, err
	}
	return pkg, nil
}

func newPackage(id uuid.UUID, userDefinedData map[string]any) *Package {
	return &Package{
		ID: id, OnboardingState: Created, OperationalState: Disabled, UsageState: NotInUse, UserDefinedData: userDefinedData,
	}
}

// Package returns one package, or [ErrNotFound].
func (r *Registry) Package(ctx context.Context, id uuid.UUID) (*Package, error) {
	return r.store.Package(ctx, id)
}

// PackageOfVnfd returns the package with that VNFD, or [ErrNotFound].
func (r *Registry) PackageOfVnfd(ctx context.Context, vnfdID string) (*Package, error) {
	return r.store.PackageOfVnfd(ctx, vnfdID)
}

// Packages returns a page of packages, and whether more follow.
func (r *Registry) Packages(ctx context.Context, page Page) ([]*Package, bool, error) {
	return r.store.Packages(ctx, page)
}

// CountPackages returns how many packages there are in each state.
func (r *Registry) CountPackages(ctx context.Context) (map[OnboardingState]int, error) {
	return r.store.CountPackages(ctx)
}

// Modification is VnfPkgInfoModifications (SOL005 9.5.2.2).
type Modification struct {
	OperationalState OperationalState // "" = unchanged
	UserDefinedData  map[string]any   // merged: nil values remove; nil = unchanged
}

// Modify changes the operational state or the user defined data. It returns *[Conflict] when the package is not onboarded or
// is in that operational state already.
func (r *Registry) Modify(ctx context.Context, id uuid.UUID, m Modification) (*Package, error) {
	return r.store.UpdatePackage(ctx, id, func(pkg *Package) error {
		if m.OperationalState != "" {
			if pkg.OnboardingState != Onboarded {
				return &Conflict{fmt.Sprintf(
					"VNF package %s is %s: the operational state can change only when it is %s", id, pkg.OnboardingState, Onboarded)}
			}
			if pkg.OperationalState == m.OperationalState {
				return &Conflict{fmt.Sprintf("VNF package %s is %s already", id, m.OperationalState)}
			}
			pkg.OperationalState = m.OperationalState
		}
		if m.UserDefinedData != nil {
			pkg.UserDefinedData = merge(pkg.UserDefinedData, m.UserDefinedData)
		}
		return nil
	})
}

// merge is RFC 7396 for an object.
func merge(target, patch map[string]any) map[string]any {
	merged := make(map[string]any, len(target)+len(patch))
	for name, value := range target {
		merged[name] = value
	}
	for name, value := range patch {
		switch value := value.(type) {
		case nil:
			delete(merged, name)
		case map[string]any:
			inner, _ := merged[name].(map[string]any)
			merged[name] = merge(inner, value)
		default:
			merged[name] = value
		}
	}
	return merged
}

// Delete removes a package that is not enabled, not in use and not being onboarded, else *[Conflict].
func (r *Registry) Delete(ctx context.Context, id uuid.UUID) error {
	return r.store.DeletePackage(ctx, id, func(pkg *Package) error {
		switch {
		case pkg.OnboardingState == Uploading, pkg.OnboardingState == Processing:
			return &Conflict{fmt.Sprintf("VNF package %s is %s and cannot be deleted now", id, pkg.OnboardingState)}
		case pkg.OperationalState == Enabled:
			return &Conflict{fmt.Sprintf("VNF package %s is %s: disable it before it is deleted", id, Enabled)}
		case pkg.UsageState == InUse:
			return &Conflict{fmt.Sprintf("VNF package %s is %s: VNF instances of it exist", id, InUse)}
		}
		return nil
	})
}

// Upload stores the content of a package that is CREATED and starts its onboarding. *[Conflict] in another state,
// [ErrTooLarge] beyond the limit.
func (r *Registry) Upload(ctx context.Context, id uuid.UUID, body io.Reader) error {
	return r.content.WriteContent(ctx, id, body, r.limits.ArchiveBytes)
}

// UploadFrom asks for the content of a package that is CREATED to be fetched from elsewhere, which starts its onboarding. *[Conflict] in
// another state.
func (r *Registry) UploadFrom(ctx context.Context, id uuid.UUID, source *Source) error {
	return r.content.RequestContent(ctx, id, source)
}

// Fetch fetches the content of a package for which [Registry.UploadFrom] was called; the package becomes PROCESSING, or CREATED with a
// Failure. An error means that the work could not be done now and has to be tried again.
func (r *Registry) Fetch(ctx context.Context, id uuid.UUID) error {
	return r.content.FetchContent(ctx, id, func(source *Source) (io.ReadCloser, error) {
		return newDownload(ctx, r.downloads, source, r.limits.ArchiveBytes)
	}, r.limits.ArchiveBytes)
}

// Process onboards a package that is PROCESSING: it reads and checks the CSAR and makes the package ONBOARDED and ENABLED, or
// CREATED with a Failure. Anything in another state is left alone. An error means that the work could not be done now and
// has to be tried again.
func (r *Registry) Process(ctx context.Context, id uuid.UUID) error {
	pkg, err := r.store.Package(ctx, id)
	if errors.Is(err, ErrNotFound) {
		return nil
	}
	if err != nil {
		return err
	}
	if pkg.OnboardingState != Processing {
		return nil
	}
	description, failure, err := r.describe(ctx, id)
	if err != nil {
		return fmt.Errorf("onboard VNF package %s: %w", id, err)
	}
	if failure == nil {
		err = r.finish(ctx, id, func(pkg *Package) {
			pkg.OnboardingState, pkg.OperationalState = Onboarded, Enabled
			pkg.Description, pkg.Failure = description, nil
		})
		var duplicate *DuplicateVnfd
		if !errors.As(err, &duplicate) {
			return err
		}
		failure = &Failure{Title: "VNFD already onboarded", Status: http.StatusConflict, Detail: duplicate.Error()}
	}
	return r.finish(ctx, id, func(pkg *Package) {
		pkg.OnboardingState, pkg.Failure, pkg.Content = Created, failure, nil
	})
}

// describe reads the package's content. What the package's author has to mend comes back as a Failure.
func (r *Registry) describe(ctx context.Context, id uuid.UUID) (*Description, *Failure, error) {
	description, err := r.inspect(ctx, id)
	if err == nil && r.check != nil {
		err = r.check(description)
	}
	var invalid *Invalid
	switch {
	case err == nil:
		return description, nil, nil
	case errors.As(err, &invalid):
		return nil, &Failure{Title: "VNF package refused", Status: http.StatusBadRequest, Detail: err.Error()}, nil
	default:
		return nil, nil, err
	}
}

func (r *Registry) inspect(ctx context.Context, id uuid.UUID) (_ *Description, err error) {
	var opened []io.Closer
	defer func() {
		for _, content := range opened {
			err = errors.Join(err, content.Close())
		}
	}()
	content, err := r.content.OpenContent(ctx, id)
	if err != nil {
		return nil, err
	}
	opened = append(opened, content)
	return Inspect(ctx, content, content.Size(), r.limits, r.trust, func(csar io.Reader) (io.ReaderAt, int64, error) {
		if err := r.content.WriteCSAR(ctx, id, csar); err != nil {
			return nil, 0, err
		}
		unpacked, err := r.content.OpenCSAR(ctx, id)
		if err != nil {
			return nil, 0, err
		}
		opened = append(opened, unpacked)
		return unpacked, unpacked.Size(), nil
	})
}

func (r *Registry) finish(ctx context.Context, id uuid.UUID, change func(*Package)) error {
	_, err := r.store.UpdatePackage(ctx, id, func(pkg *Package) error {
		if pkg.OnboardingState == Processing {
			change(pkg)
		}
		return nil
	})
	return err
}

// StoredCSAR is a CSAR in the registry. Close must be called.
type StoredCSAR struct {
	*CSAR
	content ContentReader
}

// Close ends the reading.
func (s *StoredCSAR) Close() error { return s.content.Close() }

// OpenCSAR opens the archive of a package that has content. [ErrNotFound] if there is none, *[Invalid] if it is not a CSAR.
func (r *Registry) OpenCSAR(ctx context.Context, id uuid.UUID) (*StoredCSAR, error) {
	content, err := r.content.OpenCSAR(ctx, id)
	if err != nil {
		return nil, err
	}
	csar, err := OpenCSAR(content, content.Size(), r.limits)
	if err != nil {
		return nil, errors.Join(err, content.Close())
	}
	return &StoredCSAR{CSAR: csar, content: content}, nil
}

// OnboardedContent opens the content of an onboarded package as it was uploaded, *[Conflict] if it is not onboarded. Close
// must be called.
func (r *Registry) OnboardedContent(ctx context.Context, pkg *Package) (ContentReader, error) {
	if err := pkg.mustBeOnboarded(); err != nil {
		return nil, err
	}
	return r.content.OpenContent(ctx, pkg.ID)
}

// OnboardedCSAR opens the archive of an onboarded package, *[Conflict] if it is not onboarded. Close must be called.
func (r *Registry) OnboardedCSAR(ctx context.Context, pkg *Package) (*StoredCSAR, error) {
	if err := pkg.mustBeOnboarded(); err != nil {
		return nil, err
	}
	return r.OpenCSAR(ctx, pkg.ID)
}

func (p *Package) mustBeOnboarded() error {
	if p.OnboardingState != Onboarded {
		return &Conflict{fmt.Sprintf("VNF package %s is %s, not %s", p.ID, p.OnboardingState, Onboarded)}
	}
	return nil
}
