package main

import (
	_ "embed"
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/oapi-codegen/oapi-codegen/v2/pkg/codegen"
)

//go:embed client.tmpl
var clientSource string

//go:embed unimplemented.tmpl
var unimplementedSource string

// operation describes an operation of the document for the templates.
type operation struct {
	ID, Name     string // in the document and in Go
	Method, Path string
	Comment      []string
	Errors       []string // error classes of package client
	Idempotent   bool     // as RFC 9110 defines it
	Keyed        bool     // takes an Idempotency-Key
	PathParams   []parameter
	Required     []parameter // in the query, header or a cookie
	Optional     []parameter
	Workspace    string // field for the workspace id, or empty
	HasParams    bool   // gen declares a struct for the parameters
	Body         body
	Success      result
}

type parameter struct {
	Name                  string // in the document
	Field, Argument, Type string
	Comment               []string
}

// body describes the request body of an operation.
type body struct {
	Builder     string // suffix of the function New…Request
	Type        string // Go type, or empty if the body is an io.Reader
	Optional    bool
	Reader      bool
	ContentType string // media type of an io.Reader, or empty if the caller gives it
}

// result describes the result of a client method.
type result struct {
	Kind        string // bodyNone, bodyJSON, bodyText or bodyStream
	Type        string // Go type of the JSON
	Slice       bool   // Type is a slice or map, returned without a pointer
	Whole       bool   // successes have different types, so the method returns the generated response
	Empty       bool   // some success has no body
	NotModified bool
	Accept      string
}

// operations describes the operations of the document. oapi-codegen must have generated code from the
// document just before.
func operations(definitions []codegen.OperationDefinition, n *names) ([]operation, error) {
	var all []operation
	for _, definition := range definitions {
		if definition.IsAlias {
			continue
		}
		described, err := describe(definition)
		if err != nil {
			n.fail(locate(definition.Spec.Origin), "the operation %s has no client method: %v", definition.Spec.OperationID, err)
		}
		all = append(all, described)
	}
	return all, n.err()
}

func describe(d codegen.OperationDefinition) (operation, error) {
	o := operation{
		ID: d.Spec.OperationID, Name: codegen.UppercaseFirstCharacter(d.OperationId), Method: d.Method, Path: d.Path,
		Comment: comment(d.Spec.Description), Errors: errorClasses(d.Spec.Responses.Map()),
		Idempotent: slices.Contains([]string{"GET", "HEAD", "OPTIONS", "TRACE", "PUT", "DELETE"}, d.Method),
		HasParams:  d.RequiresParamObject(),
	}
	if said, ok := d.Spec.Extensions["x-idempotent"].(bool); ok {
		o.Idempotent = said
	}
	o.Comment = append([]string{fmt.Sprintf("%s sends %s %s: %s.", o.Name, d.Method, d.Path, lowerFirst(strings.TrimSuffix(d.Summary, ".")))}, o.Comment...)
	var err error
	for _, p := range d.PathParams {
		t, err := qualify(p.TypeDef())
		if err != nil {
			return o, err
		}
		o.PathParams = append(o.PathParams, parameter{Name: p.ParamName, Argument: argument(p.GoName()), Type: t})
	}
	for _, definition := range codegen.GenerateParamsTypes(d) {
		if definition.TypeName != o.Name+"Params" {
			continue
		}
		for _, property := range definition.Schema.Properties {
			if err := o.addParameter(property); err != nil {
				return o, err
			}
		}
	}
	if o.Body, err = bodyOf(d); err != nil {
		return o, err
	}
	o.Success, err = resultOf(d)
	return o, err
}

func (o *operation) addParameter(p codegen.Property) error {
	t, err := qualify(p.GoTypeDef())
	if err != nil {
		return err
	}
	described := parameter{Name: p.JsonFieldName, Field: p.GoFieldName(), Argument: argument(p.GoFieldName()), Type: t, Comment: comment(p.Description)}
	for slices.ContainsFunc(slices.Concat(o.PathParams, o.Required), func(other parameter) bool { return other.Argument == described.Argument }) {
		described.Argument += "Value"
	}
	switch name := strings.ToLower(p.JsonFieldName); {
	case name == "x-workspace-id":
		o.Workspace = described.Field
	case name == "idempotency-key":
		o.Keyed = true
	case name == "x-request-id":
	case p.Required:
		o.Required = append(o.Required, described)
	default:
		o.Optional = append(o.Optional, described)
	}
	return nil
}

// bodyOf describes the request body. It prefers a media type with a Go type to a media type that is read from an
// io.Reader.
func bodyOf(d codegen.OperationDefinition) (body, error) {
	if !d.HasBody() {
		return body{}, nil
	}
	content := d.Spec.RequestBody.Value.Content
	for _, media := range append(jsonTypes(content), "application/x-www-form-urlencoded", "text/plain") {
		for _, b := range d.Bodies {
			if b.ContentType != media || !b.IsFixedContentType() {
				continue
			}
			name := b.Schema.TypeDecl()
			if content[media].Schema.Ref == "" { // the schema has no name
				name = codegen.UppercaseFirstCharacter(d.OperationId) + b.NameTag + "RequestBody"
			}
			qualified, err := qualify(name)
			return body{Builder: b.Suffix(), Type: qualified, Optional: !b.Required}, err
		}
	}
	b := body{Builder: "WithBody", Reader: true, Optional: !d.BodyRequired}
	media := slices.Collect(maps.Keys(content))
	if len(media) == 1 && !strings.Contains(media[0], "*") && !strings.HasPrefix(media[0], "multipart/") {
		b.ContentType = media[0]
	}
	return b, nil
}
