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

// do calls a service and reads its answer, if into is not nil.
func (d *Driver) do(ctx context.Context, access lcm.VimAccess, of service, c call, into any) error {
	return d.with(ctx, access, of, c.method, func(ctx context.Context, client *gophercloud.ServiceClient) error {
		address := client.ServiceURL(c.path...)
		if len(c.query) > 0 {
			address += "?" + c.query.Encode()
		}
		began := time.Now()
		response, err := client.Request(ctx, c.method, address, &gophercloud.RequestOpts{JSONBody: c.body, JSONResponse: into, OkCodes: c.ok})
		if response != nil && into == nil {
			response.Body.Close()
		}
		lcm.Logger(ctx, d.config.Logger).DebugContext(ctx, "call of a VIM", "service", of.name, "method", c.method, "path", strings.Join(c.path, "/"),
			"duration", time.Since(began), "error", err != nil)
		return err
	})
}

// with makes a call of a service within the time that a call has.
func (d *Driver) with(ctx context.Context, access lcm.VimAccess, of service, method string,
	call func(context.Context, *gophercloud.ServiceClient) error,
) error {
	client, err := d.sessions.client(ctx, access, of)
	if err != nil {
		return err
	}
	if err := lcm.Held(ctx); err != nil {
		return err
	}
	calling, cancel := context.WithTimeout(ctx, d.config.Timeout)
	defer cancel()
	calling, end := d.config.Observe(calling, of.name, method)
	err = d.failure(access, of, call(calling, client))
	end(err)
	return err
}

// failure says why a call of a service has failed. A session that is not accepted any more is not used again.
func (d *Driver) failure(access lcm.VimAccess, of service, err error) error {
	if err == nil {
		return nil
	}
	var renewal *gophercloud.ErrUnableToReauthenticate
	if errors.As(err, &renewal) {
		err = loginError(access, renewal.ErrReauth)
	} else {
		err = callError(of.peer(access), err)
	}
	if refusedWith(err, http.StatusUnauthorized) {
		d.sessions.forget(access)
	}
	return err
}

// refusedWith reports whether the VIM refused with that status.
func refusedWith(err error, status int) bool {
	var rejected *lcm.Rejected
	return errors.As(err, &rejected) && rejected.Status == status
}
