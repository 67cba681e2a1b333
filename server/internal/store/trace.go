package store

import (
	"context"
	"database/sql"
	"database/sql/driver"
	"regexp"

	"github.com/XSAM/otelsql"
	"github.com/exaring/otelpgx"
	"github.com/jackc/pgx/v5"
	"go.opentelemetry.io/otel/attribute"
	"go.opentelemetry.io/otel/trace"
	"go.opentelemetry.io/otel/trace/noop"
)

const tracerName = "github.com/avatarstudio/avatarstudio/server/internal/store"

// startSpan starts a span for a change in a group commit, if ctx has a sampled span. The statements of the
// group are traced under its first member only. The caller ends the span.
func (s *Store) startSpan(ctx context.Context, name string) (context.Context, trace.Span) {
	if s.tracer == nil || !trace.SpanFromContext(ctx).IsRecording() {
		return ctx, noop.Span{}
	}
	return s.tracer.Start(ctx, name, trace.WithAttributes(attribute.String("db.system.name", "postgresql")))
}

// newPostgresTracer returns a tracer of statements. It ignores statements whose context has no sampled span.
func newPostgresTracer(traces trace.TracerProvider) pgx.QueryTracer {
	return otelpgx.NewTracer(otelpgx.WithTracerProvider(traces), otelpgx.WithDisableConnectionDetailsInAttributes(),
		otelpgx.WithSpanNameFunc(spanName))
}

// spanName returns what a statement does after its WITH, and the table that it writes, such as INSERT events.
func spanName(statement string) string {
	if found := written.FindStringSubmatch(statement); found != nil {
		return found[1] + " " + found[2]
	}
	if first := word.FindString(statement); first != "WITH" {
		return first
	}
	return "SELECT"
}

var (
	// written matches the beginning of a statement that writes, after its WITH.
	written = regexp.MustCompile(`(?:^\s*|\)\s+)(INSERT|UPDATE|DELETE)(?: OR FAIL)?(?: INTO| FROM)? (\w+)`)
	word    = regexp.MustCompile(`\w+`)
)

// openSQLiteDSN opens a pool. It traces statements as newPostgresTracer does, unless traces is nil.
func openSQLiteDSN(dsn string, traces trace.TracerProvider) (*sql.DB, error) {
	if traces == nil {
		return sql.Open("sqlite", dsn)
	}
	return otelsql.Open("sqlite", dsn, otelsql.WithTracerProvider(traces), otelsql.WithAttributes(attribute.String("db.system.name", "sqlite")),
		otelsql.WithSpanOptions(otelsql.SpanOptions{
			OmitConnResetSession: true, OmitConnPrepare: true, OmitRows: true, OmitConnectorConnect: true, DisableErrSkip: true,
			SpanFilter: func(ctx context.Context, _ otelsql.Method, _ string, _ []driver.NamedValue) bool {
				return trace.SpanFromContext(ctx).IsRecording()
			},
		}),
		otelsql.WithSpanNameFormatter(func(_ context.Context, method otelsql.Method, query string) string {
			if name := spanName(query); name != "" {
				return name
			}
			return string(method)
		}))
}
