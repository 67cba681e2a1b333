package main

import (
	_ "embed"
	"fmt"
	"slices"
	"strings"

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
	var all []headers
	add := func(of string, r codegen.ResponseDefinition, described *openapi3.Response) {
		if len(r.Headers) == 0 || r.IsRef() {
			return
		}
		h := headers{Type: codegen.UppercaseFirstCharacter(of) + "ResponseHeaders"}
		for _, definition := range r.Headers {
			h.Headers = append(h.Headers, responseHeader{
				Field:    definition.GoName,
				Form:     headerOf(definition.Name, &described.Headers[definition.Name].Value.Parameter, false),
				Optional: !definition.Required && (definition.IsOptional() || definition.GoTypeDef() == "json.RawMessage"),
			})
		}
		all = append(all, h)
	}
	for _, r := range must(codegen.GenerateResponseDefinitions("", document.Components.Responses, "")) {
		add(r.GoName(), r, document.Components.Responses[r.StatusCode].Value)
	}
	for _, d := range definitions {
		for _, r := range d.Responses {
			add(d.OperationId+r.StatusCode, r, d.Spec.Responses.Value(r.StatusCode).Value)
		}
	}
	slices.SortFunc(all, func(a, b headers) int { return strings.Compare(a.Type, b.Type) })
	return slices.CompactFunc(all, func(a, b headers) bool { return a.Type == b.Type })
}

// headerOf returns the Go expression of type style.Header for a header.
func headerOf(name string, described *openapi3.Parameter, required bool) string {
	kind := ""
	switch {
	case jsonOf(described.Content) != nil:
		kind = ", Kind: style.JSON"
	case described.Schema.Value.Type.Includes("array"):
		kind = ", Kind: style.Array"
	}
	if required {
		kind += ", Required: true"
	}
	return fmt.Sprintf("style.Header{Name: %q%s}", name, kind)
}
