package main

import (
	_ "embed"
	"fmt"
	"maps"
	"slices"

	"github.com/getkin/kin-openapi/openapi3"
	"github.com/oapi-codegen/oapi-codegen/v2/pkg/codegen"
)

//go:embed headers.tmpl
var headersSource string

// headers describes a struct with the headers of a response.
type headers struct {
	Type    string
	Headers []responseHeader
}

type responseHeader struct {
	Field    string
	Form     string // Go expression of type style.Header
	Optional bool
}

// responseHeaders describes the structs that oapi-codegen declares for the headers of responses.
func responseHeaders(document *openapi3.T, definitions []codegen.OperationDefinition) []headers {
	structs := map[string]headers{}
	add := func(prefix string, responses []codegen.ResponseDefinition, described map[string]*openapi3.ResponseRef) {
		for _, r := range responses {
			if len(r.Headers) == 0 || r.IsRef() {
				continue
			}
			h := headers{Type: codegen.UppercaseFirstCharacter(prefix+r.StatusCode) + "ResponseHeaders"}
			for _, definition := range r.Headers {
				h.Headers = append(h.Headers, describeHeader(definition, described[r.StatusCode].Value.Headers[definition.Name].Value))
			}
			structs[h.Type] = h
		}
	}
	components := must(codegen.GenerateResponseDefinitions("", document.Components.Responses, ""))
	for i, component := range components {
		name := component.StatusCode
		components[i].StatusCode = component.GoName()
		described := map[string]*openapi3.ResponseRef{component.GoName(): document.Components.Responses[name]}
		add("", components[i:i+1], described)
	}
	for _, d := range definitions {
		add(d.OperationId, d.Responses, d.Spec.Responses.Map())
	}
	var all []headers
	for _, name := range slices.Sorted(maps.Keys(structs)) {
		all = append(all, structs[name])
	}
	return all
}

// describeHeader describes the form in which a header is written.
func describeHeader(definition codegen.ResponseHeaderDefinition, described *openapi3.Header) responseHeader {
	return responseHeader{
		Field:    definition.GoName,
		Form:     headerOf(definition.Name, &described.Parameter, false),
		Optional: !definition.Required && (definition.IsOptional() || definition.GoTypeDef() == "json.RawMessage"),
	}
}

// headerOf returns the Go expression of type style.Header for a header.
func headerOf(name string, described *openapi3.Parameter, required bool) string {
	kind := ""
	switch schema := described.Schema; {
	case jsonOf(described.Content) != nil:
		kind = ", Kind: style.JSON"
	case schema == nil:
	case schema.Value.Type.Includes("array"):
		kind = ", Kind: style.Array"
	}
	if required {
		kind += ", Required: true"
	}
	return fmt.Sprintf("style.Header{Name: %q%s}", name, kind)
}
