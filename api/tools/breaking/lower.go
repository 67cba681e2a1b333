package main

import (
	"encoding/json"
	"maps"
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
	if _, err := yaml.Unmarshal(content, &document, yaml.DecodeOpts{DisableTimestamps: true}, withDigits); err != nil {
		return nil, err
	}
	lowerValue(document, false)
	return json.Marshal(document)
}

// lowerValue lowers a part of the document. The members of some maps have names, not keywords.
func lowerValue(value any, named bool) {
	switch value := value.(type) {
	case []any:
		for _, element := range value {
			lowerValue(element, false)
		}
	case map[string]any:
		if !named {
			lowerObject(value)
		}
		for name, member := range value {
			switch name {
			case "example", "examples", "default", "enum":
				if !named {
					continue
				}
			}
			lowerValue(member, !named && slices.Contains([]string{"properties", "patternProperties", "dependentSchemas", "$defs", "schemas", "responses"}, name))
		}
	}
}

func lowerObject(object map[string]any) {
	content, _ := object["content"].(map[string]any)
	for name, described := range content {
		media, _ := described.(map[string]any)
		items, ok := media["itemSchema"]
		if !ok {
			items, ok = media["x-itemSchema"]
		}
		if ok { // a stream is an array of its items
			content[name] = map[string]any{"schema": map[string]any{"type": "array", "items": items}}
		}
	}
	if schema, ok := object["contentSchema"].(map[string]any); ok { // the text of an event is the JSON in it
		clear(object)
		maps.Copy(object, schema)
	}
	if value, ok := object["const"]; ok && object["enum"] == nil {
		object["enum"] = []any{value}
		delete(object, "const")
	}
	unwrap(object)
}

// unwrap replaces the allOf, anyOf or oneOf of a single schema by the schema, if only annotations are beside it.
func unwrap(object map[string]any) {
	for _, keyword := range []string{"allOf", "anyOf", "oneOf"} {
		list, _ := object[keyword].([]any)
		if len(list) != 1 {
			continue
		}
		only, _ := list[0].(map[string]any)
		for name := range object {
			if only[name] != nil || name != keyword && !strings.HasPrefix(name, "x-") && !slices.Contains([]string{
				"title", "description", "default", "deprecated", "readOnly", "writeOnly", "example", "examples", "externalDocs", "$comment",
			}, name) {
				return
			}
		}
		delete(object, keyword)
		maps.Copy(object, only)
		unwrap(object)
		return
	}
}
