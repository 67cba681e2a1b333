package main

import (
	"bytes"
	"cmp"
	"encoding/json"
	"maps"
	"reflect"
	"slices"
	"strings"

	"github.com/getkin/kin-openapi/openapi3"
	"github.com/oapi-codegen/oapi-codegen/v2/pkg/codegen"

	"github.com/avatarstudio/avatarstudio/api/runtime/stream"
)

// streamed begins the names of media types with typed items in the adapted document. oapi-codegen does not know these
// media types and declares nothing for them.
const streamed = "stream."

// streamExtension is the extension of such a media type that has its *itemStream. The templates in
// api/tools/generate/templates read it: a function of theirs would be missing in a run of oapi-codegen alone.
const streamExtension = "x-stream"

// itemStream describes a body with an item schema for the templates.
type itemStream struct {
	Media     string
	Tag       string // in the names of Go types
	Format    string // Go expression of type stream.Format
	Events    bool   // the items are server-sent events
	Resumable bool   // the events have ids

	schema *openapi3.SchemaRef
}

// eventUnion is a Go type with a field for each schema that the data of server-sent events may have.
type eventUnion struct {
	Name   string
	Fields []eventField
}

type eventField struct {
	Name   string   // of the field and its type
	Events []string // the types of the events that have such data
}

// Item returns the Go type of an item, or of the data of an event.
func (s *itemStream) Item() string {
	return must(codegen.GenerateGoSchema(s.schema, nil)).TypeDecl()
}

// Type returns the Go type of the items.
func (s *itemStream) Type() string {
	if s.Events {
		return "stream.Event[" + s.Item() + "]"
	}
	return s.Item()
}

// streamOf returns the stream that a media type of the adapted document describes, or nil.
func streamOf(content openapi3.Content, media string) *itemStream {
	if content[media] == nil {
		return nil
	}
	s, _ := content[media].Extensions[streamExtension].(*itemStream)
	return s
}

func hasStream(content openapi3.Content) bool {
	return slices.ContainsFunc(slices.Collect(maps.Keys(content)), func(media string) bool { return strings.HasPrefix(media, streamed) })
}

// stream renames a media type whose items have a Go type, which is that of the items, or of the data of server-sent
// events. The name begins the names of the types that are declared in it.
func (s *shaper) stream(content openapi3.Content, media string, format stream.Format, name string) {
	described := content[media]
	tags := map[string]string{"text/event-stream": "EventStream", "application/jsonl": "JSONL", "application/x-ndjson": "NDJSON"}
	tag := cmp.Or(tags[media], codegen.SchemaNameToTypeName(media))
	found := &itemStream{Media: media, Tag: tag, Events: format == stream.Events, schema: described.ItemSchema}
	found.Format = map[stream.Format]string{stream.Events: "stream.Events", stream.Lines: "stream.Lines"}[format]
	if found.Events {
		found.Resumable = declares(described.ItemSchema.Value, "id")
		found.schema = s.data(described.ItemSchema.Value, name)
	} else {
		s.inside(found.schema, []string{name, "item"})
	}
	if allowsNull(found.schema.Value) {
		s.fail(locate(cmp.Or(originOf(found.schema), described.Origin)), "the items of %s may be null, for which their Go type has no value: allow no null", media)
	}
	described.Schema, described.ItemSchema = nil, found.schema
	described.Extensions = extended(map[string]any{streamExtension: found}, described.Extensions)
	content[streamed+media] = described
	delete(content, media)
}

// sameSchema reports whether two schemas are equal, wherever they are.
func sameSchema(a, b *openapi3.Schema) bool {
	if a == b {
		return true
	}
	one, errA := json.Marshal(a)
	other, errB := json.Marshal(b)
	return errA == nil && errB == nil && bytes.Equal(one, other)
}

// data returns the schema of the data of server-sent events: that of the JSON in it, or a string if some data is not
// JSON. If the events have data of several schemas, it is their union: an eventUnion if the type of an event tells
// which one it has.
func (s *shaper) data(item *openapi3.Schema, name string) *openapi3.SchemaRef {
	var all []variant
	for _, found := range variantsOf(item) {
		if found.data == nil {
			return openapi3.NewSchemaRef("", openapi3.NewStringSchema())
		}
		same := slices.IndexFunc(all, func(other variant) bool { return other.data.Value == found.data.Value })
		if same < 0 {
			all = append(all, found)
		} else {
			all[same].events = append(all[same].events, found.events...)
		}
	}
	whole := all[0].data
	if len(all) > 1 {
		whole = openapi3.NewSchemaRef("", &openapi3.Schema{Origin: item.Origin})
		union := &eventUnion{Name: codegen.SchemaNameToTypeName(name + " data")}
		for _, one := range all {
			whole.Value.OneOf = append(whole.Value.OneOf, one.data)
			union.add(s, name, one)
		}
		if len(union.Fields) == len(all) {
			if other := s.unions[union.Name]; other != nil && !reflect.DeepEqual(other, union) {
				s.fail(locate(item.Origin), "the data of events has the Go name %s, as has that of other events: write both as one schema", union.Name)
			}
			s.unions[union.Name] = union
			return openapi3.NewSchemaRef("", &openapi3.Schema{Extensions: map[string]any{"x-go-type": union.Name}, Origin: item.Origin})
		}
	} else if whole.Value.Type.Is("string") && len(whole.Value.Enum) == 0 { // Data of type string is text
		return anyValue()
	}
	s.inside(whole, []string{name, "data"})
	return whole
}

// add adds a field for the data of events, if their type is constant and no other data has it.
func (u *eventUnion) add(s *shaper, name string, events variant) {
	known := func(event string) bool {
		return slices.ContainsFunc(u.Fields, func(f eventField) bool { return slices.Contains(f.Events, event) })
	}
	if len(events.events) == 0 || slices.ContainsFunc(events.events, known) {
		return
	}
	path := []string{name, events.events[0]}
	if s.name(events.data, path, true); events.data.Ref == "" {
		s.declare(events.data, path)
	}
	if allowsNull(events.data.Value) {
		s.fail(locate(originOf(events.data)), "the data of the event %s may be null, for which its Go type has no value: allow no null", events.events[0])
	}
	component, _ := componentName(events.data)
	u.Fields = append(u.Fields, eventField{component, events.events})
}

// variant is a kind of server-sent event.
type variant struct {
	events []string            // its types, empty if they are not constant
	data   *openapi3.SchemaRef // of the JSON, or nil if the data is text
}

// variantsOf returns the kinds of events that the schema of an event describes.
func variantsOf(schema *openapi3.Schema) []variant {
	var base variant
	var all []variant
	for _, part := range schema.AllOf {
		if inner := variantsOf(part.Value); len(inner) > 1 {
			all = append(all, inner...)
		} else if inner[0].data != nil {
			base.data = inner[0].data
		}
	}
	if data := schema.Properties["data"]; data != nil && data.Value.ContentSchema != nil && isJSON(data.Value.ContentMediaType) {
		base.data = data.Value.ContentSchema
	}
	if event := schema.Properties["event"]; event != nil {
		for _, constant := range append(event.Value.Enum, event.Value.Const) {
			if text, ok := constant.(string); ok {
				base.events = append(base.events, text)
			}
		}
	}
	for _, one := range slices.Concat(schema.OneOf, schema.AnyOf) {
		all = append(all, variantsOf(one.Value)...)
	}
	for i := range all {
		if all[i].data == nil {
			all[i].data = base.data
		}
	}
	if len(all) == 0 {
		return []variant{base}
	}
	return all
}

// declares reports whether all values of a schema may have a property that the schema describes.
func declares(schema *openapi3.Schema, name string) bool {
	declared := func(part *openapi3.SchemaRef) bool { return declares(part.Value, name) }
	variants := slices.Concat(schema.OneOf, schema.AnyOf)
	return schema.Properties[name] != nil || slices.ContainsFunc(schema.AllOf, declared) ||
		len(variants) > 0 && !slices.ContainsFunc(variants, func(part *openapi3.SchemaRef) bool { return !declared(part) })
}
