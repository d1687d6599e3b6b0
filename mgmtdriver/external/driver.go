package external

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"log/slog"
	"maps"
	"path/filepath"
	"slices"
	"time"

	"vnfm/mgmtdriver"
)

// Config are the options of the drivers; the zero value of each means its default.
type Config struct {
	StepTime  time.Duration // in which a step has to be answered; default 40 s
	CheckTime time.Duration // in which a check, or the description, has to be answered; default 10 s
	Logger    *slog.Logger  // default: the default logger
}

// Start asks each program, given by the name of its driver, which hooks it has, and returns the drivers. A program that cannot be
// started or does not keep the protocol is an error that names it.
func Start(ctx context.Context, programs map[string]string, config Config) (mgmtdriver.Drivers, error) {
	config.StepTime = cmp.Or(config.StepTime, 40*time.Second)
	config.CheckTime = cmp.Or(config.CheckTime, 10*time.Second)
	if config.Logger == nil {
		config.Logger = slog.Default()
	}
	drivers := mgmtdriver.Drivers{}
	for _, name := range slices.Sorted(maps.Keys(programs)) {
		switch path := programs[name]; {
		case name == "" || name == mgmtdriver.NoopName:
			return nil, fmt.Errorf("management driver %q: the name is taken", name)
		case !filepath.IsAbs(path):
			return nil, fmt.Errorf("management driver %s: %q is not an absolute path", name, path)
		}
		d := &driver{program: program{name: name, path: programs[name]}, config: config}
		if err := d.describe(ctx); err != nil {
			return nil, fmt.Errorf("management driver %s (%s): %w", name, d.program.path, err)
		}
		drivers[name] = d
	}
	return drivers, nil
}

// driver is a program that is a [mgmtdriver.Driver].
type driver struct {
	program     program
	config      Config
	description description
}

func (d *driver) describe(ctx context.Context) error {
	answer, err := call[description](ctx, &d.program, d.config.CheckTime, d.config.Logger.With("driver", d.program.name), &request{Call: callDescribe})
	if err != nil {
		return err
	}
	d.description = *answer
	return answer.check()
}

// Check implements [mgmtdriver.Driver].
func (d *driver) Check(ctx context.Context, asked *mgmtdriver.Call) error {
	if !d.description.Check {
		return nil
	}
	answer, err := d.ask(ctx, asked, &request{Call: callCheck}, d.config.CheckTime)
	if err != nil {
		return err
	}
	switch answer.Result {
	case resultDone:
		return nil
	case resultInvalid:
		return &mgmtdriver.Invalid{Attribute: answer.Attribute, Detail: answer.Detail}
	case resultFail, resultUnavailable:
		return answer.failure(d.program.name)
	}
	return d.program.failure("answered the check with the result %q", answer.Result)
}

// Steps implements [mgmtdriver.Driver].
func (d *driver) Steps(hook mgmtdriver.Hook) []mgmtdriver.Step {
	var steps []mgmtdriver.Step
	for _, name := range d.description.Hooks[hook] {
		steps = append(steps, mgmtdriver.Step{Name: name, Do: func(ctx context.Context, asked *mgmtdriver.Call) (mgmtdriver.Result, error) {
			answer, err := d.ask(ctx, asked, &request{Call: callStep, Step: name}, d.config.StepTime)
			if err != nil {
				return mgmtdriver.Result{}, err
			}
			return d.result(answer)
		}})
	}
	return steps
}

// longestWait is the longest time that a program may ask to be left alone.
const longestWait = 24 * time.Hour

func (d *driver) result(answer *answer) (mgmtdriver.Result, error) {
	switch answer.Result {
	case resultDone:
		if answer.Output == nil {
			return mgmtdriver.Done(nil), nil
		}
		return mgmtdriver.Done(answer.Output), nil
	case resultWait:
		if answer.AfterSeconds < 0 || answer.AfterSeconds > longestWait.Seconds() {
			return mgmtdriver.Result{}, d.program.failure("asked to wait for %g seconds", answer.AfterSeconds)
		}
		result := mgmtdriver.WaitFor(time.Duration(answer.AfterSeconds*float64(time.Second)), answer.Detail)
		if answer.State != nil {
			result = result.With(answer.State)
		}
		return result, nil
	case resultFail, resultUnavailable:
		return mgmtdriver.Result{}, answer.failure(d.program.name)
	}
	return mgmtdriver.Result{}, d.program.failure("answered the step with the result %q", answer.Result)
}

// failure is that of an answer that says so.
func (a *answer) failure(driver string) error {
	if a.Result == resultUnavailable {
		return &mgmtdriver.Unavailable{Peer: cmp.Or(a.Peer, "what driver "+driver+" calls"), Err: errors.New(a.Detail)}
	}
	status := a.Status
	if status < 400 || status > 599 {
		status = 0
	}
	return &mgmtdriver.Failure{Title: a.Title, Status: status, Detail: cmp.Or(a.Detail, "driver "+driver+" failed and does not say why")}
}

// ask calls the program with what the server knows.
func (d *driver) ask(ctx context.Context, asked *mgmtdriver.Call, r *request, limit time.Duration) (*answer, error) {
	dir, remove, err := d.packageDir(ctx, asked.Package)
	if err != nil {
		return nil, err
	}
	defer remove()
	r.fill(asked)
	r.PackageDir = dir
	return call[answer](ctx, &d.program, limit, asked.Log, r)
}
