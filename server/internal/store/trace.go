package store

import (
	"context"
	"database/sql"
	"database/sql/driver"
	"strings"

	"github.com/XSAM/otelsql"
	"github.com/exaring/otelpgx"
	"github.com/jackc/pgx/v5"
	"go.opentelemetry.io/otel/attribute"
	"go.opentelemetry.io/otel/trace"
	"go.opentelemetry.io/otel/trace/noop"
)

const tracerName = "github.com/avatarstudio/avatarstudio/server/internal/store"

// span starts a span for a change in a group commit. The statements of the group belong to the trace of its
// first member. The caller ends the span.
func (s *Store) span(ctx context.Context, name string) (context.Context, trace.Span) {
	if s.tracer == nil || !trace.SpanFromContext(ctx).IsRecording() {
		return ctx, noop.Span{}
	}
	return s.tracer.Start(ctx, name, trace.WithAttributes(attribute.String("db.system.name", "postgresql")))
}

// groupContext returns the context of a group commit, in the trace of its first member.
func groupContext(first trace.Span) context.Context {
	if !first.IsRecording() {
		return context.Background()
	}
	return trace.ContextWithSpan(context.Background(), first)
}

// tracePostgres returns a tracer of statements. Statements without a trace in their context start none.
func tracePostgres(traces trace.TracerProvider) pgx.QueryTracer {
	return otelpgx.NewTracer(otelpgx.WithTracerProvider(traces), otelpgx.WithDisableConnectionDetailsInAttributes())
}

// openTracedSQLite is sql.Open with a tracer like tracePostgres.
func openTracedSQLite(dsn string, traces trace.TracerProvider) (*sql.DB, error) {
	return otelsql.Open("sqlite", dsn, otelsql.WithTracerProvider(traces), otelsql.WithAttributes(attribute.String("db.system.name", "sqlite")),
		otelsql.WithSpanOptions(otelsql.SpanOptions{
			OmitConnResetSession: true, OmitConnPrepare: true, OmitRows: true, OmitConnectorConnect: true, DisableErrSkip: true,
			SpanFilter: func(ctx context.Context, _ otelsql.Method, _ string, _ []driver.NamedValue) bool {
				return trace.SpanFromContext(ctx).IsRecording()
			},
		}),
		otelsql.WithSpanNameFormatter(func(_ context.Context, method otelsql.Method, query string) string {
			if operation, _, _ := strings.Cut(query, " "); operation != "" {
				return operation
			}
			return string(method)
		}))
}
