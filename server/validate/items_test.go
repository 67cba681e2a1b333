package validate_test

import (
	"errors"
	"net/http"
	"net/http/httptest"
	"runtime"
	"strings"
	"testing"

	"github.com/avatarstudio/avatarstudio/api/runtime/stream"
	"github.com/avatarstudio/avatarstudio/api/tools/harness"
	"github.com/avatarstudio/avatarstudio/server/validate"
)

// eventsSchema has events whose data is a text, a number or JSON, depending on their type.
const eventsSchema = `{"type": "object", "required": ["data", "event"], "properties": {
	"data": {"type": "string"}, "event": {"type": "string"}, "id": {"type": "string"}, "retry": {"type": "integer", "maximum": 9999}},
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

// Checking an item allocates nothing, and keeps nothing of a large one.
func TestAllocations_items(t *testing.T) {
	o := itemOperation(t, "text/event-stream", eachS, eventsSchema, validate.Config{})
	_, items, err := o.ResponseHeader(http.StatusOK, http.Header{"Content-Type": {"text/event-stream"}})
	harness.Check(t, err)
	item := stream.Frame{Event: []byte("render"), ID: []byte("7"), Data: []byte(`{"frame": 1}`)}
	if got := minAllocs(func() { err = errors.Join(err, items.Check(item)) }); got > 0 || err != nil {
		t.Errorf("an item takes %v allocations, %v", got, err)
	}
	heap := func() uint64 {
		var memory runtime.MemStats
		runtime.GC()
		runtime.GC() // of pools
		runtime.ReadMemStats(&memory)
		return memory.HeapAlloc
	}
	before := heap()
	harness.Check(t, items.Check(stream.Frame{Event: []byte("note"), Data: []byte(strings.Repeat("x", 2<<20))}))
	if after := heap(); after > before+1<<20 {
		t.Errorf("%d bytes are kept of an item", after-before)
	}
	runtime.KeepAlive(items)
}

// The items of a request are checked while the next handler reads them, with pointers that begin with their index. It
// gets those before the first error. Those of a response are checked alike. A contentSchema is an annotation outside of
// server-sent events.
func TestOperation_Handler_checksItems(t *testing.T) {
	t.Parallel()
	const jsonl, events = "application/jsonl", "text/event-stream"
	for _, c := range []struct{ media, rule, schema, body, read, want string }{
		{jsonl, eachS, logEntry, "{\"level\": 1}\n\r\n {\"level\": 2, \"time\": \"1985-04-12T23:20:50.52Z\"}\r\n", "{\"level\": 1}\n{\"level\": 2, \"time\": \"1985-04-12T23:20:50.52Z\"}\n", "ok"},
		{"application/x-ndjson", eachX, logEntry, "{\"level\": 1}\n{\"level\": -1}\n{\"level\": 3}\n", "{\"level\": 1}\n", "/1/level minimum"},
		{jsonl, eachS, logEntry, "{\"level\": 1}\n{\"le", "{\"level\": 1}\n", "The body is not valid application/jsonl."},
		{jsonl, eachS, logEntry, strings.Repeat("{\"level\": 1}\n", 30), strings.Repeat("{\"level\": 1}\n", 23), "The body is larger than 300 bytes."},
		{jsonl, eachS, logEntry, "{\"level\": 1}\n{\"more\": \"" + strings.Repeat("x", 1<<20) + "\"}", "{\"level\": 1}\n", "An item of the body is larger than 1048576 bytes."},
		{jsonl, eachS, eventsSchema, `{"event": "render", "data": "{"}` + "\n", `{"event": "render", "data": "{"}` + "\n", "ok"},
		{events, eachS, eventsSchema, ": hello\nevent: note\ndata: two\ndata: lines\nretry: 5\nunknown: x\n\nevent:count\nid: 7\ndata:12\n\n", "event: note\nretry: 5\ndata: two\ndata: lines\n\nid: 7\nevent: count\ndata: 12\n\n", "ok"},
		{events, eachX, eventsSchema, "event: count\ndata: 1.5\n\n", "", "/0/data pattern"},
		{events, eachS, eventsSchema, "event: other\ndata: x\n\n", "", "/0 oneOf"},
		{events, eachS, eventsSchema, "event: note\ndata: x\nretry: 10000\n\n", "", "/0/retry maximum"},
		{events, eachS, eventsSchema, "event: render\ndata: {\"frame\":\ndata: 1.5}\n\n", "", "/0/data/frame type"},
		{events, eachS, eventsSchema, "event: render\ndata: {\n\n", "", "/0/data content"},
		{events, eachS, eventsSchema, "event: render\ndata: {\"frame\": 1, \"next\": {\"event\": \"render\", \"data\": \"{}\"}}\n\n", "event: render\ndata: {\"frame\": 1, \"next\": {\"event\": \"render\", \"data\": \"{}\"}}\n\n", "ok"},
		{events, eachS, eventsSchema, "event: note\ndata: \"\\\n\ndata: x\n\n", "event: note\ndata: \"\\\n\n", "/1/event required"},
		{events, eachS, eventsSchema, "event: note\xff\ndata: x\n\n", "", "The event is not valid UTF-8."},
	} {
		cfg := validate.Config{MaxBodyBytes: 300}
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
