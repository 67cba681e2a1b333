package otlp

import (
	"context"
	"log/slog"
	"slices"

	"go.opentelemetry.io/otel/attribute"
	sdk "go.opentelemetry.io/otel/sdk/trace"
)

// allowedAttributes are the attributes that are exported. Others, which a library may add, and the texts of
// errors are not, because they may contain personal data or secrets.
//
//nolint:gochecknoglobals // a table
var allowedAttributes = map[attribute.Key]bool{
	"http.response.status_code": true,
	"error.type":                true,
	"db.system.name":            true,
	"db.query.text":             true, // with parameters $1, $2 … instead of values
	"db.operation.name":         true,
	"pgx.rows_affected":         true,
	"pgx.sql_state":             true,
	"studio.request_id":         true,
	"studio.kind":               true,
	"studio.subject":            true,
	"studio.event":              true,
	"studio.sequence":           true,
	"studio.try":                true,
	"studio.outcome":            true,
}

// spanExporter exports redacted spans. It cancels exports when ctx ends. It logs the first failure and the
// first success after it, but returns no errors: the SDK would write each one to stderr.
type spanExporter struct {
	sdk.SpanExporter

	ctx     context.Context //nolint:containedctx // ends when the exporter is closed
	logger  *slog.Logger
	failing bool
}

func (e *spanExporter) ExportSpans(ctx context.Context, spans []sdk.ReadOnlySpan) error {
	if e.ctx.Err() != nil {
		return nil
	}
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	defer context.AfterFunc(e.ctx, cancel)() //nolint:contextcheck // a second reason to cancel
	redacted := make([]sdk.ReadOnlySpan, len(spans))
	for i, span := range spans {
		redacted[i] = redactedSpan{span}
	}
	err := e.SpanExporter.ExportSpans(ctx, redacted)
	if failing := err != nil; failing != e.failing {
		e.failing = failing
		if failing {
			e.logger.WarnContext(ctx, "export to the trace collector fails; spans are dropped until it succeeds", "err", err)
		} else {
			e.logger.InfoContext(ctx, "export to the trace collector succeeds again")
		}
	}
	return nil
}

// redactedSpan is a span without events, without the text of its status, and with allowed attributes only.
type redactedSpan struct{ sdk.ReadOnlySpan }

func (s redactedSpan) Attributes() []attribute.KeyValue {
	return slices.DeleteFunc(slices.Clone(s.ReadOnlySpan.Attributes()), func(a attribute.KeyValue) bool {
		return !allowedAttributes[a.Key]
	})
}

func (s redactedSpan) Events() []sdk.Event { return nil }

func (s redactedSpan) Status() sdk.Status { return sdk.Status{Code: s.ReadOnlySpan.Status().Code} }
