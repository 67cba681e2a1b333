package otlp

import (
	"context"
	"log/slog"
	"slices"

	"go.opentelemetry.io/otel/attribute"
	sdk "go.opentelemetry.io/otel/sdk/trace"
)

// attributes are those that leave the process. What else a library adds to a span does not, and neither
// do the texts of errors, in which a value may stand.
//
//nolint:gochecknoglobals // a table
var attributes = map[attribute.Key]bool{
	"http.response.status_code": true,
	"error.type":                true,
	"db.system.name":            true,
	"db.query.text":             true, // with $1, $2 … for values
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

// sending sends spans until living ends, and tells when that begins to fail and when it works again. It
// returns no error, which the SDK would write to stderr each time.
type sending struct {
	sdk.SpanExporter

	living context.Context //nolint:containedctx // of the process
	logger *slog.Logger
	away   bool
}

func (s *sending) ExportSpans(ctx context.Context, spans []sdk.ReadOnlySpan) error {
	if s.living.Err() != nil {
		return nil
	}
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	defer context.AfterFunc(s.living, cancel)() //nolint:contextcheck // it ends earlier
	bare := make([]sdk.ReadOnlySpan, len(spans))
	for i, span := range spans {
		bare[i] = bareSpan{span}
	}
	err := s.SpanExporter.ExportSpans(ctx, bare)
	if away := err != nil; away != s.away {
		s.away = away
		if away {
			s.logger.WarnContext(ctx, "the trace collector takes no spans, which are dropped until it does", "err", err)
		} else {
			s.logger.InfoContext(ctx, "the trace collector takes spans again")
		}
	}
	return nil
}

// bareSpan is a span with what may leave the process.
type bareSpan struct{ sdk.ReadOnlySpan }

func (s bareSpan) Attributes() []attribute.KeyValue {
	return slices.DeleteFunc(slices.Clone(s.ReadOnlySpan.Attributes()), func(a attribute.KeyValue) bool {
		return !attributes[a.Key]
	})
}

func (s bareSpan) Events() []sdk.Event { return nil }

func (s bareSpan) Status() sdk.Status { return sdk.Status{Code: s.ReadOnlySpan.Status().Code} }
