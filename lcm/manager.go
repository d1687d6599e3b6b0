package lcm

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"

	"github.com/google/uuid"

	"vnfm/api/access"
	"vnfm/mgmtdriver"
	"vnfm/vnfpkg"
)

// PackageSource gives operations the VNF packages.
type PackageSource interface {
	Package(ctx context.Context, id uuid.UUID) (*vnfpkg.Package, error)
	// OpenCSAR opens the package's archive; Close must be called.
	OpenCSAR(ctx context.Context, id uuid.UUID) (*vnfpkg.StoredCSAR, error)
	// PackageOfVnfd returns the package with that VNFD; [vnfpkg.ErrNotFound] if there is none.
	PackageOfVnfd(ctx context.Context, vnfdID string) (*vnfpkg.Package, error)
	// Obtain sees to it that the package of a VNFD is there, from an NFVO if need be: [vnfpkg.ErrNotFound] or *[vnfpkg.Unobtainable].
	Obtain(ctx context.Context, vnfdID string) error
}

// Manager is the VNF lifecycle management interface, SOL003 clause 5: it checks requests and records operations, which an
// [Engine] carries out.
type Manager struct {
	instances  InstanceStore
	operations OperationStore
	packages   PackageSource
	planner    *planner
	hooks      *hooks
	granted    bool // whether an NFVO grants operations
	observer   Observer
}

// NewManager returns a manager that plans deployments with driver, and lets the management drivers check requests.
func NewManager(
	instances InstanceStore, operations OperationStore, packages PackageSource, vims *VimRegistry, driver InfraDriver, drivers mgmtdriver.Drivers,
) *Manager {
	return &Manager{
		instances:  instances,
		operations: operations,
		packages:   packages,
		planner:    &planner{packages: packages, vims: vims, driver: driver},
		hooks:      &hooks{packages: packages, drivers: drivers, infra: driver, vims: vims, log: slog.Default()},
		observer:   unobserved{},
	}
}

// ExpectGrants says that an NFVO grants operations, so that a request may leave open what the grant can say: the VIM and the networks.
func (m *Manager) ExpectGrants() { m.granted = true }

// Observe lets an observer know of the operations that clients start, and take elsewhere.
func (m *Manager) Observe(observer Observer) { m.observer = observer }

// CreateInstance makes a VNF instance identifier, SOL003 5.4.2.3.1, having fetched the package from the NFVO if it has to.
// *[Unprocessable] if no package of the VNFD is onboarded and enabled, *[vnfpkg.Unobtainable] if it may be there later.
func (m *Manager) CreateInstance(ctx context.Context, request CreateRequest) (*VnfInstance, error) {
	id := uuid.New()
	instance := &VnfInstance{
		ID:                 id,
		Name:               request.Name,
		Description:        request.Description,
		VnfdID:             request.VnfdID,
		InstantiationState: NotInstantiated,
		Metadata:           request.Metadata,
	}
	if instance.Name == "" {
		instance.Name = defaultName(id)
	}
	err := m.instances.CreateInstance(ctx, instance)
	var unknown *Unprocessable
	if errors.As(err, &unknown) {
		if err := m.obtain(ctx, request.VnfdID, unknown); err != nil {
			return nil, err
		}
		err = m.instances.CreateInstance(ctx, instance)
	}
	if err != nil {
		return nil, err
	}
	return instance, nil
}

// obtain sees to it that the package of a VNFD is there; unknown is the error if nobody has it.
func (m *Manager) obtain(ctx context.Context, vnfdID string, unknown error) error {
	err := m.packages.Obtain(ctx, vnfdID)
	var unobtainable *vnfpkg.Unobtainable
	switch {
	case errors.Is(err, vnfpkg.ErrNotFound):
		return unknown
	case errors.As(err, &unobtainable) && !unobtainable.Temporary:
		return &Unprocessable{Attribute: "/vnfdId", Detail: unobtainable.Detail}
	}
	return err
}

// defaultName is the name of an instance to which nobody has given one.
func defaultName(id uuid.UUID) string { return "vnf-" + id.String() }

// Instance returns one VNF instance.
func (m *Manager) Instance(ctx context.Context, id uuid.UUID) (*VnfInstance, error) {
	return m.instances.Instance(ctx, id)
}

// Instances returns a page of VNF instances, and whether more follow.
func (m *Manager) Instances(ctx context.Context, page Page) ([]*VnfInstance, bool, error) {
	return m.instances.Instances(ctx, page)
}

// CountInstances returns how many VNF instances there are in each state.
func (m *Manager) CountInstances(ctx context.Context) (map[InstantiationState]int, error) {
	return m.instances.CountInstances(ctx)
}

// DeleteInstance removes a VNF instance identifier, SOL003 5.4.3.3.5.
func (m *Manager) DeleteInstance(ctx context.Context, id uuid.UUID) error {
	return m.instances.DeleteInstance(ctx, id)
}

// Operation returns one operation occurrence with its steps.
func (m *Manager) Operation(ctx context.Context, id uuid.UUID) (*Operation, error) {
	return m.operations.Operation(ctx, id)
}

// Operations returns a page of operation occurrences, and whether more follow.
func (m *Manager) Operations(ctx context.Context, page Page) ([]*Operation, bool, error) {
	return m.operations.Operations(ctx, page)
}

// NodeLogs returns what the jobs of an operation have written last on its nodes; nothing if it has had none.
func (m *Manager) NodeLogs(ctx context.Context, id uuid.UUID) ([]NodeLog, error) {
	return m.operations.NodeLogs(ctx, id)
}

// CountOperations returns how many operation occurrences there are in each state that is not final.
func (m *Manager) CountOperations(ctx context.Context) (map[OperationState]int, error) {
	return m.operations.CountOperations(ctx)
}

// Retry lets a failed operation go on with the step that failed, SOL003 5.4.14.
func (m *Manager) Retry(ctx context.Context, id uuid.UUID) (*Operation, error) {
	return m.decide(ctx, id, EventRetry)
}

// Rollback undoes the steps of a failed operation, SOL003 5.4.15. *[Conflict] if the operation cannot be undone.
func (m *Manager) Rollback(ctx context.Context, id uuid.UUID) (*Operation, error) {
	return m.decide(ctx, id, EventRollback)
}

// decide takes an operation in FAILED_TEMP where a client wants it.
func (m *Manager) decide(ctx context.Context, id uuid.UUID, event Event) (*Operation, error) {
	operation, err := m.operations.ChangeOperation(ctx, id, func(operation *Operation) error {
		next, err := operation.State.Next(event)
		if err != nil {
			return err
		}
		if event == EventRollback && !operation.CanRollBack() {
			return &Conflict{fmt.Sprintf("this %s operation cannot be rolled back", operation.Type)}
		}
		operation.State = next
		return nil
	})
	return m.entered(operation, err)
}

// entered tells of an operation that a client has taken to another state, unless that has failed.
func (m *Manager) entered(operation *Operation, err error) (*Operation, error) {
	if err != nil {
		return nil, err
	}
	m.observer.Entered(operation)
	return operation, nil
}

// start records an operation of an instance. The state that the request was checked against has to be that of the moment the operation
// begins.
func (m *Manager) start(ctx context.Context, instance *VnfInstance, kind OperationType, params json.RawMessage) (*Operation, error) {
	return m.startIf(ctx, instance, kind, params, Precondition{State: instance.InstantiationState})
}

func (m *Manager) startIf(ctx context.Context, instance *VnfInstance, kind OperationType, params json.RawMessage,
	required Precondition) (*Operation, error) {
	masked, err := maskJSON(params)
	if err != nil {
		return nil, err
	}
	operation := &Operation{
		ID:            uuid.New(),
		State:         StateStarting,
		VnfInstanceID: instance.ID,
		Type:          kind,
		Params:        masked,
		Origin:        originOf(ctx),
	}
	if kind == OpModifyInfo {
		operation.State = StateProcessing // nothing is to be granted, SOL003 5.4.3.3.4
	}
	if err := m.hooks.check(access.Within(ctx, instance.ProjectID), instance, operation, params); err != nil {
		return nil, err
	}
	return m.entered(operation, m.operations.StartOperation(ctx, operation, params, required))
}

func maskJSON(params json.RawMessage) (json.RawMessage, error) {
	var value any
	if err := json.Unmarshal(params, &value); err != nil {
		return nil, &InvalidRequest{Detail: "the body is not JSON: " + err.Error()}
	}
	return json.Marshal(Mask(value))
}

// decode reads the parameters of an operation.
func decode[T any](params json.RawMessage) (*T, error) {
	request := new(T)
	if err := json.Unmarshal(params, request); err != nil {
		return nil, &InvalidRequest{Detail: "the body does not fit the operation: " + err.Error()}
	}
	return request, nil
}
