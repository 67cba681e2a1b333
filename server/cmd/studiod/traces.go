package main

import (
	"context"
	"errors"
	"os"

	"github.com/avatarstudio/avatarstudio/api/runtime/commandline"
	"github.com/avatarstudio/avatarstudio/api/runtime/stream"
	"github.com/avatarstudio/avatarstudio/server"
	"github.com/avatarstudio/avatarstudio/server/internal/operate/metrics"
	"github.com/avatarstudio/avatarstudio/server/internal/studio"
	"github.com/avatarstudio/avatarstudio/server/internal/telemetry/tracing"
	"github.com/avatarstudio/avatarstudio/server/internal/telemetry/tracing/otlp"
)

// collectorVariable names the OpenTelemetry collector. Like the other settings of traces, it has no flag, because it is
// a standard.
const collectorVariable = "OTEL_EXPORTER_OTLP_ENDPOINT"

// collectorURL returns the URL of the OpenTelemetry collector, or "" if there is none.
func collectorURL() string {
	if os.Getenv("OTEL_SDK_DISABLED") == "true" {
		return ""
	}
	return os.Getenv(collectorVariable)
}

// openMonitoring creates the metrics, and starts the trace exporter and the server for operators, if they are
// configured.
func (d *daemon) openMonitoring(ctx context.Context) error {
	d.metrics = metrics.New(commandline.Version())
	if d.cfg.Collector != "" {
		provider, closeProvider, err := otlp.New(ctx, otlp.Config{URL: d.cfg.Collector, Version: commandline.Version(), Logger: d.cfg.Logger})
		if err != nil {
			return usagef("%w", err)
		}
		d.traces, d.tracer = provider, provider.Tracer("github.com/avatarstudio/avatarstudio")
		d.onClose(func() error { closeProvider(); return nil })
	}
	return d.openAdmin(ctx)
}

// recordResponse records the outcome of a request in metrics and traces.
func (d *daemon) recordResponse(ctx context.Context, response server.Response) {
	d.metrics.RecordResponse(response)
	tracing.RecordResponse(ctx, response.OperationID, response.Status, server.RequestID(ctx))
}

// logStreamEnd logs why the service ended a stream of events, which the client may not have been told.
func (d *daemon) logStreamEnd(ctx context.Context, reason error) {
	if errors.Is(reason, stream.ErrStalled) || errors.Is(reason, studio.ErrUnauthorized) {
		d.cfg.Logger.InfoContext(ctx, "stream cut", "request_id", server.RequestID(ctx), "err", reason)
	}
}
