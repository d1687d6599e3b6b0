package telemetry

import (
	"context"
	"errors"

	"go.opentelemetry.io/otel/attribute"
	"go.opentelemetry.io/otel/trace"

	"vnfm/lcm"
)

var _ lcm.Observer = (*Telemetry)(nil)

// Entered implements [lcm.Observer].
func (t *Telemetry) Entered(operation *lcm.Operation) {
	t.entered.WithLabelValues(string(operation.Type), string(operation.State)).Inc()
	if operation.State.Transient() {
		return
	}
	took := operation.StateEnteredAt.Sub(operation.StartedAt) // both by the clock of the database
	t.operations.WithLabelValues(string(operation.Type), string(operation.State)).Observe(took.Seconds())
}

// RunBegins implements [lcm.Observer].
func (t *Telemetry) RunBegins(ctx context.Context, run *lcm.Run) (context.Context, func(error)) {
	t.runs.Inc()
	operation := run.Operation
	ctx, span := t.tracer.Start(withParent(ctx, operation.Origin.TraceParent), "operation "+string(operation.Type), trace.WithAttributes(
		attribute.String("vnfm.vnf_lcm_op_occ_id", operation.ID.String()),
		attribute.String("vnfm.vnf_instance_id", operation.VnfInstanceID.String()),
		attribute.Int64("vnfm.run", run.Number)))
	return ctx, func(err error) {
		t.runs.Dec()
		if errors.Is(err, lcm.ErrSuperseded) {
			t.leasesLost.Inc()
		}
		span.SetAttributes(attribute.String("vnfm.operation_state", string(operation.State)))
		endSpan(span, outcome(err))
	}
}

// StepBegins implements [lcm.Observer].
func (t *Telemetry) StepBegins(ctx context.Context, operation *lcm.Operation, step string) (context.Context, func(lcm.StepEnd)) {
	ctx, span := t.tracer.Start(ctx, "step "+step)
	return ctx, func(end lcm.StepEnd) {
		result := outcomeOK
		if end.Err != nil {
			result = outcomeFailed
		}
		if end.Over {
			t.steps.WithLabelValues(string(operation.Type), step, result).Observe(end.Took.Seconds())
		}
		span.SetAttributes(attribute.Bool("vnfm.step_over", end.Over))
		endSpan(span, result)
	}
}
