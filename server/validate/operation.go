package validate

import (
	"strings"
	"sync"

	"github.com/avatarstudio/avatarstudio/server/validate/internal/document"
)

// Operation is a compiled operation. It is immutable and safe for concurrent use.
type Operation struct {
	id, method, path string
	security         [][]SecurityRequirement
	direction        direction // of the request: a webhook goes the other way
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
func (c *compiler) pathItem(path string, item *document.Node) []*Operation {
	if item = c.resolve(item); item == nil {
		return nil
	}
	var operations []*Operation
	for _, method := range methods() {
		if source := item.Get(method); source != nil {
			o := c.operation(item, source)
			o.method, o.path = strings.ToUpper(method), path
			operations = append(operations, o)
		}
	}
	return operations
}

func (c *compiler) operation(item, source *document.Node) *Operation {
	o := &Operation{
		security:  c.securityOf(source),
		direction: inRequest,
		exact:     make(map[int]*response),
		limit:     c.limit,
		pool:      c.pool,
	}
	if id := source.Get("operationId"); id != nil {
		o.id = id.Text
	}
	if callbacks := source.Get("callbacks"); callbacks != nil {
		c.refuse(callbacks, "is not supported")
	}
	o.parameters = c.parameters(item.Get("parameters"), source.Get("parameters"))
	if body := c.resolve(source.Get("requestBody")); body != nil {
		o.body = c.requestBody(body)
	}
	c.responses(o, source.Get("responses"))
	return o
}

func (c *compiler) requestBody(source *document.Node) *requestBody {
	body := &requestBody{required: isTrue(source.Get("required"))}
	content := source.Get("content")
	if len(content.Members) == 0 {
		c.fail(content, "must have a media type")
	}
	for _, media := range content.Members {
		if media.Name != mediaJSON {
			c.refuseAt(content, media, "is not "+mediaJSON)
			continue
		}
		body.node = c.mediaType(media.Value)
	}
	return body
}

// mediaType compiles the schema of a content; nil allows every JSON value.
func (c *compiler) mediaType(media *document.Node) *node {
	if encoding := media.Get("encoding"); encoding != nil {
		c.refuse(encoding, "is not supported")
	}
	return c.schema(media.Get("schema"))
}
