// Package validate checks HTTP requests and responses against an OpenAPI 3.1 document.
//
// The document is compiled once by [Load]. Nothing in it is ignored: a member that OpenAPI does not
// know, a keyword with a value of the wrong type, or a null where there is none is an error with
// file, line and column. A body is then checked in one pass over its JSON tokens; where a schema
// has to look at a value more than once, that value is held in memory.
//
// JSON is strict (I-JSON, RFC 7493): duplicate names, invalid UTF-8, trailing data and nesting over
// [MaxDepth] are refused. So are names that differ only in case from one that a schema for the
// object knows, for encoding/json would take them for it.
//
// # JSON Schema
//
// All keywords of JSON Schema 2020-12 are enforced, but for contentEncoding, contentMediaType and
// contentSchema, which it makes annotations. Numbers are compared exactly, as decimals. A value whose
// schema is readOnly must not be sent in a request, nor writeOnly in an answer, and required does
// not ask for it there; for webhooks, which the service sends, it is the other way round. A
// discriminator has the meaning of OpenAPI: it never changes a verdict, but chooses whose violations
// are reported when no alternative matches. These differ from what JSON Schema says:
//
//   - an integer is written without fraction and exponent, and fits int64 or its format: its Go
//     type holds no other
//   - a date-time is what time.Time can read: no leap second, no lower-case T or Z
//   - an email address has no quotes and no address literal
//   - a format is an assertion, and one that is not known is refused
//
// And these are refused by [Load]:
//
//   - a keyword that is not known is refused, also those that 2020-12 has given up, such as
//     dependencies
//   - a $schema other than that of 2020-12 is refused, and with it vocabularies and older drafts
//   - a pattern is one of ECMA-262 in its Unicode mode that RE2 can match: no look-around, no
//     back-reference, no repetition over 1000
//   - a multipleOf has at most 18 significant digits
//   - a schema must not contain itself without a member or an element between
//
// # Parameters and bodies
//
// A parameter is read in its style, percent-decoded in a path and a query only, as the JSON that it
// stands for: null, a boolean or a number where the schema allows it and the text is one, else a
// string. Where several are allowed, what matches the schema counts. OpenAPI leaves open, and this
// package decides:
//
//   - a query parameter or a cookie that the document does not name is let through, unless an
//     exploded object has no properties or has additionalProperties; it takes all others
//   - an empty text is no element of a list between delimiters; that of a required scalar is missing
//   - keys below the keys of a deepObject lead to members of members, and indexes from 0 on, or
//     empty keys, to elements
//   - an exploded value in cookies is several cookies
//   - a default is for the implementation to apply
//   - the body of an operation that takes none is not touched
//
// JSON, text/plain and forms are held in memory and checked before the next handler is called. The
// parts of multipart/form-data are checked while they are read: a field before its first byte, a
// file for its media type, headers and size. What is of any other media type passes as a stream of
// limited size, of which a schema can say the length only. A field of a form is as its encoding
// says, else name=value, with an array or an object as name[key]=value, or an object as JSON.
//
// The strict server that oapi-codegen generates with the templates of this module binds all of it.
// The client that oapi-codegen 2.8.2 generates cannot write everything:
//
//   - a query array that is spaceDelimited is sent with spaces in the URL, which net/http answers
//     with 400, and an object that is spaceDelimited or pipeDelimited is not sent at all
//   - an array or an object in a cookie is written as if explode were false and the style simple;
//     say explode: false
//   - deepObject is not sent without explode: true
//   - commas in an array of a header or a cookie, dots in that of a label, and pipes in one that is
//     pipeDelimited are delimiters, however they are written
//
// And an operation whose body has two media types besides JSON, text, forms and multipart becomes a
// type with two fields of one name, which does not compile.
//
// [Config] has formats of the user's own, and a lenient mode that leaves out what is not known.
//
// No text that this package returns contains a submitted value or a submitted name.
package validate

import (
	"cmp"
	"errors"
	"iter"
	"net/http"
	"slices"
	"strings"
	"sync"

	"github.com/avatarstudio/avatarstudio/server/validate/internal/document"
)

// Limits on what is read and reported, unless [Config] has others.
const (
	MaxDepth      = 64 // levels of nesting of a body
	MaxViolations = 32 // in one [Error]
)

// Config holds the settings of [Load]. The zero value works.
type Config struct {
	// Name is the file name, or the URI, of the document. Errors name it, and references are
	// relative to it. Default "openapi.yaml".
	Name string
	// Documents are the others that references may lead to, by the name or URI that Name makes of
	// a reference. Load opens no file and no connection. Default: none.
	Documents map[string][]byte
	// MaxBodyBytes limits the body of a request. Default 1 MiB.
	MaxBodyBytes int64
	// AnonymousBodyBytes limits the bodies of the operations that ask for no credentials. Default:
	// MaxBodyBytes.
	AnonymousBodyBytes int64
	// OperationBodyBytes limits the bodies of the operations with these ids, in place of both.
	OperationBodyBytes map[string]int64
	// MaxParts limits how many parts a multipart body has. Default 100.
	MaxParts int
	// MaxPartBytes limits each part of a multipart body. Default: as the body. The parts that are
	// not files may have 1 MiB together.
	MaxPartBytes int64
	// MaxPartHeaderBytes limits the header of each part. Default 8 KiB.
	MaxPartHeaderBytes int64
	// MaxDepth limits the levels of nesting of a body. Default [MaxDepth].
	MaxDepth int
	// MaxViolations limits the violations in one [Error]. Default [MaxViolations].
	MaxViolations int
	// Formats are formats of strings beside those of the package, or in place of them. The
	// functions are called concurrently. Default: none.
	Formats map[string]func(string) bool
	// Lenient, when it is set, is called once for each place of the document that Load would
	// refuse as not supported or not known, and Load leaves that out: a member, a keyword or a
	// format that is left out constrains nothing. What is wrong in itself is still refused.
	// Default: all of it is refused.
	Lenient func(*DocumentError)
}

// Validator holds what was compiled from a document. It is immutable and safe for concurrent use.
type Validator struct {
	operations []*Operation
	byRoute    map[route]*Operation
	webhooks   map[string]*Operation
	schemas    map[string]*Schema
}

type route struct{ method, path string }

// routeOf leaves out the names of path parameters, which a router may spell in another way.
func routeOf(method, path string) route {
	_, shape, _ := templateNames(path)
	return route{method, shape}
}

// Load compiles every operation, webhook and component schema of an OpenAPI 3.1 document in YAML
// or JSON. Its error wraps a [*DocumentError] for each place that is wrong, or that the package
// does not know how to check. The servers of the document do not matter.
func Load(text []byte, cfg Config) (*Validator, error) {
	if min(cfg.MaxBodyBytes, cfg.MaxPartBytes, cfg.MaxPartHeaderBytes) < 0 || min(cfg.MaxDepth, cfg.MaxViolations, cfg.MaxParts) < 0 {
		return nil, errors.New("validate: a limit is negative")
	}
	l := newLoader(cfg)
	l.load(cmp.Or(cfg.Name, "openapi.yaml"), text)
	if err := l.err(); err != nil {
		return nil, err
	}
	c := &compiler{
		loader:  l,
		cfg:     cfg,
		formats: cfg.Formats,
		pool:    newPool(limits{cmp.Or(cfg.MaxDepth, MaxDepth), cmp.Or(cfg.MaxViolations, MaxViolations)}),
		nodes:   make(map[compiled]*node),
		answers: make(map[*document.Node]*response),
		tags:    make(map[string]*member),
	}
	v := c.validator()
	c.refuseCycles()
	if len(c.errs) == 0 {
		known := make(shapes)
		for _, settle := range c.pending {
			settle(known)
		}
	}
	if err := c.err(); err != nil {
		return nil, err
	}
	if err := v.checkLimits(cfg); err != nil {
		return nil, err
	}
	c.closeTrees()
	return v, nil
}

// validator compiles the document.
func (c *compiler) validator() *Validator {
	v := &Validator{
		byRoute:  make(map[route]*Operation),
		webhooks: make(map[string]*Operation),
		schemas:  make(map[string]*Schema),
	}
	for name, schema := range c.root.Get("components").Get("schemas").All() {
		v.schemas[name] = &Schema{node: c.schema(schema), pool: c.pool}
	}
	for path, item := range c.root.Get("paths").All() {
		if strings.HasPrefix(path, "x-") {
			continue
		}
		for _, o := range c.pathItem(path, item) {
			v.operations = append(v.operations, o)
			v.byRoute[routeOf(o.method, path)] = o
		}
	}
	slices.SortFunc(v.operations, func(a, b *Operation) int {
		return cmp.Or(strings.Compare(a.path, b.path), strings.Compare(a.method, b.method))
	})
	for name, item := range c.root.Get("webhooks").All() {
		operations := c.pathItem(name, item)
		if len(operations) != 1 {
			c.fail(item, "must have one operation")
			continue
		}
		operations[0].direction = inResponse
		v.webhooks[name] = operations[0]
	}
	return v
}

// Operation returns the operation of a path of the document. The names of its parameters do not
// matter, for the generated router writes {avatar_id} for {avatar-id}.
func (v *Validator) Operation(method, path string) (*Operation, bool) {
	o, ok := v.byRoute[routeOf(method, path)]
	return o, ok
}

// Operations returns all operations but webhooks, sorted by path and method.
func (v *Validator) Operations() iter.Seq[*Operation] { return slices.Values(v.operations) }

// Webhook returns the operation of a webhook. Its path is the name of the webhook. Who receives it
// can put [Operation.Handler] in front of the receiver, as the example does; it answers for more
// than it has to, for a document of tomorrow may allow what that of today does not.
func (v *Validator) Webhook(name string) (*Operation, bool) {
	o, ok := v.webhooks[name]
	return o, ok
}

// Schema returns a component schema.
func (v *Validator) Schema(name string) (*Schema, bool) {
	s, ok := v.schemas[name]
	return s, ok
}

// Schema is a compiled component schema. It is immutable and safe for concurrent use.
type Schema struct {
	node *node
	pool *sync.Pool
}

// Validate checks body, which must be one JSON value. The error is an [*Error] with status 400.
func (s *Schema) Validate(body []byte) error {
	w := newWalker(s.pool)
	defer w.release()
	w.walkBody(body, s.node)
	return w.failure(http.StatusBadRequest, "The value does not match the document.")
}

// compiler turns a document that has the form of OpenAPI into operations and nodes, and collects
// what it does not know how to check.
type compiler struct {
	*loader
	formats map[string]func(string) bool
	cfg     Config
	pool    *sync.Pool
	nodes   map[compiled]*node
	order   []placed // nodes with where they are, in the order of compilation
	answers map[*document.Node]*response
	tags    map[string]*member // what tells the alternatives of unions apart
	pending []func(shapes)     // what needs all schemas compiled
}

// whenCompiled calls f once all schemas have been compiled, if they could be.
func (c *compiler) whenCompiled(f func(shapes)) { c.pending = append(c.pending, f) }

type placed struct {
	at   *document.Node
	node *node
}
