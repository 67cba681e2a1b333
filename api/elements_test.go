package api_test

import (
	"cmp"
	"fmt"
	"slices"
	"strings"
)

// element is a part of the document that must cite the interface.
type element struct {
	object
	section string // its x-interface
}

// elements returns the elements by name: "METHOD path", "webhook NAME", "Schema", "Schema member" and, for the other
// components, "group/Name".
func (d object) elements() map[string]element {
	found := make(map[string]element)
	add := func(name string, o object) { found[name] = element{o, fmt.Sprint(o["x-interface"])} }
	for i, server := range d.list("servers") {
		found[fmt.Sprintf("servers/%d", i)] = element{server, "head"} // the head of the interface states it
	}
	d.eachOperation(add)
	components := d.at("components")
	for name := range components.at("schemas") {
		schema := components.at("schemas", name)
		add(name, schema)
		for member := range schema.at("properties") {
			add(name+" "+member, schema.at("properties", member))
		}
		if others := schema.at("additionalProperties"); others != nil {
			add(name+" additionalProperties", others)
		}
	}
	for _, group := range []string{"parameters", "headers", "securitySchemes"} {
		for name := range components.at(group) {
			add(group+"/"+name, components.at(group, name))
		}
	}
	for name := range components.at("responses") { // the interface shows no errors, so responses cite nothing
		found["responses/"+name] = element{components.at("responses", name), "extension"}
	}
	return found
}

// shape describes an element as the interface does.
func (d object) shape(o object) string {
	required := ""
	if o["required"] == true {
		required = "required"
	}
	switch {
	case o["url"] != nil:
		return fmt.Sprint(o["url"])
	case o["scheme"] != nil:
		return fmt.Sprint(o["type"], " ", o["scheme"])
	case o["in"] != nil:
		return join(fmt.Sprint(o["in"], " ", o["name"]), d.shape(o.at("schema")), required)
	case o["responses"] != nil:
		return d.operationShape(o)
	}
	parts := []string{component(o), join(texts(o["type"])...), join(texts(o["oneOf"])...)}
	if items := o.at("items"); items != nil {
		parts = append(parts, "of "+d.shape(items))
	}
	if format, ok := o["format"].(string); ok {
		parts = append(parts, format)
	}
	if names := o.strings("required"); len(names) > 0 {
		parts = append(parts, "requires "+join(names...))
	}
	if values := slices.Concat(texts(o["const"]), texts(o["enum"])); len(values) > 0 {
		parts = append(parts, "is "+join(values...))
	}
	return join(parts...)
}

// operationShape describes an operation by the parameters, the body and the success that the interface shows.
func (d object) operationShape(operation object) string {
	var parts []string
	show := func(kind string, o object) {
		if shown := d.resolve(o); shown != nil && shown["x-interface"] != "extension" {
			parts = append(parts, kind+" "+component(o))
		}
	}
	for _, parameter := range operation.list("parameters") {
		show("takes", parameter)
	}
	show("takes", operation.at("requestBody", "content", "application/json", "schema"))
	show("returns", operation.at("responses", "200", "content", "application/json", "schema"))
	if operation["security"] != nil && len(operation.list("security")) == 0 {
		parts = append(parts, "without a token")
	}
	return strings.Join(parts, ", ")
}

// component returns the name of the component that an object refers to.
func component(o object) string {
	reference, _ := o["$ref"].(string)
	return reference[strings.LastIndexByte(reference, '/')+1:]
}

// texts returns the values of a keyword. A schema is the name of its component.
func texts(value any) (all []string) {
	values, ok := value.([]any)
	if !ok && value != nil {
		values = []any{value}
	}
	for _, value := range values {
		if schema, ok := value.(map[string]any); ok {
			value = cmp.Or(component(schema), fmt.Sprint(schema["type"]))
		}
		all = append(all, fmt.Sprint(value))
	}
	return all
}

func join(parts ...string) string { return strings.Join(strings.Fields(strings.Join(parts, " ")), " ") }
