package main

import (
	"cmp"
	"encoding/json"
	"maps"
	"slices"

	"github.com/getkin/kin-openapi/openapi3"
)

// holdAllValues changes the schemas for which oapi-codegen would fail, or choose a Go type that cannot hold all values
// that the schema allows. Values without a single type become json.RawMessage, because the numbers of an any are
// float64.
func holdAllValues(document *openapi3.T) {
	eachSchema(document, func(ref *openapi3.SchemaRef) {
		schema := ref.Value
		// The encoding of a string is an annotation, which the validator does not enforce.
		schema.ContentEncoding, schema.ContentMediaType, schema.ContentSchema = "", "", nil
		schema.Enum = slices.DeleteFunc(schema.Enum, func(value any) bool { return value == nil })
		if _, ok := schema.Extensions["x-go-type"]; ok || schema.Type.Is("null") || len(schema.OneOf)+len(schema.AnyOf) > 0 {
			return
		}
		types := typesOf(schema.Type)
		switch {
		case len(types) > 1 || len(types) == 0 && !isObject(schema):
			if name := typeOfLiterals(schema); name != "" {
				allowsNull := schema.Type.IncludesNull()
				if schema.Type = (&openapi3.Types{name}); allowsNull {
					*schema.Type = append(*schema.Type, "null")
				}
				return
			}
			schema.Type, schema.Enum, schema.Const = nil, nil, nil
			extend(ref, anyValue().Value.Extensions)
		case slices.Contains(types, "array"):
			schema.Items, schema.Enum, schema.Const = cmp.Or(schema.Items, anyValue()), nil, nil
		case len(types) == 1 && types[0] != "object":
		case schema.AdditionalProperties.Has != nil && *schema.AdditionalProperties.Has, !isObject(schema):
			schema.AdditionalProperties.Schema = anyValue()
		}
		if isObject(schema) || slices.Contains(types, "object") { // the values of its type include those
			schema.Enum, schema.Const = nil, nil
		}
	})
}

// anyValue returns a schema that allows all values.
func anyValue() *openapi3.SchemaRef {
	return &openapi3.SchemaRef{Value: &openapi3.Schema{
		Extensions: map[string]any{"x-go-type": "json.RawMessage", "x-go-type-skip-optional-pointer": true},
	}}
}

// exactLiterals replaces the numbers of an enum, which are float64, by their texts, and removes repeated values. It
// gives a schema the type of its literals if they are strings or booleans, and texts no format, because the Go types of
// some have no constants. Null, which is no constant in Go, becomes a type or is removed from the types.
func exactLiterals(schema *openapi3.Schema) {
	var values []any
	for i, value := range schema.Enum {
		if _, ok := value.(float64); ok && schema.Origin != nil && i < len(schema.Origin.Sequences["enum"]) {
			value = json.Number(schema.Origin.Sequences["enum"][i].Name)
		}
		if value != nil && !slices.ContainsFunc(values, func(other any) bool { return sameLiteral(value, other) }) {
			values = append(values, value)
		}
	}
	hasNull := slices.Contains(schema.Enum, nil)
	allowsNull := hasNull || len(literalsOf(schema)) == 0
	schema.Enum = values
	name := typeOfLiterals(schema)
	if name == "string" {
		schema.Format = ""
	}
	switch {
	case schema.Type == nil && name != "":
		schema.Type = &openapi3.Types{name, "null"}
	case schema.Type == nil && hasNull: // until shape has merged it
		schema.Enum = append(values, nil)
	}
	if !allowsNull {
		schema.Type = withoutNull(schema.Type)
	}
}

// isObject reports whether a schema has keywords for members.
func isObject(schema *openapi3.Schema) bool {
	return len(schema.Properties) > 0 || schema.AdditionalProperties.Has != nil && *schema.AdditionalProperties.Has ||
		schema.AdditionalProperties.Schema != nil
}

// hasOthers reports whether a schema describes members that are none of its properties.
func hasOthers(ref *openapi3.SchemaRef) bool {
	fields := fieldsOf(ref)
	return slices.ContainsFunc(conditional(ref.Value), func(name string) bool {
		return name == others || fields[name] == nil && fields[others] == nil
	})
}

// conditional returns the names of the members that a schema, or a part of its allOf without a name, describes outside
// of properties and additionalProperties.
func conditional(schema *openapi3.Schema) []string {
	names := slices.Concat(slices.Collect(maps.Values(schema.DependentRequired))...)
	names = append(names, schema.Required...)
	if len(schema.PatternProperties) > 0 || schema.UnevaluatedProperties.Schema != nil {
		names = append(names, others)
	}
	for _, part := range append(slices.Collect(maps.Values(schema.DependentSchemas)), schema.If, schema.Then, schema.Else) {
		names = slices.AppendSeq(names, maps.Keys(fieldsOf(part)))
	}
	for _, part := range schema.AllOf {
		if part.Ref == "" {
			names = append(names, conditional(part.Value)...)
		}
	}
	return names
}

// typeOfLiterals returns the JSON type of the const and enum of a schema, which are strings or booleans, or "".
func typeOfLiterals(schema *openapi3.Schema) (name string) {
	for _, value := range literalsOf(schema) {
		one := typeOf(value)
		if one != "string" && one != "boolean" || name != "" && one != name {
			return ""
		}
		name = one
	}
	return name
}

// allowsNull reports whether one of the keywords of a schema has null as a value.
func allowsNull(schema *openapi3.Schema) bool {
	return schema.Type.IncludesNull() || slices.Contains(literalsOf(schema), nil) ||
		slices.ContainsFunc(slices.Concat(schema.AllOf, schema.OneOf, schema.AnyOf), func(part *openapi3.SchemaRef) bool { return allowsNull(part.Value) })
}
