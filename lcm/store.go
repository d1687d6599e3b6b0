package lcm

import (
	"context"
	"encoding/json"
	"time"

	"github.com/google/uuid"

	"vnfm/mgmtdriver"
)

// InstanceStore keeps VNF instances. Its methods return *[NotFound] for an unknown id.
type InstanceStore interface {
	// CreateInstance stores a new instance of the package with its VNFD id, which must be ONBOARDED and ENABLED at that moment, else
	// *[Unprocessable]. What is known from the package, the times and Version are set.
	CreateInstance(ctx context.Context, instance *VnfInstance) error
	Instance(ctx context.Context, id uuid.UUID) (*VnfInstance, error)
	// Instances returns a page, unless it is to be whole without the attributes that SOL003 leaves out of lists by default
	// (vnfConfigurableProperties, vimConnectionInfo, instantiatedVnfInfo, metadata, extensions), and whether more follow.
	Instances(ctx context.Context, page Page) ([]*VnfInstance, bool, error)
	// CountInstances returns how many there are in each state.
	CountInstances(ctx context.Context) (map[InstantiationState]int, error)
	// DeleteInstance removes an instance that is NOT_INSTANTIATED and has no operation under way, and the VIM that it may be, which nobody else may
	// use; else *[Conflict].
	DeleteInstance(ctx context.Context, id uuid.UUID) error
}

// OperationStore keeps operation occurrences. Its methods return *[NotFound] for an unknown id.
type OperationStore interface {
	// StartOperation stores a new operation with its unmasked request and asks for its first run, in one transaction. It
	// returns *[Conflict] if the instance is not in the state required, or has an operation that is not in a final state, and
	// *[PreconditionFailed] if it has not the version required.
	StartOperation(ctx context.Context, operation *Operation, request json.RawMessage, required Precondition) error
	// ChangeOperation changes the state and the cancellation of an operation by a function inside a transaction; an error of the function leaves it
	// as it was. If the operation then is in a transient state, a run of it is asked for in the same transaction.
	ChangeOperation(ctx context.Context, id uuid.UUID, change func(*Operation) error) (*Operation, error)
	// EndOperation changes an operation that no run works on, and with it the instance and the deployment, by a function that may call
	// others. An error of the function leaves all as it was; *[Conflict] if the operation has changed meanwhile.
	EndOperation(ctx context.Context, id uuid.UUID, change func(*Run) error) (*Operation, error)
	// Operation returns one operation with its steps, but without their outputs.
	Operation(ctx context.Context, id uuid.UUID) (*Operation, error)
	// Operations returns a page, unless it is to be whole without the attributes that SOL003 leaves out of lists by default (operationParams, error,
	// resourceChanges), and whether more follow.
	Operations(ctx context.Context, page Page) ([]*Operation, bool, error)
	// NodeLogs returns what the jobs of an operation have written last on its nodes, in the order of their names.
	NodeLogs(ctx context.Context, id uuid.UUID) ([]NodeLog, error)
	// CountOperations returns how many there are in each state that is not final.
	CountOperations(ctx context.Context) (map[OperationState]int, error)
}

// Precondition is what a VNF instance must be like at the moment when an operation begins.
type Precondition struct {
	State    InstantiationState
	Versions []int64 // nil = any
}

// RunStore is what the engine works on. Its methods return [ErrSuperseded] when a newer run exists.
type RunStore interface {
	// AcquireRun makes the caller the only one who may write the operation for as long as the lease lasts and until a newer run
	// begins. [ErrNothingToDo] if the operation is not in a transient state or somebody else's lease has not run out.
	AcquireRun(ctx context.Context, operationID uuid.UUID, lease time.Duration) (*Run, error)
	// RenewRun extends the lease, counted from now, and stores what the run waits for. It and CommitRun tell the run of a cancellation
	// with [Run.HearCancel].
	RenewRun(ctx context.Context, run *Run, lease time.Duration) error
	// CommitRun writes what the run has changed, in one transaction.
	CommitRun(ctx context.Context, run *Run, commit Commit) error
	ImageStore
	HostKeyStore
	OwnVimStore
	NodeLogStore
}

// NodeLogStore keeps what jobs have written last on the nodes of an operation, sealed at rest. It is forgotten some weeks after the end of the operation.
type NodeLogStore interface {
	NodeLogs(ctx context.Context, id uuid.UUID) ([]NodeLog, error)
	// KeepNodeLogs replaces what is kept of some nodes. [ErrSuperseded] if a newer run exists.
	KeepNodeLogs(ctx context.Context, run *Run, logs []NodeLog) error
}

// HostKeyStore keeps the SSH host keys by which management drivers know the hosts of VNF instances. When an operation is over, those of
// servers that the instance does not have any more are forgotten, and all when it has no resources.
type HostKeyStore interface {
	// HostKey returns a key, "" if the host is not known.
	HostKey(ctx context.Context, instanceID uuid.UUID, host mgmtdriver.Host) (string, error)
	// KeepHostKey keeps a key for the run's instance, unless the host is known already; it returns the one that is kept then.
	// [ErrSuperseded] if a newer run exists.
	KeepHostKey(ctx context.Context, run *Run, host mgmtdriver.Host, key string) (string, error)
}

// OwnVimStore keeps the VIMs that VNF instances are themselves, one for an instance at the most. Its methods return [ErrSuperseded]
// when a newer run exists.
type OwnVimStore interface {
	// PutOwnVim stores the VIM that the run's instance is in place of the one that is stored. Its ID is that of the stored one, and else
	// kept; its tenant is the instance's project, or that of the VIM which holds its resources. *[Conflict] if the tenant has another one of that name.
	PutOwnVim(ctx context.Context, run *Run, vim *Vim) error
	// RemoveOwnVim removes the VIM that the run's instance is; no error if there is none. *[Conflict] if another instance uses it.
	RemoveOwnVim(ctx context.Context, run *Run) error
}

// ImageStore keeps which software images of packages are in the VIMs, and which instances use them. An image is shared by the
// instances of its package in a VIM. Its id in Glance is chosen here and never used again once the image is condemned, so that a run that
// wakes up after it was replaced cannot touch what its successor makes. Methods with a run return [ErrSuperseded] when a newer one exists.
type ImageStore interface {
	// UseImage makes the run's instance a user of an image. If the image is not ready and nobody alive makes it, the run has to.
	UseImage(ctx context.Context, run *Run, key ImageKey) (ImageUse, error)
	// ImageReady says that the image which the run makes is complete.
	ImageReady(ctx context.Context, run *Run, id uuid.UUID) error
	// CondemnImage says that an image is not there any more, or never will be; the next use makes another one.
	CondemnImage(ctx context.Context, run *Run, id uuid.UUID) error
	// ReleaseImages ends the use of all images by the run's instance but those to keep, and condemns those without another user. It
	// returns all condemned images of the VIM.
	ReleaseImages(ctx context.Context, run *Run, vim string, keep []uuid.UUID) ([]CondemnedImage, error)
	// ForgetImage ends what is known of a condemned image that is not in the VIM any more.
	ForgetImage(ctx context.Context, id uuid.UUID) error
}

// ImageKey identifies a software image of a package in a VIM.
type ImageKey struct {
	Vim      string
	VnfPkgID uuid.UUID
	Digest   string // of what the VNFD says of it
}

// ImageUse is an image as one finds it that wants to use it.
type ImageUse struct {
	ID    uuid.UUID
	Ready bool
	Busy  bool // somebody else is just making it
}

// CondemnedImage is an image that is to be removed from its VIM.
type CondemnedImage struct {
	ID  uuid.UUID
	Own bool // condemned by an operation of the same instance
}

// Commit says which parts of a run are to be written.
type Commit struct {
	Operation  bool         // state, error and resource changes of run.Operation
	Instance   bool         // run.Instance, with its Version counted up
	Deployment bool         // run.Deployment; nil removes it
	Steps      []StepRecord // inserted or replaced by name, in this order after those already there
	// Release, if not nil, ends the lease: the operation needs no other run before that much time has passed.
	Release *time.Duration
}

// VimStore keeps the registry of VIMs. Its methods return *[NotFound] for an unknown id. Credentials are sealed at rest.
type VimStore interface {
	// CreateVim stores a new VIM. *[Conflict] if the tenant has one of that name, or has a default VIM and this is to be one.
	CreateVim(ctx context.Context, vim *Vim) error
	Vim(ctx context.Context, id uuid.UUID) (*Vim, error)
	// Vims returns all VIMs in the order of creation.
	Vims(ctx context.Context) ([]*Vim, error)
	// VimPage returns VIMs without their credentials, and whether there are more.
	VimPage(ctx context.Context, page Page) ([]*Vim, bool, error)
	CountVims(ctx context.Context) (int, error)
	// UpdateVim changes a VIM by a function inside a transaction; an error of the function leaves it as it was.
	UpdateVim(ctx context.Context, id uuid.UUID, change func(*Vim) error) (*Vim, error)
	// DeleteVim removes a VIM that no instance uses or is, else *[Conflict].
	DeleteVim(ctx context.Context, id uuid.UUID) error
	// CheckOwnVim answers *[Conflict] if another instance uses the VIM that an instance is.
	CheckOwnVim(ctx context.Context, instanceID uuid.UUID) error
}
