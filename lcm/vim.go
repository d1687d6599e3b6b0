package lcm

import (
	"time"

	"github.com/google/uuid"
)

// Vim is a VIM of the registry, as the /v1.0/vims interface shows it but with its credentials in clear.
type Vim struct {
	ID          uuid.UUID
	TenantID    string
	Name        string
	Description string
	Type        string // openstack, or kubernetes
	AuthURL     string
	VimProject  map[string]any
	AuthCred    map[string]any // secrets in clear: sealed at rest, masked by the API
	IsDefault   bool
	Extra       map[string]any
	Regions     []string  // placement_attr.regions
	Status      string    // ACTIVE once its credentials were accepted
	InstanceID  uuid.UUID // the VNF instance that it is; the zero UUID if it is none
	CreatedAt   time.Time
	UpdatedAt   time.Time // zero until the first change
}
