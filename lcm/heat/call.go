package heat

import (
	"context"
	"errors"
	"net/http"
	"net/url"
	"strings"
	"time"

	"github.com/gophercloud/gophercloud/v2"

	"vnfm/lcm"
)

// call is one call of a service's API.
type call struct {
	method string
	path   []string // below the service's root
	query  url.Values
	body   any
	ok     []int
}

// do calls a service and reads its answer, if into is not nil. A session that the service does not accept any more is not used again.
func (d *Driver) do(ctx context.Context, access lcm.VimAccess, of service, c call, into any) error {
	client, err := d.sessions.client(ctx, access, of)
	if err != nil {
		return err
	}
	address := client.ServiceURL(c.path...)
	if len(c.query) > 0 {
		address += "?" + c.query.Encode()
	}
	if err := lcm.Held(ctx); err != nil {
		return err
	}
	began := time.Now()
	response, err := client.Request(ctx, c.method, address, &gophercloud.RequestOpts{JSONBody: c.body, JSONResponse: into, OkCodes: c.ok})
	if response != nil && into == nil {
		response.Body.Close()
	}
	d.config.Logger.DebugContext(ctx, "call of a VIM", "service", of.name, "method", c.method, "path", strings.Join(c.path, "/"),
		"duration", time.Since(began), "error", err != nil)
	if err == nil {
		return nil
	}
	var renewal *gophercloud.ErrUnableToReauthenticate
	if errors.As(err, &renewal) {
		err = loginError(access, renewal.ErrReauth)
	} else {
		err = callError(of.peer(access), err)
	}
	var rejected *lcm.Rejected
	if errors.As(err, &rejected) && rejected.Status == http.StatusUnauthorized {
		d.sessions.forget(access)
	}
	return err
}

// refusedWith reports whether the VIM refused with that status.
func refusedWith(err error, status int) bool {
	var rejected *lcm.Rejected
	return errors.As(err, &rejected) && rejected.Status == status
}
