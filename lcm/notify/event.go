package notify

import (
	"time"

	"github.com/google/uuid"

	"vnfm/lcm"
	"vnfm/vnfpkg"
)

// Event is something that subscribers may want to hear of.
type Event struct {
	Interface Interface
	Subject   uuid.UUID // the VNF instance or VNF package; its events arrive in their order
	Body      Body

	// What filters look at besides the body.
	product          product
	instanceName     string
	operationalState vnfpkg.OperationalState
	usageState       vnfpkg.UsageState
}

type product struct{ vnfdID, provider, name, softwareVersion, vnfdVersion string }

// Status tells whether an operation has begun or come to a result.
type Status string

// The notification statuses (SOL003 5.5.2.17).
const (
	StatusStart  Status = "START"
	StatusResult Status = "RESULT"
)

// ChangeType tells what has happened to a package (SOL003 10.5.4.4).
type ChangeType string

// The types of change.
const (
	OpStateChange ChangeType = "OP_STATE_CHANGE"
	PkgDelete     ChangeType = "PKG_DELETE"
)

// Body is a notification of any type, without what differs between its receivers: subscriptionId and _links (SOL003 5.5.2.17 to 5.5.2.19,
// 10.5.2.5, 10.5.2.6).
type Body struct {
	ID               uuid.UUID `json:"id"` // the same for all subscriptions
	NotificationType Type      `json:"notificationType"`
	TimeStamp        time.Time `json:"timeStamp"`

	VnfInstanceID         string             `json:"vnfInstanceId,omitempty"`
	VnfLcmOpOccID         string             `json:"vnfLcmOpOccId,omitempty"`
	NotificationStatus    Status             `json:"notificationStatus,omitempty"`
	OperationState        lcm.OperationState `json:"operationState,omitempty"`
	Operation             lcm.OperationType  `json:"operation,omitempty"`
	IsAutomaticInvocation *bool              `json:"isAutomaticInvocation,omitempty"`
	lcm.ResourceChanges
	ChangedInfo            map[string]any           `json:"changedInfo,omitempty"`
	ChangedExtConnectivity []lcm.ExtVirtualLinkInfo `json:"changedExtConnectivity,omitempty"`
	Error                  *lcm.Problem             `json:"error,omitempty"`

	VnfPkgID         string                  `json:"vnfPkgId,omitempty"`
	VnfdID           string                  `json:"vnfdId,omitempty"`
	ChangeType       ChangeType              `json:"changeType,omitempty"`
	OperationalState vnfpkg.OperationalState `json:"operationalState,omitempty"`
}

func newEvent(of Interface, subject uuid.UUID, kind Type) *Event {
	return &Event{Interface: of, Subject: subject, Body: Body{ID: uuid.New(), NotificationType: kind, TimeStamp: time.Now().UTC()}}
}

func ofInstance(instance *lcm.VnfInstance, kind Type) *Event {
	event := newEvent(Vnflcm, instance.ID, kind)
	event.Body.VnfInstanceID = instance.ID.String()
	event.instanceName = instance.Name
	event.product = product{instance.VnfdID, instance.Provider, instance.ProductName, instance.SoftwareVersion, instance.VnfdVersion}
	return event
}

// OfIdentifier is the event that an instance's identifier was made or deleted.
func OfIdentifier(kind Type, instance *lcm.VnfInstance) *Event { return ofInstance(instance, kind) }

// OfOperation is the event that an operation has entered its state (SOL003 5.5.2.17).
func OfOperation(operation *lcm.Operation, instance *lcm.VnfInstance) *Event {
	event := ofInstance(instance, OperationOccurrence)
	body := &event.Body
	body.VnfLcmOpOccID = operation.ID.String()
	body.OperationState, body.Operation, body.IsAutomaticInvocation = operation.State, operation.Type, &operation.IsAutomaticInvocation
	body.NotificationStatus = StatusStart
	if operation.State.Transient() {
		return event
	}
	body.NotificationStatus = StatusResult
	if operation.ResourceChanges != nil {
		body.ResourceChanges = *operation.ResourceChanges
	}
	body.ChangedInfo, body.ChangedExtConnectivity = operation.ChangedInfo, operation.ChangedExtConnectivity
	if operation.State != lcm.StateCompleted {
		body.Error = operation.Error
	}
	return event
}

// OfPackage is the event that a package, which has been onboarded, was changed from before to after; nil if that is none. after is nil
// if the package was deleted.
func OfPackage(before, after *vnfpkg.Package) *Event {
	switch {
	case after == nil:
		if before.OnboardingState != vnfpkg.Onboarded {
			return nil
		}
		event := ofPackage(before, PackageChange)
		event.Body.ChangeType = PkgDelete
		return event
	case after.OnboardingState != vnfpkg.Onboarded:
		return nil
	case before.OnboardingState != vnfpkg.Onboarded:
		return ofPackage(after, PackageOnboarding)
	case before.OperationalState != after.OperationalState:
		event := ofPackage(after, PackageChange)
		event.Body.ChangeType, event.Body.OperationalState = OpStateChange, after.OperationalState
		return event
	}
	return nil
}

func ofPackage(pkg *vnfpkg.Package, kind Type) *Event {
	event := newEvent(Vnfpkgm, pkg.ID, kind)
	d := pkg.Description
	event.Body.VnfPkgID, event.Body.VnfdID = pkg.ID.String(), d.VnfdID
	event.product = product{d.VnfdID, d.Provider, d.ProductName, d.SoftwareVersion, d.DescriptorVersion}
	event.operationalState, event.usageState = pkg.OperationalState, pkg.UsageState
	return event
}
