// Command derive writes the contract as far as ogen can express it. What it changes:
//
//   - type: [X, 'null'] becomes type: X with nullable: true, for ogen takes one type only;
//   - a oneOf of a schema and null becomes the schema: null is lost, in responses alone;
//   - members beside a $ref, examples and x- members go;
//   - additionalProperties without a constraint becomes true, which keeps unknown members;
//   - X-Request-Id goes, for it is the wrapper that sees to it;
//   - webhooks and servers go, for they are no part of the server that is measured.
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

// adapt returns value without what ogen does not take. Names of properties that look like
// keywords would be taken for them; the contract has none.
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

// isRequestID reports whether value refers to the parameter or the header.
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

// orNull returns the one alternative that a oneOf has besides null.
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
