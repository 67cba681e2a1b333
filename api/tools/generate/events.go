package main

import (
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/getkin/kin-openapi/openapi3"
	"github.com/oapi-codegen/oapi-codegen/v2/pkg/codegen"
)

// event describes a webhook of the document for the templates.
type event struct {
	Type, Name string // such as avatar_event and Avatar
	Schema     string // Go type of the notification
	Comment    string
	Subject    string // field of the data with the id of the subject, or empty
	Status     string // field of the data with the status, or empty
	StatusType string // Go type of the status, if it is an enum
	Sample     string // data in JSON
}

// events describes the webhooks of the document, in the order of EventType.
func events(document *openapi3.T, n *names) ([]event, error) {
	if len(document.Webhooks) == 0 {
		return nil, nil
	}
	types := document.Components.Schemas["EventType"]
	var all []event
	var at openapi3.Location // of the last webhook, unless there is the schema Event
	for name, item := range sorted(document.Webhooks) {
		at = locate(item.Origin)
		described, err := describeEvent(name, item.Post)
		if err == nil && (types == nil || !slices.Contains(types.Value.Enum, any(name))) {
			err = errors.New("is missing in the schema EventType: add it to the enum")
		}
		if err == nil {
			err = isListed(document.Components.Schemas["Event"], name, jsonOf(item.Post.RequestBody.Value.Content).Schema.Ref)
		}
		if err != nil {
			n.fail(at, "the webhook %s %v", name, err)
		}
		all = append(all, described)
	}
	if !isEnvelope(document.Components.Schemas) {
		if all := document.Components.Schemas["Event"]; all != nil {
			at = locate(cmp.Or(all.Origin, all.Value.Origin))
		}
		n.fail(at, "the schema Event, or a component that its x-go-type names, must have the properties event_type, a reference to EventType, and data, of any type")
	}
	if types != nil {
		for _, value := range types.Value.Enum {
			if name, _ := value.(string); document.Webhooks[name] == nil {
				n.fail(locate(types.Origin), "the schema EventType lists %q, which is no webhook: remove it, or add the webhook", name)
			}
		}
	}
	if err := n.err(); err != nil {
		return nil, err
	}
	slices.SortFunc(all, func(a, b event) int {
		return slices.Index(types.Value.Enum, any(a.Type)) - slices.Index(types.Value.Enum, any(b.Type))
	})
	return all, nil
}

// isEnvelope reports whether the Go type of all events has their type and their data.
func isEnvelope(schemas openapi3.Schemas) bool {
	all := schemas["Event"]
	if all == nil {
		return false
	}
	if name, ok := extended(all.Value.Extensions, all.Extensions)["x-go-type"].(string); ok {
		if all = schemas[name]; all == nil {
			return false
		}
	}
	data, eventType := all.Value.Properties["data"], all.Value.Properties["event_type"]
	return data != nil && data.Value.Extensions["x-go-type"] == "json.RawMessage" && eventType != nil &&
		(eventType.Ref == "#/components/schemas/EventType" || eventType.Value.Extensions["x-go-type"] == "EventType")
}

// isListed returns an error if the schema of all events lists its alternatives and has not that of an event.
func isListed(all *openapi3.SchemaRef, name, ref string) error {
	if all == nil || len(all.Value.OneOf) == 0 {
		return nil
	}
	line := locate(cmp.Or(all.Origin, all.Value.Origin)).Line
	if !slices.ContainsFunc(all.Value.OneOf, func(one *openapi3.SchemaRef) bool { return one.Ref == ref }) {
		return fmt.Errorf("is missing in oneOf of the schema Event in line %d: add %s", line, ref)
	}
	if d := all.Value.Discriminator; d != nil && d.Mapping[name].Ref != ref {
		return fmt.Errorf("is missing in the mapping of the schema Event in line %d: add %s: %s", line, name, ref)
	}
	return nil
}

func describeEvent(name string, operation *openapi3.Operation) (event, error) {
	e := event{Type: name, Name: codegen.SchemaNameToTypeName(strings.TrimSuffix(name, "_event"))}
	if operation == nil || operation.RequestBody == nil || jsonOf(operation.RequestBody.Value.Content) == nil {
		return e, errors.New("must be a POST with a JSON body")
	}
	media := jsonOf(operation.RequestBody.Value.Content)
	var ok bool
	if e.Schema, ok = componentName(media.Schema); !ok {
		return e, errors.New("must have a body whose schema is a reference to a component")
	}
	properties := media.Schema.Value.Properties
	if properties["event_type"] == nil || properties["event_type"].Value.Const != name || properties["data"] == nil {
		return e, errors.New("must have a body with the properties event_type, a constant with the name of the webhook, and data")
	}
	e.Comment = afterColon(operation.Summary)
	data := properties["data"].Value
	if err := e.addSubject(data); err != nil {
		return e, err
	}
	if status := data.Properties["status"]; status != nil && slices.Contains(data.Required, "status") {
		e.Status = fieldName("status", status)
		e.StatusType, _ = componentName(status)
	}
	sample := plainValue(data)
	if example, ok := exampleOf(media.Example, media.Examples, nil).(map[string]any); ok {
		sample = example["data"]
	}
	e.Sample = string(must(json.Marshal(sample)))
	return e, nil
}

// addSubject finds the member with the id of the subject, which is an avatar, video or lip-sync: the only required
// string whose name ends with _id.
func (e *event) addSubject(data *openapi3.Schema) error {
	for _, name := range data.Required {
		property := data.Properties[name]
		if property == nil || !property.Value.Type.Is("string") || !strings.HasSuffix(name, "_id") {
			continue
		}
		if e.Subject != "" {
			return errors.New("has several required ids in its data, of which one must be that of the subject: make the others optional")
		}
		e.Subject = fieldName(name, property)
	}
	return nil
}

func fieldName(name string, ref *openapi3.SchemaRef) string {
	return codegen.Property{JsonFieldName: name, Extensions: extended(ref.Extensions, ref.Value.Extensions)}.GoFieldName()
}

// plainValue returns the example of a schema, or a value of its type.
func plainValue(schema *openapi3.Schema) any {
	switch types := schema.Type; {
	case schema.Example != nil:
		return schema.Example
	case len(literalsOf(schema)) > 0:
		return literalsOf(schema)[0]
	case types.Includes("object"):
		return map[string]any{}
	case types.Includes("array"):
		return []any{}
	case types.Includes("integer") || types.Includes("number"):
		return 0
	case types.Includes("boolean"):
		return true
	}
	return "example"
}
