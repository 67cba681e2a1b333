package tracing_test

import (
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	sdk "go.opentelemetry.io/otel/sdk/trace"
	"go.opentelemetry.io/otel/trace"

	"github.com/avatarstudio/avatarstudio/server/internal/telemetry/tracing"
)

const (
	callerTrace = "0af7651916cd43dd8448eb211c80319c"
	sampled     = "00-" + callerTrace + "-b7ad6b7169203331-01"
)

// The headers of a caller affect neither the sampling nor the trace of its request.
func TestHandler_ignoresSamplingAndTraceOfCaller(t *testing.T) {
	t.Parallel()
	for _, test := range []struct {
		sampler sdk.Sampler
		sampled bool
	}{{sdk.AlwaysSample(), true}, {sdk.NeverSample(), false}} {
		provider := sdk.NewTracerProvider(sdk.WithSampler(sdk.ParentBased(test.sampler)))
		for _, headers := range [][]string{nil, {sampled}, {strings.Replace(sampled, "-01", "-00", 1)}, {sampled, sampled}, {"garbage"}, {strings.Repeat("0", 1<<16)}} {
			var span sdk.ReadOnlySpan
			parent := ""
			handler := &tracing.Handler{Tracer: provider.Tracer(""), Next: http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) {
				tracing.RecordResponse(r.Context(), "createLipsync", http.StatusOK, "id")
				span, _ = trace.SpanFromContext(r.Context()).(sdk.ReadOnlySpan)
				parent = tracing.Parent(r.Context())
			})}
			request := httptest.NewRequest(http.MethodPost, "/", nil)
			request.Header["Traceparent"], request.Header["Tracestate"] = headers, []string{"vendor=" + strings.Repeat("x", 200)}
			handler.ServeHTTP(httptest.NewRecorder(), request)
			if (parent != "") != test.sampled || strings.Contains(parent, callerTrace) {
				t.Errorf("after %v, the parent is %q", headers, parent)
			}
			if !test.sampled {
				continue
			}
			if span.Name() != "createLipsync" || span.Parent().IsValid() {
				t.Errorf("after %v, the span is %s with the parent %v", headers, span.Name(), span.Parent())
			}
			linked := len(headers) == 1 && strings.Contains(headers[0], callerTrace)
			if links := span.Links(); (len(links) == 1) != linked || linked && links[0].SpanContext.TraceState().Len() > 0 {
				t.Errorf("after %v, the links are %v", headers, links)
			}
		}
	}
}

// ContextWithParent is the inverse of Parent, and ignores invalid values.
func TestContextWithParent_continuesTheTrace(t *testing.T) {
	t.Parallel()
	if got := tracing.Parent(tracing.ContextWithParent(t.Context(), sampled)); got != sampled {
		t.Errorf("the parent is %q, want %q", got, sampled)
	}
	for _, text := range []string{"", "garbage", "00-" + callerTrace} {
		if got := tracing.Parent(tracing.ContextWithParent(t.Context(), text)); got != "" {
			t.Errorf("for %q, the parent is %q", text, got)
		}
	}
}

func TestParent_allocatesNothingWithoutASpan(t *testing.T) {
	ctx := t.Context()
	if n := testing.AllocsPerRun(100, func() { _ = tracing.Parent(ctx) }); n != 0 {
		t.Errorf("%v allocations", n)
	}
}
