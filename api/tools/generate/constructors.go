package main

import (
	"slices"
	"strings"

	"github.com/getkin/kin-openapi/openapi3"
	"github.com/oapi-codegen/oapi-codegen/v2/pkg/codegen"
)

// constructor describes a function that returns a response type with its required members.
type constructor struct {
	Name, Article string
	Members       []parameter
	Optional      bool // it has other members, too, and no field String
}

// constructors describes a constructor for each component with required members that is a successful response or an
// item of a list in one. With constructors, a new required member breaks callers at compile time. A Go literal could
// omit it. The parameters are in the order of the names of the members, so another order in the document swaps none.
func constructors(document *openapi3.T) []constructor {
	schemas, seen := map[string]*openapi3.Schema{}, map[*openapi3.Schema]bool{}
	eachOperation(document, func(_ *openapi3.PathItem, operation *openapi3.Operation) {
		for status, response := range operation.Responses.Map() {
			if !strings.HasPrefix(status, "2") {
				continue
			}
			for _, media := range jsonTypes(response.Value.Content) {
				collect(document.Components.Schemas, schemas, seen, response.Value.Content[media].Schema)
			}
		}
	})
	var all []constructor
	for name, described := range sorted(schemas) {
		schema := must(codegen.GenerateGoSchema(&openapi3.SchemaRef{Value: described}, []string{name}))
		c := constructor{Name: name, Article: "a"}
		if strings.ContainsAny(name[:1], "AEIOU") {
			c.Article = "an"
		}
		for _, p := range schema.Properties {
			if p.Required {
				c.Members = append(c.Members, parameter{Name: p.JsonFieldName, Field: p.GoFieldName(), Argument: argument(p.GoFieldName()), Type: p.GoTypeDef()})
			}
		}
		slices.SortFunc(c.Members, func(a, b parameter) int { return strings.Compare(a.Name, b.Name) })
		c.Optional = len(c.Members) < len(schema.Properties) &&
			!slices.ContainsFunc(schema.Properties, func(p codegen.Property) bool { return p.GoFieldName() == "String" })
		all = append(all, c)
	}
	return all
}

// collect adds the component that ref refers to, and the components of the items of its lists. A list may be an item of
// itself, so those that it has followed are in seen. A component that is another name of a type has no methods.
func collect(components openapi3.Schemas, schemas map[string]*openapi3.Schema, seen map[*openapi3.Schema]bool, ref *openapi3.SchemaRef) {
	if ref == nil || ref.Value == nil {
		return
	}
	if other := components[strings.TrimPrefix(ref.Ref, "#/components/schemas/")]; other != nil && other.Ref != "" {
		collect(components, schemas, seen, other)
		return
	}
	if name, ok := componentName(ref); ok && len(ref.Value.Properties) > 0 && schemas[name] == nil {
		schemas[name] = ref.Value
		for _, property := range ref.Value.Properties {
			collect(components, schemas, seen, property.Value.Items)
		}
	}
	if !seen[ref.Value] {
		seen[ref.Value] = true
		collect(components, schemas, seen, ref.Value.Items)
	}
}
