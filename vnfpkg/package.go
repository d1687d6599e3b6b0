package vnfpkg

import (
	"errors"
	"fmt"
	"time"

	"github.com/google/uuid"
)

// OnboardingState is the progress of a package's content (SOL005 9.5.4.3).
type OnboardingState string

// The onboarding states.
const (
	Created    OnboardingState = "CREATED"
	Uploading  OnboardingState = "UPLOADING"
	Processing OnboardingState = "PROCESSING"
	Onboarded  OnboardingState = "ONBOARDED"
)

// OperationalState tells whether a package may be used for new instances (SOL003 10.5.4.4).
type OperationalState string

// The operational states.
const (
	Enabled  OperationalState = "ENABLED"
	Disabled OperationalState = "DISABLED"
)

// UsageState tells whether instances of a package exist (SOL003 10.5.4.5).
type UsageState string

// The usage states.
const (
	InUse    UsageState = "IN_USE"
	NotInUse UsageState = "NOT_IN_USE"
)

// Package is a VNF package of the registry, VnfPkgInfo (SOL003 10.5.2.2).
type Package struct {
	ID               uuid.UUID
	ProjectID        string // that it belongs to
	OnboardingState  OnboardingState
	OperationalState OperationalState
	UsageState       UsageState // computed: whether a VNF instance of the package exists
	UserDefinedData  map[string]any
	Description      *Description // nil unless ONBOARDED
	Content          *Content     // nil in CREATED and UPLOADING
	Failure          *Failure     // why the last onboarding ended in CREATED again
	CreatedAt        time.Time
	UpdatedAt        time.Time
}

// Content is the size and the digest of an uploaded CSAR.
type Content struct {
	SizeBytes int64
	SHA512    string // lower-case hexadecimal
}

// Failure is the reason why a package was not onboarded, onboardingFailureDetails of later versions of SOL005.
type Failure struct {
	Title  string `json:"title,omitempty"`
	Status int    `json:"status"`
	Detail string `json:"detail"` // with the file and the line
}

// ErrNotFound is returned for a package, or a file in a package, that does not exist.
var ErrNotFound = errors.New("not found")

// ErrTooLarge is returned for content that is larger than the configured limit.
var ErrTooLarge = errors.New("content is larger than allowed")

// Conflict says that the state of a package does not allow what was asked.
type Conflict struct{ Detail string }

func (e *Conflict) Error() string { return e.Detail }

// DuplicateVnfd says that another onboarded package has the same VNFD id.
type DuplicateVnfd struct{ VnfdID string }

func (e *DuplicateVnfd) Error() string {
	return fmt.Sprintf("another onboarded VNF package has the VNFD id %s", e.VnfdID)
}
