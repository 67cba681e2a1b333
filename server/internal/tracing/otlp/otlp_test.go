package otlp_test

import (
	"bytes"
	"context"
	"errors"
	"log/slog"
	"net/http"
	"strings"
	"sync"
	"sync/atomic"
	"testing"

	"go.opentelemetry.io/otel/attribute"
	"go.opentelemetry.io/otel/codes"
	"go.opentelemetry.io/otel/trace"
	"go.uber.org/goleak"

	"github.com/avatarstudio/avatarstudio/server/internal/studiotest"
	"github.com/avatarstudio/avatarstudio/server/internal/tracing/otlp"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

func open(t *testing.T, cfg otlp.Config) *otlp.Exporter {
	t.Helper()
	exporter, err := otlp.New(t.Context(), cfg)
	if err != nil {
		t.Fatal(err)
	}
	return exporter
}

// A span leaves the process with the attributes that are known to be harmless, and without texts of errors.
func TestExporter_leavesOutWhatMayBeSecret(t *testing.T) {
	t.Parallel()
	collector := studiotest.NewCollector(t, nil)
	exporter := open(t, otlp.Config{URL: collector.URL, Version: "v1"})
	_, span := exporter.Tracer().Start(t.Context(), "deliver", trace.WithAttributes(
		attribute.String("studio.event", "e-1"), attribute.String("url.full", "https://a/?canary"), attribute.String("user.email", "canary"),
	))
	span.RecordError(errors.New("canary"))
	span.AddEvent("canary")
	span.SetStatus(codes.Error, "canary")
	span.End()
	exporter.Flush(t.Context())
	exporter.Close()
	spans := collector.Spans()
	if len(spans) != 1 || spans[0].Attributes["studio.event"] != "e-1" || !spans[0].Error || strings.Contains(spans[0].Text, "canary") {
		t.Errorf("%+v", spans)
	}
}

// While the collector hangs, spans are dropped, and nobody waits.
func TestExporter_dropsWhatTheCollectorDoesNotTake(t *testing.T) {
	t.Parallel()
	hangs := make(chan struct{})
	var taken atomic.Int64
	collector := studiotest.NewCollector(t, func(_ http.ResponseWriter, r *http.Request) bool {
		select {
		case <-hangs:
		case <-r.Context().Done():
		}
		return taken.Add(1) > 0
	})
	var log bytes.Buffer
	exporter := open(t, otlp.Config{URL: collector.URL, Logger: slog.New(slog.NewTextHandler(&log, nil))})
	const spans = 50_000
	for range spans {
		_, span := exporter.Tracer().Start(t.Context(), "deliver")
		span.End()
	}
	exporter.Close() // which would wait for ever
	close(hangs)
	if n := len(collector.Spans()); n > 6000 {
		t.Errorf("%d spans waited for the collector", n)
	}
	if lines := strings.Count(log.String(), "\n"); lines != 1 {
		t.Errorf("the log is %s", &log)
	}
}

// The log has one line when the collector goes, and one when it comes back.
func TestExporter_tellsOnceThatTheCollectorIsAway(t *testing.T) {
	t.Parallel()
	var away atomic.Bool
	collector := studiotest.NewCollector(t, func(w http.ResponseWriter, _ *http.Request) bool {
		if away.Load() {
			w.WriteHeader(http.StatusBadRequest)
			return false
		}
		return true
	})
	var log bytes.Buffer
	exporter := open(t, otlp.Config{URL: collector.URL, Logger: slog.New(slog.NewTextHandler(&log, nil))})
	export := func() {
		_, span := exporter.Tracer().Start(t.Context(), "deliver")
		span.End()
		exporter.Flush(context.Background())
	}
	for _, is := range []bool{false, true, true, true, false, false} {
		away.Store(is)
		export()
	}
	exporter.Close()
	if text := log.String(); strings.Count(text, "\n") != 2 || !strings.Contains(text, "takes no spans") || !strings.Contains(text, "takes spans again") {
		t.Errorf("the log is %s", text)
	}
}

// The share of traces is kept by trace: a sampled one is whole.
func TestExporter_samplesAShare(t *testing.T) {
	t.Parallel()
	collector := studiotest.NewCollector(t, nil)
	exporter := open(t, otlp.Config{URL: collector.URL, Sample: 0.1})
	var working sync.WaitGroup
	for range 10 {
		working.Go(func() {
			for range 200 {
				ctx, outer := exporter.Tracer().Start(context.Background(), "render")
				_, inner := exporter.Tracer().Start(ctx, "deliver")
				inner.End()
				outer.End()
			}
		})
	}
	working.Wait()
	exporter.Flush(t.Context())
	exporter.Close()
	kept := make(map[string]int)
	for _, span := range collector.Spans() {
		kept[span.Trace]++
	}
	if len(kept) < 100 || len(kept) > 320 { // of 2,000: nine standard deviations
		t.Errorf("%d of 2000 traces", len(kept))
	}
	for trace, spans := range kept {
		if spans != 2 {
			t.Errorf("trace %s has %d spans", trace, spans)
		}
	}
}
