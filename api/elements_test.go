package api_test

import (
	"fmt"
	"maps"
	"slices"
	"strings"
)

// element is a part of the document that must cite the interface.
type element struct {
	object
	section string // its x-interface
	shape   string // what it accepts, or how it is called
}

// elements returns the elements by name: "METHOD path", "webhook NAME", "Schema", "Schema member" and, for the other
// components, "group/Name".
func (d object) elements() map[string]element {
	found := make(map[string]element)
	add := func(name string, o object, shape string) {
		found[name] = element{o, fmt.Sprint(o["x-interface"]), shape}
	}
	for i, server := range d.list("servers") {
		found[fmt.Sprintf("servers/%d", i)] = element{server, "head", fmt.Sprint(server["url"])} // the head of the interface states it
	}
	d.eachOperation(func(name string, operation object) { add(name, operation, d.operationShape(name, operation)) })
	components := d.at("components")
	for name := range components.at("schemas") {
		schema := components.at("schemas", name)
		members := maps.Clone(schema)
		delete(members, "properties")
		add(name, schema, shape(members))
		for member := range schema.at("properties") {
			add(name+" "+member, schema.at("properties", member), shape(schema.at("properties", member)))
		}
		if others := schema.at("additionalProperties"); others != nil {
			add(name+" additionalProperties", others, shape(others))
		}
	}
	for name := range components.at("parameters") {
		p := components.at("parameters", name)
		text := fmt.Sprintf("%s in %s: %s", p["name"], p["in"], shape(p.at("schema")))
		if p["required"] == true {
			text += " required"
		}
		add("parameters/"+name, p, text)
	}
	for name := range components.at("headers") {
		add("headers/"+name, components.at("headers", name), shape(components.at("headers", name, "schema")))
	}
	for name := range components.at("securitySchemes") {
		scheme := components.at("securitySchemes", name)
		add("securitySchemes/"+name, scheme, fmt.Sprintf("%s %s", scheme["type"], scheme["scheme"]))
	}
	for name := range components.at("responses") { // the interface shows no errors, so responses cite nothing
		found["responses/"+name] = element{components.at("responses", name), "extension", ""}
	}
	return found
}

// described contains the keywords that are at the beginning of a shape, and undescribed those that are no constraints.
var (
	described   = []string{"$ref", "type", "oneOf", "items", "format"}
	undescribed = []string{"title", "description", "example", "examples", "discriminator"}
)

// shape describes the values that a schema accepts: by component or type, format, and "keyword=value" for each constraint.
func shape(schema object) string {
	parts := []string{component(schema), alternatives(schema["type"]), alternatives(schema["oneOf"])}
	if strings.Join(parts, "") == "" && schema["allOf"] == nil {
		parts[0] = "any"
	}
	if items := schema.at("items"); items != nil {
		parts = append(parts, "of "+shape(items))
	}
	if schema["format"] != nil {
		parts = append(parts, fmt.Sprint(schema["format"]))
	}
	for _, keyword := range slices.Sorted(maps.Keys(schema)) {
		if !slices.Contains(undescribed, keyword) && !slices.Contains(described, keyword) && !strings.HasPrefix(keyword, "x-") {
			parts = append(parts, keyword+"="+value(schema[keyword]))
		}
	}
	return strings.Join(slices.DeleteFunc(parts, func(part string) bool { return part == "" }), " ")
}

// component returns the name of the component that an object refers to.
func component(o object) string {
	reference, _ := o["$ref"].(string)
	return reference[strings.LastIndexByte(reference, '/')+1:]
}

func alternatives(v any) string {
	values, ok := v.([]any)
	if !ok && v != nil {
		values = []any{v}
	}
	texts := make([]string, len(values))
	for i := range values {
		texts[i] = value(values[i])
	}
	return strings.Join(texts, "|")
}

func value(v any) string {
	switch v := v.(type) {
	case map[string]any:
		return shape(v)
	case []any:
		return "[" + strings.ReplaceAll(alternatives(v), "|", " ") + "]"
	}
	return fmt.Sprint(v)
}

// operationShape describes an operation as "[tags] id(parameters and body) results", without the inputs and responses that
// all operations, or all webhooks, have in common.
func (d object) operationShape(name string, operation object) string {
	body, token := operation.at("requestBody"), fmt.Sprint(operation["security"])
	common := map[string]string{
		"400": "BadRequest", "500": "InternalServerError", "501": "NotImplemented", "503": "ServiceUnavailable",
	}
	commonInputs := []string{"RequestID"}
	if token != "[]" {
		common["401"], common["403"], common["429"] = "Unauthorized", "Forbidden", "TooManyRequests"
	}
	if body != nil {
		common["413"], common["415"] = "ContentTooLarge", "UnsupportedMediaType"
	}
	if strings.HasPrefix(name, "webhook ") {
		common = map[string]string{"2XX": "EventAccepted", "410": "EventGone", "4XX": "EventRejected", "default": "EventFailed"}
		commonInputs = []string{"EventID", "EventTimestamp", "EventSignature", "EventSequence", "EventTrace"}
	}

	var inputs, results []string
	for _, parameter := range operation.list("parameters") {
		if at := slices.Index(commonInputs, component(parameter)); at >= 0 {
			commonInputs = slices.Delete(commonInputs, at, at+1)
		} else {
			inputs = append(inputs, shape(parameter))
		}
	}
	if body != nil {
		inputs = append(inputs, content(body))
		if body["required"] != true {
			inputs = append(inputs, "optional")
		}
	}
	responses := operation.at("responses")
	for _, status := range slices.Sorted(maps.Keys(responses)) {
		response := responses.at(status)
		if answer := component(response) + content(response); answer != common[status] || answer == "" {
			results = append(results, strings.TrimSpace(status+" "+answer))
		}
		delete(common, status)
	}
	for _, missing := range slices.Concat(commonInputs, slices.Sorted(maps.Keys(common))) {
		results = append(results, "no "+missing)
	}
	if operation["x-idempotent"] == true {
		results = append(results, "idempotent")
	}
	switch token {
	case "[map[bearerAuth:[]]]":
	case "[]":
		results = append(results, "no token")
	default:
		results = append(results, "security "+token)
	}
	for _, name := range slices.Sorted(maps.Keys(operation.at("callbacks"))) {
		for place, webhook := range operation.at("callbacks", name) {
			call := "calls " + component(asObject(webhook))
			if place != "{$request.body#/webhook_data/webhook_url}" {
				call += "at " + place
			}
			results = append(results, call)
		}
	}
	return fmt.Sprintf("%s %s(%s) %s", operation["tags"], operation["operationId"], strings.Join(inputs, ", "), strings.Join(results, ", "))
}

// content describes a body by its component. A body that is not JSON is described with its media types.
func content(body object) string {
	var shapes []string
	for _, media := range slices.Sorted(maps.Keys(body.at("content"))) {
		text := shape(body.at("content", media, "schema"))
		if items := body.at("content", media, "x-itemSchema"); items != nil {
			text = "each " + shape(items)
		}
		if media != "application/json" {
			text = media + ": " + text
		}
		shapes = append(shapes, text)
	}
	return strings.Join(shapes, ", ")
}
