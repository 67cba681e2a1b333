package main

import (
	"iter"
	"maps"
	"slices"

	"github.com/getkin/kin-openapi/openapi3"
)

// sorted iterates over a map in the order of its keys.
func sorted[V any](all map[string]V) iter.Seq2[string, V] {
	return func(yield func(string, V) bool) {
		for _, name := range slices.Sorted(maps.Keys(all)) {
			if !yield(name, all[name]) {
				return
			}
		}
	}
}

// eachSchema calls visit for each schema, after the schemas in it.
func eachSchema(document *openapi3.T, visit func(*openapi3.SchemaRef)) {
	w := walker{visit: visit, seen: map[*openapi3.Schema]bool{}}
	for _, ref := range sorted(document.Components.Schemas) {
		w.schema(ref)
	}
	eachContent(document, w.content)
	for p := range partsOf(document).parameters {
		w.schema(p.Schema)
		w.content(p.Content)
	}
}

// eachContent calls visit for the media types of each request body and response, once.
func eachContent(document *openapi3.T, visit func(openapi3.Content)) {
	all := partsOf(document)
	for body := range all.requestBodies {
		visit(body.Content)
	}
	for response := range all.responses {
		visit(response.Content)
	}
}

// operationParts are the parts of the components and operations, each of them once.
type operationParts struct {
	parameters    map[*openapi3.Parameter]bool // and the headers of responses
	requestBodies map[*openapi3.RequestBody]bool
	responses     map[*openapi3.Response]bool
}

func partsOf(document *openapi3.T) operationParts {
	all := operationParts{map[*openapi3.Parameter]bool{}, map[*openapi3.RequestBody]bool{}, map[*openapi3.Response]bool{}}
	for _, parameter := range document.Components.Parameters {
		all.parameters[parameter.Value] = true
	}
	for _, body := range document.Components.RequestBodies {
		all.requestBodies[body.Value] = true
	}
	for _, response := range document.Components.Responses {
		all.responses[response.Value] = true
	}
	eachOperation(document, func(item *openapi3.PathItem, operation *openapi3.Operation) {
		for _, parameter := range slices.Concat(item.Parameters, operation.Parameters) {
			all.parameters[parameter.Value] = true
		}
		if operation.RequestBody != nil {
			all.requestBodies[operation.RequestBody.Value] = true
		}
		for _, response := range operation.Responses.Map() {
			all.responses[response.Value] = true
		}
	})
	headers := []openapi3.Headers{document.Components.Headers}
	for response := range all.responses {
		headers = append(headers, response.Headers)
	}
	for _, named := range headers {
		for _, header := range named {
			all.parameters[&header.Value.Parameter] = true
		}
	}
	return all
}

// eachOperation calls visit for each operation of the paths and webhooks.
func eachOperation(document *openapi3.T, visit func(*openapi3.PathItem, *openapi3.Operation)) {
	for _, items := range []map[string]*openapi3.PathItem{document.Paths.Map(), document.Webhooks} {
		for _, item := range sorted(items) {
			for _, operation := range sorted(item.Operations()) {
				visit(item, operation)
			}
		}
	}
}

type walker struct {
	visit func(*openapi3.SchemaRef)
	seen  map[*openapi3.Schema]bool
}

func (w *walker) content(content openapi3.Content) {
	for _, described := range sorted(content) {
		w.schema(described.Schema)
		w.schema(described.ItemSchema)
	}
}

func (w *walker) schema(ref *openapi3.SchemaRef) {
	if ref == nil || ref.Value == nil || w.seen[ref.Value] {
		return
	}
	w.seen[ref.Value] = true
	for _, part := range parts(ref.Value) {
		w.schema(part)
	}
	w.visit(ref)
}

// parts returns the schemas in a schema. Some may be nil.
func parts(schema *openapi3.Schema) []*openapi3.SchemaRef {
	all := []*openapi3.SchemaRef{schema.Items, schema.AdditionalProperties.Schema, schema.ContentSchema}
	for _, property := range sorted(schema.Properties) {
		all = append(all, property)
	}
	return slices.Concat(all, schema.OneOf, schema.AnyOf, schema.AllOf)
}
