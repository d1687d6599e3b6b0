package ssh

import (
	"context"
	"errors"
	"slices"
	"strings"

	"golang.org/x/sync/errgroup"

	"vnfm/mgmtdriver"
)

// DefaultParallel is how many hosts are worked on at once if nothing else is said.
const DefaultParallel = 32

// Each calls a function for all hosts, at most so many at once (0 = [DefaultParallel]), and waits for all of them, also if some fail. The error
// is *[HostErrors].
func Each(ctx context.Context, hosts []*Host, parallel int, do func(ctx context.Context, i int, host *Host) error) error {
	if parallel == 0 {
		parallel = DefaultParallel
	}
	errs := make([]error, len(hosts))
	var group errgroup.Group
	group.SetLimit(parallel)
	for i, host := range hosts {
		group.Go(func() error {
			if errs[i] = ctx.Err(); errs[i] == nil {
				errs[i] = do(ctx, i, host)
			}
			return nil
		})
	}
	_ = group.Wait()
	all := &HostErrors{}
	for i, err := range errs {
		if err != nil {
			all.Hosts, all.Errs = append(all.Hosts, hosts[i].String()), append(all.Errs, err)
		}
	}
	if len(all.Errs) == 0 {
		return nil
	}
	return all
}

// HostErrors are the errors of several hosts. If one of them is a [mgmtdriver.Failure], so is the whole; it is *[mgmtdriver.Unavailable] if all of
// them are.
type HostErrors struct {
	Hosts []string // with their addresses
	Errs  []error  // each of the host at the same place
}

func (e *HostErrors) Error() string {
	lines := make([]string, len(e.Errs))
	for i, err := range e.Errs {
		lines[i] = err.Error()
		if !strings.HasPrefix(lines[i], e.Hosts[i]) {
			lines[i] = e.Hosts[i] + ": " + lines[i]
		}
	}
	return strings.Join(lines, "\n")
}

// As makes one answer for the engine of what it would otherwise take from the first host alone.
func (e *HostErrors) As(target any) bool {
	switch target := target.(type) {
	case **mgmtdriver.Failure:
		for _, err := range e.Errs {
			var failure *mgmtdriver.Failure
			if errors.As(err, &failure) {
				*target = &mgmtdriver.Failure{Title: failure.Title, Status: failure.Status, Detail: e.Error()}
				return true
			}
		}
	case **mgmtdriver.Unavailable:
		reasons := make([]error, len(e.Errs))
		for i, err := range e.Errs {
			var unavailable *mgmtdriver.Unavailable
			if !errors.As(err, &unavailable) {
				return false
			}
			reasons[i] = unavailable.Err
		}
		if len(e.Errs) > 1 {
			*target = &mgmtdriver.Unavailable{Peer: strings.Join(e.Hosts, ", "), Err: e}
			return true
		}
		*target = &mgmtdriver.Unavailable{Peer: e.Hosts[0], Err: reasons[0]}
		return true
	}
	return false
}

// Is looks for an error of any host.
func (e *HostErrors) Is(target error) bool {
	return slices.ContainsFunc(e.Errs, func(err error) bool { return errors.Is(err, target) })
}
