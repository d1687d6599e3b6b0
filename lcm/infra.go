package lcm

import (
	"context"
	"io"
	"maps"
	"slices"
	"time"

	"github.com/google/uuid"

	"vnfm/vnfpkg"
)

// VimAccess is all that is needed to log in to a VIM. It holds secrets: it is never logged nor stored unsealed.
type VimAccess struct {
	VimID         string // the id in the registry, or that which the request gives to a VIM of its own
	AuthURL       string // Keystone's v3 endpoint
	Region        string // "" = the only one
	Username      string
	Password      Secret
	Project       string
	ProjectDomain string // name
	UserDomain    string // name
	SkipVerify    bool   // do not check the server's certificate
	Authorities   string // PEM: those that the server's certificate has to be from, always over TLS; "" = those of the process
	// NoAuthorities is why what a stored VIM names as its authorities is none, so that those of the process are asked.
	NoAuthorities error
}

// Deployment is what an infrastructure driver has to remember of a VNF's resources. It holds secrets and is sealed at rest.
type Deployment struct {
	VimConnectionInfo []VimConnectionInfo `json:"vimConnectionInfo"`     // with secrets
	Vim               VimAccess           `json:"-"`                     // resolved anew for each run
	Request           *InstantiateRequest `json:"request"`               // what the VNF was made from, with secrets
	ScaleLevels       map[string]int      `json:"scaleLevels,omitempty"` // by aspect
	StackName         string              `json:"stackName"`
	StackID           string              `json:"stackId,omitempty"` // "" until the stack was created
	Template          string              `json:"template"`          // the top HOT
	Files             map[string]string   `json:"files,omitempty"`   // nested HOTs by the name that the top one uses
	Parameters        map[string]any      `json:"parameters,omitempty"`
	Assets            Assets              `json:"assets,omitzero"`
}

// Assets say which images, flavors and availability zones of a VIM a VNF is made from, where that is not left to the package and the
// VIM. They come from the NFVO's grant and from what was made in the VIM for the VNF.
type Assets struct {
	Images  map[string]string `json:"images,omitempty"`  // Glance ids by VDU or virtual storage
	Flavors map[string]string `json:"flavors,omitempty"` // Nova flavors' ids by VDU
	Zones   map[string]string `json:"zones,omitempty"`   // availability zones by VDU
	// Uploaded are the keys of those Images that the package contains and that were uploaded for the VNF.
	Uploaded []string `json:"uploaded,omitempty"`
}

// given are the assets without the images that were uploaded.
func (a Assets) given() Assets {
	a.Images = maps.Clone(a.Images)
	maps.DeleteFunc(a.Images, func(node, _ string) bool { return slices.Contains(a.Uploaded, node) })
	a.Uploaded = nil
	return a
}

// ImageSource is a software image of a package that is to be in a VIM.
type ImageSource struct {
	vnfpkg.Image
	ID    uuid.UUID                     // that Glance gives it
	Ready bool                          // it was complete before: its content need not be checked again
	Open  func() (io.ReadCloser, error) // its content; nil if the image is at a URL
}

// ImageState is how far an image is in a VIM.
type ImageState string

// The states of an image.
const (
	ImageComplete   ImageState = "COMPLETE"
	ImageInProgress ImageState = "IN_PROGRESS" // the VIM fetches it
	ImageUnusable   ImageState = "UNUSABLE"    // half of an image, or an id that was used before: it has to be made under another id
)

// PlanRequest is what an infrastructure driver plans a deployment from.
type PlanRequest struct {
	// CheckOnly asks whether the request fits the package and for nothing that takes long: code of the package does not run, and the
	// deployment may be incomplete.
	CheckOnly   bool
	Existing    *Existing // nil: the VNF is made from nothing
	InstanceID  uuid.UUID
	Package     *vnfpkg.CSAR
	Flavour     *vnfpkg.Flavour
	Request     *InstantiateRequest
	ScaleLevels map[string]int // by aspect
	Assets      Assets
}

// StackPhase is the progress of a deployment in its VIM.
type StackPhase string

// The phases.
const (
	StackAbsent     StackPhase = "ABSENT"
	StackInProgress StackPhase = "IN_PROGRESS"
	StackComplete   StackPhase = "COMPLETE"
	StackFailed     StackPhase = "FAILED"
)

// StackStatus is the state of a deployment in its VIM. Action is Heat's name of what was done last (CREATE, UPDATE, DELETE, …);
// Reason tells why it failed, with the resource that failed.
type StackStatus struct {
	ID     string
	Action string
	Phase  StackPhase
	Reason string
}

// Resource is a resource of a deployment, wherever in the tree of nested stacks it is.
type Resource struct {
	Name       string // the name in its template: the node template's name in the VNFD
	Type       string // Heat's type, e.g. OS::Nova::Server
	PhysicalID string
	StackID    string // the innermost stack that holds it
	StackName  string
	Parent     string // the resource of the parent stack that StackID is, "" in the top stack
	CreatedAt  time.Time
}

// InfraDriver makes, watches and removes the resources of a VNF in a VIM. Errors that may pass (no connection, 5xx) are
// *[Unavailable]; a VIM that refuses the request is *[Rejected].
type InfraDriver interface {
	// Plan computes the deployment of a VNF from its package, without calling the VIM. *[InvalidRequest] if the request does
	// not fit the package.
	Plan(ctx context.Context, request PlanRequest) (*Deployment, error)
	// Create starts to make the deployment, or adopts what an earlier call has started, and returns the stack's id.
	Create(ctx context.Context, deployment *Deployment) (string, error)
	// Update starts to bring the stack to the deployment, and returns when the VIM has begun.
	Update(ctx context.Context, deployment *Deployment) error
	// MarkUnhealthy makes the next update replace a resource, or remove it if its group shrinks. It is no error if there is none.
	MarkUnhealthy(ctx context.Context, deployment *Deployment, resource Resource, reason string) error
	// Status returns the state of the stack; StackAbsent if there is none.
	Status(ctx context.Context, deployment *Deployment) (StackStatus, error)
	// Resources lists all resources in the tree of stacks.
	Resources(ctx context.Context, deployment *Deployment) ([]Resource, error)
	// Attributes returns what the VIM tells of a resource, in the words of its API; nil if there is no such resource.
	Attributes(ctx context.Context, deployment *Deployment, resource Resource) (map[string]any, error)
	// Power starts to bring a server to a state, and reports whether it is there. *[Rejected] with status 404 if there is no such
	// server, *[Failure] if it is in a state from which it is neither started nor stopped.
	Power(ctx context.Context, deployment *Deployment, serverID string, to VnfState) (bool, error)
	// Delete starts to remove the stack. It is no error if there is none.
	Delete(ctx context.Context, deployment *Deployment) error
	// ProvideImage makes an image unless it is there, and returns when its content is in the VIM or the VIM fetches it. *[Rejected] if the
	// content is not what the VNFD says, or the VIM does not take it.
	ProvideImage(ctx context.Context, vim VimAccess, image ImageSource) (ImageState, error)
	// RemoveImage removes an image. It is no error if there is none.
	RemoveImage(ctx context.Context, vim VimAccess, id uuid.UUID) error
	// ChooseFlavors finds flavors of the VIM for those VDUs whose flavor neither the assets nor the templates of the package name, and
	// returns their ids by VDU. *[Rejected] if the VNF cannot get the flavor that it needs.
	ChooseFlavors(ctx context.Context, vim VimAccess, request PlanRequest) (map[string]string, error)
}

// VimDriver checks the access to a VIM. Wrong credentials are *[Rejected], no answer is *[Unavailable].
type VimDriver interface {
	// Regions logs in and returns the names of the VIM's regions.
	Regions(ctx context.Context, access VimAccess) ([]string, error)
}

// Rejected says that a VIM refused a request for a reason that will not pass by itself.
type Rejected struct {
	Peer   string // what was called
	Status int    // the HTTP status of the answer
	Detail string // the VIM's own words
}

func (e *Rejected) Error() string { return e.Peer + ": " + e.Detail }
