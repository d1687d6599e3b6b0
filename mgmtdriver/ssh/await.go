package ssh

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"time"

	"vnfm/mgmtdriver"
)

// awaiting is the state of a step that waits for hosts.
type awaiting struct {
	Since time.Time `json:"since"`
}

// Await is a step that waits until all hosts let one log in, for as long as limit: servers that were just made still start. It fails with
// a [mgmtdriver.Failure] that tells of each host why not.
func Await(ctx context.Context, call *mgmtdriver.Call, hosts []*Host, limit time.Duration) (mgmtdriver.Result, error) {
	err := Each(ctx, hosts, 0, func(ctx context.Context, _ int, host *Host) error { return host.Ping(ctx) })
	var missing *HostErrors
	if !errors.As(err, &missing) || errors.As(err, new(*mgmtdriver.Failure)) || !errors.As(err, new(*mgmtdriver.Unavailable)) {
		return mgmtdriver.Done(nil), err
	}
	var state awaiting
	if json.Unmarshal(call.State, &state) != nil || state.Since.IsZero() {
		state.Since = time.Now()
	}
	if time.Since(state.Since) > limit {
		return mgmtdriver.Result{}, &mgmtdriver.Failure{Title: "Host is out of reach", Status: http.StatusGatewayTimeout,
			Detail: fmt.Sprintf("no login for %v: %v", limit, err)}
	}
	return mgmtdriver.Wait(fmt.Sprintf("%d of %d hosts answer; %v", len(hosts)-len(missing.Errs), len(hosts), err)).With(state), nil
}
