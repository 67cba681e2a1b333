package main

import (
	"maps"
	"slices"

	"github.com/getkin/kin-openapi/openapi3"
)

// eachSchema calls visit for each schema, after the schemas in it.
func eachSchema(document *openapi3.T, visit func(*openapi3.SchemaRef)) {
	w := walker{visit: visit, seen: map[*openapi3.Schema]bool{}}
	for _, name := range slices.Sorted(maps.Keys(document.Components.Schemas)) {
		w.schema(document.Components.Schemas[name])
	}
	eachContent(document, w.content)
	eachParameter(document, func(p *openapi3.Parameter) {
		w.schema(p.Schema)
		w.content(p.Content)
	})
}

// eachContent calls visit for the media types of each request body and response, once.
func eachContent(document *openapi3.T, visit func(openapi3.Content)) {
	seen := map[any]bool{}
	once := func(of any, content openapi3.Content) {
		if !seen[of] {
			seen[of] = true
			visit(content)
		}
	}
	for _, body := range document.Components.RequestBodies {
		once(body.Value, body.Value.Content)
	}
	for _, response := range document.Components.Responses {
		once(response.Value, response.Value.Content)
	}
	eachOperation(document, func(_ *openapi3.PathItem, operation *openapi3.Operation) {
		if operation.RequestBody != nil {
			once(operation.RequestBody.Value, operation.RequestBody.Value.Content)
		}
		for _, response := range operation.Responses.Map() {
			once(response.Value, response.Value.Content)
		}
	})
}

// eachParameter calls visit for each parameter and each header of a response. It may call it several times for a
// component.
func eachParameter(document *openapi3.T, visit func(*openapi3.Parameter)) {
	headers := func(response *openapi3.ResponseRef) {
		for _, header := range response.Value.Headers {
			visit(&header.Value.Parameter)
		}
	}
	for _, parameter := range document.Components.Parameters {
		visit(parameter.Value)
	}
	for _, header := range document.Components.Headers {
		visit(&header.Value.Parameter)
	}
	for _, response := range document.Components.Responses {
		headers(response)
	}
	eachOperation(document, func(item *openapi3.PathItem, operation *openapi3.Operation) {
		for _, parameter := range slices.Concat(item.Parameters, operation.Parameters) {
			visit(parameter.Value)
		}
		for _, response := range operation.Responses.Map() {
			headers(response)
		}
	})
}

// eachOperation calls visit for each operation of the paths and webhooks.
func eachOperation(document *openapi3.T, visit func(*openapi3.PathItem, *openapi3.Operation)) {
	for _, items := range []map[string]*openapi3.PathItem{document.Paths.Map(), document.Webhooks} {
		for _, path := range slices.Sorted(maps.Keys(items)) {
			operations := items[path].Operations()
			for _, method := range slices.Sorted(maps.Keys(operations)) {
				visit(items[path], operations[method])
			}
		}
	}
}

type walker struct {
	visit func(*openapi3.SchemaRef)
	seen  map[*openapi3.Schema]bool
}

func (w *walker) content(content openapi3.Content) {
	for _, media := range slices.Sorted(maps.Keys(content)) {
		w.schema(content[media].Schema)
		w.schema(content[media].ItemSchema)
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
	all := []*openapi3.SchemaRef{schema.Items, schema.AdditionalProperties.Schema}
	for _, name := range slices.Sorted(maps.Keys(schema.Properties)) {
		all = append(all, schema.Properties[name])
	}
	return slices.Concat(all, schema.OneOf, schema.AnyOf, schema.AllOf)
}
