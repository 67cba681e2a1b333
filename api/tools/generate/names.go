package main

import (
	"cmp"
	"fmt"
	"go/ast"
	"go/token"
	"math"
	"reflect"
	"slices"
	"strings"
	"unicode"

	"github.com/getkin/kin-openapi/openapi3"
	"github.com/oapi-codegen/oapi-codegen/v2/pkg/codegen"
)

// element is an element of the document that has a name in Go.
type element struct {
	what   string // such as "the schema Avatar"
	fix    string // how to choose another name
	at     openapi3.Location
	schema *openapi3.Schema // that declares a type, or nil
}

const (
	fixName    = "choose another with x-go-name"
	fixType    = "choose another with x-go-type-name"
	fixGoType  = "choose another with x-go-type"
	fixValue   = "choose others with x-enum-varnames"
	rename     = "rename it"
	noConstant = "the value %q cannot be a constant in Go: remove the enum, or quotes and control characters in it"
)

// names collects the elements of a document by their Go names, and what is wrong with them.
type names struct {
	faults

	declared   map[string][]element // by the name of a type or constant
	operations map[string]element
	unions     map[string]*eventUnion // by name
	blamed     []string               // elements whose code does not compile

	definitions []codegen.OperationDefinition
	security    openapi3.SecurityRequirements // of the document
}

// checkNames returns an error for each name of the adapted document that has no name in Go, or the same as another, and
// for each schema that has no type in Go.
func checkNames(file string, document *openapi3.T) (*names, error) {
	n := &names{faults: faults{file: file}, declared: map[string][]element{}, operations: map[string]element{}}
	eachSchema(document, func(ref *openapi3.SchemaRef) {
		n.members(ref.Value)
		n.values(ref.Value)
	})
	n.components(document.Components)
	n.paths(document)
	return n, n.err()
}

// see says where an element is, in an error about another.
func (e element) see() string { return fmt.Sprintf("%s in line %d", e.what, e.at.Line) }

// exported reports a name that is not exported.
func (n *names) exported(name string, e element) bool {
	if token.IsIdentifier(name) && ast.IsExported(name) {
		return true
	}
	n.fail(e.at, "%s has the Go name %q, which is not exported: %s", e.what, name, e.fix)
	return false
}

// unique adds an element to those of a scope, and reports it if another has the same Go name.
func (n *names) unique(scope map[string]element, name string, e element) {
	if other, ok := scope[name]; ok && n.exported(name, e) {
		n.collide(name, e, other)
	} else if n.exported(name, e) {
		scope[name] = e
	}
}

func (n *names) collide(name string, e, other element) {
	if cmp.Or(cmp.Compare(other.at.Line, e.at.Line), cmp.Compare(other.at.Column, e.at.Column)) > 0 {
		e, other = other, e
	}
	n.fail(e.at, "%s has the Go name %s, as has %s: %s", e.what, name, other.see(), e.fix)
}

// declare adds a type and its constants. Types with equal schemas are declared once.
func (n *names) declare(t codegen.TypeDefinition, e element) {
	if e.schema = t.Schema.OAPISchema; !n.exported(t.TypeName, e) {
		return
	}
	for _, other := range n.declared[t.TypeName] {
		if e.schema == nil || !reflect.DeepEqual(e.schema, other.schema) {
			n.collide(t.TypeName, e, other)
		}
	}
	n.declared[t.TypeName] = append(n.declared[t.TypeName], e)
	enum := codegen.EnumDefinition{Schema: t.Schema, TypeName: t.TypeName, PrefixTypeName: true}
	for constant, value := range enum.GetValues() {
		n.declared[constant] = append(n.declared[constant], element{
			what: fmt.Sprintf("the value %q of %s", value, e.what), fix: fixValue, at: e.at,
		})
	}
}

func (n *names) components(c *openapi3.Components) {
	for name, ref := range sorted(c.Schemas) {
		n.types("the schema "+name, fixName, ref.Origin, must(codegen.GenerateTypesForSchemas(nil, openapi3.Schemas{name: ref}, nil)))
	}
	for name, ref := range sorted(c.Parameters) {
		n.types("the parameter "+name, fixName, ref.Origin, must(codegen.GenerateTypesForParameters(nil, openapi3.ParametersMap{name: ref})))
	}
	for name, ref := range sorted(c.Responses) {
		n.types("the response "+name, rename, ref.Origin, must(codegen.GenerateTypesForResponses(nil, openapi3.ResponseBodies{name: ref})))
	}
	for name, ref := range sorted(c.RequestBodies) {
		n.types("the request body "+name, fixName, ref.Origin, must(codegen.GenerateTypesForRequestBodies(nil, openapi3.RequestBodies{name: ref})))
	}
}

// types declares the types of a component. The first is that of the component, for which fix is how to name it.
func (n *names) types(what, fix string, origin *openapi3.Origin, types []codegen.TypeDefinition) {
	at := locate(origin)
	for i, t := range types {
		if i == 0 {
			n.declare(t, element{what: what, fix: fix, at: at})
			continue
		}
		n.declareInside("a schema in "+what, at, t)
	}
}

// declareInside adds the type of a schema in an element at a place.
func (n *names) declareInside(what string, at openapi3.Location, t codegen.TypeDefinition) {
	if schema := t.Schema.OAPISchema; schema != nil && schema.Origin != nil {
		at = locate(schema.Origin)
	}
	n.declare(t, element{what: what, fix: fixType, at: at})
}

// members checks the properties of a schema, which become the fields of a struct.
func (n *names) members(schema *openapi3.Schema) {
	fields := map[string]element{}
	for name, ref := range sorted(schema.Properties) {
		e := element{what: fmt.Sprintf("the property %q", name), fix: fixName, at: locate(originOf(ref))}
		n.unique(fields, fieldName(name, ref), e)
		if !isTag(name) {
			n.fail(e.at, "%s cannot be written in the tag of a Go struct: %s", e.what, rename)
		}
	}
}

// isTag reports whether encoding/json takes a name from the tag of a field.
func isTag(name string) bool {
	isForeign := func(r rune) bool {
		return !strings.ContainsRune("!#$%&()*+-./:;<=>?@[]^_{|}~ ", r) && !unicode.IsLetter(r) && !unicode.IsDigit(r)
	}
	return name != "" && name != "-" && !strings.ContainsFunc(name, isForeign)
}

// isUnwritable reports whether the literals of generated code cannot contain a character.
func isUnwritable(r rune) bool { return r == '"' || r == '`' || unicode.IsControl(r) }

// values checks the values of an enum, which become constants.
func (n *names) values(schema *openapi3.Schema) {
	given, _ := schema.Extensions["x-enum-varnames"].([]any)
	for i, value := range literalsOf(schema) {
		name := fmt.Sprint(value)
		at := locate(schema.Origin)
		if schema.Origin != nil && i < len(schema.Origin.Sequences["enum"]) {
			at = schema.Origin.Sequences["enum"][i]
		}
		if strings.ContainsFunc(name, isUnwritable) {
			n.fail(at, noConstant, name)
		}
		if !hasType(value, schema.Type) {
			fix := "remove it"
			if _, truth := value.(bool); (truth || number(value) != nil) && schema.Type.Includes("string") { // such as true and 08 in YAML
				fix = "write it in quotes"
			}
			n.fail(at, "the value %q has another type than the schema: %s", name, fix)
		}
		if number, ok := value.(float64); ok && math.Abs(number) >= 1<<53 {
			n.fail(at, "the digits of the const are not known: write it as an enum with one value")
		}
		if i < len(given) {
			name = fmt.Sprint(given[i])
		}
		if codegen.SchemaNameToTypeName(name) == "" {
			n.fail(at, "the value %q has no Go name: %s", name, fixValue)
		}
	}
}

// paths checks the operations with their parameters and headers.
func (n *names) paths(document *openapi3.T) {
	n.definitions, n.security = must(codegen.OperationDefinitions(document)), document.Security
	for _, d := range n.definitions {
		d.Spec.OperationID = d.SpecOperationId // which oapi-codegen has replaced with the Go name
	}
	for _, d := range slices.Concat(n.definitions, must(codegen.WebhookOperationDefinitions(document))) {
		e := element{what: "the operation " + d.SpecOperationId, fix: "choose another operationId", at: locate(d.Spec.Origin)}
		n.unique(n.operations, d.OperationId, e)
		for _, t := range d.TypeDefinitions {
			n.declareInside("a schema of "+e.what, e.at, t)
		}
		path, other := map[string]element{}, map[string]element{}
		for _, p := range d.AllParams() {
			scope := other
			if p.In == "path" {
				scope = path
			}
			n.unique(scope, p.GoName(), element{what: fmt.Sprintf("the parameter %q", p.ParamName), fix: fixName, at: locate(p.Spec.Origin)})
		}
		for _, response := range d.Spec.Responses.Map() {
			n.headers(response.Value)
		}
	}
}

func (n *names) headers(response *openapi3.Response) {
	scope := map[string]element{}
	for name, ref := range sorted(response.Headers) {
		e := element{what: fmt.Sprintf("the header %q", name), fix: rename, at: locate(ref.Origin)}
		n.unique(scope, codegen.SchemaNameToTypeName(name), e)
	}
}
