package main

import (
	"bytes"
	"cmp"
	_ "embed"
	"encoding/json"
	"maps"
	"path"
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

	schema    *openapi3.SchemaRef
	union     *eventUnion
	qualified bool // types have the name of package gen
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

//go:embed streams.tmpl
var streamsSource string

// eventUnions returns the unions of all streams, by name.
func eventUnions(document *openapi3.T) []*eventUnion {
	byName := map[string]*eventUnion{}
	eachContent(document, func(content openapi3.Content) {
		for media := range content {
			if s := streamOf(content, media); s != nil && s.union != nil {
				byName[s.union.Name] = s.union
			}
		}
	})
	return slices.SortedFunc(maps.Values(byName), func(a, b *eventUnion) int { return cmp.Compare(a.Name, b.Name) })
}

// Item returns the Go type of an item, or of the data of an event.
func (s *itemStream) Item() (string, error) {
	schema, err := codegen.GenerateGoSchema(s.schema, nil)
	if err != nil || !s.qualified {
		return schema.TypeDecl(), err
	}
	return qualify(schema.TypeDecl())
}

// Type returns the Go type of the items.
func (s *itemStream) Type() (string, error) {
	item, err := s.Item()
	if s.Events {
		item = "stream.Event[" + item + "]"
	}
	return item, err
}

// streamOf returns the stream that a media type of the adapted document describes for the client, or nil.
func streamOf(content openapi3.Content, media string) *itemStream {
	if content[media] == nil {
		return nil
	}
	described, ok := content[media].Extensions[streamExtension].(*itemStream)
	if !ok {
		return nil
	}
	qualified := *described
	qualified.qualified = true
	return &qualified
}

func streamTag(media string) string {
	tags := map[string]string{"text/event-stream": "EventStream", "application/jsonl": "JSONL", "application/x-ndjson": "NDJSON"}
	return cmp.Or(tags[media], codegen.SchemaNameToTypeName(media))
}

func hasStream(content openapi3.Content) bool {
	return slices.ContainsFunc(slices.Collect(maps.Keys(content)), func(media string) bool { return strings.HasPrefix(media, streamed) })
}

// nameStreams renames the media types whose items have a Go type, and makes their item schema refer to the component
// for this type: that of the items, or of the data of server-sent events. Responses with streams are moved from the
// components to their operations, where the templates find them.
func nameStreams(path string, document *openapi3.T) error {
	a := streamAdapter{schemas: document.Components.Schemas, faults: faults{file: path}}
	for _, name := range slices.Sorted(maps.Keys(document.Components.Responses)) {
		a.content(document.Components.Responses[name].Value.Content, name)
	}
	eachOperation(document, func(_ *openapi3.PathItem, operation *openapi3.Operation) {
		for _, status := range operation.Responses.Keys() {
			response := operation.Responses.Value(status)
			a.content(response.Value.Content, operation.OperationID)
			if hasStream(response.Value.Content) {
				response.Ref = ""
			}
		}
	})
	maps.DeleteFunc(document.Components.Responses, func(_ string, r *openapi3.ResponseRef) bool { return hasStream(r.Value.Content) })
	return a.err()
}

type streamAdapter struct {
	faults

	schemas openapi3.Schemas
	origin  *openapi3.Origin // of the media type
}

// content adapts the media types of a body. The name of the body begins the names of the types that are declared in it.
func (a *streamAdapter) content(content openapi3.Content, name string) {
	for _, media := range slices.Sorted(maps.Keys(content)) {
		described := content[media]
		format, ok := stream.FormatOf(media)
		if !ok || described.ItemSchema == nil {
			continue
		}
		a.origin = described.Origin
		found := &itemStream{Media: media, Tag: streamTag(media), Events: format == stream.Events, schema: described.ItemSchema}
		found.Format = map[stream.Format]string{stream.Events: "stream.Events", stream.Lines: "stream.Lines"}[format]
		if found.Events {
			found.Resumable = declares(described.ItemSchema.Value, "id")
			found.schema, found.union = a.data(described.ItemSchema.Value, name+" data", media)
		} else {
			found.schema = a.named(found.schema, name+" item", media)
		}
		if allowsNull(found.schema.Value) {
			a.fail(locate(cmp.Or(originOf(found.schema), a.origin)), "the items of %s may be null, for which their Go type has no value: allow no null", media)
		}
		described.Schema, described.ItemSchema = nil, found.schema
		described.Extensions = extended(map[string]any{streamExtension: found}, described.Extensions)
		content[streamed+media] = described
		delete(content, media)
	}
}

// named returns a reference to a component with a schema. If the schema is not a component, named makes it one.
func (a *streamAdapter) named(schema *openapi3.SchemaRef, name, media string) *openapi3.SchemaRef {
	if schema.Ref != "" {
		return schema
	}
	for _, name := range []string{name, name + " " + streamTag(media)} {
		name = codegen.SchemaNameToTypeName(name)
		if other := a.schemas[name]; other == nil || sameSchema(other.Value, schema.Value) {
			a.schemas[name] = schema
			return openapi3.NewSchemaRef("#/components/schemas/"+name, schema.Value)
		}
	}
	a.fail(locate(cmp.Or(originOf(schema), a.origin)), "the items of %s would have the Go name %s, which another schema has: move them to components/schemas, and refer to them",
		media, codegen.SchemaNameToTypeName(name+" "+streamTag(media)))
	return schema
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

// allowsNull reports whether null is a value of a schema that also has others.
func allowsNull(schema *openapi3.Schema) bool {
	return schema.Type.IncludesNull() || slices.ContainsFunc(slices.Concat(schema.OneOf, schema.AnyOf), func(part *openapi3.SchemaRef) bool {
		return part.Value != nil && allowsNull(part.Value)
	})
}

// data returns the schema of the data of server-sent events: that of the JSON in it, or a string if some data is not
// JSON. If the events have data of several schemas, it is their union: an eventUnion if the type of an event tells
// which one it has.
func (a *streamAdapter) data(item *openapi3.Schema, name, media string) (*openapi3.SchemaRef, *eventUnion) {
	var all []variant
	for _, found := range variantsOf(item) {
		if found.data == nil {
			return openapi3.NewSchemaRef("", openapi3.NewStringSchema()), nil
		}
		same := slices.IndexFunc(all, func(other variant) bool { return other.data.Value == found.data.Value })
		if same < 0 {
			all = append(all, found)
		} else {
			all[same].events = append(all[same].events, found.events...)
		}
	}
	if data := all[0].data; len(all) == 1 {
		if data.Value.Type.Is("string") && len(data.Value.Enum) == 0 { // Data of type string is text
			return anyValue(), nil
		}
		return a.named(data, name, media), nil
	}
	union, parts := &eventUnion{Name: codegen.SchemaNameToTypeName(name)}, openapi3.SchemaRefs{}
	for _, one := range all {
		parts = append(parts, one.data)
		if union == nil || len(one.events) == 0 {
			union = nil
			continue
		}
		data := a.named(one.data, strings.TrimSuffix(name, "data")+one.events[0], media)
		if allowsNull(data.Value) {
			a.fail(locate(cmp.Or(originOf(data), a.origin)), "the data of the event %s may be null, for which its Go type has no value: allow no null", one.events[0])
		}
		union.Fields = append(union.Fields, eventField{codegen.SchemaNameToTypeName(path.Base(data.Ref)), one.events})
	}
	if union != nil {
		return openapi3.NewSchemaRef("", &openapi3.Schema{Extensions: map[string]any{"x-go-type": union.Name}, Origin: item.Origin}), union
	}
	return a.named(openapi3.NewSchemaRef("", &openapi3.Schema{OneOf: parts, Origin: item.Origin}), name, media), nil
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
