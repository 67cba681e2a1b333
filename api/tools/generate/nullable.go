package main

import (
	"slices"
	"strings"

	"github.com/getkin/kin-openapi/openapi3"
	"github.com/oapi-codegen/oapi-codegen/v2/pkg/codegen"
)

// nullableMembers gives nullable members of JSON in requests, which is in bodies, in the items of streams, parameters
// and fields of forms, the type Nullable, which distinguishes null from absent. Responses keep pointers.
func nullableMembers(document *openapi3.T) {
	w := walker{seen: map[*openapi3.Schema]bool{}, visit: func(ref *openapi3.SchemaRef) {
		for name, property := range sorted(ref.Value.Properties) {
			if allowsNull(property.Value) {
				mark(property, slices.Contains(ref.Value.Required, name))
			}
		}
	}}
	visit := func(content openapi3.Content) {
		for media, described := range sorted(content) {
			if isJSON(media) {
				w.schema(described.Schema)
				continue
			}
			for _, property := range sorted(described.Schema.Value.Properties) {
				w.schema(property)
			}
		}
	}
	requests := *document
	requests.Webhooks = nil // which the service sends
	eachOperation(&requests, func(item *openapi3.PathItem, operation *openapi3.Operation) {
		for _, p := range slices.Concat(item.Parameters, operation.Parameters) {
			visit(p.Value.Content)
		}
		if operation.RequestBody != nil {
			visit(operation.RequestBody.Value.Content)
		}
	})
}

// mark gives a property the type Nullable. All types in it that need a name have one.
func mark(property *openapi3.SchemaRef, required bool) {
	if _, ok := property.Value.Extensions["x-go-type"]; ok {
		return
	}
	schema := must(codegen.GenerateGoSchema(property, nil))
	extend(property, map[string]any{
		"x-go-type":                       "Nullable[" + schema.TypeDecl() + "]",
		"x-go-type-skip-optional-pointer": true,
		"x-omitempty":                     false,
		"x-omitzero":                      !required,
	})
}

// componentName returns the Go name of the component schema that a reference names, which may be its x-go-name.
func componentName(ref *openapi3.SchemaRef) (string, bool) {
	name, ok := strings.CutPrefix(ref.Ref, "#/components/schemas/")
	if given, isNamed := ref.Value.Extensions["x-go-name"].(string); ok && isNamed {
		return given, true
	}
	return codegen.SchemaNameToTypeName(name), ok
}
