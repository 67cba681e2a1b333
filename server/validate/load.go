package validate

import (
	"cmp"
	"errors"
	"net/url"
	"strings"

	"github.com/go-json-experiment/json/jsontext"

	"github.com/avatarstudio/avatarstudio/server/validate/internal/document"
)

const (
	letters = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz"
	digits  = "0123456789"
)

// The dialects of JSON Schema that a document may declare.
const (
	dialectJSONSchema = "https://json-schema.org/draft/2020-12/schema"
	dialectOpenAPI31  = "https://spec.openapis.org/oas/3.1/dialect/" // followed by base or a date
	dialectOpenAPI32  = "https://spec.openapis.org/oas/3.2/dialect/"
)

// loader reads documents, checks that they are well-formed OpenAPI, and resolves references.
type loader struct {
	lenient func(*document.Error)
	known   map[document.Error]bool
	errs    []document.Error

	name      string            // of the main document
	documents map[string][]byte // documents that have not been read yet, by URI

	is32       bool // whether the main document is OpenAPI 3.2
	objects    map[string]object
	visited    map[visit]bool
	unfit      map[*document.Node]bool      // nodes whose type is wrong
	lossy      map[*document.Node]bool      // nodes that have lost such a child
	resources  map[string]*resource         // by URI; nil for a document that cannot be read
	roots      map[*document.Node]*resource // by root node
	root       *document.Node               // root of the main document
	links      []link                       // references to resolve
	operations []*document.Node             // all operations, in the order of the document
	targets    map[*document.Node]*document.Node
	schemes    map[*document.Node]*document.Node // references to security schemes, by the scopes beside them
}

// resource is a document, or a schema with an $id.
type resource struct {
	uri     *url.URL
	root    *document.Node
	anchors map[string]*document.Node
	dynamic map[string]*document.Node // the $dynamicAnchors
}

// loaderConfig configures newLoader.
type loaderConfig struct {
	// Name is the file name or URI of the document. References are relative to it, or to the $self of the document.
	Name string
	// Others are the other documents that references may point to, by the name or URI that a reference resolves to.
	Others map[string][]byte
	// Lenient, if not nil, is called for each part that is unknown or not supported, which is no error then.
	Lenient func(*document.Error)
}

// newLoader loads a document and all documents that it refers to. ok is false if the document cannot be compiled. What does
// not conform to OpenAPI is reported and is missing from the document.
func newLoader(text []byte, cfg loaderConfig) (l *loader, ok bool) {
	l = &loader{
		lenient:   cfg.Lenient,
		known:     make(map[document.Error]bool),
		name:      cfg.Name,
		documents: make(map[string][]byte),
		visited:   make(map[visit]bool),
		unfit:     make(map[*document.Node]bool),
		lossy:     make(map[*document.Node]bool),
		resources: make(map[string]*resource),
		roots:     make(map[*document.Node]*resource),
		targets:   make(map[*document.Node]*document.Node),
		schemes:   make(map[*document.Node]*document.Node),
	}
	for name, text := range cfg.Others {
		l.documents[fileURI(name).String()] = text
	}
	return l, l.load(text)
}

// load reads the main document and all documents that it refers to. It reports whether the document can be compiled.
func (l *loader) load(text []byte) bool {
	root := l.read(l.name, fileURI(l.name), text)
	if root == nil {
		return false
	}
	l.root = root
	version := cmp.Or(root.Get("openapi"), root)
	l.is32 = isVersion(version.Text, "3.2")
	if !l.is32 && !isVersion(version.Text, "3.1") {
		l.fail(version, "must be OpenAPI 3.1 or 3.2")
		return false
	}
	l.objects = openAPIObjects(l.is32)
	l.whole(root)
	if dialect := root.Get("jsonSchemaDialect"); dialect != nil {
		l.dialect(dialect)
	}
	if root.Get("paths") == nil && root.Get("components") == nil && root.Get("webhooks") == nil && !l.lossy[root] {
		l.fail(root, "must have paths, components or webhooks")
	}
	for i := 0; i < len(l.links); i++ { // follow appends further links
		l.follow(l.links[i])
	}
	for _, link := range l.links {
		if link.to != "Schema" { // cycles of schemas are detected during compilation
			l.resolve(link.from.Parent())
		}
	}
	l.uniqueIDs()
	l.templates(root.Get("paths"))
	return true
}

// whole checks a whole document. In OpenAPI 3.2, it may have a URI of its own.
func (l *loader) whole(root *document.Node) {
	if self := root.Get("$self"); l.is32 && self != nil && self.Kind == jsontext.KindString {
		l.identify(root, self)
	}
	l.conform(root, "OpenAPI")
}

// isVersion reports whether text is a version of OpenAPI such as 3.1, with or without a patch version.
func isVersion(text, minor string) bool {
	rest, ok := strings.CutPrefix(text, minor)
	return ok && (rest == "" || rest[0] == '.')
}

// read parses a document. It returns nil if the syntax is invalid.
func (l *loader) read(name string, uri *url.URL, text []byte) *document.Node {
	root, err := document.Parse(name, text)
	if failed := document.Errors(nil); errors.As(err, &failed) {
		for _, e := range failed {
			l.fail(&document.Node{Position: e.Position}, e.Detail)
		}
	}
	if root == nil {
		l.resources[uri.String()] = nil
		return nil
	}
	l.resource(root, uri)
	return root
}

func (l *loader) resource(root *document.Node, uri *url.URL) *resource {
	r := &resource{uri: uri, root: root}
	l.resources[uri.String()], l.roots[root] = r, r
	return r
}

func (l *loader) dialect(n *document.Node) {
	switch text := strings.TrimSuffix(n.Text, "#"); {
	case text == dialectJSONSchema, strings.HasPrefix(text, dialectOpenAPI31), l.is32 && strings.HasPrefix(text, dialectOpenAPI32):
	case strings.HasPrefix(text, dialectOpenAPI32):
		l.unsupported(n, needs32)
	default:
		l.unsupported(n, "must be the dialect of JSON Schema 2020-12 or of OpenAPI")
	}
}

// schema records the identifiers and the references of a schema.
func (l *loader) schema(n *document.Node) {
	if id := n.Get("$id"); id != nil && id.Kind == jsontext.KindString {
		l.identify(n, id)
	}
	if dialect := n.Get("$schema"); dialect != nil && dialect.Kind == jsontext.KindString {
		l.dialect(dialect)
	}
	for _, keyword := range []string{"$anchor", "$dynamicAnchor"} {
		if anchor := n.Get(keyword); anchor != nil && anchor.Kind == jsontext.KindString {
			l.anchor(n, anchor, keyword == "$dynamicAnchor")
		}
	}
	l.addLink(n, "$ref", "Schema")
	l.addLink(n, "$dynamicRef", "Schema")
	discriminator := n.Get("discriminator")
	for _, target := range discriminator.Get("mapping").All() {
		l.addMapped(target)
	}
	l.addMapped(discriminator.Get("defaultMapping"))
}

// addMapped records the reference to a schema in a discriminator, unless it is the name of a component.
func (l *loader) addMapped(target *document.Node) {
	if target != nil && target.Kind == jsontext.KindString && l.mapped(target.Text) == nil {
		l.links = append(l.links, link{target, "Schema"})
	}
}

// mapped returns the component schema that a discriminator names, or nil.
func (l *loader) mapped(name string) *document.Node {
	return l.root.Get("components").Get("schemas").Get(name)
}

func (l *loader) identify(n, id *document.Node) {
	uri, err := url.Parse(strings.TrimSuffix(id.Text, "#"))
	if err != nil || uri.Fragment != "" {
		l.fail(id, "must be a URI reference without a fragment")
		return
	}
	r := l.resourceOf(n)
	uri = r.uri.ResolveReference(uri)
	if other := l.resources[uri.String()]; other != nil {
		if other.root != n {
			l.fail(id, "is not unique")
		}
		return
	}
	if r.root != n {
		r = l.resource(n, uri)
	}
	r.uri, l.resources[uri.String()] = uri, r // the document keeps its other URI too
}

// resourceOf returns the resource that contains n.
func (l *loader) resourceOf(n *document.Node) *resource {
	for ; ; n = n.Parent() {
		if r := l.roots[n]; r != nil {
			return r
		}
	}
}

func (l *loader) anchor(n, name *document.Node, dynamic bool) {
	if name.Text == "" || strings.IndexByte(letters+"_", name.Text[0]) < 0 || strings.Trim(name.Text, letters+digits+"-_.") != "" {
		l.fail(name, "must begin with a letter, and have letters, digits and -_. only")
		return
	}
	r := l.resourceOf(n)
	if r.anchors == nil {
		r.anchors, r.dynamic = make(map[string]*document.Node), make(map[string]*document.Node)
	}
	if other := r.anchors[name.Text]; other != nil && other != n {
		l.fail(name, "is not unique")
		return
	}
	r.anchors[name.Text] = n
	if dynamic {
		r.dynamic[name.Text] = n
	}
}
