package main

import (
	"maps"
	"slices"
	"strings"

	"github.com/getkin/kin-openapi/openapi3"
	"github.com/oapi-codegen/oapi-codegen/v2/pkg/codegen"
)

// adapt changes the document in memory where oapi-codegen would generate unsuitable code. It returns the unions of the
// data of events.
func adapt(path string, document *openapi3.T) (map[string]*eventUnion, error) {
	withoutRequestID(document)
	shortNames(document)
	ownNames(document)
	mergeMediaRanges(document)
	eachContent(document, addFieldStyles)
	renameVariables(document)
	eachSchema(document, func(ref *openapi3.SchemaRef) { exactLiterals(ref.Value) })
	unions, err := shape(path, document)
	if err != nil {
		return nil, err
	}
	holdAllValues(document)
	shareResponses(document)
	nullableMembers(document)
	return unions, nil
}

// shareResponses marks the first reference to each response in the components, by its status, with the extension
// x-first. It declares the types that the others share, for the template of responses.
func shareResponses(document *openapi3.T) {
	seen := map[string]bool{}
	eachOperation(document, func(_ *openapi3.PathItem, operation *openapi3.Operation) {
		for status, ref := range operation.Responses.Map() {
			if key := ref.Ref + " " + status; ref.Ref != "" && !seen[key] {
				ref.Extensions, seen[key] = extended(map[string]any{"x-first": true}, ref.Extensions), true
			}
		}
	})
}

// withoutRequestID removes X-Request-Id from all requests and responses. The client and the server handle
// this header for all operations. It also removes what OpenAPI ignores of headers, which describes nothing.
func withoutRequestID(document *openapi3.T) {
	isRequestID := func(name string) bool { return strings.EqualFold(name, "X-Request-Id") }
	isParameter := func(ref *openapi3.ParameterRef) bool {
		return ref.Value.In == openapi3.ParameterInHeader && (isRequestID(ref.Value.Name) || hasWord("accept content-type authorization", strings.ToLower(ref.Value.Name)))
	}
	eachOperation(document, func(item *openapi3.PathItem, operation *openapi3.Operation) {
		item.Parameters = slices.DeleteFunc(item.Parameters, isParameter)
		operation.Parameters = slices.DeleteFunc(operation.Parameters, isParameter)
	})
	maps.DeleteFunc(document.Components.Parameters, func(_ string, ref *openapi3.ParameterRef) bool { return isParameter(ref) })
	for response := range partsOf(document).responses {
		maps.DeleteFunc(response.Headers, func(name string, _ *openapi3.HeaderRef) bool {
			return isRequestID(name) || strings.EqualFold(name, "Content-Type")
		})
	}
}

// mergeMediaRanges merges the media type ranges of a body, such as video/* and image/*, into one. Otherwise,
// oapi-codegen would declare the same field for each. The validator of the server still checks the media type.
func mergeMediaRanges(document *openapi3.T) {
	eachOperation(document, func(_ *openapi3.PathItem, operation *openapi3.Operation) {
		if operation.RequestBody == nil || len(operation.RequestBody.Value.Content) < 2 {
			return
		}
		content := operation.RequestBody.Value.Content
		ranges := slices.Collect(maps.Keys(content))
		if !slices.ContainsFunc(ranges, func(media string) bool { return !strings.HasSuffix(media, "/*") }) {
			operation.RequestBody.Value.Content = openapi3.Content{"*/*": content[ranges[0]]}
		}
	})
}

// renameVariables renames path parameters that would be variables with a name that the handlers use.
func renameVariables(document *openapi3.T) {
	const taken = "body bytes chosenMedia context decodeForm decodeJSON decodeText encoding err errors fmt found h handler http io json mime" +
		" missing multipart parameter params parts partsOf query read readParameter reflect request runtime serveStrict siw slices stop" +
		" stream strings sync text time url value w r"
	for p := range partsOf(document).parameters {
		name := codegen.ParameterDefinition{ParamName: p.Name, Spec: p}.GoName()
		if p.In == openapi3.ParameterInPath && isTaken(codegen.LowercaseFirstCharacters(name), taken) {
			p.Extensions = extended(map[string]any{"x-go-name": name + "Value"}, p.Extensions)
		}
	}
}

// shortNames removes repetition from Go names: a constant of EventType ends with the name of its event, the member
// event_type of a notification has the type EventType, and names of headers have no X.
func shortNames(document *openapi3.T) {
	for _, ref := range document.Components.Parameters {
		if name, ok := strings.CutPrefix(strings.ToLower(ref.Value.Name), "x-"); ok && ref.Value.In == openapi3.ParameterInHeader {
			ref.Value.Extensions = extended(ref.Value.Extensions, map[string]any{"x-go-name": codegen.SchemaNameToTypeName(name)})
		}
	}
	types := document.Components.Schemas["EventType"]
	if types == nil || len(document.Webhooks) == 0 { // EventType is no more than a name
		return
	}
	var names []any
	for _, value := range types.Value.Enum {
		text, _ := value.(string)
		names = append(names, codegen.SchemaNameToTypeName(strings.TrimSuffix(text, "_event")))
	}
	extend(types, map[string]any{"x-enum-varnames": names})
	for _, schema := range document.Components.Schemas {
		property := schema.Value.Properties["event_type"]
		if property == nil || property.Ref != "" {
			continue
		}
		if name, ok := property.Value.Const.(string); ok && document.Webhooks[name] != nil {
			extend(property, map[string]any{"x-go-type": "EventType"})
		}
	}
}

// ownNames names parameters and members beside a component with an x-go-name, which oapi-codegen would take for theirs.
func ownNames(document *openapi3.T) {
	const key = "x-go-name"
	isNamed := func(ref *openapi3.SchemaRef) bool { return ref.Value.Extensions[key] != nil }
	named := func(name string, ref *openapi3.SchemaRef, extensions map[string]any) map[string]any {
		own := ref.Extensions[key]
		switch s := ref.Value; {
		case ref.Ref == "" && isNamed(ref):
			own = s.Extensions[key]
		case own == nil && slices.ContainsFunc(slices.Concat(openapi3.SchemaRefs{ref}, s.AllOf, s.AnyOf, s.OneOf), isNamed):
			own = codegen.SchemaNameToTypeName(name)
		case own == nil:
			return extensions
		}
		return extended(extensions, map[string]any{key: own})
	}
	eachSchema(document, func(ref *openapi3.SchemaRef) {
		for name, property := range ref.Value.Properties {
			property.Extensions = named(name, property, property.Extensions)
		}
	})
	for p := range partsOf(document).parameters {
		if p.Schema != nil {
			p.Extensions = named(p.Name, p.Schema, p.Extensions)
		}
	}
}

// extend adds extensions to a reference, and to its schema if the schema is declared in place.
func extend(ref *openapi3.SchemaRef, extensions map[string]any) {
	ref.Extensions = extended(ref.Extensions, extensions)
	if ref.Ref == "" {
		ref.Value.Extensions = extended(ref.Value.Extensions, extensions)
	}
}

func extended(present, extensions map[string]any) map[string]any {
	all := map[string]any{}
	maps.Copy(all, extensions)
	maps.Copy(all, present) // extensions in the document win
	return all
}
