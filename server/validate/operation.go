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
	pool             *sync.Pool
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
		o := c.operation(at+"/"+strings.ToLower(method), path, item, all[method])
		o.method, o.path = method, path
		operations = append(operations, o)
	}
	return operations
}

func (c *compiler) operation(at, path string, item *openapi3.PathItem, source *openapi3.Operation) *Operation {
	rest := *source
	rest.Tags, rest.Summary, rest.Description, rest.ExternalDocs = nil, "", "", nil
	rest.Deprecated, rest.OperationID, rest.Servers = false, "", nil
	rest.Parameters, rest.RequestBody, rest.Responses, rest.Security, rest.Callbacks = nil, nil, nil, nil, nil
	c.refuseRest(at, &rest, source.Extensions)
	if id := source.OperationID; id != "" {
		if same := c.ids[id]; same != nil && same != source { // callbacks may refer to a webhook
			c.fail(at+"/operationId", "is not unique")
		}
		c.ids[id] = source
	}
	o := &Operation{
		id:       source.OperationID,
		security: c.securityOf(at, source),
		exact:    make(map[int]*response),
		pool:     c.pool,
	}
	o.parameters = c.parameters(at+"/parameters", item.Parameters, source.Parameters)
	c.locate(at, path, o.parameters)
	if source.RequestBody != nil {
		o.body = c.requestBody(at+"/requestBody", source.RequestBody)
		o.body.limits = c.cfg.limits(o.id)
	}
	c.responses(at+"/responses", o, source.Responses)
	c.callbacks(at+"/callbacks", source.Callbacks)
	return o
}

// callbacks looks for what is not known in the callbacks of an operation, which are described for
// their receivers and are not checked.
func (c *compiler) callbacks(at string, callbacks openapi3.Callbacks) {
	for _, name := range slices.Sorted(maps.Keys(callbacks)) {
		at, ref := at+"/"+token(name), callbacks[name]
		if ref == nil || ref.Value == nil {
			c.fail(at, "is not resolved")
			continue
		}
		at = place(at, ref.Ref)
		c.refuseRest(at, &struct{}{}, ref.Value.Extensions)
		for _, url := range slices.Sorted(maps.Keys(ref.Value.Map())) {
			c.pathItem(at+"/"+token(url), "", ref.Value.Value(url))
		}
	}
}

// place returns where in the document a reference leads; at when there is none.
func place(at, ref string) string {
	if fragment, ok := strings.CutPrefix(ref, "#"); ok {
		return fragment
	}
	return at
}
