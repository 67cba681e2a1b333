package validate_test

import (
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"github.com/avatarstudio/avatarstudio/api/tools/harness"
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
	version, content, types := "3.2.0", `{"$ref": "#/components/mediaTypes/M"}`, `, "mediaTypes": {"M": {"$ref": "#/components/mediaTypes/N"}, "N": `+rule+`}`
	if rule == eachX {
		version, content, types = "3.1.0", rule, ""
	}
	v, err := validate.Load(document(tb, `{"openapi": "`+version+`", "paths": {"/p": {"post": {
		"requestBody": {"required": true, "content": {"`+media+`": `+content+`}},
		"responses": {"200": {"description": "", "content": {"`+media+`": `+content+`}}}}}},
		"components": {"schemas": {"S": `+schema+`}`+types+`}}`), cfg)
	harness.Check(tb, err)
	o, _ := v.Operation("POST", "/p")
	return o
}

// eachS and eachX describe items in OpenAPI 3.2 and 3.1.
const (
	eachS = `{"itemSchema": {"$ref": "#/components/schemas/S"}}`
	eachX = `{"schema": {"type": "string"}, "x-itemSchema": {"$ref": "#/components/schemas/S"}}`
)

// Each item of a response is checked on its own, with pointers that begin with its index.
func TestItems_Check(t *testing.T) {
	t.Parallel()
	for _, c := range []struct{ media, schema, items, want string }{
		{"application/jsonl", logEntry, `{"level": 1}|{"level": 2, "time": "1985-04-12T23:20:50.52Z"}`, "ok"},
		{"application/x-ndjson", logEntry, `{"level": 1}|{"level": -1}|{}`, "/1/level minimum, /2/level required"},
		{"text/event-stream", eventsSchema, `{"event": "note", "data": "two\nlines", "retry": 5}|{"event": "count", "data": "12", "id": "1"}`, "ok"},
		{"text/event-stream", eventsSchema, `{"event": "count", "data": "1.5"}|{"event": "note"}|{"event": "other", "data": ""}`, "/0/data pattern, /1/data required, /2 oneOf"},
		{"text/event-stream", eventsSchema, `{"event": "note", "data": "", "retry": -1}`, "/0/retry minimum"},
		{"text/event-stream", eventsSchema, `{"event": "render", "data": "{\"frame\": 1}"}`, "ok"},
		{"text/event-stream", eventsSchema, `{"event": "render", "data": "{\"frame\": \"1\"}"}|{"event": "render", "data": "{}"}`, "/0/data/frame type, /1/data/frame required"},
		{"text/event-stream", eventsSchema, `{"event": "render", "data": "{"}|{"event": "render", "data": ""}`, "/0/data content, /1/data required"},
		{"text/event-stream", eventsSchema, `{"event": "render", "data": "{\"frame\": 1, \"next\": {\"event\": \"render\", \"data\": \"{}\"}}"}`, "ok"},
		{"text/event-stream", `{"anyOf": [` + eventsSchema + `, {"properties": {"event": {"const": "end"}, "data": {"const": "[DONE]"}}}]}`, `{"event": "end", "data": "[DONE]"}`, "ok"},
	} {
		for _, rule := range []string{eachS, eachX} {
			o := itemOperation(t, c.media, rule, c.schema, validate.Config{})
			_, items, err := o.ResponseHeader(http.StatusOK, http.Header{"Content-Type": {c.media}})
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
				t.Errorf("%s %s %s: got %q, want %q", c.media, rule, c.items, got, c.want)
			}
		}
	}
}

// A contentSchema is an annotation outside of server-sent events.
func TestItems_contentSchemaIsForEvents(t *testing.T) {
	t.Parallel()
	o := itemOperation(t, "application/jsonl", eachS, eventsSchema, validate.Config{})
	_, items, err := o.ResponseHeader(http.StatusOK, http.Header{"Content-Type": {"application/jsonl"}})
	harness.Check(t, err)
	if err := items.Check([]byte(`{"event": "render", "data": "{"}`)); err != nil {
		t.Error(err)
	}
}

// Checking an item allocates nothing.
func TestAllocations_items(t *testing.T) {
	o := itemOperation(t, "text/event-stream", eachS, eventsSchema, validate.Config{})
	_, items, err := o.ResponseHeader(http.StatusOK, http.Header{"Content-Type": {"text/event-stream"}})
	harness.Check(t, err)
	item := []byte(`{"event": "render", "id": "7", "data": "{\"frame\": 1}"}`)
	if got := testing.AllocsPerRun(100, func() {
		if err := items.Check(item); err != nil {
			t.Error(err)
		}
	}); got > 0 && !raceEnabled {
		t.Errorf("an item takes %v allocations", got)
	}
}

// The items of a request are checked while the next handler reads them. It gets those before the first error.
func TestOperation_Handler_checksItems(t *testing.T) {
	t.Parallel()
	cfg := validate.Config{}
	for _, c := range []struct{ media, rule, schema, body, read, want string }{
		{"application/jsonl", eachS, logEntry, "{\"level\": 1}\n\r\n {\"level\": 2}\r\n", "{\"level\": 1}\n{\"level\": 2}\n", "ok"},
		{"application/x-ndjson", eachS, logEntry, "{\"level\": 1}\n{\"level\": -1}\n{\"level\": 3}\n", "{\"level\": 1}\n", "/1/level minimum"},
		{"application/jsonl", eachS, logEntry, "{\"level\": 1}\n{\"le", "{\"level\": 1}\n", "The body is not valid application/jsonl."},
		{"application/jsonl", eachS, logEntry, strings.Repeat("{\"level\": 1}\n", 30), strings.Repeat("{\"level\": 1}\n", 23), "The body is larger than 300 bytes."},
		{"application/jsonl", eachS, logEntry, "{\"level\": 1}\n{\"more\": \"" + strings.Repeat("x", 1<<20) + "\"}", "{\"level\": 1}\n", "An item of the body is larger than 1048576 bytes."},
		{"text/event-stream", eachS, eventsSchema, ": hello\nevent: note\ndata: two\ndata: lines\nretry: 5\nunknown: x\n\nevent:count\nid: 7\ndata:12\n\n", "event: note\nretry: 5\ndata: two\ndata: lines\n\nid: 7\nevent: count\ndata: 12\n\n", "ok"},
		{"text/event-stream", eachS, eventsSchema, "event: render\ndata: {\"frame\":\ndata: 1.5}\n\n", "", "/0/data/frame type"},
		{"text/event-stream", eachS, eventsSchema, "event: note\ndata: \"\\\n\ndata: x\n\n", "event: note\ndata: \"\\\n\n", "/1/event required"},
		{"text/event-stream", eachS, eventsSchema, "event: note\xff\ndata: x\n\n", "", "The event is not valid UTF-8."},
	} {
		cfg.MaxBodyBytes = 300
		if strings.HasPrefix(c.want, "An item") {
			cfg.MaxBodyBytes = 2 << 20
		}
		o := itemOperation(t, c.media, c.rule, c.schema, cfg)
		r := httptest.NewRequest("POST", "/p", strings.NewReader(c.body))
		r.Header.Set("Content-Type", c.media)
		r.ContentLength = -1
		if got := serve(t, o, r); violations(got.err) != c.want || got.body != c.read && (c.want == "ok" || c.read != "") {
			t.Errorf("%s %q: got %q, %s, want %q, %s", c.media, c.body, got.body, violations(got.err), c.read, c.want)
		}
		if err := failure(t, o.Response(http.StatusOK, http.Header{"Content-Type": {c.media}}, []byte(c.body))); violations(err) != c.want && !strings.Contains(c.want, "larger") {
			t.Errorf("%s %q in a response: got %s, want %s", c.media, c.body, violations(err), c.want)
		}
	}
}
