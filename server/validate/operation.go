package validate

import (
	"maps"
	"slices"
	"strings"
	"sync"

	"github.com/getkin/kin-openapi/openapi3"
)

// Operation is a compiled operation. It is immutable and safe for concurrent use.
type Operation struct {
	id, method, path string
	security         [][]SecurityRequirement
	parameters       []*parameter
	body             *requestBody // nil when the operation takes none
	exact            map[int]*response
	ranges           [6]*response // by the first digit: 2 for 2XX
	fallback         *response
	limit            int64
	pool             *sync.Pool
}

type requestBody struct {
	required bool
	node     *node
}

// ID returns the operationId.
func (o *Operation) ID() string { return o.id }

// Method returns the HTTP method in capitals.
func (o *Operation) Method() string { return o.method }

// Path returns the path as it is written in the document.
func (o *Operation) Path() string { return o.path }

// pathItem compiles the operations of a path or webhook, sorted by method.
func (c *compiler) pathItem(at, path string, item *openapi3.PathItem) []*Operation {
	if item == nil {
		c.fail(at, "is empty")
		return nil
	}
	rest := *item
	rest.Ref, rest.Summary, rest.Description, rest.Servers = "", "", "", nil
	rest.Parameters = nil
	rest.Delete, rest.Get, rest.Head, rest.Options = nil, nil, nil, nil
	rest.Patch, rest.Post, rest.Put, rest.Trace = nil, nil, nil, nil
	c.refuseRest(at, &rest, item.Extensions)
	all := item.Operations()
	var operations []*Operation
	for _, method := range slices.Sorted(maps.Keys(all)) {
		o := c.operation(at+"/"+strings.ToLower(method), item, all[method])
		o.method, o.path = method, path
		operations = append(operations, o)
	}
	return operations
}

func (c *compiler) operation(at string, item *openapi3.PathItem, source *openapi3.Operation) *Operation {
	rest := *source
	rest.Tags, rest.Summary, rest.Description, rest.ExternalDocs = nil, "", "", nil
	rest.Deprecated, rest.OperationID, rest.Servers = false, "", nil
	rest.Parameters, rest.RequestBody, rest.Responses, rest.Security = nil, nil, nil, nil
	c.refuseRest(at, &rest, source.Extensions)
	if id := source.OperationID; id != "" {
		if c.ids[id] {
			c.fail(at+"/operationId", "is not unique")
		}
		c.ids[id] = true
	}
	o := &Operation{
		id:       source.OperationID,
		security: c.securityOf(at, source),
		exact:    make(map[int]*response),
		limit:    c.limit,
		pool:     c.pool,
	}
	o.parameters = c.parameters(at+"/parameters", item.Parameters, source.Parameters)
	if source.RequestBody != nil {
		o.body = c.requestBody(at+"/requestBody", source.RequestBody)
	}
	c.responses(at+"/responses", o, source.Responses)
	return o
}

func (c *compiler) requestBody(at string, ref *openapi3.RequestBodyRef) *requestBody {
	if ref.Value == nil {
		c.fail(at, "is not resolved")
		return nil
	}
	at = place(at, ref.Ref)
	rest := *ref.Value
	rest.Description, rest.Required, rest.Content = "", false, nil
	c.refuseRest(at, &rest, ref.Value.Extensions)
	body := &requestBody{required: ref.Value.Required}
	if len(ref.Value.Content) == 0 {
		c.fail(at+"/content", "is empty")
	}
	for _, name := range slices.Sorted(maps.Keys(ref.Value.Content)) {
		at := at + "/content/" + token(name)
		if name != mediaJSON {
			c.fail(at, "is not %s", mediaJSON)
			continue
		}
		body.node = c.mediaType(at, ref.Value.Content[name])
	}
	return body
}

// mediaType compiles the schema of a content; nil allows every JSON value.
func (c *compiler) mediaType(at string, media *openapi3.MediaType) *node {
	if media == nil {
		return nil
	}
	rest := *media
	rest.Schema, rest.Example, rest.Examples = nil, nil, nil
	c.refuseRest(at, &rest, media.Extensions)
	if media.Schema == nil {
		return nil
	}
	return c.schema(at+"/schema", media.Schema)
}

// place returns where in the document a reference leads; at when there is none.
func place(at, ref string) string {
	if fragment, ok := strings.CutPrefix(ref, "#"); ok {
		return fragment
	}
	return at
}
