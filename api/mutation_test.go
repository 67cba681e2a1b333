package api_test

import (
	"fmt"
	"maps"
	"slices"
	"strings"
	"testing"

	"github.com/avatarstudio/avatarstudio/api/harness"
)

// A mutation changes one place of the document, or one row of the contract. At least one check must report each.
func TestContract_detectsMutations(t *testing.T) {
	t.Parallel()
	harness.SkipShort(t, "make test-race runs it")
	d, rows := loadObject(t), contract(t)
	count := 0
	try := func(name string, rows []row) {
		count++
		detected := false
		report := func(string, ...any) { detected = true }
		if checkRows(d, rows, report); !detected {
			checkRules(d, report)
		}
		if !detected {
			t.Errorf("not detected: %s", name)
		}
	}
	m := mutator{func(name string) { try(name, rows) }}
	for _, r := range rows {
		m.mutateElement(d, r)
	}
	for i, r := range rows {
		if !strings.HasPrefix(r.element, "responses/") { // they have no shape
			try("no row for "+r.element, slices.Delete(slices.Clone(rows), i, i+1))
		}
		for part := range strings.FieldsSeq(r.shape) {
			changed := slices.Clone(rows)
			changed[i].shape = strings.Replace(r.shape, part, "", 1)
			try(fmt.Sprintf("no %s in the row for %s", part, r.element), changed)
		}
	}
	m.mutateRules(d)
	t.Logf("%d mutations", count)
}

// mutator changes objects of the document in place. It calls try after each change, and then undoes the change.
type mutator struct{ try func(name string) }

// set sets a member, or removes it if value is nil.
func (m mutator) set(name string, o object, member string, value any) {
	before, existed := o[member]
	if value == nil {
		delete(o, member)
	} else {
		o[member] = value
	}
	m.try(fmt.Sprintf("%s: %s is %v", name, member, value))
	if o[member] = before; !existed {
		delete(o, member)
	}
}

// removeEach removes each member of an object or array.
func (m mutator) removeEach(name string, o object, member string) {
	if values, ok := o[member].([]any); ok {
		for i := range values {
			m.set(name, o, member, slices.Delete(slices.Clone(values), i, i+1))
		}
		return
	}
	for _, inner := range slices.Sorted(maps.Keys(o.at(member))) {
		m.set(name+" "+member, o.at(member), inner, nil)
	}
}

func (m mutator) mutateElement(d object, r row) {
	e := d.elements()[r.element].object
	for _, s := range r.sentences {
		m.set(r.element, e, "description", strings.ReplaceAll(e.description(), s.text, ""))
	}
	schema, member, isMember := strings.Cut(r.element, " ")
	switch group, _, _ := strings.Cut(r.element, "/"); {
	case group == "responses":
		return // only sentences
	case group == "servers":
		m.set(r.element, e, "url", "https://api.example.com")
		return
	case group == "securitySchemes":
		m.set(r.element, e, "scheme", "basic")
	case e["operationId"] != nil:
		m.mutateOperation(r.element, e)
	case e["schema"] != nil:
		if group == "parameters" {
			m.set(r.element, e, "name", "other")
			m.set(r.element, e, "in", "cookie")
			m.set(r.element, e, "required", e["required"] != true)
		}
		m.mutateSchema(r.element, e.at("schema"))
	default:
		m.mutateSchema(r.element, e)
		if isMember {
			m.set(r.element, d.at("components", "schemas", schema, "properties"), member, nil)
		}
	}
	for _, section := range []any{nil, "1", "extension"} {
		if e["x-interface"] != section {
			m.set(r.element, e, "x-interface", section)
		}
	}
}

// constraints contains constraints that no element has, by type.
var constraints = map[string]object{
	"string":  {"format": "email", "const": "a", "minLength": 2, "maxLength": 63, "pattern": "^[a-z]+$"},
	"integer": {"format": "int16", "const": 2, "minimum": 2, "maximum": 1000, "multipleOf": 2},
	"array":   {"minItems": 2, "maxItems": 99, "uniqueItems": true, "prefixItems": []any{}},
	"object":  {"additionalProperties": false, "unevaluatedProperties": false, "propertyNames": false, "minProperties": 2},
	"boolean": {"const": true},
	"":        {"nullable": true, "not": false},
}

func (m mutator) mutateSchema(name string, schema object) {
	for keyword, value := range maps.Clone(schema) {
		if !strings.HasPrefix(keyword, "x-") && !slices.Contains(undescribed, keyword) {
			m.set(name, schema, keyword, nil)
			if _, ok := value.([]any); ok {
				m.removeEach(name, schema, keyword)
			}
		}
	}
	if others := schema.at("additionalProperties"); others != nil {
		m.set(name+" additionalProperties", others, "x-interface", nil)
	}
	typ, _, _ := strings.Cut(alternatives(schema["type"]), "|")
	m.set(name, schema, "type", []any{typ, "other"})
	nullable := []any{typ, "null"}
	if len(schema.strings("type")) > 1 {
		nullable = nullable[:1]
	}
	m.set(name, schema, "type", nullable)
	m.set(name, schema, "enum", append(slices.Clone(asList(schema["enum"])), "other"))
	for keyword, value := range constraints[typ] {
		m.set(name, schema, keyword, value)
	}
	if members := schema.at("properties"); members != nil {
		other := map[string]any{"type": "string", "description": "Another."}
		m.set(name, members, "other", other)
		if isComplete(schema) {
			other["x-interface"] = "extension"
			m.set(name, members, "other", other)
		}
	}
	for property := range schema.at("properties") {
		if required := asList(schema["required"]); !slices.Contains(required, any(property)) {
			m.set(name, schema, "required", append(slices.Clone(required), property))
		}
	}
}

func (m mutator) mutateOperation(name string, operation object) {
	for _, member := range []string{"tags", "parameters", "responses", "callbacks"} {
		m.removeEach(name, operation, member)
	}
	for _, added := range []map[string]any{
		{"$ref": "#/components/parameters/PageCursor2"}, {"name": "page", "in": "query", "x-interface": "extension"},
	} {
		m.set(name, operation, "parameters", append(slices.Clone(asList(operation["parameters"])), added))
	}
	for _, status := range []string{"202", "203", "402"} {
		m.set(name, operation.at("responses"), status, map[string]any{"description": "Another."})
	}
	for status := range operation.at("responses") {
		m.set(name, operation.at("responses"), status, map[string]any{"$ref": "#/components/responses/SampleRefused"})
	}
	security := []any{}
	if len(operation.list("security")) == 0 {
		security = []any{map[string]any{"bearerAuth": []any{}}}
	}
	m.set(name, operation, "security", security)
	m.set(name, operation, "security", nil)
	m.set(name, operation, "x-idempotent", operation["x-idempotent"] == nil)
	m.set(name, operation, "operationId", "other")
	m.set(name, operation, "summary", nil)
	if text := operation.description(); strings.Contains(text, "429") {
		m.set(name, operation, "description", strings.ReplaceAll(text, "429", ""))
	} else if !strings.HasPrefix(name, "webhook ") {
		m.set(name, operation, "description", text+" 429")
	}
	m.set(name, operation, "tags", []any{"Other"})
	if body := operation.at("requestBody"); body != nil {
		m.set(name, operation, "requestBody", nil)
		m.set(name, body, "required", false)
		m.removeEach(name, body, "content")
	}
}

// mutateRules makes mutations that only the rules detect.
func (m mutator) mutateRules(d object) {
	for path := range d.at("paths") {
		m.set(path, d.at("paths", path), "parameters", []any{})
	}
	for webhook := range d.at("webhooks") {
		m.set(webhook, d.at("webhooks", webhook), "x-interface", nil)
	}
	m.removeEach("document", d, "tags")
	m.set("document", d, "tags", append(slices.Clone(asList(d["tags"])), map[string]any{"name": "Other"}))
	for name := range d.at("components", "schemas") {
		schema := d.at("components", "schemas", name)
		m.set(name, schema, "description", nil)
		members := schema.at("properties")
		if members != nil {
			m.set(name, members, "other", map[string]any{"type": "object", "description": "Another.", "x-interface": "extension"})
		}
		for member := range members {
			for _, key := range []string{"type", "description", "x-interface"} {
				if o := members.at(member); o[key] != nil {
					m.set(name+" "+member, o, key, nil)
				}
			}
		}
	}
	for name := range d.at("components", "responses") {
		response := d.at("components", "responses", name)
		if strings.HasPrefix(name, "Event") || name == "SampleRefused" {
			continue // responses of receivers
		}
		m.removeEach(name, response, "headers")
		m.removeEach(name, response, "content")
		m.set(name, response.at("headers"), "X-Other", map[string]any{"$ref": "#/components/headers/RetryAfter"})
		examples := response.at("content", "application/problem+json", "examples")
		for example := range examples {
			m.set(name, examples.at(example, "value"), "status", 418)
			m.set(name, examples.at(example, "value"), "errors", []any{map[string]any{"pointer": "/other"}})
		}
	}
}
