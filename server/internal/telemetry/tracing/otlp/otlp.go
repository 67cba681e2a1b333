// Package otlp exports spans to an OpenTelemetry collector, with OTLP over HTTP and JSON. It encodes spans itself: the
// exporter of OpenTelemetry links gRPC.
package otlp

import (
	"cmp"
	"context"
	"errors"
	"log/slog"
	"net/url"
	"time"

	"go.opentelemetry.io/otel"
	"go.opentelemetry.io/otel/attribute"
	"go.opentelemetry.io/otel/sdk/resource"
	sdk "go.opentelemetry.io/otel/sdk/trace"
)

const (
	// exportTimeout bounds the export of a batch, flushTimeout that of all remaining spans when the provider is closed.
	exportTimeout = 10 * time.Second
	flushTimeout  = time.Second
	// maxQueue bounds the spans that wait for export. When the queue is full, new spans are dropped.
	maxQueue = 4096
	// maxValueLength, in bytes, and maxAttributes bound the memory of a span.
	maxValueLength = 4096
	maxAttributes  = 32
)

// Errors of [New] for a configuration that is not valid.
var (
	ErrURL     = errors.New("OTEL_EXPORTER_OTLP_ENDPOINT must be http://HOST:PORT or https://HOST:PORT, optionally with a path")
	ErrHeaders = errors.New("OTEL_EXPORTER_OTLP_HEADERS must be NAME=VALUE, separated by commas, with the values encoded as in a URL")
)

// Config configures [New]. These environment variables of OpenTelemetry also apply: OTEL_EXPORTER_OTLP_HEADERS has
// headers for the collector, OTEL_RESOURCE_ATTRIBUTES and OTEL_SERVICE_NAME describe the service, OTEL_TRACES_SAMPLER
// and OTEL_TRACES_SAMPLER_ARG choose traces, by default all, and OTEL_BSP_… tune the batches.
type Config struct {
	// URL is the http or https URL of the collector, without /v1/traces. It may be a private address. Required.
	URL string
	// Version is the version of the service, for the service.version attribute.
	Version string
	// Logger gets one line when exports start to fail, and one when they succeed again. That of the latest provider
	// also gets the errors of OpenTelemetry, such as for an unknown sampler. Default: none.
	Logger *slog.Logger
}

// New returns a provider whose spans are exported in the background, and a function that exports the remaining ones for
// up to one second and drops the others. Making spans never blocks: if the collector is too slow, spans are dropped.
// New does not connect to the collector; failed exports are logged. It returns [ErrURL] or [ErrHeaders] if the
// configuration is not valid.
func New(ctx context.Context, cfg Config) (provider *sdk.TracerProvider, closeProvider func(), err error) {
	target, err := url.Parse(cfg.URL)
	if err != nil || target.Scheme != "http" && target.Scheme != "https" || target.Host == "" ||
		target.User != nil || target.RawQuery != "" || target.Fragment != "" {
		return nil, nil, ErrURL
	}
	cfg.Logger = cmp.Or(cfg.Logger, slog.New(slog.DiscardHandler))
	otel.SetErrorHandler(otel.ErrorHandlerFunc(func(err error) { cfg.Logger.WarnContext(ctx, "traces", "err", err) }))
	collector, err := newCollector(target)
	if err != nil {
		return nil, nil, err
	}
	service, err := resource.New(ctx, resource.WithTelemetrySDK(), resource.WithHost(), resource.WithAttributes(
		attribute.String("service.name", "studiod"), attribute.String("service.version", cfg.Version),
	), resource.WithFromEnv())
	if err != nil { // the resource is still usable
		cfg.Logger.WarnContext(ctx, "some resource attributes of traces are missing", "err", err)
	}
	collector.logger = cfg.Logger
	exports, cancelExports := context.WithCancel(context.WithoutCancel(ctx))
	collector.ctx = exports
	provider = sdk.NewTracerProvider(
		sdk.WithResource(service),
		sdk.WithBatcher(collector, sdk.WithMaxQueueSize(maxQueue), sdk.WithExportTimeout(exportTimeout)),
		sdk.WithRawSpanLimits(sdk.SpanLimits{
			AttributeValueLengthLimit: maxValueLength, AttributeCountLimit: maxAttributes, LinkCountLimit: 1,
		}),
	)
	return provider, func() {
		defer time.AfterFunc(flushTimeout, cancelExports).Stop()
		_ = provider.Shutdown(context.WithoutCancel(ctx)) // collector has logged the error
		cancelExports()
	}, nil
}
