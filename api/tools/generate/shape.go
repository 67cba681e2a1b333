package main

import (
	"cmp"
	"encoding/json"
	"fmt"
	"maps"
	"math/big"
	"reflect"
	"slices"
	"strings"

	"github.com/getkin/kin-openapi/openapi3"
	"github.com/oapi-codegen/oapi-codegen/v2/pkg/codegen"

	"github.com/avatarstudio/avatarstudio/api/runtime/stream"
)

// shaper reduces schemas to what determines their Go types, in forms for which oapi-codegen generates right ones: an
// allOf is merged into its schema, a union with null and one other alternative becomes that alternative, which may be
// null, and an enum, object or union within another schema or in an operation becomes a component, so that its type has
// a name.
type shaper struct {
	schemas openapi3.Schemas
	done    map[*openapi3.Schema]bool
	unions  map[string]*eventUnion // by name
	faults
}

func shape(file string, document *openapi3.T) (map[string]*eventUnion, error) {
	s := shaper{document.Components.Schemas, map[*openapi3.Schema]bool{}, map[string]*eventUnion{}, faults{file: file}}
	for _, name := range slices.Sorted(maps.Keys(s.schemas)) {
		s.component(name)
	}
	c := document.Components
	for name, parameter := range sorted(c.Parameters) {
		s.parameter(parameter.Value, name)
	}
	for name, body := range sorted(c.RequestBodies) {
		s.content(body.Value.Content, name, name)
	}
	maps.DeleteFunc(c.RequestBodies, func(_ string, body *openapi3.RequestBodyRef) bool {
		return len(jsonTypes(body.Value.Content)) > 1 // oapi-codegen would give all types the same name
	})
	for name, header := range sorted(c.Headers) {
		s.parameter(&header.Value.Parameter, name)
	}
	for name, response := range sorted(c.Responses) {
		s.response(response.Value, name, name)
	}
	eachOperation(document, func(item *openapi3.PathItem, o *openapi3.Operation) {
		for _, p := range slices.Concat(item.Parameters, o.Parameters) {
			s.parameter(p.Value, o.OperationID+" params "+p.Value.Name)
		}
		if o.RequestBody != nil {
			s.content(o.RequestBody.Value.Content, o.OperationID, o.OperationID)
		}
		for status, response := range sorted(o.Responses.Map()) {
			s.response(response.Value, o.OperationID+" "+status, o.OperationID)
			for _, described := range response.Value.Content {
				if described.Extensions[nullExtension] != nil { // the type of a component cannot be null
					response.Ref = ""
				}
			}
			if hasStream(response.Value.Content) { // for the templates
				response.Ref = ""
			}
		}
	})
	maps.DeleteFunc(c.Responses, func(_ string, r *openapi3.ResponseRef) bool { return hasStream(r.Value.Content) })
	return s.unions, s.err()
}

// response shapes a response. name begins the names of the types in it, and of the names of those in a stream.
func (s *shaper) response(r *openapi3.Response, name, of string) {
	for header, ref := range sorted(r.Headers) {
		s.parameter(&ref.Value.Parameter, name+" "+header)
	}
	s.content(r.Content, name, of)
}

// parameter shapes the schema of a parameter or header. Its enums have names of oapi-codegen.
func (s *shaper) parameter(p *openapi3.Parameter, name string) {
	hasParts := func(ref *openapi3.SchemaRef) bool { return ref != nil && ref.Ref == "" && len(ref.Value.AllOf) > 0 }
	if p.Style == "deepObject" || hasParts(p.Schema) || p.Schema != nil && hasParts(p.Schema.Value.Items) {
		s.inside(p.Schema, []string{name})
	}
	for _, media := range p.Content {
		s.name(media.Schema, []string{name}, true)
	}
}

func (s *shaper) content(content openapi3.Content, name, of string) {
	for media, described := range sorted(content) {
		path := []string{name, "body"}
		if len(content) > 1 {
			path = []string{name, media, "body"}
		}
		if format, ok := stream.FormatOf(media); ok && described.ItemSchema != nil {
			s.stream(content, media, format, of)
			continue
		}
		s.name(described.Schema, path, true)
		s.inside(described.ItemSchema, append(path, "item"))
		if described.Schema != nil && isJSON(media) && allowsNull(described.Schema.Value) {
			described.Extensions = extended(map[string]any{nullExtension: true}, described.Extensions)
		}
	}
}

// nullExtension is the extension of a media type in JSON whose values may be null, which is a nil pointer in Go.
const nullExtension = "x-null"

func (s *shaper) component(name string) {
	if ref := s.schemas[name]; ref != nil {
		s.schema(ref, []string{codegen.SchemaNameToTypeName(name)}, true)
	}
}

// inside shapes a schema within another part of the document, and names it if it needs a name.
func (s *shaper) inside(ref *openapi3.SchemaRef, path []string) { s.name(ref, path, false) }

func (s *shaper) name(ref *openapi3.SchemaRef, path []string, named bool) {
	if s.schema(ref, path, named); ref != nil && ref.Ref == "" && needsName(ref) {
		s.declare(ref, path)
	}
}

// declare makes a schema a component.
func (s *shaper) declare(ref *openapi3.SchemaRef, path []string) {
	name, given := extended(ref.Value.Extensions, ref.Extensions)["x-go-type-name"].(string)
	if !given {
		name = codegen.SchemaNameToTypeName(codegen.PathToTypeName(slices.Clone(path)))
	}
	if other := s.schemas[name]; other != nil && !sameSchema(other.Value, ref.Value) {
		line := locate(cmp.Or(other.Origin, originOf(other))).Line
		s.fail(locate(originOf(ref)), "a schema in %s has the Go name %s, as has the schema %s in line %d: %s", path[0], name, name, line, fixType)
	}
	ref.Value.Extensions, ref.Extensions = maps.Clone(ref.Value.Extensions), maps.Clone(ref.Extensions)
	delete(ref.Value.Extensions, "x-go-type-name") // that of the component is its name
	delete(ref.Extensions, "x-go-type-name")
	s.schemas[name] = &openapi3.SchemaRef{Value: ref.Value, Origin: ref.Value.Origin}
	ref.Ref = "#/components/schemas/" + name
}

// needsName reports whether the Go type of a schema is a struct, an enum or a union.
func needsName(ref *openapi3.SchemaRef) bool {
	v := ref.Value
	_, given := extended(v.Extensions, ref.Extensions)["x-go-type"]
	return !given && (len(v.Properties)+len(v.OneOf)+len(v.AnyOf) > 0 || isEnum(v))
}

// isEnum reports whether a schema has values of one type.
func isEnum(v *openapi3.Schema) bool {
	types := typesOf(v.Type)
	return len(literalsOf(v)) > 0 && (len(types) == 1 && types[0] != "array" && types[0] != "object" || len(types) == 0 && typeOfLiterals(v) != "")
}

// typesOf returns the types but null.
func typesOf(types *openapi3.Types) []string {
	return slices.DeleteFunc(slices.Clone(types.Slice()), func(name string) bool { return name == "null" })
}

// schema shapes a schema, unless it is a reference, and the schemas in it. named is true if a type has the name of the
// path even if the schema needs none.
func (s *shaper) schema(ref *openapi3.SchemaRef, path []string, named bool) {
	if ref == nil || ref.Value == nil || ref.Ref != "" || s.done[ref.Value] {
		return
	}
	v := ref.Value
	s.done[v] = true
	keepsOthers := hasOthers(ref)
	if len(v.AllOf) > 0 {
		s.join(ref, keepsOthers)
	}
	if s.collapse(ref); ref.Ref != "" {
		return
	}
	if keepsOthers && (v.Type.Includes("object") || isObject(v)) {
		v.AdditionalProperties = openapi3.AdditionalProperties{Schema: anyValue()}
	}
	if v.Type.Is("null") { // no other Go type has only null
		v.Type = nil
		extend(ref, anyValue().Value.Extensions)
		return
	}
	for name, property := range sorted(v.Properties) {
		s.inside(property, append(slices.Clip(path), name))
	}
	for i, part := range slices.Concat(v.OneOf, v.AnyOf) {
		switch {
		case part.Ref == "" && part.Value.Type.Is("null"):
		case part.Ref == "" && v.Discriminator != nil:
			s.fail(placeOf(part, v.Origin), "an alternative of a discriminator needs a name: move it to components/schemas, and refer to it")
		default:
			s.name(part, append(slices.Clip(path), fmt.Sprint(i)), true)
		}
	}
	if len(v.OneOf)+len(v.AnyOf) > 0 { // the union holds all members and values
		v.AdditionalProperties = openapi3.AdditionalProperties{}
		if len(withoutNull(v.Type).Slice()) > 1 {
			v.Type = nil
		}
	}
	items, others := path, path
	if named || needsName(ref) {
		items, others = append(slices.Clip(path), "item"), append(slices.Clip(path), "value")
	}
	s.inside(v.Items, items)
	s.inside(v.AdditionalProperties.Schema, others)
}

// collapse makes a union of null and one other alternative this alternative, and removes null that the types or the
// literals beside a union exclude.
func (s *shaper) collapse(ref *openapi3.SchemaRef) {
	v := ref.Value
	excludesNull := v.Type != nil && !v.Type.IncludesNull() || v.Type == nil && len(literalsOf(v)) > 0 && !slices.Contains(literalsOf(v), nil)
	if len(v.Properties) > 0 || v.Discriminator != nil || len(v.OneOf) > 0 && len(v.AnyOf) > 0 {
		return
	}
	isNull := func(part *openapi3.SchemaRef) bool { return part.Value.Type.Is("null") }
	all := slices.Concat(v.OneOf, v.AnyOf)
	others := slices.DeleteFunc(slices.Clone(all), isNull)
	if excludesNull {
		v.OneOf, v.AnyOf = slices.DeleteFunc(slices.Clone(v.OneOf), isNull), slices.DeleteFunc(slices.Clone(v.AnyOf), isNull)
	}
	switch {
	case len(all) != 2 || len(others) != 1:
	case excludesNull && len(literalsOf(v)) > 0:
		v.OneOf, v.AnyOf = nil, nil
		s.merge(v, s.flat(others[0]), locate(v.Origin))
	default:
		if s.become(ref, others[0]); !excludesNull {
			orNull(v)
		}
	}
}

// become gives a schema the type of another.
func (s *shaper) become(ref, other *openapi3.SchemaRef) {
	own := *ref.Value
	flat := s.flat(other)
	*ref.Value = *flat
	ref.Value.Origin, ref.Value.ReadOnly, ref.Value.WriteOnly = own.Origin, own.ReadOnly || flat.ReadOnly, own.WriteOnly || flat.WriteOnly
	ref.Value.Extensions = extended(flat.Extensions, own.Extensions)
	ref.Value.Description = cmp.Or(own.Description, flat.Description)
	ref.Ref = other.Ref
	ref.Extensions = extended(ref.Extensions, other.Extensions)
}

// orNull allows null beside the values of a schema.
func orNull(v *openapi3.Schema) {
	null := &openapi3.SchemaRef{Value: &openapi3.Schema{Type: &openapi3.Types{"null"}}}
	switch {
	case len(v.OneOf) > 0:
		v.OneOf = append(slices.Clip(v.OneOf), null)
	case len(v.AnyOf) > 0:
		v.AnyOf = append(slices.Clip(v.AnyOf), null)
	case v.Type == nil && isObject(v):
		v.Type = &openapi3.Types{"object", "null"}
	case v.Type != nil && !v.Type.Includes("null"):
		v.Type = new(openapi3.Types(append(slices.Clip(v.Type.Slice()), "null")))
	}
}

// flat returns a copy of a schema without an allOf.
func (s *shaper) flat(ref *openapi3.SchemaRef) *openapi3.Schema {
	if name, ok := strings.CutPrefix(ref.Ref, "#/components/schemas/"); ok {
		s.component(name)
	} else if len(ref.Value.AllOf) > 0 {
		s.join(ref, false)
	}
	v := *ref.Value
	return &v
}

func withoutNull(types *openapi3.Types) *openapi3.Types {
	if len(types.Slice()) < 2 {
		return types
	}
	return new(openapi3.Types(typesOf(types)))
}

// join merges the schemas of an allOf into their schema, whose type is its own if it has others than its only part.
func (s *shaper) join(ref *openapi3.SchemaRef, keepsOthers bool) {
	v := ref.Value
	own := *v
	own.AllOf = nil
	parts := slices.DeleteFunc(slices.Clone(v.AllOf), func(part *openapi3.SchemaRef) bool { return part.Ref == "" && isAnnotation(part.Value) })
	v.AllOf = nil
	if isAnnotation(&own) && len(parts) == 1 && !keepsOthers {
		s.become(ref, parts[0])
		return
	}
	at := locate(own.Origin)
	for _, part := range parts {
		s.merge(v, s.flat(part), at)
	}
}

// isAnnotation reports whether a schema says nothing about the Go type.
func isAnnotation(v *openapi3.Schema) bool {
	return v.Type == nil && v.Format == "" && len(v.Properties)+len(v.Required)+len(v.OneOf)+len(v.AnyOf)+len(literalsOf(v)) == 0 &&
		v.Items == nil && v.AdditionalProperties.Has == nil && v.AdditionalProperties.Schema == nil && v.Discriminator == nil &&
		!slices.ContainsFunc(v.AllOf, func(part *openapi3.SchemaRef) bool { return part.Ref != "" || !isAnnotation(part.Value) })
}

func literalsOf(v *openapi3.Schema) []any {
	if v.Const != nil {
		return []any{v.Const}
	}
	return v.Enum
}

// merge restricts the values of into to those of from.
func (s *shaper) merge(into, from *openapi3.Schema, at openapi3.Location) {
	const remove = "remove one of the parts"
	canBeNull := func(v *openapi3.Schema) bool { return len(literalsOf(v)) == 0 || allowsNull(v) }
	bothNull := canBeNull(into) && canBeNull(from)
	if into.Type != nil && from.Type != nil {
		both := intersection(into.Type.Slice(), from.Type.Slice())
		if len(both) == 0 {
			s.fail(at, "no value has both types that the allOf requires, %s and %s: %s", strings.Join(into.Type.Slice(), " or "), strings.Join(from.Type.Slice(), " or "), remove)
		}
		if into.Type = nil; len(both) > 0 { // otherwise the next part says nothing new
			into.Type = &both
		}
	} else if into.Type == nil {
		into.Type = from.Type
	}
	formats := slices.DeleteFunc([]string{into.Format, from.Format}, func(format string) bool {
		isFraction := format == "float" || format == "double"
		return format == "" || isFraction && into.Type.Includes("integer") && !into.Type.Includes("number")
	})
	if formats = slices.Compact(formats); len(formats) > 1 {
		s.fail(at, "the allOf gives one value the formats %s and %s: keep one", formats[0], formats[1])
	}
	into.Format = append(formats, "")[0]
	others := maps.Clone(from.Extensions)
	delete(others, "x-go-name") // of another type
	if a, b := literalsOf(into), literalsOf(from); len(a)+len(b) > 0 {
		if len(a) == 0 {
			a = b
		} else if !slices.EqualFunc(a, b, sameLiteral) {
			delete(others, "x-enum-varnames") // of other values
		}
		into.Const, into.Enum = nil, slices.DeleteFunc(slices.Clone(a), func(value any) bool {
			return value == nil || !hasType(value, into.Type) || len(b) > 0 && !slices.ContainsFunc(b, func(other any) bool { return sameLiteral(value, other) })
		})
		if len(into.Enum) == 0 {
			s.fail(at, "no value is in both enums of the allOf, or has its type: %s", remove)
		}
		if !bothNull {
			into.Type = withoutNull(into.Type)
		}
		if typeOfLiterals(into) == "string" {
			into.Format = "" // as in exactLiterals
		}
	}
	into.Properties = maps.Clone(into.Properties)
	for name, property := range sorted(from.Properties) {
		if into.Properties == nil {
			into.Properties = openapi3.Schemas{}
		}
		into.Properties[name] = s.both(into.Properties[name], property)
	}
	known := func(name string) bool { return slices.Contains(into.Required, name) }
	into.Required = slices.Concat(into.Required, slices.DeleteFunc(slices.Clone(from.Required), known))
	into.Items = s.both(into.Items, from.Items)
	into.AdditionalProperties.Schema = s.both(into.AdditionalProperties.Schema, from.AdditionalProperties.Schema)
	if has := from.AdditionalProperties.Has; has != nil && (into.AdditionalProperties.Has == nil || !*has) {
		into.AdditionalProperties.Has = has
	}
	if has := into.AdditionalProperties.Has; has != nil && !*has {
		into.AdditionalProperties.Schema = nil
	}
	if len(into.OneOf)+len(into.AnyOf) > 0 && len(from.OneOf)+len(from.AnyOf) > 0 {
		s.fail(at, "the allOf has two unions, for which there is no Go type: write them as one union, or %s", remove)
	}
	into.OneOf, into.AnyOf = slices.Concat(into.OneOf, from.OneOf), slices.Concat(into.AnyOf, from.AnyOf)
	into.Discriminator = cmp.Or(into.Discriminator, from.Discriminator)
	into.Description = cmp.Or(into.Description, from.Description)
	into.ReadOnly, into.WriteOnly = into.ReadOnly || from.ReadOnly, into.WriteOnly || from.WriteOnly
	into.Extensions = extended(into.Extensions, others)
	if names, _ := into.Extensions["x-enum-varnames"].([]any); len(names) != len(into.Enum) { // of more values
		delete(into.Extensions, "x-enum-varnames")
	}
}

// both returns a schema that allows the values of two. One may be nil.
func (s *shaper) both(a, b *openapi3.SchemaRef) *openapi3.SchemaRef {
	switch {
	case a == nil:
		return b
	case b == nil || a.Ref != "" && a.Ref == b.Ref:
		return a
	case b.Ref == "" && isAnnotation(b.Value):
		a, b = b, a
	case a.Ref != "" || !isAnnotation(a.Value):
		v := &openapi3.Schema{AllOf: openapi3.SchemaRefs{a, b}, Origin: originOf(b)}
		return &openapi3.SchemaRef{Value: v}
	}
	v := *a.Value
	v.AllOf = openapi3.SchemaRefs{b}
	return &openapi3.SchemaRef{Value: &v}
}

// intersection returns the types that are in both lists. An integer is a number.
func intersection(a, b []string) (both openapi3.Types) {
	for _, t := range a {
		switch {
		case slices.Contains(b, t) || t == "integer" && slices.Contains(b, "number"):
			both = append(both, t)
		case t == "number" && slices.Contains(b, "integer"):
			both = append(both, "integer")
		}
	}
	return both
}

// number returns the value of a literal that is a number, or nil.
func number(value any) *big.Rat {
	switch value.(type) {
	case json.Number, float64, int:
		if n, ok := new(big.Rat).SetString(fmt.Sprint(value)); ok {
			return n
		}
	}
	return nil
}

func sameLiteral(a, b any) bool {
	if x, y := number(a), number(b); x != nil && y != nil {
		return x.Cmp(y) == 0
	}
	return reflect.DeepEqual(a, b)
}

// hasType reports whether a literal has one of the types, of which there may be none.
func hasType(value any, types *openapi3.Types) bool {
	name := typeOf(value)
	return len(types.Slice()) == 0 || types.Includes(name) || name == "integer" && types.Includes("number")
}

// typeOf returns the JSON type of a literal.
func typeOf(value any) string {
	switch value.(type) {
	case nil:
		return "null"
	case string:
		return "string"
	case bool:
		return "boolean"
	case []any:
		return "array"
	case map[string]any:
		return "object"
	}
	if n := number(value); n != nil && n.IsInt() {
		return "integer"
	}
	return "number"
}
