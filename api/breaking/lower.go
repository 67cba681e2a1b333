package main

import (
	"encoding/json"
	"maps"
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
	lowerValue(document, types)
	return json.Marshal(document)
}

func lowerValue(value any, types map[string]any) {
	switch value := value.(type) {
	case []any:
		for _, element := range value {
			lowerValue(element, types)
		}
	case map[string]any:
		lowerObject(value, types)
		for _, member := range value {
			lowerValue(member, types)
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
}
