package validate_test

import (
	"net/http"
	"strings"
	"testing"

	"github.com/avatarstudio/avatarstudio/server/validate"
)

// eventsSchema has events whose data is a text, a number or JSON, depending on their type.
const eventsSchema = `{"type": "object", "required": ["data", "event"], "properties": {
	"data": {"type": "string"}, "event": {"type": "string"}, "id": {"type": "string"}, "retry": {"type": "integer", "minimum": 0}},
	"oneOf": [
		{"properties": {"event": {"const": "note"}}},
		{"properties": {"event": {"const": "count"}, "data": {"pattern": "^[0-9]+$"}}},
		{"properties": {"event": {"const": "render"}, "data": {"contentMediaType": "application/json", "contentSchema": {
			"type": "object", "required": ["frame"], "properties": {"frame": {"type": "integer"}, "next": {"$ref": "#/components/schemas/S"}}}}}}]}`

const logEntry = `{"type": "object", "required": ["level"], "properties": {
	"time": {"type": "string", "format": "date-time"}, "level": {"type": "integer", "minimum": 0}, "secret": {"type": "string", "writeOnly": true}}}`

// itemOperation compiles an operation that sends and receives bodies of one media type.
func itemOperation(tb testing.TB, media, rule, schema string, cfg validate.Config) *validate.Operation {
	tb.Helper()
	v, err := validate.Load(document(tb, `{"openapi": "3.2.0", "paths": {"/p": {"post": {
		"requestBody": {"required": true, "content": {"`+media+`": {"$ref": "#/components/mediaTypes/M"}}},
		"responses": {"200": {"content": {"`+media+`": {"$ref": "#/components/mediaTypes/M"}}}}}}},
		"components": {"schemas": {"S": `+schema+`}, "mediaTypes": {"M": {"$ref": "#/components/mediaTypes/N"}, "N": `+rule+`}}}`), cfg)
	if err != nil {
		tb.Fatal(err)
	}
	o, _ := v.Operation("POST", "/p")
	return o
}

const eachS = `{"itemSchema": {"$ref": "#/components/schemas/S"}}`

// Each item of a response is checked on its own, with pointers that begin with its index.
func TestItems_Check(t *testing.T) {
	t.Parallel()
	for _, c := range []struct{ media, schema, items, want string }{
		{"application/jsonl", logEntry, `{"level": 1}|{"level": 2, "time": "1985-04-12T23:20:50.52Z"}`, "ok"},
		{"application/x-ndjson", logEntry, `{"level": 1}|{"level": -1}|{}`, "/1/level minimum, /2/level required"},
		{"application/json-seq", logEntry, `[]|{"level": 1, "secret": ""}`, "/0 type, /1/secret writeOnly"},
		{"application/geo+json-seq", logEntry, `{"level": 1`, "The body is not valid JSON."},
		{"multipart/mixed", logEntry, `{"level": 1}|{"level": "1"}`, "/1/level type"},
		{"text/event-stream", eventsSchema, `{"event": "note", "data": "two\nlines", "retry": 5}|{"event": "count", "data": "12", "id": "1"}`, "ok"},
		{"text/event-stream", eventsSchema, `{"event": "count", "data": "1.5"}|{"event": "note"}|{"event": "other", "data": ""}`, "/0/data pattern, /1/data required, /2 oneOf"},
		{"text/event-stream", eventsSchema, `{"event": "note", "data": "", "retry": -1}`, "/0/retry minimum"},
		{"text/event-stream", eventsSchema, `{"event": "render", "data": "{\"frame\": 1}"}`, "ok"},
		{"text/event-stream", eventsSchema, `{"event": "render", "data": "{\"frame\": \"1\"}"}|{"event": "render", "data": "{}"}`, "/0/data/frame type, /1/data/frame required"},
		{"text/event-stream", eventsSchema, `{"event": "render", "data": "{"}|{"event": "render", "data": ""}`, "/0/data content, /1/data required"},
		{"text/event-stream", eventsSchema, `{"event": "render", "data": "{\"frame\": 1, \"next\": {\"event\": \"render\", \"data\": \"{}\"}}"}`, "ok"},
		{"text/event-stream", `{"anyOf": [` + eventsSchema + `, {"properties": {"event": {"const": "end"}, "data": {"const": "[DONE]"}}}]}`, `{"event": "end", "data": "[DONE]"}`, "ok"},
	} {
		o := itemOperation(t, c.media, eachS, c.schema, validate.Config{})
		items, err := o.ResponseItems(http.StatusOK, http.Header{"Content-Type": {c.media + "; boundary=b"}})
		if err != nil || items == nil {
			t.Errorf("%s: got %v, %v", c.media, items, err)
			continue
		}
		var found []string
		for item := range strings.SplitSeq(c.items, "|") {
			if err := failure(t, items.Check([]byte(item))); err != nil {
				found = append(found, violations(err))
				if err.Status != http.StatusInternalServerError {
					t.Errorf("%s: got the status %d", item, err.Status)
				}
			}
		}
		if got := strings.Join(found, ", "); got != strings.TrimPrefix(c.want, "ok") {
			t.Errorf("%s %s: got %q, want %q", c.media, c.items, got, c.want)
		}
	}
}

// A contentSchema is an annotation outside of server-sent events.
func TestItems_contentSchemaIsForEvents(t *testing.T) {
	t.Parallel()
	o := itemOperation(t, "application/jsonl", eachS, eventsSchema, validate.Config{})
	items, err := o.ResponseItems(http.StatusOK, http.Header{"Content-Type": {"application/jsonl"}})
	if err != nil {
		t.Fatal(err)
	}
	if err := items.Check([]byte(`{"event": "render", "data": "{"}`)); err != nil {
		t.Error(err)
	}
}

// A response that is no stream has no items, and the header of a stream is checked like any other.
func TestOperation_ResponseItems_checksTheHeader(t *testing.T) {
	t.Parallel()
	o := itemOperation(t, "application/jsonl", eachS, `{}`, validate.Config{})
	whole := operationOf(t, "POST", `{"responses": {"200": {"description": "d", "content": {"application/json": {}}}}}`, `{}`, validate.Config{})
	for _, c := range []struct {
		o      *validate.Operation
		status int
		media  string
		items  bool
		want   string
	}{
		{o, 200, "application/jsonl", true, "ok"},
		{o, 404, "application/jsonl", false, "The document does not declare the status 404."},
		{o, 200, "application/json", false, "The document does not declare this content type for the status 200."},
		{whole, 200, "application/json", false, "ok"},
	} {
		items, err := c.o.ResponseItems(c.status, http.Header{"Content-Type": {c.media}})
		if got := violations(failure(t, err)); got != c.want || (items != nil) != c.items {
			t.Errorf("%d %s: got %v, %s", c.status, c.media, items, got)
		}
	}
}

// Checking an item allocates nothing.
func TestAllocations_items(t *testing.T) {
	o := itemOperation(t, "text/event-stream", eachS, eventsSchema, validate.Config{})
	items, err := o.ResponseItems(http.StatusOK, http.Header{"Content-Type": {"text/event-stream"}})
	if err != nil {
		t.Fatal(err)
	}
	item := []byte(`{"event": "render", "id": "7", "data": "{\"frame\": 1}"}`)
	if got := testing.AllocsPerRun(100, func() {
		if err := items.Check(item); err != nil {
			t.Error(err)
		}
	}); got > 0 && !raceEnabled {
		t.Errorf("an item takes %v allocations", got)
	}
}
