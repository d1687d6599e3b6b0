package grant

import (
	"fmt"
	"time"

	"vnfm/api/peer"
	"vnfm/lcm"
)

// Options are the command-line options that say where the NFVO is.
type Options struct {
	URL         string `env:"VNFM_GRANT_URL" placeholder:"URL" help:"NFVO that grants operations: the complete address of its grants, such as https://nfvo/grant/v1/grants. Default: none, operations need no grant."`
	peer.Access `embed:"" envprefix:"VNFM_GRANT_"`
	Timeout     time.Duration `default:"20s" env:"VNFM_GRANT_TIMEOUT" help:"Time in which the NFVO has to answer one call. Default: 20s."`
}

// Source returns a [Client] of the NFVO that the options name, nil if they name none. Errors are sentences with the name of the option.
func (o *Options) Source() (lcm.GrantSource, error) {
	if o.URL == "" {
		if alone := o.Given("--grant-"); alone != "" {
			return nil, fmt.Errorf("%s goes with --grant-url (VNFM_GRANT_URL) only", alone)
		}
		return nil, nil
	}
	if o.Timeout <= 0 || o.Timeout > 45*time.Second {
		return nil, fmt.Errorf("--grant-timeout: %s is not more than 0 and at most 45s, within which a step of an operation has to end", o.Timeout)
	}
	grants, client, login, err := o.Client("--grant-", o.URL, o.Timeout)
	if err != nil {
		return nil, err
	}
	return &Client{grants: grants, timeout: o.Timeout, http: client, login: login}, nil
}
