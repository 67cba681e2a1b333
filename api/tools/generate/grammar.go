package main

import (
	"cmp"
	"encoding/json"
	"fmt"
	"go/parser"
	"go/token"
	"maps"
	"mime"
	"net/url"
	"slices"
	"strings"
	"unicode"

	"github.com/getkin/kin-openapi/openapi3"
	"go.yaml.in/yaml/v3"
)

// grammar refuses the parts of a document that generate has no code for. The package documentation lists them.
type grammar struct{ faults }

// checkText returns an error for each reference and keyword that kin-openapi would follow or ignore, although there is
// no code for it. The validator must have accepted the document.
func checkText(file string, text []byte) error {
	var whole yaml.Node
	if err := yaml.Unmarshal(text, &whole); err != nil { // the document is JSON that is no YAML
		return unplaced(file, err)
	}
	g := grammar{faults{file: file}}
	g.numbers(&whole)
	g.value(&whole, false)
	return g.err()
}

// numbers refuses the texts that only YAML takes for numbers, of which its versions make different ones.
func (g *grammar) numbers(value *yaml.Node) {
	if hasWord("!!int !!float", value.ShortTag()) && !json.Valid([]byte(value.Value)) {
		g.fail(openapi3.Location{Line: value.Line, Column: value.Column}, "%s is no number in JSON: write it as one, or in quotes", value.Value)
	}
	for _, part := range value.Content {
		g.numbers(part)
	}
}

// value checks a value. isMap is true if the keys of an object are names.
func (g *grammar) value(value *yaml.Node, isMap bool) {
	if value.Kind != yaml.MappingNode {
		for _, element := range value.Content {
			g.value(target(element), false)
		}
		return
	}
	for pair := range slices.Chunk(value.Content, 2) {
		name, member := pair[0].Value, target(pair[1])
		switch {
		case isMap:
			g.value(member, false)
		case strings.HasPrefix(name, "x-") && name != "x-itemSchema": // what is in another extension is of no matter
		case !hasWord(values+" example examples propertyNames", name): // no code is generated from these
			g.value(member, hasWord(keyed, name))
		}
		if !isMap {
			g.keyword(name, member)
		}
	}
}

// target returns what an alias refers to, or the node itself.
func target(node *yaml.Node) *yaml.Node {
	for node.Kind == yaml.AliasNode {
		node = node.Alias
	}
	return node
}

// keyword refuses references to anything but a component or a webhook, which have names, a keyword of OpenAPI 3.0,
// extensions with a wrong value, and those of oapi-codegen but those that choose names and types.
func (g *grammar) keyword(name string, value *yaml.Node) {
	at := openapi3.Location{Line: value.Line, Column: value.Column}
	if hasWord("paths webhooks", name) {
		g.pathItems(value)
	}
	switch {
	case (name == "$ref" || name == "$dynamicRef") && value.Kind == yaml.ScalarNode:
		parts := strings.Split(value.Value, "/")
		switch {
		case strings.HasPrefix(value.Value, "#/components/mediaTypes/"):
			g.fail(at, "a reference to a media type is not generated: write the media type in its place")
		case parts[0] != "#" || len(parts) != 4 && (len(parts) != 3 || parts[1] == "components"):
			g.fail(at, "a reference to a part of a component is not generated: name the part in components, and refer to that")
		case parts[1] == "components" && strings.Contains(value.Value, "%"):
			g.fail(at, "a reference with escapes is not generated: write the name as it is in components")
		}
	case hasWord("mapping paths properties", name):
		g.names(value)
	case name == "enum": // of all control characters in values, oapi-codegen knows no places
		for _, element := range value.Content {
			if strings.ContainsFunc(target(element).Value, unicode.IsControl) {
				g.fail(openapi3.Location{Line: element.Line, Column: element.Column}, noConstant, element.Value)
			}
		}
	case name == "defaultMapping":
		g.fail(at, "defaultMapping is not generated: require the property, and map each of its values")
	case name == "nullable":
		g.fail(at, "nullable is of OpenAPI 3.0: remove it, and if it is true, add 'null' to the type beside it")
	case hasWord("x-go-name x-go-type-name", name) && !isName(value):
		g.fail(at, "the %s %q is no Go name: choose another", name, value.Value)
	case name == "x-enum-varnames" && !areNames(value):
		g.fail(at, "x-enum-varnames must be a list of different Go names: correct it")
	case name == "x-idempotent" && value.ShortTag() != "!!bool":
		g.fail(at, "x-idempotent must be true or false: correct it")
	case name == "x-go-type":
		if _, err := parser.ParseExpr(value.Value); err != nil || value.ShortTag() != "!!str" {
			g.fail(at, "the x-go-type %q is no Go type: choose another", value.Value)
		}
	case hasWord(`x-go-type-import x-go-type-skip-optional-pointer x-go-json-ignore x-omitempty x-omitzero x-oapi-codegen-extra-tags
		x-enumNames x-deprecated-reason x-order x-oapi-codegen-only-honour-go-name`, name):
		g.fail(at, "%s is not generated: remove it", name)
	}
}

// names refuses the names of an object that cannot be written in Go code.
func (g *grammar) names(object *yaml.Node) {
	for i := 0; i+1 < len(object.Content); i += 2 {
		if key := object.Content[i]; strings.ContainsFunc(key.Value, isUnwritable) {
			g.fail(openapi3.Location{Line: key.Line, Column: key.Column}, "the name %q has a quote or a control character: rename it", key.Value)
		}
	}
}

// pathItems refuses references to path items, of which kin-openapi does not know the places.
func (g *grammar) pathItems(all *yaml.Node) {
	for i := 1; i < len(all.Content); i += 2 {
		var item struct {
			Ref yaml.Node `yaml:"$ref"`
		}
		_ = all.Content[i].Decode(&item) // the validator has accepted it
		if ref := target(&item.Ref); ref.Value != "" {
			at := openapi3.Location{Line: ref.Line, Column: ref.Column}
			g.fail(at, "a reference to a path item is not generated: write the path item in its place, with operationIds of its own")
		}
	}
}

// isName reports whether a value is a name in Go.
func isName(value *yaml.Node) bool {
	return value.ShortTag() == "!!str" && token.IsIdentifier(value.Value)
}

// areNames reports whether a value is a list of names in Go, each of them once.
func areNames(value *yaml.Node) bool {
	seen := map[string]bool{}
	for _, element := range value.Content {
		if element = target(element); !isName(element) || seen[element.Value] {
			return false
		}
		seen[element.Value] = true
	}
	return value.Kind == yaml.SequenceNode
}

// checkGrammar returns an error for each part of a document that is outside of the grammar. Nothing is generated for
// callbacks, so they may be outside.
func checkGrammar(file string, document *openapi3.T) error {
	g := grammar{faults{file: file}}
	eachOperation(document, func(item *openapi3.PathItem, o *openapi3.Operation) {
		g.comment(o.Origin, "summary", "\x00\ufeff", o.Summary)
		if o == item.Query || slices.Contains(slices.Collect(maps.Values(item.AdditionalOperations)), o) {
			g.fail(locate(o.Origin), "the methods of OpenAPI 3.2 are not generated: use POST")
		}
		for status, response := range o.Responses.Map() {
			if strings.HasPrefix(status, "1") {
				g.fail(locate(cmp.Or(response.Origin, response.Value.Origin)), "the status %s is not generated, because it ends no request: remove it", status)
			}
		}
	})
	eachOperation(&openapi3.T{Paths: document.Paths}, func(_ *openapi3.PathItem, o *openapi3.Operation) {
		g.comment(o.Origin, "description", "\x00\ufeff", o.Description)
		g.comment(o.Origin, "tags", "\x00\ufeff", tagOf(o.Tags))
		switch {
		case o.OperationID == "": // it names the types, methods and files
			g.fail(locate(o.Origin), "an operation without an operationId is not generated: give it one")
		case strings.ContainsFunc(o.OperationID, unicode.IsControl):
			g.fail(locate(o.Origin, "operationId"), "an operationId with a control character is not generated: choose another")
		case len(url.QueryEscape(o.OperationID)) > 200:
			g.fail(locate(o.Origin, "operationId"), "an operationId of more than 200 escaped bytes is no name for a file: choose another")
		}
	})
	for _, response := range document.Components.Responses {
		if response.Value.Extensions["x-go-name"] != nil { // operations refer to its types by its own name
			g.fail(locate(response.Value.Origin), "the x-go-name of a response is not generated: rename the response")
		}
	}
	eachSchema(document, func(ref *openapi3.SchemaRef) {
		g.comment(ref.Value.Origin, "description", "\x00", ref.Value.Description)
		g.comment(ref.Value.Origin, "examples", "\x00", ref.Value.Examples...)
	})
	all := partsOf(document)
	for p := range all.parameters {
		if p.In != "" { // that of a header is not written
			g.comment(p.Origin, "description", "\x00", p.Description)
		}
		g.parameter(p)
	}
	for body := range all.requestBodies {
		g.requestBody(body)
	}
	for response := range all.responses {
		for name, header := range response.Headers {
			switch at := locate(cmp.Or(header.Origin, header.Value.Origin)); {
			case strings.EqualFold(name, "Transfer-Encoding"):
				g.fail(at, "the header Transfer-Encoding is not generated, because the server chooses it: remove it")
			case strings.EqualFold(name, "Set-Cookie") && kindOf(header.Value.Schema) == "array": // no comma divides cookies
				g.fail(at, "a list in Set-Cookie is not generated: declare a string")
			}
		}
		for media, described := range response.Content {
			if name, _, _ := mime.ParseMediaType(media); described.ItemSchema != nil && strings.HasSuffix(name, "json-seq") {
				g.fail(placeOf(described.ItemSchema, described.Origin), "a JSON text sequence is not generated: use application/jsonl")
			}
			g.media(media, described)
		}
	}
	return g.err()
}

// comment refuses the values of a field that may become a comment in Go, if they have one of the characters that no Go
// file may have. U+FEFF is one of them but for schemas and parameters, where oapi-codegen removes it.
func (g *grammar) comment(within *openapi3.Origin, field, characters string, values ...any) {
	if strings.ContainsAny(fmt.Sprint(values...), characters) {
		g.fail(locate(within, field), "a comment in Go with U+0000 or U+FEFF is not generated: remove the character")
	}
}

// placeOf returns the place of a schema, or of what has the schema if it is empty.
func placeOf(ref *openapi3.SchemaRef, within *openapi3.Origin) openapi3.Location {
	return locate(cmp.Or(originOf(ref), within))
}

const notNull = "a parameter or header that may be null is not generated: allow no null, and leave it out instead"

var scalars = strings.Fields("string integer number boolean") //nolint:gochecknoglobals // never changed

// parameter refuses the forms of parameters, and of headers of responses, that have no code.
func (g *grammar) parameter(p *openapi3.Parameter) {
	const scalarOrList = "declare one type, a string, integer, number, boolean or a list of these"
	usual := map[string]string{"path": "simple", "header": "simple", "query": "form", "cookie": "form"}[p.In]
	switch {
	case strings.ContainsFunc(p.Name, isUnwritable):
		g.fail(locate(p.Origin, "name"), "the name %q has a quote or a control character: rename it", p.Name)
	case p.In == "querystring":
		g.fail(locate(p.Origin), "a parameter that is the whole query is not generated: declare each of its members in the query")
	case p.In == "" && p.Content != nil:
		g.fail(locate(p.Origin), "a header of a response with a media type is not generated: use a scalar or a list, or the body")
	case p.In == "":
		g.scalarOrList(p, scalarOrList)
	case p.Content != nil:
		for media, described := range p.Content {
			if !isJSON(media) {
				g.fail(locate(described.Origin), "a parameter in %s is not generated: use application/json", media)
			}
			if described.Schema != nil && allowsNull(described.Schema.Value) {
				g.fail(placeOf(described.Schema, described.Origin), notNull)
			}
		}
	case p.Style == "deepObject":
		g.flatObject(p.Schema, placeOf(p.Schema, p.Origin), "use content: application/json")
	case p.Style != "" && p.Style != usual:
		g.fail(locate(p.Origin, "style"), "the style %s is not generated: use %s", p.Style, usual)
	default:
		g.scalarOrList(p, scalarOrList+", or use content: application/json")
	}
}

// scalarOrList refuses a parameter whose values are not scalars or lists of them.
func (g *grammar) scalarOrList(p *openapi3.Parameter, wayOut string) {
	at := placeOf(p.Schema, p.Origin)
	switch kind := kindOf(p.Schema); {
	case allowsNull(p.Schema.Value):
		g.fail(at, notNull)
	case slices.Contains(scalars, kind):
	case kind == "array":
		if inner := kindOf(p.Schema.Value.Items); !slices.Contains(scalars, inner) {
			g.fail(at, "a list of %s is not generated here: %s", cmp.Or(inner, "any values"), wayOut)
		}
	default:
		g.fail(at, "%s is not generated here: %s", cmp.Or(kind, "any value"), wayOut)
	}
}

const severalTypes = "a value of several types"

// kindOf returns the type that a schema declares, words for what has no single type, or "".
func kindOf(ref *openapi3.SchemaRef) string {
	if ref == nil {
		return ""
	}
	s := ref.Value
	switch types := s.Type.Slice(); {
	case len(s.OneOf)+len(s.AnyOf) > 0:
		return "a union"
	case len(types) > 1:
		return severalTypes
	case len(types) == 1:
		return types[0]
	}
	found := ""
	for _, value := range literalsOf(s) {
		kind := typeOf(value)
		if !slices.Contains(scalars, kind) || found != "" && found != kind {
			return severalTypes
		}
		found = kind
	}
	for _, part := range s.AllOf {
		if kind := kindOf(part); kind != "" && (found == "" || found == severalTypes) {
			found = kind
		}
	}
	return found
}

// flatObject refuses the schema of a parameter or field in the style deepObject whose members are not scalars.
func (g *grammar) flatObject(schema *openapi3.SchemaRef, at openapi3.Location, wayOut string) {
	if kind := kindOf(schema); kind != "object" {
		g.fail(at, "deepObject is generated for objects only, and this is %s: declare an object, or %s", cmp.Or(kind, "any value"), wayOut)
		return
	}
	for name, member := range textsOf(schema) {
		if !slices.Contains(scalars, kindOf(member)) {
			g.fail(placeOf(member, schema.Value.Origin), "the member %s of a deepObject must be a string, integer, number or boolean: %s", name, wayOut)
		}
	}
}

func (g *grammar) requestBody(body *openapi3.RequestBody) {
	for media, described := range body.Content {
		if isJSON(media) && !body.Required && described.Schema != nil && allowsNull(described.Schema.Value) {
			g.fail(placeOf(described.Schema, described.Origin), "an optional body that may be null is not generated: set required to true, or allow no null")
		}
		if described.ItemSchema != nil {
			g.fail(placeOf(described.ItemSchema, described.Origin), "a request that is a stream is not generated: use a list in application/json, or a binary body")
		}
		g.media(media, described)
	}
}

// media refuses media types whose parts have no names, and fields of forms that have no type.
func (g *grammar) media(media string, described *openapi3.MediaType) {
	if media == mediaForm {
		g.form(described)
	}
	switch name, _, _ := mime.ParseMediaType(media); {
	case strings.HasSuffix(name, "/json") && name != mediaJSON: // which oapi-codegen does not know as JSON
		g.fail(locate(described.Origin), "%s is not generated: use application/json", name)
	case strings.HasPrefix(name, "multipart/") && name != "multipart/form-data":
		g.fail(locate(described.Origin), "%s is not generated: use multipart/form-data", name)
		return
	}
	if described.Extensions["prefixEncoding"] != nil || described.Extensions["itemEncoding"] != nil {
		g.fail(locate(described.Origin), "parts without a name are not generated: name them, and use encoding")
	}
}

// form refuses the fields of a form whose text could be read as a value of several types: a null, for example.
func (g *grammar) form(described *openapi3.MediaType) {
	const asJSON = "set contentType to application/json in its encoding, and no style, explode or allowReserved"
	const wayOut = "declare one type, a string, integer, number, boolean, object or a list of one of these, or " + asJSON
	for name, field := range textsOf(described.Schema) {
		e := cmp.Or(described.Encoding[name], &openapi3.Encoding{})
		kind, at, isStyled := kindOf(field), placeOf(field, described.Schema.Value.Origin), e.Style != "" || e.Explode != nil || e.AllowReserved
		switch {
		case e.Style == "deepObject":
			g.flatObject(field, at, asJSON)
			continue
		case e.Style != "" && e.Style != "form":
			g.fail(at, "the style %s is not generated: use %s", e.Style, "form")
			continue
		case isJSON(e.ContentType) && !isStyled:
			continue
		case kind == "array":
			if field = field.Value.Items; field != nil {
				at = placeOf(field, described.Schema.Value.Origin)
			}
			kind = cmp.Or(kindOf(field), "list of any value")
		}
		switch {
		case slices.Contains(scalars, kind):
		case kind == "array" || kind == "object" || kind == severalTypes && slices.Equal(typesOf(field.Value.Type), []string{"object"}): // which is JSON
			if isStyled {
				g.fail(at, "the field %s of a form is %s, which has no style: %s", name, kind, asJSON)
			}
		case name == others:
			g.fail(at, "the other fields of a form have %s, which is not generated: name them, or declare one type", cmp.Or(kind, "any value"))
		default:
			g.fail(at, "the field %s of a form is %s, which is not generated: %s", name, cmp.Or(kind, "any value"), wayOut)
		}
	}
}

const others = "additionalProperties"

// textsOf returns the schemas of the members of an object, with those that patterns name, and of all others.
func textsOf(ref *openapi3.SchemaRef) openapi3.Schemas {
	all := fieldsOf(ref)
	if ref == nil {
		return all
	}
	isClosed := false
	for _, part := range append(openapi3.SchemaRefs{ref}, ref.Value.AllOf...) {
		maps.Copy(all, part.Value.PatternProperties)
		has := part.Value.AdditionalProperties.Has
		isClosed = isClosed || has != nil && !*has
	}
	if all[others] == nil && !isClosed && hasOthers(ref) {
		all[others] = anyValue()
	}
	return all
}

// fieldsOf returns the schemas of the members of an object, and of all others, which have no name.
func fieldsOf(ref *openapi3.SchemaRef) openapi3.Schemas {
	if ref == nil {
		return nil
	}
	s, all := ref.Value, openapi3.Schemas{}
	maps.Copy(all, s.Properties)
	if free := s.AdditionalProperties; free.Schema != nil || free.Has != nil && *free.Has {
		all[others] = cmp.Or(free.Schema, anyValue())
	}
	for _, part := range slices.Concat(s.AllOf, s.OneOf, s.AnyOf) {
		for name, field := range fieldsOf(part) {
			other, differ := all[name], func(a, b string) bool { return a != "" && b != "" && a != b }
			switch {
			case other == nil || kindOf(other) == "":
				all[name] = field
			case differ(kindOf(field), kindOf(other)) || differ(kindOf(field.Value.Items), kindOf(other.Value.Items)): // in alternatives
				all[name] = &openapi3.SchemaRef{Value: &openapi3.Schema{Type: &openapi3.Types{kindOf(other), kindOf(field)}, Origin: originOf(field)}}
			}
		}
	}
	return all
}
