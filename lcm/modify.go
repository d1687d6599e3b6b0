package lcm

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"

	"github.com/google/uuid"

	"vnfm/api/access"
	"vnfm/vnfpkg"
)

// ModifyRequest is VnfInfoModificationRequest (SOL003 5.5.2.12), a JSON merge patch of a VNF instance.
type ModifyRequest struct {
	Name                       nullable         `json:"vnfInstanceName"`
	Description                nullable         `json:"vnfInstanceDescription"`
	VnfdID                     string           `json:"vnfdId"`
	VnfPkgID                   string           `json:"vnfPkgId"` // another way to name the VNFD
	Metadata                   map[string]any   `json:"metadata"`
	Extensions                 map[string]any   `json:"extensions"`
	VnfConfigurableProperties  map[string]any   `json:"vnfConfigurableProperties"`
	VimConnectionInfo          []map[string]any `json:"vimConnectionInfo"` // added, or merged with the entry of the same id
	VimConnectionInfoDeleteIDs []string         `json:"vimConnectionInfoDeleteIds"`
}

// nullable is a text in a merge patch: absent, null, or a value.
type nullable struct {
	present bool
	value   string // "" for null
}

// UnmarshalJSON implements [json.Unmarshaler].
func (n *nullable) UnmarshalJSON(encoded []byte) error {
	n.present = true
	return json.Unmarshal(encoded, &n.value)
}

// Modify starts to change what is known of a VNF instance, SOL003 5.4.3.3.4. If versions is not nil, the instance must have one
// of them, else *[PreconditionFailed].
func (m *Manager) Modify(ctx context.Context, id uuid.UUID, params json.RawMessage, versions []int64) (*Operation, error) {
	request, err := decode[ModifyRequest](params)
	if err != nil {
		return nil, err
	}
	instance, err := m.instances.Instance(ctx, id)
	if err != nil {
		return nil, err
	}
	ctx = access.Within(ctx, instance.ProjectID)
	if _, err := m.planner.otherVnfd(ctx, instance, request); err != nil {
		return nil, err
	}
	if err := m.planner.checkConnections(ctx, instance, request); err != nil {
		return nil, err
	}
	return m.startIf(ctx, instance, OpModifyInfo, params, Precondition{instance.InstantiationState, versions})
}

// checkConnections refuses connections that cannot be used. Those of an instantiation that was given up are not shown, but new
// credentials may be what it takes to clean up after it.
func (p *planner) checkConnections(ctx context.Context, instance *VnfInstance, request *ModifyRequest) error {
	switch {
	case request.VimConnectionInfo == nil && request.VimConnectionInfoDeleteIDs == nil:
		return nil
	case instance.InstantiationState != Instantiated && instance.Deployed:
		return nil
	case instance.InstantiationState != Instantiated:
		return &InvalidRequest{"/vimConnectionInfo", "the VNF instance has nothing in a VIM"}
	}
	connections, err := mergeConnections(instance.VimConnectionInfo, request)
	if err == nil {
		err = p.vims.check(ctx, connections)
	}
	return err
}

// vnfdFacts are what an instance says of its VNFD.
type vnfdFacts struct {
	VnfPkgID        uuid.UUID `json:"vnfPkgId"`
	VnfdID          string    `json:"vnfdId"`
	Provider        string    `json:"vnfProvider"`
	ProductName     string    `json:"vnfProductName"`
	SoftwareVersion string    `json:"vnfSoftwareVersion"`
	VnfdVersion     string    `json:"vnfdVersion"`
}

// otherVnfd returns what the instance is to say of the VNFD that a request names; nil if it names none.
func (p *planner) otherVnfd(ctx context.Context, instance *VnfInstance, request *ModifyRequest) (*vnfdFacts, error) {
	attribute, name := "/vnfdId", request.VnfdID
	var pkg *vnfpkg.Package
	var err error
	switch {
	case request.VnfdID != "":
		pkg, err = p.packages.PackageOfVnfd(ctx, request.VnfdID)
	case request.VnfPkgID != "":
		attribute, name = "/vnfPkgId", request.VnfPkgID
		err = vnfpkg.ErrNotFound
		if id, parseErr := uuid.Parse(name); parseErr == nil {
			pkg, err = p.packages.Package(ctx, id)
		}
	default:
		return nil, nil
	}
	if err != nil && !errors.Is(err, vnfpkg.ErrNotFound) {
		return nil, fmt.Errorf("find VNF package of %s: %w", name, err)
	}
	if err != nil || pkg.OnboardingState != vnfpkg.Onboarded || pkg.OperationalState != vnfpkg.Enabled {
		return nil, &Unprocessable{attribute, fmt.Sprintf("no VNF package of %s is onboarded and enabled", name)}
	}
	if info := instance.InstantiatedVnfInfo; info != nil && pkg.Description.Vnfd.Flavours[info.FlavourID] == nil {
		return nil, &Unprocessable{attribute, fmt.Sprintf("the VNFD lacks the flavour %s of the VNF", info.FlavourID)}
	}
	d := pkg.Description
	return &vnfdFacts{pkg.ID, d.VnfdID, d.Provider, d.ProductName, d.SoftwareVersion, d.DescriptorVersion}, nil
}

// mergeConnections adds, changes and removes connections. The first one holds the resources of the VNF and stays.
func mergeConnections(connections []VimConnectionInfo, request *ModifyRequest) ([]VimConnectionInfo, error) {
	merged := slices.Clone(connections)
	find := func(id any) int {
		return slices.IndexFunc(merged, func(c VimConnectionInfo) bool { return c.ID == id })
	}
	for i, id := range request.VimConnectionInfoDeleteIDs {
		at := find(id)
		if at <= 0 {
			return nil, &InvalidRequest{fmt.Sprintf("/vimConnectionInfoDeleteIds/%d", i),
				fmt.Sprintf("%q is not a connection beside that which holds the resources of the VNF", id)}
		}
		merged = slices.Delete(merged, at, at+1)
	}
	for i, patch := range request.VimConnectionInfo {
		at := find(patch["id"])
		if at < 0 {
			at = len(merged)
			merged = append(merged, VimConnectionInfo{})
		}
		changed, err := patched(merged[at], patch)
		if err != nil {
			return nil, fmt.Errorf("merge VIM connection %d: %w", i, err)
		}
		if changed.VimType == "" {
			return nil, &InvalidRequest{fmt.Sprintf("/vimConnectionInfo/%d/vimType", i), "must be given for a new connection"}
		}
		merged[at] = changed
	}
	return merged, nil
}

func patched(connection VimConnectionInfo, patch map[string]any) (VimConnectionInfo, error) {
	var former map[string]any
	var changed VimConnectionInfo
	encoded, err := json.Marshal(connection)
	if err == nil {
		err = json.Unmarshal(encoded, &former)
	}
	if err == nil {
		encoded, err = json.Marshal(mergePatch(former, patch))
	}
	if err == nil {
		err = json.Unmarshal(encoded, &changed)
	}
	return changed, err
}

// modification is how MODIFY_INFO is carried out: all that it changes is changed at its end.
func modification(planner *planner) plan {
	return plan{
		prepare: []Step{{Name: stepPlan, Do: func(ctx context.Context, run *Run) (Result, error) {
			request, err := decode[ModifyRequest](run.Request)
			if err != nil {
				return Result{}, err
			}
			vnfd, err := planner.otherVnfd(ctx, run.Instance, request)
			return Done(vnfd), err
		}}},
		finish: finishModification,
	}
}

func finishModification(run *Run) error {
	request, err := decode[ModifyRequest](run.Request)
	if err != nil {
		return err
	}
	var vnfd *vnfdFacts
	if err := run.Output(stepPlan, &vnfd); err != nil {
		return err
	}
	instance, changes := run.Instance, map[string]any{}
	setText(&instance.Name, request.Name, defaultName(instance.ID), "vnfInstanceName", changes)
	setText(&instance.Description, request.Description, "", "vnfInstanceDescription", changes)
	for _, attribute := range []struct {
		name   string
		target *map[string]any
		patch  map[string]any
	}{
		{"metadata", &instance.Metadata, request.Metadata},
		{"extensions", &instance.Extensions, request.Extensions},
		{"vnfConfigurableProperties", &instance.VnfConfigurableProperties, request.VnfConfigurableProperties},
	} {
		if attribute.patch != nil {
			*attribute.target = mergePatch(*attribute.target, attribute.patch)
			changes[attribute.name] = Mask(attribute.patch)
		}
	}
	if vnfd != nil {
		instance.VnfPkgID, instance.VnfdID = vnfd.VnfPkgID, vnfd.VnfdID
		instance.Provider, instance.ProductName = vnfd.Provider, vnfd.ProductName
		instance.SoftwareVersion, instance.VnfdVersion = vnfd.SoftwareVersion, vnfd.VnfdVersion
		for name, value := range map[string]string{
			"vnfdId": vnfd.VnfdID, "vnfProvider": vnfd.Provider, "vnfProductName": vnfd.ProductName,
			"vnfSoftwareVersion": vnfd.SoftwareVersion, "vnfdVersion": vnfd.VnfdVersion,
		} {
			changes[name] = value
		}
	}
	if err := modifyConnections(run, request, changes); err != nil {
		return err
	}
	run.Operation.ChangedInfo = changes
	return nil
}

// setText changes a text of the instance; null brings back what it is by itself.
func setText(target *string, patch nullable, byItself, name string, changes map[string]any) {
	if !patch.present {
		return
	}
	value := patch.value
	if value == "" {
		value = byItself
	}
	if *target != value {
		*target, changes[name] = value, value
	}
}

func modifyConnections(run *Run, request *ModifyRequest, changes map[string]any) error {
	if request.VimConnectionInfo == nil && request.VimConnectionInfoDeleteIDs == nil {
		return nil
	}
	if run.Deployment == nil {
		return &InvalidRequest{"/vimConnectionInfo", "the VNF instance has nothing in a VIM"}
	}
	connections, err := mergeConnections(run.Deployment.VimConnectionInfo, request)
	if err != nil {
		return err
	}
	run.Deployment.VimConnectionInfo = connections
	masked := MaskConnections(connections)
	if run.Instance.InstantiationState == Instantiated {
		run.Instance.VimConnectionInfo = masked
	}
	if request.VimConnectionInfo != nil {
		changes["vimConnectionInfo"] = slices.DeleteFunc(slices.Clone(masked), func(c VimConnectionInfo) bool {
			return !slices.ContainsFunc(request.VimConnectionInfo, func(patch map[string]any) bool { return patch["id"] == c.ID })
		})
	}
	if request.VimConnectionInfoDeleteIDs != nil {
		changes["vimConnectionInfoDeleteIds"] = request.VimConnectionInfoDeleteIDs
	}
	return nil
}
