package lcm

import (
	"context"
	"time"
)

// Observer is told of what becomes of operations, for metrics and traces. Its methods may be called concurrently.
type Observer interface {
	// Entered tells that an operation has entered its state. Of all processes only the one that has made it so is told.
	Entered(operation *Operation)
	// RunBegins tells that a run of an operation begins to work. It goes on with the context returned, and end is called after it, with
	// an error if nothing could be recorded any more: [ErrSuperseded] if its lease was lost.
	RunBegins(ctx context.Context, run *Run) (working context.Context, end func(err error))
	// StepBegins tells that a run begins to work at a step, or goes on with it. It goes on with the context returned, and end is called after
	// it.
	StepBegins(ctx context.Context, operation *Operation, step string) (working context.Context, end func(StepEnd))
}

// StepEnd is how the work of one run at a step has ended.
type StepEnd struct {
	Over bool          // whether the step is done or has failed; else a later run goes on with it
	Took time.Duration // since the first run has begun it
	Err  error         // why it has failed
}

// unobserved is the observer where nobody wants to know.
type unobserved struct{}

// Entered implements [Observer].
func (unobserved) Entered(*Operation) {}

// RunBegins implements [Observer].
func (unobserved) RunBegins(ctx context.Context, _ *Run) (context.Context, func(error)) {
	return ctx, func(error) {}
}

// StepBegins implements [Observer].
func (unobserved) StepBegins(ctx context.Context, _ *Operation, _ string) (context.Context, func(StepEnd)) {
	return ctx, func(StepEnd) {}
}
