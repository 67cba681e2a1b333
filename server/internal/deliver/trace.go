package deliver

import (
	"context"

	"go.opentelemetry.io/otel/attribute"
	"go.opentelemetry.io/otel/codes"
	"go.opentelemetry.io/otel/trace"
	"go.opentelemetry.io/otel/trace/noop"

	"github.com/avatarstudio/avatarstudio/server/internal/store"
	"github.com/avatarstudio/avatarstudio/server/internal/studio"
	"github.com/avatarstudio/avatarstudio/server/internal/telemetry/tracing"
	"github.com/avatarstudio/avatarstudio/server/sender"
)

// traceAttempt starts the span of an attempt in the trace of the request that created the subject. If that
// request was not sampled, the span records nothing. endAttempt ends the span.
func (d *Deliverer) traceAttempt(ctx context.Context, next store.Delivery) (context.Context, trace.Span) {
	if d.Tracer == nil || next.TraceParent == "" {
		return ctx, noop.Span{}
	}
	return d.Tracer.Start(tracing.ContextWithParent(ctx, next.TraceParent), "deliver", trace.WithSpanKind(trace.SpanKindClient),
		trace.WithAttributes(
			attribute.String("studio.subject", next.Event.SubjectID), attribute.String("studio.event", next.Event.ID),
			attribute.Int64("studio.sequence", next.Event.Sequence), attribute.Int("studio.try", next.Tries+1),
		))
}

// endAttempt records the state of the event after an attempt in its span and ends the span.
func endAttempt(span trace.Span, outcome studio.EventState, sent sender.Attempt) {
	if !span.IsRecording() {
		return
	}
	span.SetAttributes(attribute.String("studio.outcome", string(outcome)))
	if sent.Status != 0 {
		span.SetAttributes(attribute.Int("http.response.status_code", sent.Status))
	}
	if sent.Failure != "" {
		span.SetAttributes(attribute.String("error.type", string(sent.Failure)))
		span.SetStatus(codes.Error, "")
	}
	span.End()
}
