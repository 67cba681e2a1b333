package tracing_test

import (
	"bytes"
	"context"
	"errors"
	"log/slog"
	"net/http"
	"strings"
	"sync/atomic"
	"testing"

	"go.opentelemetry.io/otel/attribute"
	"go.opentelemetry.io/otel/codes"
	sdk "go.opentelemetry.io/otel/sdk/trace"
	"go.opentelemetry.io/otel/trace"
	"go.uber.org/goleak"

	"github.com/avatarstudio/avatarstudio/api/tools/harness"
	"github.com/avatarstudio/avatarstudio/api/tools/harness/faultserver"
	"github.com/avatarstudio/avatarstudio/server/internal/telemetry/tracing/otlp"
	"github.com/avatarstudio/avatarstudio/server/internal/testing/studiotest/otlptest"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

func open(t *testing.T, cfg otlp.Config) (spans *sdk.TracerProvider, closeProvider func()) {
	t.Helper()
	spans, closeProvider, err := otlp.New(t.Context(), cfg)
	harness.Check(t, err)
	return spans, closeProvider
}

// Spans are exported with allowed attributes only, and without the texts of errors.
func TestExporter_removesPersonalDataAndSecrets(t *testing.T) {
	t.Parallel()
	collector := otlptest.New(t, nil)
	provider, closeProvider := open(t, otlp.Config{URL: collector.URL, Version: "v1"})
	_, span := provider.Tracer("").Start(t.Context(), "deliver", trace.WithAttributes(
		attribute.String("studio.event", "e-1"), attribute.String("url.full", "https://a/?canary"), attribute.String("user.email", "canary"),
	))
	span.RecordError(errors.New("canary"))
	span.AddEvent("canary")
	span.SetStatus(codes.Error, "canary")
	span.End()
	_ = provider.ForceFlush(t.Context())
	closeProvider()
	spans := collector.Spans()
	if len(spans) != 1 || spans[0].Attributes["studio.event"] != "e-1" || !spans[0].Error || strings.Contains(spans[0].Text, "canary") {
		t.Errorf("the exported spans are %+v", spans)
	}
}

// If the collector hangs, spans are dropped, and neither Start nor Close blocks.
func TestExporter_dropsSpansWhenCollectorHangs(t *testing.T) {
	t.Parallel()
	hanging := make(chan struct{})
	collector := otlptest.New(t, func(_ http.ResponseWriter, r *http.Request) bool {
		select {
		case <-hanging:
		case <-r.Context().Done():
		}
		return false
	})
	var log bytes.Buffer
	provider, closeProvider := open(t, otlp.Config{URL: collector.URL, Logger: slog.New(slog.NewTextHandler(&log, nil))})
	const spans = 10_000
	for range spans {
		_, span := provider.Tracer("").Start(t.Context(), "deliver")
		span.End()
	}
	closeProvider() // must not wait for the collector
	close(hanging)
	if n := len(collector.Spans()); n > 6000 {
		t.Errorf("%d spans were exported, want at most a full queue", n)
	}
	if lines := strings.Count(log.String(), "\n"); lines != 1 {
		t.Errorf("the log is %s", &log)
	}
}

// The first failed export is logged, and the first success after it.
func TestExporter_logsFailuresOnce(t *testing.T) {
	t.Parallel()
	var unavailable atomic.Bool
	collector := otlptest.New(t, func(w http.ResponseWriter, r *http.Request) bool {
		if unavailable.Load() {
			faultserver.Raw("HTTP/1.1 101 Switching Protocols\r\nConnection: Upgrade\r\nUpgrade: x\r\n\r\n").ServeHTTP(w, r)
		}
		return unavailable.Load()
	})
	var log bytes.Buffer
	provider, closeProvider := open(t, otlp.Config{URL: collector.URL, Logger: slog.New(slog.NewTextHandler(&log, nil))})
	export := func() {
		_, span := provider.Tracer("").Start(t.Context(), "deliver")
		span.End()
		_ = provider.ForceFlush(context.Background())
	}
	for _, failing := range []bool{false, true, true, true, false, false} {
		unavailable.Store(failing)
		export()
	}
	closeProvider()
	if text := log.String(); strings.Count(text, "\n") != 2 || !strings.Contains(text, "trace collector fails") || !strings.Contains(text, "trace collector succeeds again") {
		t.Errorf("the log is %s", text)
	}
}

// The headers of the environment are sent.
func TestExporter_sendsTheHeadersOfTheEnvironment(t *testing.T) {
	t.Setenv("OTEL_EXPORTER_OTLP_HEADERS", "authorization=Basic%20canary, x-team = a%3Db")
	collector := otlptest.New(t, func(_ http.ResponseWriter, r *http.Request) bool {
		return r.Header.Get("Authorization") != "Basic canary" || r.Header.Get("X-Team") != "a=b"
	})
	provider, closeProvider := open(t, otlp.Config{URL: collector.URL})
	_, span := provider.Tracer("").Start(t.Context(), "deliver")
	span.End()
	closeProvider()
	if len(collector.Spans()) != 1 {
		t.Error("a header is not sent")
	}
}

func TestNew_refusesInvalidEnvironment(t *testing.T) {
	for _, value := range []string{"canary", "=canary", "a=canary%zz"} {
		t.Setenv("OTEL_EXPORTER_OTLP_HEADERS", value)
		if _, _, err := otlp.New(t.Context(), otlp.Config{URL: "http://localhost:4318"}); !errors.Is(err, otlp.ErrHeaders) || strings.Contains(err.Error(), "canary") {
			t.Errorf("with the headers %q, New returns %v", value, err)
		}
	}
}
