package tracing_test

import (
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	sdk "go.opentelemetry.io/otel/sdk/trace"
	"go.opentelemetry.io/otel/trace"

	"github.com/avatarstudio/avatarstudio/server/internal/tracing"
)

const (
	callersTrace = "0af7651916cd43dd8448eb211c80319c"
	sampled      = "00-" + callersTrace + "-b7ad6b7169203331-01"
)

// What a caller sends decides neither whether its request is sampled nor which trace it is in.
func TestHandler_samplesAsTheOperatorSays(t *testing.T) {
	t.Parallel()
	for _, test := range []struct {
		sampler sdk.Sampler
		sampled bool
	}{{sdk.AlwaysSample(), true}, {sdk.NeverSample(), false}} {
		provider := sdk.NewTracerProvider(sdk.WithSampler(sdk.ParentBased(test.sampler)))
		for _, given := range [][]string{nil, {sampled}, {strings.Replace(sampled, "-01", "-00", 1)}, {sampled, sampled}, {"garbage"}, {strings.Repeat("0", 1<<16)}} {
			var span sdk.ReadOnlySpan
			parent := ""
			handler := &tracing.Handler{Tracer: provider.Tracer(""), Next: http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) {
				tracing.Answered(r.Context(), "createLipsync", http.StatusOK, "id")
				span, _ = trace.SpanFromContext(r.Context()).(sdk.ReadOnlySpan)
				parent = tracing.Parent(r.Context())
			})}
			request := httptest.NewRequest(http.MethodPost, "/", nil)
			request.Header["Traceparent"], request.Header["Tracestate"] = given, []string{"vendor=" + strings.Repeat("x", 200)}
			handler.ServeHTTP(httptest.NewRecorder(), request)
			if (parent != "") != test.sampled || strings.Contains(parent, callersTrace) {
				t.Errorf("%v becomes %q", given, parent)
			}
			if !test.sampled {
				continue
			}
			if span.Name() != "createLipsync" || span.Parent().IsValid() {
				t.Errorf("%v begins %s under %v", given, span.Name(), span.Parent())
			}
			linked := len(given) == 1 && strings.Contains(given[0], callersTrace)
			if links := span.Links(); (len(links) == 1) != linked || linked && links[0].SpanContext.TraceState().Len() > 0 {
				t.Errorf("%v is linked by %v", given, links)
			}
		}
	}
}

// What Parent writes, Under reads.
func TestUnder_continuesATrace(t *testing.T) {
	t.Parallel()
	if got := tracing.Parent(tracing.Under(t.Context(), sampled)); got != sampled {
		t.Errorf("%q", got)
	}
	for _, text := range []string{"", "garbage", "00-" + callersTrace} {
		if got := tracing.Parent(tracing.Under(t.Context(), text)); got != "" {
			t.Errorf("%q becomes %q", text, got)
		}
	}
}

// What is not traced costs nothing.
func TestParent_allocatesNothingWithoutASpan(t *testing.T) {
	ctx := t.Context()
	if n := testing.AllocsPerRun(100, func() { _ = tracing.Parent(ctx) }); n != 0 {
		t.Errorf("%v allocations", n)
	}
}
