package mgmtdriver

import "context"

// Vim is a VIM that a VNF is itself, such as a Kubernetes cluster. It holds secrets.
type Vim struct {
	Name          string
	Type          string         // kubernetes
	URL           string         // of its API
	BearerToken   string         // what lets one in
	CACertificate string         // PEM of who has signed the certificate of URL; "" = one that everybody knows
	Extra         map[string]any // what else there is to tell; attributes with the names of secrets are masked where they are shown
}

// Vims registers the VIM that the VNF instance of a call is: it is then in the registry of VIMs and in the vimConnectionInfo of the
// instance. An instance has one at the most. All methods may be called again.
type Vims interface {
	// Taken reports whether a VIM that is not the instance's has that name.
	Taken(ctx context.Context, name string) (bool, error)
	// Register registers the VIM, or brings what is registered up to date. *[Failure] if the name is taken.
	Register(ctx context.Context, vim Vim) error
	// Remove removes it; no error if there is none. *[Failure] if another VNF instance uses it.
	Remove(ctx context.Context) error
}
