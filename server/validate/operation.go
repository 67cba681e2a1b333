package validate

import (
	"slices"
	"strings"

	"github.com/avatarstudio/avatarstudio/server/internal/pathtemplate"
	"github.com/avatarstudio/avatarstudio/server/validate/internal/document"
)

// Operation is a compiled operation. It is immutable and safe for concurrent use.
type Operation struct {
	id, method, path string
	shape            string // of the template of the path
	security         [][]SecurityRequirement
	parameters       []*parameter
	body             *requestBody      // nil if the operation has no request body
	responses        map[int]*response // by the status; those for 2XX are 2, and the default is 0
}

// ID returns the operationId, or "METHOD path" if the operation has none. It is unique.
func (o *Operation) ID() string { return o.id }

// Method returns the HTTP method.
func (o *Operation) Method() string { return o.method }

// Path returns the path as written in the document.
func (o *Operation) Path() string { return o.path }

// pathItem compiles the operations of a path or webhook.
func (c *compiler) pathItem(path string, item *document.Node) []*Operation {
	if item = c.Resolve(item); item == nil {
		return nil
	}
	var operations []*Operation
	for method, source := range document.Operations(item) {
		o := c.operation(method, path, item, source)
		o.locate()
		operations = append(operations, o)
	}
	return operations
}

func (c *compiler) operation(method, path string, item, source *document.Node) *Operation {
	o := &Operation{
		id:       method + " " + path,
		method:   method,
		path:     path,
		security: c.securityOf(source),
	}
	if id := source.Get("operationId"); id != nil {
		o.id = id.Text
	}
	o.parameters = c.parameters(item.Get("parameters"), source.Get("parameters"), o.security)
	if body := c.Resolve(source.Get("requestBody")); body != nil {
		o.body = c.requestBody(body)
		o.body.limit = c.cfg.bodyLimit(o.id, o.Public())
	}
	o.responses = c.responses(source.Get("responses"))
	for _, callback := range source.Get("callbacks").All() { // callbacks are compiled only to report errors
		for url, item := range c.Resolve(callback).All() {
			if item = c.Resolve(item); !strings.HasPrefix(url, "x-") && !c.callbacks[item] { // an item may contain itself
				c.callbacks[item] = true
				c.pathItem("", item)
			}
		}
	}
	return o
}

// locate finds the position of each path parameter in the path.
func (o *Operation) locate() {
	t, _ := pathtemplate.Parse(o.path) // the loader reports errors
	o.shape = t.Shape
	for i, segment := range t.Segments {
		for _, p := range o.parameters {
			if nth := slices.Index(segment.Names, p.name); p.in == inPath && nth >= 0 {
				p.segment, p.nth, p.fromEnd = segment, nth, len(t.Segments)-1-i
			}
		}
	}
}
