package lcm

import (
	"encoding/json"
	"time"

	"github.com/google/uuid"
)

// OperationType is the kind of a lifecycle management operation (SOL003 5.5.4.6).
type OperationType string

// The operation types.
const (
	OpInstantiate   OperationType = "INSTANTIATE"
	OpScale         OperationType = "SCALE"
	OpScaleToLevel  OperationType = "SCALE_TO_LEVEL"
	OpChangeFlavour OperationType = "CHANGE_FLAVOUR"
	OpHeal          OperationType = "HEAL"
	OpOperate       OperationType = "OPERATE"
	OpChangeExtConn OperationType = "CHANGE_EXT_CONN"
	OpTerminate     OperationType = "TERMINATE"
	OpModifyInfo    OperationType = "MODIFY_INFO"
)

// OperationTypes are all of them.
func OperationTypes() []OperationType {
	return []OperationType{OpInstantiate, OpScale, OpScaleToLevel, OpChangeFlavour, OpHeal, OpOperate, OpChangeExtConn, OpTerminate, OpModifyInfo}
}

// Operation is a VNF lifecycle management operation occurrence, VnfLcmOpOcc (SOL003 5.5.2.13).
type Operation struct {
	ID                     uuid.UUID
	ProjectID              string // that of its VNF instance
	State                  OperationState
	StateEnteredAt         time.Time
	StartedAt              time.Time
	VnfInstanceID          uuid.UUID
	Type                   OperationType
	GrantID                string // "" without a grant
	GrantURI               string // where the NFVO has the grant
	IsAutomaticInvocation  bool
	CancelMode             CancelMode      // the cancellation that was asked for and has not taken effect; "" = none
	Params                 json.RawMessage // the request, secrets masked
	Error                  *Problem        // set in FAILED_TEMP and FAILED, and in ROLLED_BACK after a failure
	ResourceChanges        *ResourceChanges
	ChangedInfo            map[string]any       // what MODIFY_INFO has changed, VnfInfoModifications; secrets masked
	ChangedExtConnectivity []ExtVirtualLinkInfo // the external links that CHANGE_EXT_CONN has changed
	Steps                  []StepRecord         // in order; read with a single operation only
	Progress               *Progress            // nil if nothing is being done
	Origin                 Origin
}

// Progress is what an operation that is under way is doing. What it waits for is some seconds old.
type Progress struct {
	Step   string    `json:"step"`
	Since  time.Time `json:"since"`  // when the step was begun
	Detail string    `json:"detail"` // what the step waits for, for people
}

// CanRollBack reports whether what the operation has done can be undone: what was removed cannot be brought back.
func (o *Operation) CanRollBack() bool {
	switch o.Type {
	case OpInstantiate, OpChangeFlavour, OpOperate, OpChangeExtConn, OpModifyInfo:
		return true
	case OpScale:
		var request ScaleRequest
		return json.Unmarshal(o.Params, &request) == nil && request.Type == ScaleOut
	default:
		return false
	}
}

// Problem is the reason of a failed operation, ProblemDetails of SOL013 6.3.
type Problem struct {
	Title  string `json:"title,omitempty"`
	Status int    `json:"status"` // an HTTP status code
	Detail string `json:"detail"`
}

// ResourceChanges tells what an operation did to the resources (SOL003 5.5.2.13).
type ResourceChanges struct {
	AffectedVnfcs           []AffectedVnfc           `json:"affectedVnfcs,omitempty"`
	AffectedVirtualLinks    []AffectedVirtualLink    `json:"affectedVirtualLinks,omitempty"`
	AffectedVirtualStorages []AffectedVirtualStorage `json:"affectedVirtualStorages,omitempty"`
}

// ChangeType tells what happened to a resource (SOL003 5.5.3.12).
type ChangeType string

// The change types.
const (
	Added    ChangeType = "ADDED"
	Removed  ChangeType = "REMOVED"
	Modified ChangeType = "MODIFIED"
)

// AffectedVnfc is a VNFC that an operation changed (SOL003 5.5.3.12).
type AffectedVnfc struct {
	ID                        string         `json:"id"`
	VduID                     string         `json:"vduId"`
	ChangeType                ChangeType     `json:"changeType"`
	ComputeResource           ResourceHandle `json:"computeResource"`
	Metadata                  map[string]any `json:"metadata,omitempty"` // of the VNFC
	AffectedVnfcCpIDs         []string       `json:"affectedVnfcCpIds,omitempty"`
	AddedStorageResourceIDs   []string       `json:"addedStorageResourceIds,omitempty"`
	RemovedStorageResourceIDs []string       `json:"removedStorageResourceIds,omitempty"`
}

// AffectedVirtualLink is a network that an operation changed (SOL003 5.5.3.13). The standard's text and its schemas name the
// descriptor differently, so both names are given.
type AffectedVirtualLink struct {
	ID                   string         `json:"id"`
	VnfVirtualLinkDescID string         `json:"vnfVirtualLinkDescId"`
	VirtualLinkDescID    string         `json:"virtualLinkDescId"`
	ChangeType           ChangeType     `json:"changeType"`
	NetworkResource      ResourceHandle `json:"networkResource"`
}

// AffectedVirtualStorage is a volume that an operation changed (SOL003 5.5.3.14).
type AffectedVirtualStorage struct {
	ID                   string         `json:"id"`
	VirtualStorageDescID string         `json:"virtualStorageDescId"`
	ChangeType           ChangeType     `json:"changeType"`
	StorageResource      ResourceHandle `json:"storageResource"`
}

// StepState is the progress of one step.
type StepState string

// The step states. A step that was undone is back in StepPending.
const (
	StepPending StepState = "PENDING"
	StepRunning StepState = "RUNNING"
	StepDone    StepState = "DONE"
	StepFailed  StepState = "FAILED"
	StepUndoing StepState = "UNDOING"
)

// StepRecord is the stored progress of a step.
type StepRecord struct {
	Name       string
	State      StepState
	Detail     string          // what the step waits for, or why it failed
	Output     json.RawMessage // the step's result, which later steps read; may hold secrets, sealed at rest
	StartedAt  time.Time
	FinishedAt time.Time // zero until the step is done
}
