package lcm

import (
	"cmp"
	"context"
	"fmt"
	"maps"
	"net/url"
	"slices"
	"strings"

	"vnfm/api/access"

	"github.com/google/uuid"
)

// VimRegistry is the registry of VIMs behind /v1.0/vims, and the place where the vimConnectionInfo of a request becomes the
// access to a VIM.
type VimRegistry struct {
	store  VimStore
	driver VimDriver
}

// NewVimRegistry returns a registry that checks credentials with driver.
func NewVimRegistry(store VimStore, driver VimDriver) *VimRegistry {
	return &VimRegistry{store: store, driver: driver}
}

// Types of registered VIMs. Clients register OpenStack, which SOL003 calls vimTypeKeystone in a vimConnectionInfo; a Kubernetes
// cluster that is a VNF is registered by its management driver.
const (
	vimTypeOpenStack  = "openstack"
	vimTypeKeystone   = "ETSINFV.OPENSTACK_KEYSTONE.V_3"
	vimTypeKubernetes = "kubernetes"
)

// Register checks the credentials of a VIM by logging in, learns its regions and stores it. It belongs to the project of the caller; one who
// sees all projects may name another. *[access.Denied] for anybody else who does.
func (r *VimRegistry) Register(ctx context.Context, vim *Vim) (*Vim, error) {
	if vim.Type != vimTypeOpenStack {
		return nil, &InvalidRequest{"/vim/type", fmt.Sprintf("%q is not a type of VIM that can be registered; use %q", vim.Type, vimTypeOpenStack)}
	}
	if caller := access.Of(ctx); caller != nil {
		vim.TenantID = cmp.Or(vim.TenantID, caller.Project)
		if !caller.Sees(vim.TenantID) {
			return nil, &access.Denied{Detail: "/vim/tenant_id: a VIM can be registered for another project only by who may see all projects"}
		}
	}
	vim.ID = uuid.New()
	vim.AuthURL = identityV3(vim.AuthURL)
	if err := r.verify(ctx, vim); err != nil {
		return nil, err
	}
	if err := r.store.CreateVim(ctx, vim); err != nil {
		return nil, err
	}
	return vim, nil
}

// Vim returns one VIM.
func (r *VimRegistry) Vim(ctx context.Context, id uuid.UUID) (*Vim, error) {
	return r.store.Vim(ctx, id)
}

// Vims returns all VIMs.
func (r *VimRegistry) Vims(ctx context.Context) ([]*Vim, error) {
	return r.store.Vims(ctx)
}

// VimPage returns VIMs without their credentials, and whether there are more. The page's conditions are none.
func (r *VimRegistry) VimPage(ctx context.Context, page Page) ([]*Vim, bool, error) {
	return r.store.VimPage(ctx, page)
}

// CountVims returns how many VIMs there are.
func (r *VimRegistry) CountVims(ctx context.Context) (int, error) { return r.store.CountVims(ctx) }

// VimChange holds what is to be changed in a VIM; what is nil stays.
type VimChange struct {
	Name        *string
	Description *string
	IsDefault   *bool
	VimProject  map[string]any // merged
	AuthCred    map[string]any // merged
	Extra       map[string]any // merged
}

// Update changes a VIM, also one in use, so that credentials can be rotated. New credentials are checked before they are stored.
func (r *VimRegistry) Update(ctx context.Context, id uuid.UUID, change VimChange) (*Vim, error) {
	vim, err := r.store.Vim(ctx, id)
	if err != nil {
		return nil, err
	}
	apply(vim, change)
	switch {
	case vim.Type != vimTypeOpenStack && vim.IsDefault:
		return nil, &InvalidRequest{"/vim/is_default", "VNFs are made in the default VIM, which has to be an OpenStack"}
	case vim.Type != vimTypeOpenStack: // nobody is sure to reach it from here
	case change.VimProject != nil || change.AuthCred != nil || named(change.Extra, authoritiesKey):
		if err := r.verify(ctx, vim); err != nil {
			return nil, err
		}
	}
	return r.store.UpdateVim(ctx, id, func(stored *Vim) error {
		apply(stored, change)
		stored.Regions, stored.Status = vim.Regions, vim.Status
		return nil
	})
}

func apply(vim *Vim, change VimChange) {
	if change.Name != nil {
		vim.Name = *change.Name
	}
	if change.Description != nil {
		vim.Description = *change.Description
	}
	if change.IsDefault != nil {
		vim.IsDefault = *change.IsDefault
	}
	merge := func(target *map[string]any, patch map[string]any) {
		if patch != nil {
			merged := maps.Clone(*target)
			if merged == nil {
				merged = map[string]any{}
			}
			maps.Copy(merged, patch)
			*target = merged
		}
	}
	merge(&vim.VimProject, change.VimProject)
	merge(&vim.AuthCred, change.AuthCred)
	merge(&vim.Extra, change.Extra)
}

func named(in map[string]any, key string) bool {
	_, ok := in[key]
	return ok
}

// Delete removes a VIM that no VNF instance uses.
func (r *VimRegistry) Delete(ctx context.Context, id uuid.UUID) error {
	return r.store.DeleteVim(ctx, id)
}

// Free answers *[Conflict] if a VNF instance is a VIM that another one uses: it has to stay then.
func (r *VimRegistry) Free(ctx context.Context, instanceID uuid.UUID) error {
	return r.store.CheckOwnVim(ctx, instanceID)
}

// verify logs in to the VIM and learns its regions.
func (r *VimRegistry) verify(ctx context.Context, vim *Vim) error {
	access, err := accessOf(vim)
	if err == nil {
		err = access.checkTrust("/vim/auth_url", "/vim/auth_cred/cert_verify")
	}
	if err != nil {
		return err
	}
	regions, err := r.driver.Regions(ctx, access)
	if err != nil {
		return err
	}
	vim.Regions, vim.Status = regions, "ACTIVE"
	return nil
}

func accessOf(vim *Vim) (VimAccess, error) {
	authorities, err := registeredAuthorities(vim)
	access := VimAccess{
		VimID:         vim.ID.String(),
		AuthURL:       vim.AuthURL,
		Username:      text(vim.AuthCred, "username"),
		Password:      Secret(text(vim.AuthCred, "password")),
		Project:       text(vim.VimProject, "name"),
		ProjectDomain: domain(text(vim.VimProject, "project_domain_name")),
		UserDomain:    domain(text(vim.AuthCred, "user_domain_name")),
		SkipVerify:    strings.EqualFold(text(vim.AuthCred, "cert_verify"), "false"),
		Authorities:   authorities,
		NoAuthorities: err,
	}
	for _, required := range []struct{ attribute, value string }{
		{"/vim/auth_url", access.AuthURL},
		{"/vim/vim_project/name", access.Project},
		{"/vim/auth_cred/username", access.Username},
		{"/vim/auth_cred/password", string(access.Password)},
	} {
		if required.value == "" {
			return VimAccess{}, &InvalidRequest{required.attribute, "must not be empty"}
		}
	}
	return access, checkEndpoint("/vim/auth_url", access.AuthURL)
}

func checkEndpoint(attribute, endpoint string) error {
	parsed, err := url.Parse(endpoint)
	if err != nil || parsed.Host == "" || (parsed.Scheme != "http" && parsed.Scheme != "https") || parsed.User != nil {
		return &InvalidRequest{attribute, "must be an http or https URL without user information"}
	}
	return nil
}

// identityV3 is the address of Keystone's v3 interface: users give the root, /v3, or the /v2.0 of old configuration files.
func identityV3(endpoint string) string {
	endpoint = strings.TrimRight(strings.TrimSpace(endpoint), "/")
	endpoint = strings.TrimSuffix(endpoint, "/v2.0")
	if endpoint == "" || strings.HasSuffix(endpoint, "/v3") {
		return endpoint
	}
	return endpoint + "/v3"
}

func domain(name string) string {
	if name == "" {
		return "Default"
	}
	return name
}

// text returns the value of a name if it is a string, or a boolean as it is written.
func text(from map[string]any, name string) string {
	switch value := from[name].(type) {
	case string:
		return value
	case bool:
		return fmt.Sprint(value)
	default:
		return ""
	}
}

// Choose returns the vimConnectionInfo that an operation is to use: the one of the request, or else the default VIM. Each entry
// is checked; what is wrong is an *[InvalidRequest].
func (r *VimRegistry) Choose(ctx context.Context, requested []VimConnectionInfo) ([]VimConnectionInfo, error) {
	if len(requested) > 0 {
		return requested, r.check(ctx, requested)
	}
	vims, err := r.store.Vims(ctx)
	if err != nil {
		return nil, err
	}
	// Who sees several projects does not get the VIM of another one by chance.
	caller := access.Of(ctx)
	i := slices.IndexFunc(vims, func(vim *Vim) bool { return vim.IsDefault && (caller == nil || vim.TenantID == caller.Project) })
	if i < 0 {
		return nil, &InvalidRequest{"/vimConnectionInfo", "no VIM is given and no default VIM is registered"}
	}
	return []VimConnectionInfo{{
		ID:      uuid.NewSHA1(vims[i].ID, []byte("vimConnectionInfo")).String(),
		VimID:   vims[i].ID.String(),
		VimType: vimTypeKeystone,
	}}, nil
}

// check refuses connections of a request that cannot be used.
func (r *VimRegistry) check(ctx context.Context, requested []VimConnectionInfo) error {
	access, err := r.Access(ctx, requested)
	if err != nil || requested[0].VimID != "" { // that was checked when it was registered
		return err
	}
	const facts = "/vimConnectionInfo/0/interfaceInfo/"
	return access.checkTrust(facts+"endpoint", facts+"skipCertificateVerification")
}

// Access returns the access to the VIM of the first entry, which is the one that holds a VNF's resources.
func (r *VimRegistry) Access(ctx context.Context, connections []VimConnectionInfo) (VimAccess, error) {
	if len(connections) == 0 {
		return VimAccess{}, &InvalidRequest{"/vimConnectionInfo", "must not be empty"}
	}
	connection := connections[0]
	vimType := strings.ToUpper(connection.VimType)
	if vimType != strings.ToUpper(vimTypeOpenStack) && !strings.HasPrefix(vimType, "ETSINFV.OPENSTACK_KEYSTONE.V_") {
		return VimAccess{}, &InvalidRequest{"/vimConnectionInfo/0/vimType",
			fmt.Sprintf("%q is not supported; use %q", connection.VimType, vimTypeKeystone)}
	}
	if connection.VimID == "" {
		return inlineAccess(connection)
	}
	return r.registeredAccess(ctx, connection)
}

func (r *VimRegistry) registeredAccess(ctx context.Context, connection VimConnectionInfo) (VimAccess, error) {
	unknown := &InvalidRequest{"/vimConnectionInfo/0/vimId", "VimConnection id is not found: " + connection.VimID}
	id, err := uuid.Parse(connection.VimID)
	if err != nil {
		return VimAccess{}, unknown
	}
	vim, err := r.store.Vim(ctx, id)
	if isNotFound(err) {
		return VimAccess{}, unknown
	}
	if err != nil {
		return VimAccess{}, err
	}
	if vim.Type != vimTypeOpenStack {
		return VimAccess{}, &InvalidRequest{"/vimConnectionInfo/0/vimId", fmt.Sprintf("VIM %s is of type %s, and VNFs are made in an %s",
			vim.ID, vim.Type, vimTypeOpenStack)}
	}
	access, err := accessOf(vim)
	if err != nil {
		return VimAccess{}, err
	}
	access.Region = text(connection.AccessInfo, "region")
	if access.Region != "" && !slices.Contains(vim.Regions, access.Region) {
		return VimAccess{}, &InvalidRequest{"/vimConnectionInfo/0/accessInfo/region",
			"Region not found for the VimConnection: " + connection.VimID}
	}
	return access, nil
}

// tryInline logs in to a VIM that is not registered, so that nobody has tried its credentials yet. Were they wrong, and known only
// after something may have been made there, nobody could clean up.
func (r *VimRegistry) tryInline(ctx context.Context, connection VimConnectionInfo) error {
	if connection.VimID != "" {
		return nil
	}
	access, err := inlineAccess(connection)
	if err != nil {
		return err
	}
	regions, err := r.driver.Regions(ctx, access)
	if err != nil {
		return err
	}
	if access.Region != "" && !slices.Contains(regions, access.Region) {
		return &InvalidRequest{"/vimConnectionInfo/0/accessInfo/region", fmt.Sprintf("the VIM at %s has no region %q", access.AuthURL, access.Region)}
	}
	return nil
}

// inlineAccess reads the access from the connection itself, SOL003 4.4.1.6: nothing is looked up in the registry.
func inlineAccess(connection VimConnectionInfo) (VimAccess, error) {
	authorities, err := certificates("/vimConnectionInfo/0/interfaceInfo/trustedCertificates", connection.InterfaceInfo["trustedCertificates"])
	access := VimAccess{
		VimID:         connection.ID,
		AuthURL:       identityV3(text(connection.InterfaceInfo, "endpoint")),
		Region:        text(connection.AccessInfo, "region"),
		Username:      text(connection.AccessInfo, "username"),
		Password:      Secret(text(connection.AccessInfo, "password")),
		Project:       text(connection.AccessInfo, "project"),
		ProjectDomain: domain(text(connection.AccessInfo, "projectDomain")),
		UserDomain:    domain(text(connection.AccessInfo, "userDomain")),
		SkipVerify:    strings.EqualFold(text(connection.InterfaceInfo, "skipCertificateVerification"), "true"),
		Authorities:   authorities,
		NoAuthorities: err,
	}
	for _, required := range []struct{ attribute, value string }{
		{"interfaceInfo/endpoint", access.AuthURL},
		{"accessInfo/username", access.Username},
		{"accessInfo/password", string(access.Password)},
		{"accessInfo/project", access.Project},
	} {
		if required.value == "" {
			return VimAccess{}, &InvalidRequest{"/vimConnectionInfo/0/" + required.attribute, "must be given when there is no vimId"}
		}
	}
	return access, checkEndpoint("/vimConnectionInfo/0/interfaceInfo/endpoint", access.AuthURL)
}
