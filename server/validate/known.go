package validate

import (
	"encoding/json"
	"maps"
	"reflect"
	"slices"
	"strings"

	"github.com/getkin/kin-openapi/openapi3"
)

// refuseUnknownKeywords refuses what compilation would not look at. It clears what is known and
// requires the rest to be empty, so that a keyword which the loader learns is not ignored either.
func (c *compiler) refuseUnknownKeywords(at string, s *openapi3.Schema) {
	rest := *s
	if s.Always != nil {
		c.fail(at, "is a boolean")
		rest.Always = nil
	}
	// Annotations.
	rest.Title, rest.Description, rest.Comment, rest.Deprecated = "", "", "", false
	rest.Default, rest.Example, rest.Examples, rest.ExternalDocs = nil, nil, nil, nil
	// What is compiled.
	rest.Type, rest.Format, rest.Enum, rest.Const = nil, "", nil, nil
	rest.Pattern, rest.MinLength, rest.MaxLength = "", 0, nil
	rest.Min, rest.Max, rest.ExclusiveMin.Value, rest.ExclusiveMax.Value = nil, nil, nil, nil
	rest.Items, rest.MinItems, rest.MaxItems = nil, 0, nil
	rest.Required, rest.Properties, rest.AdditionalProperties = nil, nil, openapi3.AdditionalProperties{}
	rest.MinProps, rest.MaxProps = 0, nil
	rest.AllOf, rest.OneOf, rest.AnyOf, rest.Discriminator = nil, nil, nil, nil
	c.refuseRest(at, &rest, s.Extensions)
	c.refuseNull(at, s)
	if s.Discriminator != nil {
		c.refuseRest(at+"/discriminator", &openapi3.Discriminator{}, s.Discriminator.Extensions)
	}
}

// refuseNull refuses keywords that are null, which the loader takes for absent. It sees them when
// the loader was told to include the origins. Where null and 0 look alike it makes no difference.
func (c *compiler) refuseNull(at string, s *openapi3.Schema) {
	if s.Origin == nil {
		return
	}
	for field, value := range reflect.ValueOf(s).Elem().Fields() {
		keyword, _, _ := strings.Cut(field.Tag.Get("json"), ",")
		_, written := s.Origin.Fields.Lookup(keyword)
		if written && value.IsZero() && !value.CanUint() && value.Kind() != reflect.Bool && !isAnnotation(keyword) {
			c.fail(at+"/"+keyword, "must not be null")
		}
	}
}

func isAnnotation(keyword string) bool {
	switch keyword {
	case "title", "description", "$comment", "deprecated", "default", "example", "examples", "externalDocs":
		return true
	}
	return false
}

// refuseRest refuses the fields of a struct of the document that are not empty, and the
// extensions whose names do not begin with "x-".
func (c *compiler) refuseRest(at string, rest any, extensions map[string]any) {
	v := reflect.ValueOf(rest).Elem()
	for _, name := range []string{"Extensions", "Origin"} {
		if field := v.FieldByName(name); field.IsValid() {
			field.SetZero()
		}
	}
	if !v.IsZero() {
		for field, value := range v.Fields() {
			if field.IsExported() && !value.IsZero() {
				keyword, _, _ := strings.Cut(field.Tag.Get("json"), ",")
				c.fail(at+"/"+keyword, "is not supported")
			}
		}
	}
	for _, name := range slices.Sorted(maps.Keys(extensions)) {
		if !strings.HasPrefix(name, "x-") {
			c.fail(at+"/"+token(name), "is not known")
		}
	}
}

// refSiblings checks the keywords beside a $ref, which the loader merges into the schema and, in
// part, forgets. It reports whether there are any.
func (c *compiler) refSiblings(at string, ref *openapi3.SchemaRef) bool {
	if ref.Ref == "" {
		return false
	}
	written, err := ref.MarshalYAML()
	siblings, ok := written.(map[string]any)
	if err != nil || !ok {
		return false
	}
	siblings = maps.Clone(siblings)
	maps.DeleteFunc(siblings, func(name string, _ any) bool {
		return name == "$ref" || strings.HasPrefix(name, "x-")
	})
	if len(siblings) == 0 {
		return false
	}
	for _, name := range slices.Sorted(maps.Keys(siblings)) {
		if siblings[name] == nil && !isAnnotation(name) {
			c.fail(at+"/"+name, "must not be null")
		}
	}
	var s openapi3.Schema
	encoded, err := json.Marshal(siblings)
	if err == nil {
		err = json.Unmarshal(encoded, &s)
	}
	if err != nil {
		c.fail(at, "has siblings of $ref that are no schema")
		return true
	}
	c.refuseUnknownKeywords(at, &s)
	return true
}
