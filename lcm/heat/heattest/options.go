package heattest

import (
	"context"
	"log/slog"
	"net/netip"
	"time"
)

// Options say how the cloud looks at its start. The zero value is the cloud that the package comment describes: user nfv_user (password
// devstack) of project nfv in domain Default, networks net0, net1, net_mgmt and public, flavors m1.tiny to m1.large, images
// cirros-0.5.2-x86_64-disk and ubuntu, hosts compute01 to compute03 in zone nova.
type Options struct {
	// Account is who may log in; empty fields get the defaults above.
	Account Account
	// TokenLifetime is how long a token is valid; 0 is one hour.
	TokenLifetime time.Duration
	// Delays by resource type; nil is DefaultDelays, an empty map is no delay at all.
	Delays Delays
	// Networks, Flavors, Images and Hosts replace the predefined ones when not nil.
	Networks []Network
	Flavors  []Flavor
	Images   []Image
	Hosts    []string
	// KeyPairs are public keys in authorized_keys format by the name of the pair.
	KeyPairs map[string]string
	// InstanceQuota is the number of servers the project may have; 0 is no limit.
	InstanceQuota int
	// VMs makes servers reachable; nil leaves them entries in a table.
	VMs VMs
	// ImportMethods are Glance's; nil is glance-direct and web-download.
	ImportMethods []string
	// Logger receives one debug line per request and a warning per surprise; nil is silent.
	Logger *slog.Logger
}

// Account is the one user of the cloud and its one project.
type Account struct {
	User     string // default nfv_user
	Password string // default devstack
	Project  string // default nfv
	Domain   string // default Default; its id is the name in lower case
	Region   string // default RegionOne
	// Roles default to admin, member, reader and heat_stack_owner. Without admin the user neither sees the hosts of servers nor may make
	// flavors, volume types and QoS policies.
	Roles []string
	// UserID and ProjectID are 32 hexadecimal digits; made up when empty.
	UserID    string
	ProjectID string
}

// Network is a predefined network with one IPv4 subnet.
type Network struct {
	Name     string
	CIDR     netip.Prefix
	External bool // may give floating IPs
}

// Flavor is a predefined Nova flavor.
type Flavor struct {
	Name    string
	VCPUs   int
	RAMMiB  int
	DiskGiB int
	// ExtraSpecs may be nil.
	ExtraSpecs map[string]string
}

// Image is a predefined active Glance image.
type Image struct {
	Name    string
	Content []byte // may be nil: the image is then 1 KiB of zeros
}

// Delays are times by resource type such as OS::Nova::Server; the entry of the empty type holds for all others.
type Delays map[string]Delay

// Delay is how long one resource takes for an action; zero is "at once".
type Delay struct {
	Create, Update, Delete time.Duration
}

// DefaultDelays are long enough for a client to see every IN_PROGRESS state and short enough for a test.
func DefaultDelays() Delays {
	return Delays{
		"":                 {Create: 5 * time.Millisecond, Update: 5 * time.Millisecond, Delete: 5 * time.Millisecond},
		"OS::Nova::Server": {Create: 20 * time.Millisecond, Update: 10 * time.Millisecond, Delete: 10 * time.Millisecond},
	}
}

// Machine describes a server to the factory that makes it reachable.
type Machine struct {
	ID, Name  string            // Nova's
	Addresses []netip.Addr      // of its ports, in the order of its networks
	UserData  string            // as given to Nova, decoded
	PublicKey string            // of the key pair, in authorized_keys format; may be empty
	Metadata  map[string]string // the server's metadata
}

// VMs makes servers reachable. Its methods may be called at the same time.
type VMs interface {
	// Reserve keeps an address of this computer for the cloud until release is called. It fails when somebody else has it. It is called with
	// the cloud's lock held: it must be quick and not call the cloud.
	Reserve(ctx context.Context, addr netip.Addr) (release func(), err error)
	// Boot starts the machine before its server becomes ACTIVE; an error makes it go to ERROR.
	Boot(ctx context.Context, machine Machine) (VM, error)
}

// VM is a booted machine.
type VM interface {
	// Attach makes the machine reachable at a further address, Detach takes one away.
	Attach(ctx context.Context, addr netip.Addr) error
	Detach(ctx context.Context, addr netip.Addr) error
	// Close switches it off; connections are cut.
	Close() error
}
