package api_test

import (
	"encoding/json"
	"flag"
	"maps"
	"os"
	"slices"
	"strings"
	"testing"

	"github.com/oasdiff/yaml"

	"github.com/avatarstudio/avatarstudio/api"
)

// documentFile is the path of a document that the tests use instead of the embedded one. Command mutate sets it, so that
// it does not rebuild the tests for each edit.
var documentFile = flag.String("document", "", "test the document in this file instead of the embedded one")

// spec returns the document under test.
func spec(t *testing.T) []byte {
	t.Helper()
	if *documentFile == "" {
		return api.Spec
	}
	content, err := os.ReadFile(*documentFile)
	if err != nil {
		t.Fatal(err)
	}
	return content
}

// object is a JSON object of the document. Its references are not resolved.
type object map[string]any

func loadObject(t *testing.T) object {
	t.Helper()
	data, err := yaml.YAMLToJSON(spec(t))
	if err != nil {
		t.Fatal(err)
	}
	var document object
	if err := json.Unmarshal(data, &document); err != nil {
		t.Fatal(err)
	}
	return document
}

// at returns the object at a path of member names, or nil.
func (d object) at(names ...string) object {
	for _, name := range names {
		d = asObject(d[name])
	}
	return d
}

func asObject(value any) object {
	members, _ := value.(map[string]any)
	return members
}

// resolve follows the references of an object within the document.
func (d object) resolve(referrer object) object {
	for {
		ref, ok := referrer["$ref"].(string)
		if !ok {
			return referrer
		}
		referrer = d.at(strings.Split(strings.TrimPrefix(ref, "#/"), "/")...)
	}
}

// list returns the objects in an array member.
func (d object) list(name string) []object {
	values, _ := d[name].([]any)
	objects := make([]object, len(values))
	for i, value := range values {
		objects[i] = asObject(value)
	}
	return objects
}

// eachOperation calls visit with every operation of the paths and webhooks.
func (d object) eachOperation(visit func(name string, operation object)) {
	for _, group := range []string{"paths", "webhooks"} {
		for _, path := range slices.Sorted(maps.Keys(d.at(group))) {
			for method := range d.at(group, path) {
				switch method {
				case "get", "put", "post", "delete", "options", "head", "patch", "trace":
					name := strings.ToUpper(method) + " " + path
					if group == "webhooks" {
						name = "webhook " + path
					}
					visit(name, d.at(group, path, method))
				}
			}
		}
	}
}

// eachSchema calls visit with every schema of the components and every schema nested in one.
func (d object) eachSchema(visit func(name string, schema object)) {
	var walk func(name string, schema object)
	walk = func(name string, schema object) {
		visit(name, schema)
		for _, group := range []string{"properties", "patternProperties"} {
			for _, property := range slices.Sorted(maps.Keys(schema.at(group))) {
				walk(name+" "+property, schema.at(group, property))
			}
		}
		for _, keyword := range []string{"items", "additionalProperties", "not", "if", "then", "else", "propertyNames", "contains"} {
			if inner := schema.at(keyword); inner != nil {
				walk(name+" "+keyword, inner)
			}
		}
		for _, keyword := range []string{"oneOf", "anyOf", "allOf", "prefixItems"} {
			for _, inner := range schema.list(keyword) {
				walk(name+" "+keyword, inner)
			}
		}
	}
	for _, name := range slices.Sorted(maps.Keys(d.at("components", "schemas"))) {
		walk(name, d.at("components", "schemas", name))
	}
	for _, group := range []string{"parameters", "headers"} {
		for _, name := range slices.Sorted(maps.Keys(d.at("components", group))) {
			walk(group+"/"+name, d.at("components", group, name, "schema"))
		}
	}
}
