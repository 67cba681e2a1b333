package main

import (
	"encoding/json"
	"errors"
	"slices"
	"strings"

	"github.com/getkin/kin-openapi/openapi3"
)

// expand replaces what kin-openapi and oapi-codegen do not know of OpenAPI 3.2 and of the extensions of the validator.
func expand(document *openapi3.T) error {
	if err := expandItems(document); err != nil {
		return err
	}
	eachContent(document, addSchemas)
	for p := range partsOf(document).parameters {
		addSchemas(p.Content)
	}
	eachSchema(document, func(ref *openapi3.SchemaRef) {
		expandDiscriminator(document, ref.Value)
		expandSiblings(document, ref)
		if len(ref.Value.PrefixItems) > 0 { // whose types differ from that of the items
			ref.Value.Items = anyValue()
		}
	})
	return nil
}

// expandSiblings moves a reference and what is beside it into an allOf, unless the Go type is that of the reference
// alone. The loader has made the value of such a reference a copy of what it refers to, with what is beside it as the
// last part of the allOf.
func expandSiblings(document *openapi3.T, ref *openapi3.SchemaRef) {
	name, _ := strings.CutPrefix(ref.Ref, "#/components/schemas/")
	target, copied := document.Components.Schemas[name], *ref.Value
	if target == nil || len(copied.AllOf) == 0 {
		return
	}
	beside := copied.AllOf[len(copied.AllOf)-1]
	if slices.ContainsFunc(target.Value.AllOf, func(part *openapi3.SchemaRef) bool { return sameSchema(part.Value, beside.Value) }) {
		ref.Value = target.Value // the loader may have copied what is beside that reference
		return
	}
	whole := openapi3.Schema{
		AllOf: openapi3.SchemaRefs{{Ref: ref.Ref, Value: target.Value}, beside}, Origin: beside.Value.Origin, Extensions: ref.Extensions,
		Description: copied.Description, Default: copied.Default, Deprecated: copied.Deprecated, ReadOnly: copied.ReadOnly, WriteOnly: copied.WriteOnly,
	}
	if !isAnnotation(beside.Value) || hasOthers(&openapi3.SchemaRef{Value: &whole}) {
		ref.Ref, *ref.Value = "", whole
	}
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

// expandDiscriminator writes the names of schemas in a discriminator as references.
func expandDiscriminator(document *openapi3.T, schema *openapi3.Schema) {
	if schema.Discriminator == nil {
		return
	}
	for value, target := range schema.Discriminator.Mapping {
		if document.Components.Schemas[target.Ref] != nil {
			schema.Discriminator.Mapping[value] = openapi3.MappingRef{Ref: "#/components/schemas/" + target.Ref}
		}
	}
}

// expandItems puts item schemas in the place of the extension x-itemSchema.
func expandItems(document *openapi3.T) (err error) {
	eachContent(document, func(content openapi3.Content) {
		for _, described := range content {
			items := described.Extensions["x-itemSchema"]
			if items == nil || described.ItemSchema != nil {
				continue
			}
			described.Schema, described.ItemSchema = nil, &openapi3.SchemaRef{}
			text, invalid := json.Marshal(items)
			err = errors.Join(err, invalid, json.Unmarshal(text, described.ItemSchema))
			w := walker{seen: map[*openapi3.Schema]bool{}, visit: func(part *openapi3.SchemaRef) { part.Value.Origin = described.Origin }}
			w.schema(described.ItemSchema) // of extensions, kin-openapi does not know the places
		}
	})
	if err != nil {
		return err
	}
	return openapi3.NewLoader().ResolveRefsIn(document, nil)
}
