package otlp

import (
	"strconv"
	"time"

	"go.opentelemetry.io/otel/attribute"
	"go.opentelemetry.io/otel/codes"
	sdk "go.opentelemetry.io/otel/sdk/trace"
	"go.opentelemetry.io/otel/trace"
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

// request is an ExportTraceServiceRequest of OTLP in its JSON encoding: ids are hexadecimal, 64-bit integers are
// strings, and enums are numbers.
type request struct {
	ResourceSpans []resourceSpans `json:"resourceSpans"`
}

type resourceSpans struct {
	Resource   resourceAttributes `json:"resource"`
	ScopeSpans []scopeSpans       `json:"scopeSpans"`
}

type resourceAttributes struct {
	Attributes []keyValue `json:"attributes"`
}

type scopeSpans struct {
	Scope scope  `json:"scope"`
	Spans []span `json:"spans"`
}

type scope struct {
	Name    string `json:"name"`
	Version string `json:"version,omitempty"`
}

// span has neither the events of a span nor the text of its status.
type span struct {
	TraceID      string     `json:"traceId"`
	SpanID       string     `json:"spanId"`
	ParentSpanID string     `json:"parentSpanId,omitempty"`
	Name         string     `json:"name"`
	Kind         int        `json:"kind"`
	Start        string     `json:"startTimeUnixNano"`
	End          string     `json:"endTimeUnixNano"`
	Attributes   []keyValue `json:"attributes,omitempty"`
	Links        []link     `json:"links,omitempty"`
	Status       status     `json:"status"`
}

type keyValue struct {
	Key   string            `json:"key"`
	Value map[string]string `json:"value"` // one member, named after the type
}

type link struct {
	TraceID string `json:"traceId"`
	SpanID  string `json:"spanId"`
}

type status struct {
	Code int `json:"code,omitempty"` // 1 is OK, 2 an error
}

// newRequest returns the request that exports spans of one provider, which are of the same resource.
func newRequest(spans []sdk.ReadOnlySpan) request {
	var exported resourceSpans
	byScope := make(map[scope]int)
	for _, s := range spans {
		if exported.Resource.Attributes == nil {
			exported.Resource.Attributes = newAttributes(s.Resource().Attributes(), nil)
		}
		of := scope{Name: s.InstrumentationScope().Name, Version: s.InstrumentationScope().Version}
		i, ok := byScope[of]
		if !ok {
			i = len(exported.ScopeSpans)
			byScope[of] = i
			exported.ScopeSpans = append(exported.ScopeSpans, scopeSpans{Scope: of})
		}
		exported.ScopeSpans[i].Spans = append(exported.ScopeSpans[i].Spans, newSpan(s))
	}
	return request{ResourceSpans: []resourceSpans{exported}}
}

func newSpan(s sdk.ReadOnlySpan) span {
	exported := span{
		TraceID: s.SpanContext().TraceID().String(), SpanID: s.SpanContext().SpanID().String(), Name: s.Name(),
		Kind:  int(s.SpanKind()), // with the numbers of OTLP
		Start: nanoseconds(s.StartTime()), End: nanoseconds(s.EndTime()),
		Attributes: newAttributes(s.Attributes(), allowedAttributes), Status: newStatus(s.Status().Code),
	}
	if s.Parent().SpanID().IsValid() {
		exported.ParentSpanID = s.Parent().SpanID().String()
	}
	for _, l := range s.Links() {
		exported.Links = append(exported.Links, newLink(l.SpanContext))
	}
	return exported
}

func newLink(to trace.SpanContext) link {
	return link{TraceID: to.TraceID().String(), SpanID: to.SpanID().String()}
}

func newStatus(code codes.Code) status {
	switch code {
	case codes.Ok:
		return status{Code: 1}
	case codes.Error:
		return status{Code: 2}
	default:
		return status{}
	}
}

// newAttributes returns those of attributes that are allowed, or all if allowed is nil.
func newAttributes(attributes []attribute.KeyValue, allowed map[attribute.Key]bool) (encoded []keyValue) {
	for _, a := range attributes {
		if allowed != nil && !allowed[a.Key] {
			continue
		}
		of := "stringValue"
		if a.Value.Type() == attribute.INT64 {
			of = "intValue"
		}
		encoded = append(encoded, keyValue{Key: string(a.Key), Value: map[string]string{of: a.Value.String()}})
	}
	return encoded
}

func nanoseconds(at time.Time) string { return strconv.FormatInt(at.UnixNano(), 10) }
