// Package otlptest provides tests with a collector of OpenTelemetry traces.
package otlptest

import (
	"encoding/base64"
	"io"
	"net/http"
	"net/http/httptest"
	"slices"
	"sync"
	"testing"

	traces "go.opentelemetry.io/proto/otlp/trace/v1"
	"google.golang.org/protobuf/encoding/protojson"
)

// Collector is an OTLP/HTTP trace collector that stores the spans it receives as JSON, and refuses what the messages of
// OTLP do not define. It is safe for concurrent use.
type Collector struct {
	URL string

	mu      sync.Mutex
	spans   []Span
	respond func(w http.ResponseWriter, r *http.Request) (responded bool)
}

// Span is a span that a Collector received.
type Span struct {
	Trace, ID, Parent, Name string

	Link  string // trace id of the first link
	Error bool
	// Attributes are the attributes of the span. Text is the whole span as text.
	Attributes map[string]string
	Text       string
}

// New starts a Collector. If respond is not nil, it is called for each request. If it returns true, it has
// written the response, and the spans are not stored.
func New(t testing.TB, respond func(w http.ResponseWriter, r *http.Request) (responded bool)) *Collector {
	t.Helper()
	c := &Collector{respond: respond}
	server := httptest.NewServer(c)
	t.Cleanup(server.Close)
	c.URL = server.URL
	return c
}

func (c *Collector) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	if c.respond != nil && c.respond(w, r) {
		return
	}
	var request traces.TracesData // has the fields of an ExportTraceServiceRequest
	body, err := io.ReadAll(r.Body)
	if err == nil {
		err = protojson.Unmarshal(body, &request)
	}
	if err != nil || r.URL.Path != "/v1/traces" || r.Header.Get("Content-Type") != "application/json" {
		w.WriteHeader(http.StatusBadRequest)
		return
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	for _, resource := range request.GetResourceSpans() {
		for _, scope := range resource.GetScopeSpans() {
			for _, s := range scope.GetSpans() {
				c.spans = append(c.spans, newSpan(s))
			}
		}
	}
}

func newSpan(s *traces.Span) Span {
	// Ids are hexadecimal in OTLP, and would be in base64 in the JSON encoding of protobuf, which has read them.
	id := base64.StdEncoding.EncodeToString
	span := Span{
		Trace: id(s.GetTraceId()), ID: id(s.GetSpanId()), Parent: id(s.GetParentSpanId()),
		Name: s.GetName(), Error: s.GetStatus().GetCode() == traces.Status_STATUS_CODE_ERROR,
		Attributes: make(map[string]string), Text: s.String(),
	}
	if links := s.GetLinks(); len(links) > 0 {
		span.Link = id(links[0].GetTraceId())
	}
	for _, a := range s.GetAttributes() {
		text := a.GetValue().GetStringValue()
		if text == "" {
			text = a.GetValue().String()
		}
		span.Attributes[a.GetKey()] = text
	}
	return span
}

// Spans returns the spans that were received so far.
func (c *Collector) Spans() []Span {
	c.mu.Lock()
	defer c.mu.Unlock()
	return slices.Clone(c.spans)
}

// Named returns the spans of a trace with the given name.
func (c *Collector) Named(trace, name string) (named []Span) {
	for _, span := range c.Spans() {
		if span.Trace == trace && span.Name == name {
			named = append(named, span)
		}
	}
	return named
}
