package main

import (
	"encoding/json"
	"fmt"
	"strings"

	"github.com/getkin/kin-openapi/openapi3"
	"github.com/oapi-codegen/oapi-codegen/v2/pkg/codegen"
)

// lower replaces what OpenAPI 3.2 adds and kin-openapi and oapi-codegen do not know.
func lower(document *openapi3.T) error {
	if err := inlineMediaTypes(document); err != nil {
		return err
	}
	eachParameter(document, func(p *openapi3.Parameter) {
		if p.In == "querystring" {
			lowerQueryString(p)
		}
		if p.Style == "cookie" { // without percent-encoding, as package style writes cookies in any case
			p.Style = "form"
		}
	})
	return nil
}

// inlineMediaTypes puts the media types in the components in the place of the references to them.
func inlineMediaTypes(document *openapi3.T) error {
	if document.Components == nil {
		return nil
	}
	types, _ := document.Components.Extensions["mediaTypes"].(map[string]any)
	inlined := map[string]*openapi3.MediaType{}
	var failed error
	inline := func(content openapi3.Content) {
		for media := range content {
			name := mediaTypeOf(types, content[media].Extensions["$ref"])
			if name == "" {
				continue
			}
			if inlined[name] == nil {
				inlined[name] = &openapi3.MediaType{Origin: document.Components.Origin}
				text, err := json.Marshal(types[name])
				if err == nil {
					err = json.Unmarshal(text, inlined[name])
				}
				if err != nil {
					failed = fmt.Errorf("the media type %s: %w", name, err)
				}
			}
			content[media] = inlined[name]
		}
	}
	eachContent(document, inline)
	eachParameter(document, func(p *openapi3.Parameter) { inline(p.Content) })
	if failed != nil || len(inlined) == 0 {
		return failed
	}
	return openapi3.NewLoader().ResolveRefsIn(document, nil)
}

// mediaTypeOf returns the name of the media type to which a reference leads, or "" if it is no reference.
func mediaTypeOf(types map[string]any, ref any) (name string) {
	for text, ok := ref.(string); ok; { // the validator has refused circles
		name = strings.TrimPrefix(text, "#/components/mediaTypes/")
		next, _ := types[name].(map[string]any)
		text, ok = next["$ref"].(string)
	}
	return name
}

// queryString is an extension of a parameter that is the whole query: its media type.
const queryString = "x-querystring"

// lowerQueryString makes a parameter of the query from one that is the whole query. It is JSON, because that is what the
// validator converts it to.
func lowerQueryString(p *openapi3.Parameter) {
	for media, content := range p.Content {
		p.In, p.Content = openapi3.ParameterInQuery, openapi3.Content{mediaJSON: content}
		p.Extensions = extended(p.Extensions, map[string]any{queryString: media})
	}
}

// queryStringOf returns the Go expression of type style.QueryString for a parameter, or "" if it is not the whole query.
func queryStringOf(p *openapi3.Parameter) string {
	media, ok := p.Extensions[queryString].(string)
	if !ok {
		return ""
	}
	fields := map[string]codegen.RequestBodyEncoding{}
	for name, e := range p.Content[mediaJSON].Encoding {
		fields[name] = codegen.RequestBodyEncoding{ContentType: e.ContentType, Style: e.Style, Explode: e.Explode}
	}
	return fmt.Sprintf("style.QueryString{Media: %q, Fields: %s}", media, fieldStyles(fields))
}
