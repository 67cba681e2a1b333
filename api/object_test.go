package api_test

import (
	"encoding/json"
	"maps"
	"slices"
	"strings"
	"testing"

	"github.com/oasdiff/yaml"

	"github.com/avatarstudio/avatarstudio/api"
	"github.com/avatarstudio/avatarstudio/api/tools/harness"
)

// object is a JSON object of the document. Its references are not resolved.
type object map[string]any

func loadObject(t *testing.T) object {
	t.Helper()
	data := harness.Try(yaml.YAMLToJSON(api.Spec))(t)
	var document object
	harness.Check(t, json.Unmarshal(data, &document))
	return document
}

// at returns the object at a path of member names, or nil.
func (d object) at(names ...string) object {
	for _, name := range names {
		d = asObject(d[name])
	}
	return d
}

func asList(value any) []any {
	values, _ := value.([]any)
	return values
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
	values := asList(d[name])
	objects := make([]object, len(values))
	for i, value := range values {
		objects[i] = asObject(value)
	}
	return objects
}

// strings returns the strings in an array member.
func (d object) strings(name string) []string {
	values := asList(d[name])
	texts := make([]string, len(values))
	for i, value := range values {
		texts[i], _ = value.(string)
	}
	return texts
}

// description returns the description of an object in one line.
func (d object) description() string {
	text, _ := d["description"].(string)
	return strings.Join(strings.Fields(text), " ")
}

func isMethod(key string) bool {
	return slices.Contains([]string{"get", "put", "post", "delete", "options", "head", "patch", "trace"}, key)
}

// eachOperation calls visit with every operation of the paths and webhooks.
func (d object) eachOperation(visit func(name string, operation object)) {
	for _, group := range []string{"paths", "webhooks"} {
		for _, path := range slices.Sorted(maps.Keys(d.at(group))) {
			for method := range d.at(group, path) {
				if isMethod(method) {
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
