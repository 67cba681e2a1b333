// Package tracing makes OpenTelemetry spans for HTTP requests, and passes their trace context on to
// renderings and delivery attempts. It depends on the OpenTelemetry API only; package otlp exports the spans.
//
// Span names are a fixed set. No attribute contains a URL, an email, a token, a secret or any other data
// from the body or the query of a request.
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

// header is the request header of W3C Trace Context, in the canonical form of net/http.
const header = "Traceparent"

// Parent returns the span of ctx as the value of a traceparent header (W3C Trace Context). It returns "" if
// ctx has no span, or one that is not sampled.
func Parent(ctx context.Context) string {
	span := trace.SpanContextFromContext(ctx)
	if !span.IsSampled() {
		return ""
	}
	return "00-" + span.TraceID().String() + "-" + span.SpanID().String() + "-01"
}

// ContextWithParent returns a copy of ctx in which new spans are children of parent, a value of [Parent]. If
// parent is invalid, it returns ctx.
func ContextWithParent(ctx context.Context, parent string) context.Context {
	return propagation.TraceContext{}.Extract(ctx, propagation.MapCarrier{"traceparent": parent})
}

// Handler starts a span for each request.
//
// The span is the root of a new trace, so a caller can neither make the service sample a request nor add
// spans to a trace of its choice. The traceparent header of the caller becomes a link. Its tracestate header,
// which may be long, is ignored.
type Handler struct {
	Next   http.Handler
	Tracer trace.Tracer
}

func (h *Handler) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	options := []trace.SpanStartOption{trace.WithNewRoot(), trace.WithSpanKind(trace.SpanKindServer)}
	if values := r.Header[header]; len(values) == 1 {
		caller := trace.SpanContextFromContext(ContextWithParent(r.Context(), values[0]))
		if caller.IsValid() {
			options = append(options, trace.WithLinks(trace.Link{SpanContext: caller}))
		}
	}
	ctx, span := h.Tracer.Start(r.Context(), "request", options...)
	defer span.End()
	h.Next.ServeHTTP(w, r.WithContext(ctx))
}

// RecordResponse adds the outcome of a request to the span in ctx. The operation, if it is not "", becomes the
// name of the span.
func RecordResponse(ctx context.Context, operation string, status int, requestID string) {
	span := trace.SpanFromContext(ctx)
	if !span.IsRecording() {
		return
	}
	if operation != "" {
		span.SetName(operation)
	}
	span.SetAttributes(
		attribute.Int("http.response.status_code", status),
		attribute.String("studio.request_id", strings.Clone(requestID)), // it may be a substring of a large header
	)
	if status >= http.StatusInternalServerError {
		span.SetStatus(codes.Error, "")
	}
}
