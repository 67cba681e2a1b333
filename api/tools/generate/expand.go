package main

import (
	"encoding/json"
	"fmt"
	"path"
	"regexp"
	"slices"
	"strings"

	"github.com/getkin/kin-openapi/openapi3"
)

// expand replaces what kin-openapi and oapi-codegen do not know of OpenAPI 3.2 and of the extensions of the validator.
func expand(document *openapi3.T) error {
	if err := expandMediaTypes(document); err != nil {
		return err
	}
	eachContent(document, addSchemas)
	eachParameter(document, func(p *openapi3.Parameter) { addSchemas(p.Content) })
	eachSchema(document, func(ref *openapi3.SchemaRef) { expandDiscriminator(document, ref.Value) })
	return nil
}

// addSchemas adds a schema to each media type that has none: of any value in JSON, of a text, and of any form.
func addSchemas(content openapi3.Content) {
	for media, described := range content {
		if described.Schema != nil || described.ItemSchema != nil {
			continue
		}
		schema := &openapi3.Schema{Origin: described.Origin}
		switch {
		case isJSON(media):
		case media == mediaForm:
			schema.Type, schema.AdditionalProperties.Schema = &openapi3.Types{"object"}, openapi3.NewSchemaRef("", openapi3.NewStringSchema())
		default:
			schema.Type = &openapi3.Types{"string"}
			if media != "text/plain" {
				schema.Format = "binary"
			}
		}
		described.Schema = openapi3.NewSchemaRef("", schema)
	}
}

// expandDiscriminator writes the names of schemas in a discriminator as references, and maps the empty text to the
// schema that defaultMapping names. withDefaults completes the generated code. That schema keeps its own name as a
// value, so that oapi-codegen writes no value into a union.
func expandDiscriminator(document *openapi3.T, schema *openapi3.Schema) {
	if schema.Discriminator == nil {
		return
	}
	reference := func(target string) openapi3.MappingRef {
		if document.Components.Schemas[target] != nil {
			target = "#/components/schemas/" + target
		}
		return openapi3.MappingRef{Ref: target}
	}
	mapping := map[string]openapi3.MappingRef{}
	for value, target := range schema.Discriminator.Mapping {
		mapping[value] = reference(target.Ref)
	}
	inPlace := func(element *openapi3.SchemaRef) bool { return element.Ref == "" }
	if target, ok := schema.Discriminator.Extensions["defaultMapping"].(string); ok && !slices.ContainsFunc(slices.Concat(schema.OneOf, schema.AnyOf), inPlace) {
		mapping[""], mapping[path.Base(target)] = reference(target), reference(target)
	}
	schema.Discriminator.Mapping = mapping
}

// emptyCase matches the case for the empty text in a method ValueByDiscriminator, and all after it.
var emptyCase = regexp.MustCompile(`(?s)case "":\s+return (t\.As\w+\(\))\n(.*?default:\s+return )nil, errors\.New\("unknown discriminator value: " ?\+ ?discriminator\)`)

// withDefaults makes the case for the empty text that for all other values too.
func withDefaults(code string) string { return emptyCase.ReplaceAllString(code, "$2$1") }

// expandMediaTypes puts the media types in the components in the place of the references to them, and item schemas in
// the place of the extension x-itemSchema.
func expandMediaTypes(document *openapi3.T) error {
	var types map[string]any
	if document.Components != nil {
		types, _ = document.Components.Extensions["mediaTypes"].(map[string]any)
	}
	inlined := map[string]*openapi3.MediaType{}
	var changed bool
	var failed error
	decode := func(value, into any, name string) {
		text, err := json.Marshal(value)
		if err == nil {
			err = json.Unmarshal(text, into)
		}
		if err != nil {
			failed = fmt.Errorf("the media type %s: %w", name, err)
		}
		changed = true
	}
	expand := func(content openapi3.Content) {
		for media, described := range content {
			if items := described.Extensions["x-itemSchema"]; items != nil && described.ItemSchema == nil {
				described.Schema, described.ItemSchema = nil, &openapi3.SchemaRef{}
				decode(items, described.ItemSchema, media)
			}
			name := mediaTypeOf(types, described.Extensions["$ref"])
			if name == "" {
				continue
			}
			if inlined[name] == nil {
				inlined[name] = &openapi3.MediaType{Origin: document.Components.Origin}
				decode(types[name], inlined[name], name)
			}
			content[media] = inlined[name]
		}
	}
	eachContent(document, expand)
	eachParameter(document, func(p *openapi3.Parameter) { expand(p.Content) })
	if failed != nil || !changed {
		return failed
	}
	return openapi3.NewLoader().ResolveRefsIn(document, nil)
}

// mediaTypeOf returns the name of the media type to which a reference leads, or "" if it is no reference.
func mediaTypeOf(types map[string]any, ref any) (name string) {
	for text, ok := ref.(string); ok; { // the validator has refused circles
		name = strings.TrimPrefix(text, "#/components/mediaTypes/")
		next, _ := types[name].(map[string]any)
		text, ok = next["$ref"].(string)
	}
	return name
}
