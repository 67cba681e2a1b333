package render

import (
	"context"

	"go.opentelemetry.io/otel/attribute"
	"go.opentelemetry.io/otel/codes"
	"go.opentelemetry.io/otel/trace"
	"go.opentelemetry.io/otel/trace/noop"

	"github.com/avatarstudio/avatarstudio/server/internal/studio"
	"github.com/avatarstudio/avatarstudio/server/internal/telemetry/tracing"
)

// Outcome is the state of a subject after a rendering.
type Outcome string

// The outcomes of renderings.
const (
	Succeeded Outcome = "succeeded"
	Retried   Outcome = "retried" // the rendering will be retried
	Failed    Outcome = "failed"
	Discarded Outcome = "discarded" // the subject was deleted, or another process has taken it over
)

// outcomeOf returns the outcome of a rendering. failure is its error and subject the subject after it.
func outcomeOf(failure error, subject studio.Subject) Outcome {
	switch {
	case failure == nil:
		return Succeeded
	case !subject.RenderAt.IsZero():
		return Retried
	default:
		return Failed
	}
}

// startSpan starts the span of a rendering in the trace of the request that created the subject. If that
// request was not sampled, the span records nothing. endSpan ends the span.
func (p *Pool) startSpan(ctx context.Context, subject studio.Subject) (context.Context, trace.Span) {
	if p.Tracer == nil || subject.TraceParent == "" {
		return ctx, noop.Span{}
	}
	return p.Tracer.Start(tracing.ContextWithParent(ctx, subject.TraceParent), "render", trace.WithAttributes(
		attribute.String("studio.subject", subject.ID), attribute.String("studio.kind", string(subject.Kind)),
		attribute.Int("studio.try", subject.RenderTries+1),
	))
}

// endSpan records the outcome of a rendering in its span and ends the span.
func endSpan(span trace.Span, outcome Outcome) {
	if !span.IsRecording() {
		return
	}
	span.SetAttributes(attribute.String("studio.outcome", string(outcome)))
	if outcome == Retried || outcome == Failed {
		span.SetStatus(codes.Error, "")
	}
	span.End()
}
