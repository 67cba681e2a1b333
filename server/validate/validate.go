// Package validate checks HTTP requests and responses against an OpenAPI 3.1 or 3.2 document.
//
// [Validator.Middleware] puts a document in front of any handler:
//
//	authenticate := func(r *http.Request, _ *validate.Operation) (context.Context, error) {
//		if r.Header.Get("X-Key") != "secret" { // or leave this to others with validate.NoSecurity
//			return nil, errors.New("wrong key")
//		}
//		return r.Context(), nil
//	}
//	validator, err := validate.Load(spec, validate.Config{Security: authenticate})
//	if err != nil {
//		log.Fatal(err)
//	}
//	handlers := map[string]http.HandlerFunc{"getFile": getFile, "checkFile": checkFile} // by operationId
//	handler := validator.Middleware(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
//		operation, _ := validate.OperationFrom(r.Context())
//		handlers[operation.ID()](w, r) // r matches the document
//	}))
//
// [Operation.Handler] checks the requests of one operation, [Operation.Response] a response, and [Schema.Validate] a
// value.
//
// [Load] compiles the document once. It ignores nothing: unknown members, keywords with a value of the wrong
// type, and unexpected nulls are errors with file, line and column, all of them at once. A JSON body is parsed once,
// which takes at most 5 bytes of memory for each byte of the body.
//
// The accepted JSON is strict (I-JSON, RFC 7493): duplicate names, invalid UTF-8, trailing data, and nesting
// deeper than [MaxDepth] are rejected. Names that differ only in case from a declared member of the object
// are rejected too, because encoding/json would decode them as that member.
//
// # JSON Schema
//
// All keywords of JSON Schema 2020-12 are enforced, except contentEncoding, contentMediaType and contentSchema, which
// are annotations outside of server-sent events. Numbers are compared exactly, as decimals. A readOnly value must not
// be sent in a request and a writeOnly value must not be sent in a response; required does not apply to them there. A
// discriminator never changes whether a value is valid. It only selects the alternative whose violations are reported
// if none matches. The package deviates from JSON Schema as follows:
//
//   - an integer must have no fraction and no exponent, and must fit int64 or its format, like its Go type
//   - a date-time must be readable by time.Time: no leap second, no lower-case T or Z
//   - an email address must have no quotes and no address literal
//   - a regex must have at most 10,000 bytes
//   - a format is an assertion, and an unknown format is an error of Load
//
// # Documents
//
// Load accepts every document that follows OpenAPI 3.1 or 3.2, except for the following. OpenAPI allows these, but
// Load could only ignore them, and does so only if [Config.Lenient] is set:
//
//   - an unknown keyword, including those that 2020-12 has removed, such as dependencies
//   - a $schema other than that of 2020-12, and therefore vocabularies and older drafts
//   - a format that this package does not have
//   - a pattern that is not ECMA-262 in Unicode mode, or that RE2 cannot match: look-around, back-references,
//     repetition over 1000
//   - a multipleOf with more than 18 significant digits
//   - a member beside the $ref of a path item or of a reference
//   - a media type with a charset other than UTF-8, and a range with parameters, except for parts
//   - a media type that differs from another one in its case or charset only
//   - a schema that constrains more than the length of a body that is not JSON, text or a form, or of such a part its
//     length twice, or only in an alternative
//   - the style of a part, and the headers of a form field, or its contentType unless it is JSON or text/plain
//   - a schema beside an itemSchema
//   - of OpenAPI 3.2: parameters in querystring, the style cookie, allowReserved outside of queries, security schemes
//     by their URI, prefixEncoding, itemEncoding, an encoding in another encoding, an itemSchema of multipart bodies,
//     $self
//   - content of a response whose status has no content, such as 204
//   - an HTTP authentication scheme other than bearer and basic
//
// Rules of OpenAPI about what only people and other programs read, such as examples, tags, the variables of servers
// and the flows of OAuth, are left to linters, except for the types of their members. So is the use of a component that
// nothing refers to. Load never accepts a schema that contains itself without a member or element in between, or a path
// in which two parameters follow each other without a text in between.
//
// References may lead to [Config.Documents], and to no file or URL.
//
// # Parameters and bodies
//
// A parameter is decoded by its style, with percent-decoding only in paths and queries, to the JSON that it
// represents: null, a boolean or a number if the schema allows that type and the text has its syntax, and
// otherwise a string. If the schema allows several of these types, the value is of the first, in this order, with
// which it matches. An element of a list is decoded by the schema of the elements alone, and a member to which
// alternatives of an object give different types by the first that one of them allows. Where OpenAPI is silent, this
// package decides:
//
//   - A query parameter or cookie that the document does not declare is ignored. But an exploded object that
//     has no properties, or has patternProperties, or has additionalProperties or unevaluatedProperties that are
//     not false, takes all undeclared parameters. The members of other parameters and the API keys of the operation
//     are declared.
//   - A list or object whose text is empty is empty, if it has delimiters. An empty required scalar is missing.
//   - A deepObject has scalars, and arrays of them whose key is repeated. Nested keys are refused.
//   - An exploded value in cookies is several cookies. A cookie that net/http does not read is absent.
//   - An array in multipart/form-data is a part for each element. If the schema of the field allows other types too,
//     there is one part, which is no array.
//   - Defaults are not applied; the implementation applies them.
//   - If an operation has no request body, the body of a request is not touched.
//
// JSON, text/plain and forms are buffered and checked before the next handler is called. The parts of
// multipart/form-data are checked while they are read: a field before its first byte is returned, and at the end what
// only an alternative says about it, a file for its media type, headers and size. Bodies of all other media types are
// streamed with a limit on their size, and a schema can only constrain their length. The schema of a range such as */*
// applies to a body in JSON; of any other body it can only constrain the length. A form field has the form that its
// encoding declares. Without an encoding it is name=value, with name[key]=value for arrays and objects, or JSON for an
// object. A multipart body has at most 100 parts, with at most 8 KiB of headers each.
//
// The items of a body with an itemSchema, of at most 1 MiB each, are checked one by one: the lines of application/jsonl
// and application/x-ndjson, and server-sent events. OpenAPI 3.1 has no itemSchema, so
// the extension x-itemSchema has the same meaning. A schema beside x-itemSchema is for programs that do not know the
// extension; this package ignores it.
//
// The generator of this module takes a part of all this, which the documentation of api/tools/generate describes.
//
// [Config] has a lenient mode that ignores what is not supported.
//
// No text that this package returns contains a submitted value or name.
package validate

import (
	"cmp"
	"context"
	"errors"
	"iter"
	"net/http"
	"slices"
	"strings"

	"github.com/avatarstudio/avatarstudio/server/internal/pathtemplate"
	"github.com/avatarstudio/avatarstudio/server/validate/internal/document"
	"github.com/avatarstudio/avatarstudio/server/validate/internal/schema"
)

// The limits of all bodies besides those of [Config].
const (
	MaxDepth      = 64 // levels of nesting
	MaxViolations = 32 // in one [Error]

	maxParts           = 100     // of a multipart body
	maxPartHeaderBytes = 8 << 10 // of each part
	maxItemBytes       = 1 << 20 // of each item of a stream
)

const defaultName = "openapi.yaml"

// Config configures [Load]. The zero value is valid.
type Config struct {
	// Name is the file name or URI of the document. Errors contain it, and references are relative to it.
	// Defaults to "openapi.yaml".
	Name string
	// Documents are the other documents that references may point to. Each key is the name or URI that a
	// reference resolves to, relative to Name. Empty by default.
	Documents map[string][]byte
	// MaxBodyBytes limits the size of a request body in bytes. Defaults to 1 MiB. A negative limit is an error of Load.
	MaxBodyBytes int64
	// AnonymousBodyBytes limits the request bodies of public operations in bytes. Defaults to MaxBodyBytes.
	AnonymousBodyBytes int64
	// OperationBodyBytes limits the request bodies of single operations in bytes, by operation id. It overrides
	// MaxBodyBytes and AnonymousBodyBytes. An unknown id, and a limit that is not positive, is an error of Load.
	OperationBodyBytes map[string]int64
	// Lenient, if not nil, is called once for each part of the document that is unknown or not supported,
	// instead of Load returning an error. Load ignores these members, keywords and formats: they constrain
	// nothing. Invalid documents are still rejected. Defaults to nil.
	Lenient func(*DocumentError)
	// Security authenticates the requests of [Validator.Middleware] to operations with security requirements, before
	// their body is read. [Operation.Security] returns what the document requires; a request without credentials may be
	// valid if the operation is public. The context that it returns is that of the next handler; nil means that of the
	// request. An error that is no [*Error] results in 401, and is its Err. The function is called concurrently.
	// Defaults to one that refuses each operation that is not public; [NoSecurity] refuses none.
	Security func(*http.Request, *Operation) (context.Context, error)
	// Fail responds to the requests that [Validator.Middleware] does not pass on, by the [*Error] that says why. It is
	// called concurrently. Defaults to a problem document (RFC 9457) with the violations as its member errors.
	Fail func(http.ResponseWriter, *http.Request, error)
}

// Validator is a compiled document. It is immutable and safe for concurrent use.
type Validator struct {
	operations []*Operation
	schemas    map[string]*Schema
	security   func(*http.Request, *Operation) (context.Context, error)
	fail       func(http.ResponseWriter, *http.Request, error)
}

// Load compiles all operations, webhooks and component schemas of an OpenAPI 3.1 or 3.2 document in YAML or
// JSON. The error wraps one [*DocumentError] for each location that is invalid or not supported, unless the
// syntax is invalid or the document has another version of OpenAPI. The servers of the document are ignored.
func Load(text []byte, cfg Config) (*Validator, error) {
	v, _, err := load(text, cfg)
	return v, err
}

// load returns the validator, and the loader with the documents.
func load(text []byte, cfg Config) (*Validator, *document.Document, error) {
	if min(cfg.MaxBodyBytes, cfg.AnonymousBodyBytes) < 0 {
		return nil, nil, errors.New("validate: a limit is negative")
	}
	loading := document.Config{Name: cmp.Or(cfg.Name, defaultName), Others: cfg.Documents}
	if cfg.Lenient != nil {
		loading.Lenient = func(e *document.Error) { cfg.Lenient(documentError(e)) }
	}
	l, ok := document.Load(text, loading)
	if !ok {
		return nil, nil, documentErrors(l.Errors())
	}
	c := &compiler{
		Compiler:      schema.NewCompiler(l),
		cfg:           cfg,
		responseCache: make(map[*document.Node]*response),
		headerCache:   make(map[headerKey]*parameter),
		callbacks:     make(map[*document.Node]bool),
	}
	v := c.validator()
	if c.Finish(); len(l.Errors()) > 0 {
		return nil, nil, documentErrors(l.Errors())
	}
	if err := v.checkLimits(cfg); err != nil {
		return nil, nil, err
	}
	return v, l, nil
}

// validator compiles the operations, webhooks and schemas.
func (c *compiler) validator() *Validator {
	v := &Validator{
		schemas:  make(map[string]*Schema),
		security: onlyPublic,
		fail:     writeProblem,
	}
	if c.cfg.Security != nil {
		v.security = c.cfg.Security
	}
	if c.cfg.Fail != nil {
		v.fail = c.cfg.Fail
	}
	for name, schema := range c.Root.Get("components").Get("schemas").All() {
		v.schemas[name] = &Schema{c.Schema(schema)}
	}
	for path, item := range c.Root.Get("paths").All() {
		if strings.HasPrefix(path, "x-") {
			continue
		}
		v.operations = append(v.operations, c.pathItem(path, item)...)
	}
	slices.SortFunc(v.operations, func(a, b *Operation) int {
		return cmp.Or(strings.Compare(a.path, b.path), strings.Compare(a.method, b.method))
	})
	for _, item := range c.Root.Get("webhooks").All() { // webhooks are compiled only to report errors, like callbacks
		c.pathItem("", item)
	}
	return v
}

// Operation returns the operation with the given method and path. The names of the path parameters are
// ignored, because the generated router writes {avatar_id} for {avatar-id}.
func (v *Validator) Operation(method, path string) (*Operation, bool) {
	t, _ := pathtemplate.Parse(path) // Load has rejected other paths
	for _, o := range v.operations {
		if o.method == method && o.shape == t.Shape {
			return o, true
		}
	}
	return nil, false
}

// Operations returns all operations except webhooks, sorted by path and method.
func (v *Validator) Operations() iter.Seq[*Operation] { return slices.Values(v.operations) }

// Schema returns a component schema.
func (v *Validator) Schema(name string) (*Schema, bool) {
	s, ok := v.schemas[name]
	return s, ok
}

// Schema is a compiled component schema. It is immutable and safe for concurrent use.
type Schema struct{ node *schema.Node }

// Validate checks body, which must be a single JSON value. The error is an [*Error] with status 400.
func (s *Schema) Validate(body []byte) error {
	w := newChecker(schema.Elsewhere)
	defer w.release()
	w.Check(body, s.node)
	return w.failure(http.StatusBadRequest, "The value does not match the document.")
}

// compiler compiles a loaded document, and collects what is invalid or not supported.
type compiler struct {
	*schema.Compiler

	cfg           Config
	responseCache map[*document.Node]*response
	headerCache   map[headerKey]*parameter
	callbacks     map[*document.Node]bool // the path items of callbacks that have been compiled
}
