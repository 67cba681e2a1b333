// Package validate checks HTTP requests and responses against an OpenAPI 3.1 document.
//
// The document is compiled once by [New]; what this package does not know stops it there and is
// never ignored. A body is then checked in one pass over its JSON tokens. JSON is strict (I-JSON,
// RFC 7493): duplicate names, names that differ from a known one only in case, invalid UTF-8,
// trailing data and nesting over [MaxDepth] are refused. So is a number that the Go type of its
// schema cannot hold: an integer is written without fraction and exponent and fits int64, or what
// its format says. A time has what [time.Time] can hold, so no leap second. Formats are checked.
// Patterns are those of ECMA-262 that RE2 can match.
//
// No text that this package returns contains a submitted value or a submitted name.
package validate

import (
	"cmp"
	"errors"
	"fmt"
	"iter"
	"maps"
	"net/http"
	"slices"
	"strings"
	"sync"

	"github.com/getkin/kin-openapi/openapi3"
)

// Limits on what is read and reported.
const (
	MaxDepth      = 64 // levels of nesting of a body
	MaxViolations = 32 // in one [Error]
)

const (
	defaultMaxBodyBytes       = 1 << 20
	defaultMaxParts           = 100
	defaultMaxPartHeaderBytes = 8 << 10
)

// Config holds the settings of [New]. The zero value works.
type Config struct {
	// MaxBodyBytes limits the body of a request. Default 1 MiB.
	MaxBodyBytes int64
	// OperationBodyBytes limits the bodies of the operations with these ids, in place of
	// MaxBodyBytes.
	OperationBodyBytes map[string]int64
	// MaxParts limits how many parts a multipart body has. Default 100.
	MaxParts int
	// MaxPartBytes limits each part of a multipart body. Default: as the body. The parts that are
	// not files may have 1 MiB together.
	MaxPartBytes int64
	// MaxPartHeaderBytes limits the header of each part. Default 8 KiB.
	MaxPartHeaderBytes int64
}

// limits returns those of the body of an operation.
func (cfg Config) limits(operationID string) limits {
	body := cmp.Or(cfg.OperationBodyBytes[operationID], cfg.MaxBodyBytes, defaultMaxBodyBytes)
	return limits{
		body:       body,
		part:       cmp.Or(cfg.MaxPartBytes, body),
		partHeader: cmp.Or(cfg.MaxPartHeaderBytes, defaultMaxPartHeaderBytes),
		parts:      cmp.Or(cfg.MaxParts, defaultMaxParts),
	}
}

// check refuses limits that are negative, and those of operations that are not in the document.
func (cfg Config) check(ids map[string]*openapi3.Operation) error {
	if min(cfg.MaxBodyBytes, cfg.MaxPartBytes, cfg.MaxPartHeaderBytes, int64(cfg.MaxParts)) < 0 {
		return errors.New("validate: a limit of Config is negative")
	}
	for _, id := range slices.Sorted(maps.Keys(cfg.OperationBodyBytes)) {
		if ids[id] == nil || cfg.OperationBodyBytes[id] <= 0 {
			return fmt.Errorf("validate: Config.OperationBodyBytes: %s is no operation, or its limit is not positive", id)
		}
	}
	return nil
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
	segments := strings.Split(path, "/")
	for i, segment := range segments {
		if strings.HasPrefix(segment, "{") {
			segments[i] = "{}"
		}
	}
	return route{method, strings.Join(segments, "/")}
}

// New compiles every operation, webhook and component schema of a resolved OpenAPI 3.1 document.
// Its error names the places in the document, as JSON pointers, that it does not know how to
// check. The servers of the document do not matter. A loader that does not include origins drops
// keywords that are null, before New could refuse them. doc must not be modified later.
func New(doc *openapi3.T, cfg Config) (*Validator, error) {
	if doc.OpenAPIMajorMinor() != "3.1" {
		return nil, errors.New("validate: /openapi: is not 3.1")
	}
	c := &compiler{
		doc:     doc,
		cfg:     cfg,
		pool:    newPool(),
		nodes:   make(map[*openapi3.Schema]*node),
		answers: make(map[*openapi3.Response]*response),
		ids:     make(map[string]*openapi3.Operation),
		tags:    make(map[string]*member),
	}
	v := &Validator{
		byRoute:  make(map[route]*Operation),
		webhooks: make(map[string]*Operation),
		schemas:  make(map[string]*Schema),
	}
	if doc.Components != nil {
		for _, name := range slices.Sorted(maps.Keys(doc.Components.Schemas)) {
			n := c.schema("/components/schemas/"+token(name), doc.Components.Schemas[name])
			v.schemas[name] = &Schema{node: n, pool: c.pool}
		}
	}
	for _, path := range slices.Sorted(maps.Keys(doc.Paths.Map())) {
		for _, o := range c.pathItem("/paths/"+token(path), path, doc.Paths.Value(path)) {
			v.operations = append(v.operations, o)
			key := routeOf(o.method, path)
			if v.byRoute[key] != nil {
				c.fail("/paths/"+token(path), "is another path but for the names of its parameters")
			}
			v.byRoute[key] = o
		}
	}
	for _, name := range slices.Sorted(maps.Keys(doc.Webhooks)) {
		at := "/webhooks/" + token(name)
		operations := c.pathItem(at, name, doc.Webhooks[name])
		if len(operations) != 1 {
			c.fail(at, "must have one operation")
			continue
		}
		v.webhooks[name] = operations[0]
	}
	c.refuseCycles()
	if len(c.errs) == 0 {
		known := make(shapes)
		for _, settle := range c.pending {
			settle(known)
		}
	}
	if len(c.errs) > 0 {
		return nil, errors.New("validate: " + strings.Join(c.errs, "\n"))
	}
	if err := cfg.check(c.ids); err != nil {
		return nil, err
	}
	return v, nil
}

// Load is [New] for a document in YAML or JSON.
func Load(document []byte, cfg Config) (*Validator, error) {
	doc, err := openapi3.NewLoader().LoadFromData(document)
	if err != nil {
		return nil, fmt.Errorf("validate: %w", err)
	}
	return New(doc, cfg)
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

// compiler turns a document into operations and nodes and collects what is wrong with it.
type compiler struct {
	doc     *openapi3.T
	cfg     Config
	pool    *sync.Pool
	nodes   map[*openapi3.Schema]*node
	order   []placed // nodes with where they are, in the order of compilation
	answers map[*openapi3.Response]*response
	ids     map[string]*openapi3.Operation
	tags    map[string]*member // what tells the alternatives of unions apart
	pending []func(shapes)     // what needs all schemas compiled
	errs    []string
}

// whenCompiled calls f once all schemas have been compiled, if they could be.
func (c *compiler) whenCompiled(f func(shapes)) { c.pending = append(c.pending, f) }

type placed struct {
	at   string
	node *node
}

func (c *compiler) fail(at, format string, args ...any) {
	err := at + ": " + fmt.Sprintf(format, args...)
	if !slices.Contains(c.errs, err) { // several operations can share the place
		c.errs = append(c.errs, err)
	}
}
