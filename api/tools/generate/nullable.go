package main

import (
	_ "embed"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/getkin/kin-openapi/openapi3"
	"github.com/oapi-codegen/oapi-codegen/v2/pkg/codegen"
)

//go:embed nullable.tmpl
var nullableSource string

// nullableMembers gives nullable members of JSON in requests, which is in bodies, in the items of streams, parameters
// and fields of forms, the type Nullable, which distinguishes null from absent. Responses keep pointers.
func nullableMembers(document *openapi3.T) error {
	a := adapter{document: document, seen: map[*openapi3.Schema]bool{}}
	var errs []error
	visit := func(content openapi3.Content, path ...string) {
		for _, media := range slices.Sorted(maps.Keys(content)) {
			schema := content[media].Schema
			if isJSON(media) {
				errs = append(errs, a.visit(schema, path))
				continue
			}
			for _, name := range slices.Sorted(maps.Keys(schema.Value.Properties)) {
				errs = append(errs, a.visit(schema.Value.Properties[name], append(slices.Clip(path), name)))
			}
		}
	}
	for _, path := range slices.Sorted(maps.Keys(document.Paths.Map())) {
		item := document.Paths.Value(path)
		for _, operation := range item.Operations() {
			for _, p := range slices.Concat(item.Parameters, operation.Parameters) {
				visit(p.Value.Content, operation.OperationID, p.Value.Name)
			}
			if operation.RequestBody != nil {
				visit(operation.RequestBody.Value.Content, operation.OperationID, "body")
			}
		}
	}
	return errors.Join(errs...)
}

type adapter struct {
	document *openapi3.T
	seen     map[*openapi3.Schema]bool
}

// visit adapts the schemas that a reference leads to. The path has the names that lead to the reference in
// the document.
func (a *adapter) visit(ref *openapi3.SchemaRef, path []string) error {
	if ref == nil || ref.Value == nil || a.seen[ref.Value] {
		return nil
	}
	schema := ref.Value
	a.seen[schema] = true
	if name, ok := componentName(ref.Ref); ok {
		path = []string{name}
	}
	for _, name := range slices.Sorted(maps.Keys(schema.Properties)) {
		property, at := schema.Properties[name], append(slices.Clip(path), name)
		if err := a.visit(property, at); err != nil {
			return err
		}
		if nullable(property) {
			if err := a.mark(property, at, slices.Contains(schema.Required, name)); err != nil {
				return err
			}
		}
	}
	parts := slices.Concat(schema.AllOf, schema.OneOf, schema.AnyOf)
	parts = append(parts, schema.Items, schema.AdditionalProperties.Schema)
	for _, part := range parts {
		if err := a.visit(part, path); err != nil {
			return err
		}
	}
	return nil
}

// mark gives a property the type Nullable.
func (a *adapter) mark(property *openapi3.SchemaRef, path []string, required bool) error {
	if _, ok := property.Value.Extensions["x-go-type"]; ok {
		return nil
	}
	schema, err := codegen.GenerateGoSchema(property, path)
	if err != nil {
		return fmt.Errorf("%v: %w", path, err)
	}
	extend(property, map[string]any{
		"x-go-type":                       "Nullable[" + schema.TypeDecl() + "]",
		"x-go-type-skip-optional-pointer": true,
		"x-omitempty":                     false,
		"x-omitzero":                      !required,
	})
	return nil
}

// nullable reports whether a schema allows null, by its type or by an alternative, and other values.
func nullable(ref *openapi3.SchemaRef) bool {
	schema := ref.Value
	return schema.Type.IncludesNull() && len(schema.Type.Slice()) > 1 ||
		slices.ContainsFunc(slices.Concat(schema.OneOf, schema.AnyOf), func(r *openapi3.SchemaRef) bool { return r.Value.Type.Is("null") })
}

// componentName returns the Go name of the component schema that a reference names.
func componentName(ref string) (string, bool) {
	name, ok := strings.CutPrefix(ref, "#/components/schemas/")
	return codegen.SchemaNameToTypeName(name), ok
}
