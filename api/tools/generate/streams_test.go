package main

import (
	"encoding/json"
	"testing"

	"github.com/getkin/kin-openapi/openapi3"

	"github.com/avatarstudio/avatarstudio/api/tools/harness"
)

// The data of events has the type of its JSON. If some data is not JSON, it is text.
func TestShape_givesEventsTheTypeOfTheirData(t *testing.T) {
	t.Parallel()
	const (
		one  = `{"type": "string", "contentMediaType": "application/json", "contentSchema": {"type": "object", "properties": {"a": {}}}}`
		two  = `{"type": "string", "contentMediaType": "application/json", "contentSchema": {"type": "object", "properties": {"b": {}}}}`
		text = `{"type": "string", "contentMediaType": "application/json", "contentSchema": {"type": "string"}}`
		id   = `"id": {"type": "string"}`
	)
	for _, test := range []struct {
		schema, ref string // a reference, or else a type
		union       int    // the number of alternatives
		resumable   bool
	}{
		{`{"properties": {"data": ` + one + `, ` + id + `}}`, "#/components/schemas/WatchData", 0, true},
		{`{"properties": {"data": {"type": "string"}}}`, "string", 0, false},
		{`{"properties": {"data": ` + text + `}}`, "", 0, false}, // any JSON, because a Go string is text
		{`{"allOf": [{"properties": {"data": ` + one + `}}, {"properties": {` + id + `}}]}`, "#/components/schemas/WatchData", 0, true},
		{`{"oneOf": [{"properties": {"event": {"const": "a"}, "data": ` + one + `}}, {"properties": {"event": {"const": "b"}, "data": ` + two + `}}]}`, "WatchData", 2, false},
		{`{"oneOf": [{"properties": {"event": {"enum": ["a", "c"]}, "data": ` + one + `}}, {"properties": {"event": {"enum": ["b", "c"]}, "data": ` + two + `}}]}`, "#/components/schemas/WatchData", 2, false},
		{`{"properties": {"data": ` + one + `}, "oneOf": [{"properties": {"event": {"const": "a"}, ` + id + `}}, {"properties": {"event": {"const": "b"}, ` + id + `}}]}`, "#/components/schemas/WatchData", 0, true},
		{`{"oneOf": [{"properties": {"event": {"const": "a"}, "data": ` + one + `}}, {"properties": {"event": {"const": "b"}}}]}`, "string", 0, false},
		{`{"anyOf": [{"properties": {"data": ` + one + `, ` + id + `}}, {"properties": {"data": ` + one + `}}]}`, "#/components/schemas/WatchData", 2, false},
	} {
		var schema openapi3.Schema
		harness.Check(t, json.Unmarshal([]byte(test.schema), &schema))
		a := shaper{schemas: openapi3.Schemas{}, done: map[*openapi3.Schema]bool{}, unions: map[string]*eventUnion{}}
		content := openapi3.Content{"text/event-stream": {ItemSchema: &openapi3.SchemaRef{Value: &schema}}}
		a.content(content, "watch", "watch")
		found := streamOf(content, streamed+"text/event-stream")
		got := found.schema.Ref
		if types := found.schema.Value.Type.Slice(); got == "" && len(types) > 0 {
			got = types[0]
		}
		union := len(found.schema.Value.OneOf)
		for name, of := range a.unions {
			got, union = name, len(of.Fields)
		}
		if got != test.ref || union != test.union || found.Resumable != test.resumable || a.err() != nil {
			t.Errorf("%s: %s, %d alternatives, resumable %t, %v", test.schema, got, union, found.Resumable, a.err())
		}
	}
}
