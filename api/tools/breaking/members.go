package main

import (
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"

	"github.com/getkin/kin-openapi/openapi3"
)

// What oasdiff compares only in part is here compared as a member of an object: parameters, headers, and how they and
// the fields of forms are written.

// parametersOf returns the parameters of an operation, and the encoding of its body, as bodies.
func parametersOf(path string, operation *openapi3.Operation) openapi3.Content {
	all := newParts()
	for _, ref := range operation.Parameters {
		p := *ref.Value
		if p.In == openapi3.ParameterInPath { // its name is no matter of the request
			before, _, _ := strings.Cut(path, "{"+p.Name+"}")
			p.Name = strconv.Itoa(strings.Count(before, "{") + 1)
		}
		all.add(&p)
	}
	if operation.RequestBody != nil {
		all.addEncodings(operation.RequestBody.Value.Content)
	}
	return all.content("parameter", nil)
}

// withHeaders returns the content of a response with its headers, and the encoding of its body, as other bodies.
func withHeaders(response *openapi3.Response) openapi3.Content {
	all := newParts()
	for name, header := range response.Headers {
		p := header.Value.Parameter
		p.In, p.Name = openapi3.ParameterInHeader, name
		all.add(&p)
	}
	return all.content("header", response.Content)
}

// parts are objects by whether they are text or JSON, because a number as text is text as well.
type parts map[string]*openapi3.Schema

func newParts() parts {
	return parts{"text": openapi3.NewObjectSchema(), "json": openapi3.NewObjectSchema()}
}

// content returns the parts as bodies beside a body, of which the encoding is one of them.
func (all parts) content(name string, body openapi3.Content) openapi3.Content {
	all.addEncodings(body)
	content := openapi3.NewContent()
	for format, schema := range all {
		content["application/"+name+"+"+format] = openapi3.NewMediaType().WithSchema(schema)
	}
	maps.Copy(content, body) // which may have parts already
	return content
}

// add adds a parameter or header, and how it is written.
func (all parts) add(p *openapi3.Parameter) {
	name := p.In + ":" + p.Name
	if p.In == openapi3.ParameterInHeader {
		name = strings.ToLower(name)
	}
	schema, written, format := p.Schema, "as text", "text"
	for media, content := range p.Content {
		schema, written, format = content.Schema, media, "json"
	}
	members := all[format]
	if schema == nil {
		schema = openapi3.NewSchemaRef("", openapi3.NewSchema())
	}
	members.Properties[name] = schema
	if p.Required {
		members.Required = append(members.Required, name)
	}
	if types := schema.Value.Type; p.Schema != nil && (types == nil || types.Includes(openapi3.TypeArray) || types.Includes(openapi3.TypeObject)) {
		if method, err := p.SerializationMethod(); err == nil { // its place is known
			written = fmt.Sprintf("%s, explode %t", method.Style, method.Explode)
		}
	}
	ways := []any{written}
	if p.AllowReserved {
		ways = append(ways, "with reserved characters")
	}
	if p.AllowEmptyValue {
		ways = append(ways, "without a value")
	}
	all["text"].Properties[name+" is written"] = openapi3.NewStringSchema().WithEnum(ways...).NewRef()
}

// addEncodings adds how the fields of forms are written.
func (all parts) addEncodings(content openapi3.Content) {
	for media, described := range content {
		if described.Schema == nil || !strings.Contains(media, "form") && !strings.HasPrefix(media, "multipart/") {
			continue
		}
		names := slices.Collect(maps.Keys(described.Schema.Value.Properties))
		for _, name := range slices.AppendSeq(names, maps.Keys(described.Encoding)) {
			written := "by default"
			if field := described.Schema.Value.Properties[name]; field != nil && field.Value.Type.Is(openapi3.TypeArray) {
				written = "by default, as a list"
			}
			if encoding := described.Encoding[name]; encoding != nil {
				text, _ := json.Marshal(encoding) // cannot fail
				written = string(text)
			}
			all["text"].Properties[media+"/"+name+" is written"] = openapi3.NewStringSchema().WithEnum(written).NewRef()
		}
	}
}

// wrap makes bodies members of objects, once, because oasdiff compares them so in full.
func wrap(content openapi3.Content, wrapped map[any]bool) {
	for name, media := range content {
		isPart := strings.HasPrefix(name, "application/parameter+") || strings.HasPrefix(name, "application/header+")
		if media.Schema != nil && !isPart && !wrapped[media] {
			wrapped[media] = true
			media.Schema = openapi3.NewObjectSchema().WithPropertyRef("body", media.Schema).WithRequired([]string{"body"}).NewRef()
		}
	}
}
