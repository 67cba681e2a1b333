// Package otlp exports spans to a collector of OpenTelemetry, by OTLP over HTTP.
package otlp

import (
	"context"
	"errors"
	"log/slog"
	"net/url"
	"time"

	"go.opentelemetry.io/otel/attribute"
	"go.opentelemetry.io/otel/exporters/otlp/otlptrace/otlptracehttp"
	"go.opentelemetry.io/otel/sdk/resource"
	sdk "go.opentelemetry.io/otel/sdk/trace"
	"go.opentelemetry.io/otel/trace"
)

const (
	// exportTimeout bounds an attempt to send spans, and flushTimeout that to send the last ones.
	exportTimeout = 10 * time.Second
	flushTimeout  = time.Second
	// queued is how many spans wait for the collector. More are dropped.
	queued = 4096
	// maxValueLength and maxAttributes bound what a span takes.
	maxValueLength = 4096
	maxAttributes  = 32
)

// ErrURL is returned for a URL that names no collector.
var ErrURL = errors.New("the collector must be given as http://HOST:PORT or https://HOST:PORT, with a path at most")

// Config says where spans go, and which. The OTEL_EXPORTER_OTLP_ variables of the environment add headers
// and certificates.
type Config struct {
	// URL is that of the collector; /v1/traces is added to it. Required. It is the operator's, so the guard
	// against addresses that are not public does not judge it.
	URL string
	// Sample is the share of traces that are sent, up to 1. Default 1.
	Sample float64
	// Version is that of the service.
	Version string
	// Logger gets a line when the collector takes no more spans, and one when it does again. Default: none.
	Logger *slog.Logger
}

// Exporter takes spans and sends them to the collector. It never waits for it: what the collector does not
// take in time is dropped. A nil Exporter takes none.
type Exporter struct {
	provider *sdk.TracerProvider
	tracer   trace.Tracer
	flush    func() // and stop
}

// New makes an Exporter. Whether there is a collector shows later, in the log.
func New(ctx context.Context, cfg Config) (*Exporter, error) {
	target, err := url.Parse(cfg.URL)
	if err != nil || target.Scheme != "http" && target.Scheme != "https" || target.Host == "" ||
		target.User != nil || target.RawQuery != "" || target.Fragment != "" {
		return nil, ErrURL
	}
	if cfg.Sample == 0 {
		cfg.Sample = 1
	}
	if cfg.Logger == nil {
		cfg.Logger = slog.New(slog.DiscardHandler)
	}
	client, err := otlptracehttp.New(ctx, otlptracehttp.WithEndpointURL(target.JoinPath("v1/traces").String()))
	if err != nil {
		return nil, err
	}
	service, err := resource.New(ctx, resource.WithTelemetrySDK(), resource.WithHost(), resource.WithAttributes(
		attribute.String("service.name", "studiod"), attribute.String("service.version", cfg.Version),
	), resource.WithFromEnv())
	if err != nil { // it is there without what the environment says wrongly
		cfg.Logger.WarnContext(ctx, "the traces do not say all of where they come from", "err", err)
	}
	living, cutOff := context.WithCancel(context.WithoutCancel(ctx))
	provider := sdk.NewTracerProvider(
		sdk.WithResource(service),
		sdk.WithSampler(sdk.ParentBased(sdk.TraceIDRatioBased(cfg.Sample))),
		sdk.WithBatcher(&sending{SpanExporter: client, living: living, logger: cfg.Logger},
			sdk.WithMaxQueueSize(queued), sdk.WithExportTimeout(exportTimeout)),
		sdk.WithRawSpanLimits(sdk.SpanLimits{
			AttributeValueLengthLimit: maxValueLength, AttributeCountLimit: maxAttributes, LinkCountLimit: 1,
		}),
	)
	flush := func() {
		defer time.AfterFunc(flushTimeout, cutOff).Stop()
		_ = provider.Shutdown(context.WithoutCancel(ctx)) // sending has told
		cutOff()
	}
	return &Exporter{provider: provider, tracer: provider.Tracer("github.com/avatarstudio/avatarstudio"), flush: flush}, nil
}

// Provider is for libraries that make spans; nil for none.
func (e *Exporter) Provider() trace.TracerProvider {
	if e == nil {
		return nil
	}
	return e.provider
}

// Tracer is for the spans of the service; nil for none.
func (e *Exporter) Tracer() trace.Tracer {
	if e == nil {
		return nil
	}
	return e.tracer
}

// Close sends what waits, for a second at most.
func (e *Exporter) Close() {
	if e != nil {
		e.flush()
	}
}
