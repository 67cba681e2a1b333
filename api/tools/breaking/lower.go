package main

import (
	"encoding/json"
	"maps"
	"slices"
	"strings"

	"github.com/oasdiff/yaml"
)

// lower expresses what OpenAPI 3.2 adds, and what oasdiff does not compare, as OpenAPI 3.1 does.
func lower(content []byte) ([]byte, error) {
	var document map[string]any
	withDigits := func(d *json.Decoder) *json.Decoder {
		d.UseNumber()
		return d
	}
	if _, err := yaml.Unmarshal(content, &document, yaml.DecodeOpts{DisableTimestamps: true}, withDigits); err != nil {
		return nil, err
	}
	components, _ := document["components"].(map[string]any)
	types, _ := components["mediaTypes"].(map[string]any)
	delete(components, "mediaTypes")
	lowerValue(document, types, false)
	return json.Marshal(document)
}

// lowerValue lowers a part of the document. The members of some maps have names, not keywords.
func lowerValue(value any, types map[string]any, named bool) {
	switch value := value.(type) {
	case []any:
		for _, element := range value {
			lowerValue(element, types, false)
		}
	case map[string]any:
		if !named {
			lowerObject(value, types)
		}
		for name, member := range value {
			switch name {
			case "example", "examples", "default", "enum":
				if !named {
					continue
				}
			}
			lowerValue(member, types, !named && slices.Contains([]string{"properties", "patternProperties", "dependentSchemas", "$defs", "schemas", "responses"}, name))
		}
	}
}

func lowerObject(object, types map[string]any) {
	content, _ := object["content"].(map[string]any)
	for name, described := range content {
		media, _ := described.(map[string]any)
		for ref, ok := media["$ref"].(string); ok; ref, ok = media["$ref"].(string) {
			media, _ = types[strings.TrimPrefix(ref, "#/components/mediaTypes/")].(map[string]any)
		}
		items, ok := media["itemSchema"]
		if !ok {
			items, ok = media["x-itemSchema"]
		}
		if ok { // a stream is an array of its items
			media = map[string]any{"schema": map[string]any{"type": "array", "items": items}}
		}
		content[name] = media
		if object["in"] == "querystring" {
			object["in"], object["name"], object["schema"] = "query", "the whole query as "+name, media["schema"]
			delete(object, "content")
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
