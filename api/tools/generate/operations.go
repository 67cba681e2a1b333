package main

import (
	"cmp"
	"fmt"
	"maps"
	"math"
	"regexp"
	"slices"
	"strings"

	"github.com/getkin/kin-openapi/openapi3"
	"github.com/oapi-codegen/oapi-codegen/v2/pkg/codegen"
)

// operation describes an operation of the document for the templates.
type operation struct {
	ID, Name     string // in the document and in Go
	Method, Path string
	Tag          string // the first one, as one line
	Comment      []string
	Errors       []string // error classes of package client
	Idempotent   bool     // as RFC 9110 defines it
	Keyed        bool     // takes an Idempotency-Key
	Public       bool     // has no security
	Preferred    []string // paths of others with this method, which a service prefers if a request matches them too
	PathParams   []parameter
	Required     []parameter // in the query, header or a cookie
	Optional     []parameter
	Params       string     // the method with whose optional parameters this one is called, or "" for its own
	Workspace    *parameter // for the workspace id, or nil
	Body         body
	Success      result
}

type parameter struct {
	Name                  string // in the document
	In                    string // Path, Query, Header or Cookie
	Style                 string // Go expression of type style.Param
	Field, Argument, Type string
	Required              bool
	Comment               []string
}

// body describes the request body of an operation.
type body struct {
	Kind        string // JSON, Text, Form or Reader, or empty without a body
	Type        string // Go type
	Optional    bool
	Pointer     bool   // the argument is a pointer, which is nil for null or without a body
	ContentType string // empty if the caller gives the one of a reader
	Fields      string // Go expression for the styles of the fields of a form
}

// result describes the result of a client method.
type result struct {
	Kind        string // bodyNone, bodyJSON, bodyText, bodyStream or bodyItems
	Type        string // Go type of the JSON, or of an item
	Item        string // Go type of an item, or of the data in it
	Redirect    bool   // redirects are the only successes
	Slice       bool   // Type is a slice or map, returned without a pointer
	Whole       bool   // successes have different types, so the method returns a struct with those in Each
	Each        []success
	Empty       bool // some success has no body, or may be null
	NotModified bool
	Accept      string
	Streams     []*itemStream // of all successes; the client reads the first
}

// success is the type of the JSON of one success.
type success struct{ Field, Type, Condition string }

// operations describes the operations of the document.
func operations(n *names) ([]operation, error) {
	var all []operation
	for _, definition := range n.definitions {
		if definition.IsAlias {
			continue
		}
		described, err := describe(definition, n.security)
		if err != nil {
			n.fail(locate(definition.Spec.Origin), "%s has no client method: %v", n.operations[definition.OperationId].what, err)
		}
		all = append(all, described)
	}
	for i := range all {
		all[i].prefer(all)
	}
	return all, n.err()
}

var placeholder = regexp.MustCompile(`\{[^}]*\}`)

// prefer sets Preferred: the paths that have more text than this one where they first differ.
func (o *operation) prefer(all []operation) {
	textOf := func(segment string) int { // none has more than one without parameters
		if !strings.Contains(segment, "{") {
			return math.MaxInt
		}
		return len(placeholder.ReplaceAllString(segment, ""))
	}
	if !strings.Contains(o.Path, "{") {
		return
	}
	own := strings.Split(o.Path, "/")
	for _, other := range all {
		if other.Method != o.Method {
			continue
		}
		segments, more := strings.Split(other.Path, "/"), 0
		for i := 0; i < len(own) && len(segments) == len(own); i++ {
			text, others := textOf(own[i]), textOf(segments[i])
			if text == others && text == math.MaxInt && own[i] != segments[i] { // no request matches both
				more = 0
				break
			}
			more = cmp.Or(more, cmp.Compare(others, text))
		}
		if more > 0 {
			o.Preferred = append(o.Preferred, other.Path)
		}
	}
}

// describe describes an operation. security is that of operations that have none of their own.
func describe(d codegen.OperationDefinition, security openapi3.SecurityRequirements) (operation, error) {
	o := operation{
		ID: d.SpecOperationId, Name: codegen.UppercaseFirstCharacter(d.OperationId), Method: d.Method, Path: d.Path,
		Tag: tagOf(d.Spec.Tags), Comment: comment(d.Spec.Description), Errors: errorClasses(d.Spec.Responses.Map()),
		Idempotent: slices.Contains([]string{"GET", "HEAD", "OPTIONS", "TRACE", "PUT", "DELETE"}, d.Method),
	}
	if d.Spec.Security != nil {
		security = *d.Spec.Security
	}
	o.Public = !slices.ContainsFunc(security, func(schemes openapi3.SecurityRequirement) bool { return len(schemes) > 0 })
	if said, ok := d.Spec.Extensions["x-idempotent"].(bool); ok {
		o.Idempotent = said
	}
	o.Comment = append([]string{fmt.Sprintf("%s sends %s %s%s.", o.Name, d.Method, d.Path, afterColon(d.Summary))}, o.Comment...)
	var err error
	if o.Success, err = resultOf(d); err != nil {
		return o, err
	}
	for _, p := range d.PathParams {
		o.PathParams = append(o.PathParams, parameter{
			Name: p.ParamName, In: codegen.UppercaseFirstCharacter(p.In), Style: styleOf(p, true), Argument: argument(p.GoName()), Type: qualify(p.TypeDef()),
		})
	}
	others := slices.Concat(d.QueryParams, d.HeaderParams, d.CookieParams)
	for _, definition := range codegen.GenerateParamsTypes(d) {
		if definition.TypeName != d.OperationId+"Params" {
			continue
		}
		for i, property := range definition.Schema.Properties { // in the order of others
			o.addParameter(others[i], property)
		}
	}
	o.Body = bodyOf(d)
	return o, nil
}

func (o *operation) addParameter(p codegen.ParameterDefinition, field codegen.Property) {
	described := parameter{
		Name: p.ParamName, In: codegen.UppercaseFirstCharacter(p.In), Style: styleOf(p, false), Field: field.GoFieldName(), Argument: argument(field.GoFieldName()),
		Type: qualify(field.GoTypeDef()), Required: p.Required, Comment: comment(field.Description),
	}
	for slices.ContainsFunc(slices.Concat(o.PathParams, o.Required), func(other parameter) bool { return other.Argument == described.Argument }) {
		described.Argument += "Value"
	}
	switch name := strings.ToLower(p.ParamName); {
	case name == "x-workspace-id":
		o.Workspace = &described
	case name == "idempotency-key":
		o.Keyed = true
	case name == "last-event-id" && len(o.Success.Streams) > 0 && o.Success.Streams[0].Resumable: // the option After sets it
	case p.Required:
		described.Style = styleOf(p, true)
		o.Required = append(o.Required, described)
	default:
		o.Optional = append(o.Optional, described)
	}
}

// styleOf returns the Go expression for the style of a parameter.
func styleOf(p codegen.ParameterDefinition, required bool) string {
	style := map[string]string{"path": "simple", "header": "simple", "query": "form", "cookie": "form"}[p.In]
	switch {
	case p.IsJson():
		style = ""
	case p.IsStyled():
		style = p.Style()
	}
	rest := ""
	if p.IsStyled() && p.Explode() {
		rest = ", Explode: true"
	}
	if required {
		rest += ", Required: true"
	}
	return fmt.Sprintf("style.Param{Name: %q, Style: %q%s}", p.ParamName, style, rest)
}

// clientMethods returns the operations for the methods of the client. An operation that responds with JSON or with a
// stream has two methods. The name of the one that returns the stream ends with Stream.
func clientMethods(all []operation) (list methodList) {
	for _, o := range all {
		list = append(list, o)
		if len(o.Success.Streams) > 0 && o.Success.Kind != "bodyItems" {
			o.Comment = append([]string{strings.Replace(o.Comment[0], o.Name, o.Name+"Stream", 1)}, o.Comment[1:]...)
			o.Name, o.Params, o.Success = o.Name+"Stream", o.Name, o.Success.ofStream()
			list = append(list, o)
		}
	}
	return list
}

// methodList is the methods of the client.
type methodList []operation

// tag is the methods with a tag.
type tag struct {
	Name    string
	Methods methodList
}

// ByTag returns the methods in the order of their tags.
func (m methodList) ByTag() (tags []tag) {
	for _, o := range m {
		i := slices.IndexFunc(tags, func(t tag) bool { return t.Name == o.Tag })
		if i < 0 {
			i, tags = len(tags), append(tags, tag{Name: o.Tag})
		}
		tags[i].Methods = append(tags[i].Methods, o)
	}
	return tags
}

func tagOf(tags []string) string {
	if len(tags) == 0 {
		return "Others"
	}
	return strings.Join(strings.Fields(tags[0]), " ")
}

// bodyOf describes the request body. It prefers a media type with a Go type to a media type that is read from an
// io.Reader.
func bodyOf(d codegen.OperationDefinition) body {
	if !d.HasBody() {
		return body{}
	}
	content := d.Spec.RequestBody.Value.Content
	kinds := map[string]string{mediaForm: "Form", "text/plain": "Text"}
	for _, media := range append(jsonTypes(content), mediaForm, "text/plain") {
		for _, b := range d.Bodies {
			if b.ContentType != media || !b.IsFixedContentType() {
				continue
			}
			name := b.Schema.TypeDecl()
			if content[media].Schema.Ref == "" { // the schema has no name
				name = d.OperationId + b.NameTag + "RequestBody"
			}
			described := body{Kind: cmp.Or(kinds[media], "JSON"), Type: qualify(name), Optional: !b.Required, ContentType: media}
			described.Pointer = described.Optional || content[media].Extensions[nullExtension] != nil
			if described.Kind == "Form" {
				described.Fields = fieldStyles(content[media].Encoding)
			}
			return described
		}
	}
	b := body{Kind: "Reader", Type: "io.Reader", Optional: !d.BodyRequired}
	media := slices.Collect(maps.Keys(content))
	if len(media) == 1 && !strings.Contains(media[0], "*") && !strings.HasPrefix(media[0], "multipart/") {
		b.ContentType = media[0]
	}
	return b
}

// fieldStyles returns the Go expression for the fields of a form that have a style of their own.
func fieldStyles(encodings map[string]*openapi3.Encoding) string {
	var fields []string
	for name, e := range sorted(encodings) {
		style, explode := cmp.Or(e.Style, "form"), e.Explode == nil && cmp.Or(e.Style, "form") == "form" || e.Explode != nil && *e.Explode
		switch {
		case e.Style != "" || e.Explode != nil:
		case isJSON(e.ContentType):
			style = ""
		default:
			continue
		}
		fields = append(fields, fmt.Sprintf("%q: {Name: %[1]q, Style: %q, Explode: %t}", name, style, explode))
	}
	return "map[string]style.Param{" + strings.Join(fields, ", ") + "}"
}

// addFieldStyles gives a form the extension x-fields: the Go expression for its fields, for the template of responses.
func addFieldStyles(content openapi3.Content) {
	if described := content[mediaForm]; described != nil {
		described.Extensions = extended(map[string]any{"x-fields": fieldStyles(described.Encoding)}, described.Extensions)
	}
}
