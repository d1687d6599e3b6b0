package ssh

import (
	"context"
	"fmt"
	"net/http"
	"strings"
	"time"

	"vnfm/mgmtdriver"
)

// DriveWithin is a step that does one job: it drives it and waits with its last line. A job that takes longer than the limit is abandoned. what
// says what is done, for people. The errors are those of [Host.Drive], and *[mgmtdriver.Failure] if the job takes too long.
func (h *Host) DriveWithin(ctx context.Context, call *mgmtdriver.Call, job Job, what string, limit time.Duration) (mgmtdriver.Result, error) {
	progress, err := h.Drive(ctx, job)
	if err != nil || progress.Phase == JobEnded {
		return mgmtdriver.Done(nil), err
	}
	since, last := call.Since(), h.LastLine(progress)
	if time.Since(since) <= limit {
		return mgmtdriver.Wait(strings.TrimSuffix(what+": "+last, ": ")).With(since), nil
	}
	if err := h.Abandon(ctx, job); err != nil {
		return mgmtdriver.Result{}, err
	}
	return mgmtdriver.Result{}, &mgmtdriver.Failure{Title: "Command on a host takes too long", Status: http.StatusGatewayTimeout, Detail: fmt.Sprintf(
		"%s: %s has taken longer than %s; the last it said was: %s", h, what, limit, last)}
}

// Abandon stops a job and removes what the host keeps of it, so that it can be started anew.
func (h *Host) Abandon(ctx context.Context, job Job) error {
	if err := h.Cancel(ctx, job, 0); err != nil {
		return err
	}
	return h.Clean(ctx, job)
}
