package ssh

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"time"

	"vnfm/mgmtdriver"
)

// Await is a step that waits until all hosts let one log in, for as long as limit: servers that were just made still start. It fails with
// a [mgmtdriver.Failure] that tells of each host why not.
func Await(ctx context.Context, call *mgmtdriver.Call, hosts []*Host, limit time.Duration) (mgmtdriver.Result, error) {
	err := Each(ctx, hosts, 0, func(ctx context.Context, _ int, host *Host) error { return host.Ping(ctx) })
	var missing *HostErrors
	if !errors.As(err, &missing) || errors.As(err, new(*mgmtdriver.Failure)) || !errors.As(err, new(*mgmtdriver.Unavailable)) {
		return mgmtdriver.Done(nil), err
	}
	since := call.Since()
	if time.Since(since) > limit {
		return mgmtdriver.Result{}, &mgmtdriver.Failure{Title: "Host is out of reach", Status: http.StatusGatewayTimeout,
			Detail: fmt.Sprintf("no login for %v: %v", limit, err)}
	}
	return mgmtdriver.Wait(fmt.Sprintf("%d of %d hosts answer; %v", len(hosts)-len(missing.Errs), len(hosts), err)).With(since), nil
}
