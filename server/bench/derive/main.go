// Command derive writes the part of the contract that ogen supports. It makes these changes:
//
//   - type: [X, 'null'] becomes type: X with nullable: true, because ogen supports one type only.
//   - A oneOf of a schema and null becomes the schema. The contract has these in responses only.
//   - Siblings of $ref, examples and x- members are removed.
//   - additionalProperties without a constraint becomes true, which keeps unknown members.
//   - text/event-stream becomes text/plain, because ogen sends no streams.
//   - X-Request-Id is removed, because the wrapper implements it.
//   - webhooks and servers are removed, because the measured server does not use them.
package main

import (
	"encoding/json"
	"flag"
	"fmt"
	"os"
	"slices"
	"strings"

	"go.yaml.in/yaml/v3"

	"github.com/avatarstudio/avatarstudio/api"
)

func main() {
	out := flag.String("o", "openapi.json", "file to write")
	flag.Parse()
	document, err := derive(api.Spec)
	if err == nil {
		err = os.WriteFile(*out, document, 0o600)
	}
	if err != nil {
		fmt.Fprintln(os.Stderr, "derive:", err)
		os.Exit(1)
	}
}

func derive(spec []byte) ([]byte, error) {
	var document map[string]any
	if err := yaml.Unmarshal(spec, &document); err != nil {
		return nil, err
	}
	delete(document, "webhooks")
	delete(document, "servers")
	text, err := json.MarshalIndent(adapt(document), "", "  ")
	return append(text, '\n'), err
}

// adapt returns value without the parts that ogen does not support. It would mistake properties whose names
// are keywords for keywords, but the contract has none.
func adapt(value any) any {
	switch value := value.(type) {
	case []any:
		value = slices.DeleteFunc(value, isRequestID)
		for i := range value {
			value[i] = adapt(value[i])
		}
		return value
	case map[string]any:
		return adaptObject(value)
	}
	return value
}

// isRequestID reports whether value is a reference to the parameter or header X-Request-Id.
func isRequestID(value any) bool {
	object, _ := value.(map[string]any)
	ref, _ := object["$ref"].(string)
	return strings.HasSuffix(ref, "/RequestID")
}

func adaptObject(object map[string]any) any {
	if ref, ok := object["$ref"]; ok {
		return map[string]any{"$ref": ref}
	}
	if only := orNull(object["oneOf"]); only != nil {
		return adapt(only)
	}
	for name := range object {
		if strings.HasPrefix(name, "x-") || name == "example" || name == "examples" || isRequestID(object[name]) {
			delete(object, name)
		}
	}
	if stream, ok := object["text/event-stream"]; ok {
		object["text/plain"] = stream
		delete(object, "text/event-stream")
	}
	if types, ok := object["type"].([]any); ok && len(types) == 2 {
		if i := slices.Index(types, any("null")); i >= 0 {
			object["type"], object["nullable"] = types[1-i], true
		}
	}
	for name := range object {
		object[name] = adapt(object[name])
	}
	if also, ok := object["additionalProperties"].(map[string]any); ok && len(also) == 0 {
		object["additionalProperties"] = true
	}
	return object
}

// orNull returns the alternative of a oneOf that allows one schema or null. Otherwise it returns nil.
func orNull(oneOf any) any {
	alternatives, _ := oneOf.([]any)
	if len(alternatives) != 2 {
		return nil
	}
	if last, ok := alternatives[1].(map[string]any); ok && last["type"] == "null" {
		return alternatives[0]
	}
	return nil
}
