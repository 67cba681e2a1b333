package otlp

import (
	"strconv"
	"time"

	"go.opentelemetry.io/otel/attribute"
	"go.opentelemetry.io/otel/codes"
	"go.opentelemetry.io/otel/sdk/instrumentation"
	sdk "go.opentelemetry.io/otel/sdk/trace"
)

// allowedAttributes are the attributes of spans that are exported. Others, which a library may add, and the texts of
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

// object is an object in the JSON encoding of OTLP: ids are hexadecimal, 64-bit integers are strings, and enums are
// numbers.
type object = map[string]any

// newRequest returns the ExportTraceServiceRequest for spans of one provider, which are of the same resource.
func newRequest(spans []sdk.ReadOnlySpan) object {
	var resource, ofScopes []object
	byScope := make(map[instrumentation.Scope]int)
	for _, s := range spans {
		if resource == nil {
			resource = newAttributes(s.Resource().Attributes(), nil)
		}
		scope := s.InstrumentationScope()
		i, ok := byScope[scope]
		if !ok {
			i = len(ofScopes)
			byScope[scope] = i
			ofScopes = append(ofScopes, object{"scope": object{"name": scope.Name, "version": scope.Version}, "spans": []object(nil)})
		}
		ofScopes[i]["spans"] = append(ofScopes[i]["spans"].([]object), newSpan(s))
	}
	return object{"resourceSpans": []object{{"resource": object{"attributes": resource}, "scopeSpans": ofScopes}}}
}

// newSpan returns a span without its events and the text of its status, which it has only for errors.
func newSpan(s sdk.ReadOnlySpan) object {
	of := s.SpanContext()
	span := object{
		"traceId": of.TraceID().String(), "spanId": of.SpanID().String(), "name": s.Name(),
		"kind":              s.SpanKind(), // with the numbers of OTLP
		"startTimeUnixNano": nanoseconds(s.StartTime()), "endTimeUnixNano": nanoseconds(s.EndTime()),
		"attributes": newAttributes(s.Attributes(), allowedAttributes),
	}
	if parent := s.Parent().SpanID(); parent.IsValid() {
		span["parentSpanId"] = parent.String()
	}
	if s.Status().Code == codes.Error {
		span["status"] = object{"code": 2}
	}
	links := []object{}
	for _, l := range s.Links() {
		links = append(links, object{"traceId": l.SpanContext.TraceID().String(), "spanId": l.SpanContext.SpanID().String()})
	}
	span["links"] = links
	return span
}

// newAttributes returns those of attributes that are allowed, or all if allowed is nil.
func newAttributes(attributes []attribute.KeyValue, allowed map[attribute.Key]bool) []object {
	encoded := []object{}
	for _, a := range attributes {
		if allowed != nil && !allowed[a.Key] {
			continue
		}
		of := "stringValue"
		if a.Value.Type() == attribute.INT64 {
			of = "intValue"
		}
		encoded = append(encoded, object{"key": string(a.Key), "value": object{of: a.Value.String()}})
	}
	return encoded
}

func nanoseconds(at time.Time) string { return strconv.FormatInt(at.UnixNano(), 10) }
