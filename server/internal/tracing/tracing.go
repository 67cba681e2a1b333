// Package tracing follows work in traces of OpenTelemetry: a request, the rendering that it asked for, and
// the attempts to deliver what came of that. It links the interface of OpenTelemetry; package otlp exports
// the spans.
//
// The names of spans are few and known beforehand. No attribute has a URL, an email, a token, a secret
// or anything else that a body or a query says.
package tracing

import (
	"context"
	"net/http"
	"strings"

	"go.opentelemetry.io/otel/attribute"
	"go.opentelemetry.io/otel/codes"
	"go.opentelemetry.io/otel/propagation"
	"go.opentelemetry.io/otel/trace"
)

// header has the trace context of W3C in requests, in the form in which net/http keeps it.
const header = "Traceparent"

// Parent returns the span of ctx as the value of a traceparent header (W3C Trace Context). It is "" when
// ctx has none, or one that is not sampled.
func Parent(ctx context.Context) string {
	span := trace.SpanContextFromContext(ctx)
	if !span.IsSampled() {
		return ""
	}
	return "00-" + span.TraceID().String() + "-" + span.SpanID().String() + "-01"
}

// Under returns ctx with the span that Parent returned as the parent of others.
func Under(ctx context.Context, parent string) context.Context {
	return propagation.TraceContext{}.Extract(ctx, propagation.MapCarrier{"traceparent": parent})
}

// Handler gives each request a span.
//
// The trace is always a new one, so callers decide neither what is sampled nor what their spans are taken
// for. A traceparent that a caller sends becomes a link. Its tracestate, which may be long, is ignored.
type Handler struct {
	Next   http.Handler
	Tracer trace.Tracer
}

func (h *Handler) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	options := []trace.SpanStartOption{trace.WithNewRoot(), trace.WithSpanKind(trace.SpanKindServer)}
	if given := r.Header[header]; len(given) == 1 {
		caller := trace.SpanContextFromContext(Under(r.Context(), given[0]))
		if caller.IsValid() {
			options = append(options, trace.WithLinks(trace.Link{SpanContext: caller}))
		}
	}
	ctx, span := h.Tracer.Start(r.Context(), "request", options...)
	defer span.End()
	h.Next.ServeHTTP(w, r.WithContext(ctx))
}

// Answered says what has become of the request of ctx. The operation names its span, unless it is "".
func Answered(ctx context.Context, operation string, status int, requestID string) {
	span := trace.SpanFromContext(ctx)
	if !span.IsRecording() {
		return
	}
	if operation != "" {
		span.SetName(operation)
	}
	span.SetAttributes(
		attribute.Int("http.response.status_code", status),
		attribute.String("studio.request_id", strings.Clone(requestID)), // which may be part of a large header
	)
	if status >= http.StatusInternalServerError {
		span.SetStatus(codes.Error, "")
	}
}
