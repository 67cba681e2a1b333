package main

import (
	"cmp"
	"errors"
	"fmt"
	"go/parser"
	"go/token"
	"iter"
	"maps"
	"mime"
	"slices"
	"strings"

	"go.yaml.in/yaml/v3"

	"github.com/avatarstudio/avatarstudio/server/validate"
)

// grammar refuses the parts of a document that generate has no code for. The package documentation lists them.
type grammar struct {
	file   string
	root   *yaml.Node
	seen   map[*yaml.Node]bool
	faults []error
}

// checkGrammar returns an error for each part of a document that is outside of the grammar. The validator must have
// accepted the document.
func checkGrammar(file string, text []byte) error {
	var whole yaml.Node
	if err := yaml.Unmarshal(text, &whole); err != nil {
		return fmt.Errorf("%s: %w", file, err)
	}
	g := &grammar{file: file, root: whole.Content[0], seen: map[*yaml.Node]bool{}}
	for _, group := range []string{"paths", "webhooks"} {
		g.each(member(g.root, group), g.pathItem)
	}
	for path, item := range members(member(g.root, "paths")) {
		if strings.Contains(path, "\n") {
			g.refuse(item, "the path %q has a line break: rename it", path)
		}
	}
	components := member(g.root, "components")
	for group, visit := range map[string]func(*yaml.Node){
		"parameters": g.parameter, "headers": g.header, "requestBodies": g.requestBody, "responses": g.response,
		"callbacks": g.callback, "pathItems": g.pathItem,
	} {
		g.each(member(components, group), visit)
	}
	g.references(g.root, false)
	slices.SortFunc(g.faults, func(a, b error) int {
		x, _ := errors.AsType[*validate.DocumentError](a)
		y, _ := errors.AsType[*validate.DocumentError](b)
		return compareLocations(x.Line, x.Column, y.Line, y.Column)
	})
	return errors.Join(g.faults...)
}

// refuse reports a part of the document and the way out.
func (g *grammar) refuse(at *yaml.Node, format string, args ...any) {
	g.faults = append(g.faults, &validate.DocumentError{File: g.file, Line: at.Line, Column: at.Column, Detail: fmt.Sprintf(format, args...)})
}

// references refuses references to anything but a component or a path item, which have names. isMap is true if the keys
// of an object are names.
func (g *grammar) references(node *yaml.Node, isMap bool) {
	for _, element := range elements(node) {
		g.references(element, false)
	}
	for name, value := range members(node) {
		if isMap || !hasWord(values+" example examples", name) {
			g.references(value, !isMap && hasWord(keyed, name))
		}
		if !isMap {
			g.keyword(name, value)
		}
		if isMap || name != "$ref" && name != "$dynamicRef" || value.Kind != yaml.ScalarNode {
			continue
		}
		if strings.HasPrefix(value.Value, "#/components/mediaTypes/") {
			g.refuse(value, "a reference to a media type is not generated: write the media type in its place")
		}
		if parts := strings.Split(value.Value, "/"); parts[0] != "#" || len(parts) != 4 && (len(parts) != 3 || parts[1] == "components") {
			g.refuse(value, "a reference to a part of a component is not generated: name the part in components, and refer to that")
		}
	}
}

// keyword refuses a keyword of OpenAPI 3.0, and extensions of oapi-codegen but those that choose names and types.
func (g *grammar) keyword(name string, value *yaml.Node) {
	switch {
	case name == "defaultMapping":
		g.refuse(value, "defaultMapping is not generated: require the property, and map each of its values")
	case name == "nullable":
		g.refuse(value, "nullable is of OpenAPI 3.0: add 'null' to the type")
	case hasWord("x-go-name x-go-type-name", name) && !isName(value):
		g.refuse(value, "the %s %q is no Go name: choose another", name, value.Value)
	case name == "x-enum-varnames" && !areNames(value):
		g.refuse(value, "x-enum-varnames must be a list of different Go names: correct it")
	case name == "x-go-type":
		if _, err := parser.ParseExpr(value.Value); err != nil || value.ShortTag() != "!!str" {
			g.refuse(value, "the x-go-type %q is no Go type: choose another", value.Value)
		}
	case hasWord(`x-go-type-import x-go-type-skip-optional-pointer x-go-json-ignore x-omitempty x-omitzero x-oapi-codegen-extra-tags
		x-enumNames x-deprecated-reason x-order x-oapi-codegen-only-honour-go-name`, name):
		g.refuse(value, "%s is not generated: remove it", name)
	}
}

// isName reports whether a value is a name in Go.
func isName(value *yaml.Node) bool {
	return value.ShortTag() == "!!str" && token.IsIdentifier(value.Value)
}

// areNames reports whether a value is a list of names in Go, each of them once.
func areNames(value *yaml.Node) bool {
	seen := map[string]bool{}
	for _, element := range elements(value) {
		if !isName(element) || seen[element.Value] {
			return false
		}
		seen[element.Value] = true
	}
	return value.Kind == yaml.SequenceNode
}

// each visits the members of an object, each part of the document once.
func (g *grammar) each(object *yaml.Node, visit func(*yaml.Node)) {
	for _, value := range members(object) {
		g.once(value, visit)
	}
}

func (g *grammar) once(value *yaml.Node, visit func(*yaml.Node)) {
	if value = g.resolve(value); value != nil && !g.seen[value] {
		g.seen[value] = true
		visit(value)
	}
}

// resolve follows the references of a value. It returns nil if one leads elsewhere.
func (g *grammar) resolve(value *yaml.Node) *yaml.Node {
	for {
		ref := member(value, "$ref")
		if ref == nil {
			return value
		}
		pointer, ok := strings.CutPrefix(ref.Value, "#/")
		if !ok {
			return nil
		}
		value = g.root
		for token := range strings.SplitSeq(pointer, "/") {
			token = strings.ReplaceAll(strings.ReplaceAll(token, "~1", "/"), "~0", "~")
			if value = member(value, token); value == nil {
				return nil
			}
		}
	}
}

func (g *grammar) pathItem(item *yaml.Node) {
	for _, parameter := range elements(member(item, "parameters")) {
		g.once(parameter, g.parameter)
	}
	for name, value := range members(item) {
		switch {
		case name == "query" || name == "additionalOperations":
			g.refuse(value, "the methods of OpenAPI 3.2 are not generated: use POST")
		case slices.Contains(methods, name):
			g.operation(value)
		}
	}
}

//nolint:gochecknoglobals // never changed
var (
	methods = strings.Fields("get put post delete options head patch trace")
	scalars = strings.Fields("string integer number boolean")
)

func (g *grammar) operation(operation *yaml.Node) {
	if id := member(operation, "operationId"); len(text(id)) > 200 {
		g.refuse(id, "an operationId of more than 200 bytes is no name for a file: choose another")
	}
	for _, parameter := range elements(member(operation, "parameters")) {
		g.once(parameter, g.parameter)
	}
	g.once(member(operation, "requestBody"), g.requestBody)
	g.each(member(operation, "responses"), g.response)
	g.each(member(operation, "callbacks"), g.callback)
}

func (g *grammar) callback(callback *yaml.Node) { g.each(callback, g.pathItem) }

const notNull = "a parameter or header that may be null is not generated: allow no null, and leave it out instead"

func (g *grammar) parameter(p *yaml.Node) {
	in := text(member(p, "in"))
	if in == "querystring" {
		g.refuse(p, "a parameter that is the whole query is not generated: declare each of its members in the query")
		return
	}
	if content := member(p, "content"); content != nil {
		for media, described := range members(content) {
			if !isJSON(media) {
				g.refuse(content, "a parameter in %s is not generated: use application/json", media)
			}
			if schema := member(described, "schema"); g.allowsNull(schema) {
				g.refuse(schema, notNull)
			}
		}
		return
	}
	usual := map[string]string{"path": "simple", "header": "simple", "query": "form", "cookie": "form"}[in]
	switch style := member(p, "style"); {
	case style == nil || style.Value == usual:
		g.value(member(p, "schema"), "declare one type, a string, integer, number, boolean or a list of these, or use content: application/json")
	case style.Value == "deepObject":
		g.flatObject(member(p, "schema"))
	default:
		g.refuse(style, "the style %s is not generated: use %s", style.Value, usual)
	}
}

func (g *grammar) header(h *yaml.Node) {
	if content := member(h, "content"); content != nil {
		g.refuse(content, "a header of a response with a media type is not generated: use a scalar or a list, or the body")
		return
	}
	g.value(member(h, "schema"), "declare one type, a string, integer, number, boolean or a list of these")
}

// allowsNull reports whether a schema that has types or values has null.
func (g *grammar) allowsNull(schema *yaml.Node) bool { return g.null(schema) > 0 }

// null returns 1 if a schema allows null by one of its keywords, -1 if one excludes it, and 0 if none does either.
func (g *grammar) null(schema *yaml.Node) int {
	schema = g.resolve(schema)
	all := func(keyword string) (found []int) {
		for _, part := range elements(member(schema, keyword)) {
			found = append(found, g.null(part))
		}
		return found
	}
	parts := all("allOf")
	for _, keyword := range []string{"oneOf", "anyOf"} {
		if alternatives := all(keyword); len(alternatives) > 0 {
			parts = append(parts, slices.Max(alternatives))
		}
	}
	for _, keyword := range []string{"type", "enum", "const"} {
		if value := member(schema, keyword); value != nil {
			listed := elements(value)
			if value.Kind != yaml.SequenceNode {
				listed = []*yaml.Node{value}
			}
			isNull := func(one *yaml.Node) bool {
				return keyword == "type" && one.Value == "null" || one.ShortTag() == "!!null"
			}
			allows := -1
			if slices.ContainsFunc(listed, isNull) {
				allows = 1
			}
			parts = append(parts, allows)
		}
	}
	switch {
	case slices.Contains(parts, -1):
		return -1
	case slices.Contains(parts, 1):
		return 1
	}
	return 0
}

// value refuses a schema whose values are not scalars or lists of them.
func (g *grammar) value(schema *yaml.Node, wayOut string) {
	if schema = g.resolve(schema); schema == nil {
		return
	}
	switch kind := g.kind(schema); {
	case g.allowsNull(schema):
		g.refuse(schema, notNull)
	case slices.Contains(scalars, kind):
	case kind == "array":
		if inner := g.kind(member(schema, "items")); !slices.Contains(scalars, inner) {
			g.refuse(schema, "a list of %s is not generated here: %s", cmp.Or(inner, "any values"), wayOut)
		}
	default:
		g.refuse(schema, "%s is not generated here: %s", cmp.Or(kind, "any value"), wayOut)
	}
}

// kind returns the type that a schema declares, words for what has no single type, or "".
func (g *grammar) kind(schema *yaml.Node) string {
	schema = g.resolve(schema)
	if member(schema, "oneOf") != nil || member(schema, "anyOf") != nil {
		return "a union"
	}
	if types := member(schema, "type"); types != nil {
		if listed := elements(types); len(listed) > 0 {
			types = listed[0]
			if len(listed) > 1 {
				return severalTypes
			}
		}
		return types.Value
	}
	found := ""
	for _, value := range append(elements(member(schema, "enum")), member(schema, "const")) {
		if value == nil {
			continue
		}
		kind := map[string]string{"!!str": "string", "!!int": "integer", "!!float": "number", "!!bool": "boolean"}[value.ShortTag()]
		if kind == "" || found != "" && found != kind {
			return severalTypes
		}
		found = kind
	}
	for _, part := range elements(member(schema, "allOf")) {
		if kind := g.kind(part); kind != "" && (found == "" || found == severalTypes) {
			found = kind
		}
	}
	return found
}

const severalTypes = "a value of several types"

// flatObject refuses a schema for the style deepObject whose members are not scalars.
func (g *grammar) flatObject(schema *yaml.Node) {
	schema = g.resolve(schema)
	if kind := g.kind(schema); kind != "object" {
		g.refuse(schema, "deepObject is generated for objects only, and this is %s: declare an object, or use content: application/json", cmp.Or(kind, "any value"))
		return
	}
	for name, value := range g.fields(schema) {
		if kind := g.kind(value); !slices.Contains(scalars, kind) {
			g.refuse(value, "the member %s of a deepObject must be a string, integer, number or boolean: use content: application/json", name)
		}
	}
}

func (g *grammar) requestBody(body *yaml.Node) {
	for media, described := range members(member(body, "content")) {
		if schema := member(described, "schema"); isJSON(media) && text(member(body, "required")) != "true" && g.allowsNull(schema) {
			g.refuse(schema, "an optional body that may be null is not generated: set required to true, or allow no null")
		}
		if items := itemsOf(described); items != nil {
			g.refuse(items, "a request that is a stream is not generated: use a list in application/json, or a binary body")
		}
		g.media(media, described)
	}
}

// form refuses the fields of a form whose text could be read as a value of several types: a null, for example.
func (g *grammar) form(schema, encodings *yaml.Node) {
	const wayOut = "declare one type, a string, integer, number, boolean, object or a list of one of these, or set contentType to application/json in its encoding, and no style"
	for name, field := range g.fields(schema) {
		encoding := member(encodings, name)
		if isJSON(text(member(encoding, "contentType"))) && member(encoding, "style") == nil && member(encoding, "explode") == nil {
			continue
		}
		kind, at := g.kind(field), g.resolve(field)
		if kind == "array" {
			at = g.resolve(member(at, "items"))
			kind = cmp.Or(g.kind(at), "list of any value")
		}
		switch {
		case slices.Contains(scalars, kind) || kind == "array" || kind == "object":
		case kind == severalTypes && g.isObjectOrNull(at): // which is JSON
		case name == others:
			g.refuse(cmp.Or(at, field), "the other fields of a form have %s, which is not generated: name them, or declare one type", cmp.Or(kind, "any value"))
		default:
			g.refuse(cmp.Or(at, field), "the field %s of a form is %s, which is not generated: %s", name, cmp.Or(kind, "any value"), wayOut)
		}
	}
}

func (g *grammar) isObjectOrNull(schema *yaml.Node) bool {
	types := elements(member(schema, "type"))
	return len(types) > 0 && !slices.ContainsFunc(types, func(t *yaml.Node) bool { return t.Value != "object" && t.Value != "null" })
}

const others = "additionalProperties"

// fields returns the schemas of the members of an object, and of all others, which have no name.
func (g *grammar) fields(schema *yaml.Node) map[string]*yaml.Node {
	schema = g.resolve(schema)
	all := maps.Collect(members(member(schema, "properties")))
	if free := member(schema, others); free != nil && text(free) != "false" {
		all[others] = free
	}
	for _, keyword := range []string{"allOf", "oneOf", "anyOf"} {
		for _, part := range elements(member(schema, keyword)) {
			maps.Copy(all, g.fields(part))
		}
	}
	return all
}

func (g *grammar) response(response *yaml.Node) {
	g.each(member(response, "headers"), g.header)
	for media, described := range members(member(response, "content")) {
		name, _, _ := mime.ParseMediaType(media)
		if items := itemsOf(described); items != nil && strings.HasSuffix(name, "json-seq") {
			g.refuse(items, "a JSON text sequence is not generated: use application/jsonl")
		}
		g.media(media, described)
	}
}

// media refuses media types whose parts have no names, and fields of forms that have no type.
func (g *grammar) media(media string, described *yaml.Node) {
	if media == mediaForm {
		g.form(member(described, "schema"), member(described, "encoding"))
	}
	if name, _, _ := mime.ParseMediaType(media); strings.HasPrefix(name, "multipart/") && name != "multipart/form-data" {
		g.refuse(described, "%s is not generated: use multipart/form-data", name)
		return
	}
	for _, encoding := range []string{"prefixEncoding", "itemEncoding"} {
		if at := member(described, encoding); at != nil {
			g.refuse(at, "parts without a name are not generated: name them, and use encoding")
		}
	}
}

func itemsOf(media *yaml.Node) *yaml.Node {
	return cmp.Or(member(media, "itemSchema"), member(media, "x-itemSchema"))
}

// members iterates over the members of an object, and those that it merges. It yields none if the node is nil or no
// object.
func members(object *yaml.Node) iter.Seq2[string, *yaml.Node] {
	return func(yield func(string, *yaml.Node) bool) {
		if object == nil || object.Kind != yaml.MappingNode {
			return
		}
		for i := 0; i+1 < len(object.Content); i += 2 {
			name, value := object.Content[i], target(object.Content[i+1])
			if name.ShortTag() != "!!merge" {
				if !yield(name.Value, value) {
					return
				}
				continue
			}
			for _, merged := range append(elements(value), value) {
				for name, value := range members(merged) {
					if !yield(name, value) {
						return
					}
				}
			}
		}
	}
}

// member returns the value of a member, or nil.
func member(object *yaml.Node, name string) *yaml.Node {
	for found, value := range members(object) {
		if found == name {
			return value
		}
	}
	return nil
}

// elements returns the elements of an array, or nil.
func elements(array *yaml.Node) (all []*yaml.Node) {
	if array == nil || array.Kind != yaml.SequenceNode {
		return nil
	}
	for _, element := range array.Content {
		all = append(all, target(element))
	}
	return all
}

// target returns what an alias refers to, or the node itself.
func target(node *yaml.Node) *yaml.Node {
	for node.Kind == yaml.AliasNode {
		node = node.Alias
	}
	return node
}

func text(scalar *yaml.Node) string {
	if scalar == nil {
		return ""
	}
	return scalar.Value
}
