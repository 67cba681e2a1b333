package main

import (
	"slices"
	"strings"

	"github.com/getkin/kin-openapi/openapi3"
	"github.com/oapi-codegen/oapi-codegen/v2/pkg/codegen"
)

// headers describes a struct with the headers of a response.
type headers struct {
	Type    string
	Headers []responseHeader
}

type responseHeader struct {
	Name     string // in the document
	Field    string
	Optional bool
}

// responseHeaders describes the structs that oapi-codegen declares for the headers of responses.
func responseHeaders(document *openapi3.T, definitions []codegen.OperationDefinition) []headers {
	var all []headers
	add := func(of string, r codegen.ResponseDefinition) {
		if len(r.Headers) == 0 || r.IsRef() {
			return
		}
		h := headers{Type: codegen.UppercaseFirstCharacter(of) + "ResponseHeaders"}
		for _, definition := range r.Headers {
			h.Headers = append(h.Headers, responseHeader{
				Name:     definition.Name,
				Field:    definition.GoName,
				Optional: !definition.Required && (definition.IsOptional() || definition.GoTypeDef() == "json.RawMessage"),
			})
		}
		all = append(all, h)
	}
	for _, r := range must(codegen.GenerateResponseDefinitions("", document.Components.Responses, "")) {
		add(r.GoName(), r)
	}
	for _, d := range definitions {
		for _, r := range d.Responses {
			add(d.OperationId+r.StatusCode, r)
		}
	}
	slices.SortFunc(all, func(a, b headers) int { return strings.Compare(a.Type, b.Type) })
	return slices.CompactFunc(all, func(a, b headers) bool { return a.Type == b.Type })
}
