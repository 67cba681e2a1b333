package main

import (
	"bytes"
	"cmp"
	"encoding/json"
	"maps"
	"mime"
	"slices"
	"strings"

	"github.com/oasdiff/yaml"
)

// lower expresses streams, and what oasdiff does not compare, as OpenAPI 3.1 does. What the generator refuses, such as
// other methods and parameters that are the whole query, is not compared.
func lower(content []byte) ([]byte, error) {
	var document map[string]any
	withDigits := func(d *json.Decoder) *json.Decoder {
		d.UseNumber()
		return d
	}
	err := withDigits(json.NewDecoder(bytes.NewReader(content))).Decode(&document)
	if err != nil { // YAML, which lacks escapes of JSON
		_, err = yaml.Unmarshal(content, &document, yaml.DecodeOpts{DisableTimestamps: true}, withDigits)
	}
	if err != nil {
		return nil, err
	}
	eachObject(document, false, lowerObject)
	components, _ := document["components"].(map[string]any)
	schemas, _ := components["schemas"].(map[string]any)
	eachObject(document, false, func(object map[string]any) { allowNull(object, schemas) })
	return json.Marshal(document)
}

// eachObject visits the objects of a part of the document, the outer ones last. The members of some maps have names,
// not keywords.
func eachObject(value any, named bool, visit func(map[string]any)) {
	switch value := value.(type) {
	case []any:
		for _, element := range value {
			eachObject(element, false, visit)
		}
	case map[string]any:
		for name, member := range value {
			if !named && slices.Contains([]string{"example", "examples", "default", "enum", "const"}, name) {
				continue
			}
			eachObject(member, !named && slices.Contains([]string{"properties", "patternProperties", "dependentSchemas", "$defs", "schemas", "responses", "mapping"}, name), visit)
		}
		if !named {
			visit(value)
		}
	}
}

func lowerObject(object map[string]any) {
	maps.DeleteFunc(object, func(name string, value any) bool { // texts, by which oasdiff would tell schemas apart
		_, isText := value.(string)
		return isText && slices.Contains([]string{"title", "description", "$comment"}, name)
	})
	content, _ := object["content"].(map[string]any)
	for name, described := range maps.Clone(content) {
		delete(content, name)
		kind, parameters, err := mime.ParseMediaType(name)
		delete(parameters, "charset") // which is always UTF-8
		media, _ := described.(map[string]any)
		if items := cmp.Or(media["itemSchema"], media["x-itemSchema"]); items != nil { // a stream is an array of its items in JSON
			kind, described = kind+"+json", map[string]any{"schema": map[string]any{"type": "array", "items": items}}
		}
		if err == nil {
			name = mime.FormatMediaType(kind, parameters)
		}
		content[name] = cmp.Or(described, any(map[string]any{})) // or a name alone
	}
	if schema, ok := object["contentSchema"].(map[string]any); ok { // the text of an event is the JSON in it
		clear(object)
		maps.Copy(object, schema)
	}
	if value, ok := object["const"]; ok && object["enum"] == nil {
		object["enum"] = []any{value}
		delete(object, "const")
	}
	if ref, ok := object["$ref"]; ok && !isAnnotated(object, "$ref", nil) { // kin-openapi lets one replace the other
		beside := maps.Clone(object)
		delete(beside, "$ref")
		clear(object)
		object["allOf"] = []any{map[string]any{"$ref": ref}, beside}
	}
	unwrap(object)
}

// unwrap replaces the allOf, anyOf or oneOf of a single schema by the schema, if only annotations are beside it, which
// may be parts of the allOf.
func unwrap(object map[string]any) {
	all, _ := object["allOf"].([]any)
	parts := slices.DeleteFunc(slices.Clone(all), func(part any) bool {
		beside, ok := part.(map[string]any)
		annotates := ok && len(all) > 1 && isAnnotated(beside, "", object)
		if annotates {
			maps.Copy(object, beside)
		}
		return annotates
	})
	if len(parts) > 0 {
		object["allOf"] = parts
	}
	for _, keyword := range []string{"allOf", "anyOf", "oneOf"} {
		list, _ := object[keyword].([]any)
		if len(list) != 1 {
			continue
		}
		if only, _ := list[0].(map[string]any); isAnnotated(object, keyword, only) {
			delete(object, keyword)
			maps.Copy(object, only)
		}
		return
	}
}

// isAnnotated reports whether only annotations are beside a keyword, and the schema that replaces it has none of them.
func isAnnotated(object map[string]any, keyword string, by map[string]any) bool {
	for name := range object {
		if name != keyword && (by[name] != nil || !strings.HasPrefix(name, "x-") && !slices.Contains([]string{
			"default", "deprecated", "readOnly", "writeOnly", "example", "examples", "externalDocs",
		}, name)) {
			return false
		}
	}
	return true
}

// allowNull replaces a union of a schema and null by the schema, which then allows null.
func allowNull(object, schemas map[string]any) {
	for _, keyword := range []string{"anyOf", "oneOf"} {
		list, _ := object[keyword].([]any)
		for i, branch := range list {
			null, _ := branch.(map[string]any)
			if len(list) != 2 || null["type"] != "null" || !isAnnotated(null, "type", nil) {
				continue
			}
			other, _ := list[1-i].(map[string]any)
			if nullable := withNull(other, schemas); nullable != nil && isAnnotated(object, keyword, nullable) {
				delete(object, keyword)
				maps.Copy(object, nullable)
				return
			}
		}
	}
}

// withNull returns a copy of a schema that allows null, or nil if that depends on its allOf. For a component, it adds
// another.
func withNull(schema, schemas map[string]any) map[string]any {
	if ref, ok := schema["$ref"].(string); ok {
		name := strings.TrimPrefix(ref, "#/components/schemas/")
		component, _ := schemas[name].(map[string]any)
		if component != nil && schemas[name+".orNull"] == nil {
			schemas[name+".orNull"] = component // for a component that refers to itself
			allowNull(component, schemas)
			schemas[name+".orNull"] = withNull(component, schemas)
		}
		if nullable, _ := schemas[name+".orNull"].(map[string]any); nullable == nil {
			delete(schemas, name+".orNull")
			return nil
		}
		return map[string]any{"$ref": ref + ".orNull"}
	}
	schema = maps.Clone(schema)
	types, isTyped := schema["type"].([]any)
	if name, isOne := schema["type"].(string); isOne {
		types, isTyped = []any{name}, true
	}
	if isTyped && !slices.Contains(types, any("null")) {
		schema["type"] = append(slices.Clip(types), "null")
	}
	if values, ok := schema["enum"].([]any); ok && !slices.Contains(values, nil) {
		schema["enum"] = append(slices.Clip(values), nil)
	}
	if !isTyped && schema["allOf"] != nil {
		return nil
	}
	for _, keyword := range []string{"anyOf", "oneOf"} {
		if list, ok := schema[keyword].([]any); ok && !isTyped {
			schema[keyword] = append(slices.Clip(list), map[string]any{"type": "null"})
		}
	}
	return schema
}
