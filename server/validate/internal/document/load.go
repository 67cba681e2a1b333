package document

import (
	"cmp"
	"net/url"
	"strings"

	"github.com/go-json-experiment/json/jsontext"
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

// Document is an OpenAPI document that has been checked, with the documents that it refers to and the targets of its
// references. What does not conform to OpenAPI is an error and is missing from it. It collects the errors that its
// users find, too. It is not safe for concurrent use.
type Document struct {
	Root *Node
	Is32 bool // whether it is OpenAPI 3.2, and not 3.1

	cfg   Config
	known map[Error]bool
	errs  []Error

	unread    map[string][]byte // documents that have not been read yet, by URI
	objects   map[string]object
	visited   map[visit]bool
	unfit     map[*Node]bool       // nodes whose type is wrong
	lossy     map[*Node]bool       // nodes that have lost such a child
	resources map[string]*resource // by URI; nil for a document that cannot be read
	roots     map[*Node]*resource  // by root node
	links     []link               // references to resolve
	ids       map[string]bool      // of the operations
	targets   map[*Node]*Node      // by the value of $ref or $dynamicRef
}

// resource is a document, or a schema with an $id.
type resource struct {
	uri     *url.URL
	root    *Node
	anchors map[string]*Node
	dynamic map[string]*Node // the $dynamicAnchors
}

// Config configures [Load].
type Config struct {
	// Name is the file name or URI of the document. References are relative to it.
	Name string
	// Others are the other documents that references may point to, by the name or URI that a reference resolves to.
	Others map[string][]byte
	// Lenient, if not nil, is called for each part that is unknown or not supported, which is no error then.
	Lenient func(*Error)
}

// Load loads a document and all documents that it refers to. ok is false if it is so wrong that nothing else can be
// checked.
func Load(text []byte, cfg Config) (d *Document, ok bool) {
	d = &Document{
		cfg:       cfg,
		known:     make(map[Error]bool),
		unread:    make(map[string][]byte),
		visited:   make(map[visit]bool),
		unfit:     make(map[*Node]bool),
		lossy:     make(map[*Node]bool),
		resources: make(map[string]*resource),
		roots:     make(map[*Node]*resource),
		targets:   make(map[*Node]*Node),
		ids:       make(map[string]bool),
	}
	for name, text := range cfg.Others {
		d.unread[fileURI(name).String()] = text
	}
	return d, d.load(text)
}

// load reads the main document and all documents that it refers to. It reports whether the document can be compiled.
func (d *Document) load(text []byte) bool {
	root := d.read(d.cfg.Name, fileURI(d.cfg.Name), text)
	if root == nil {
		return false
	}
	d.Root = root
	version := cmp.Or(root.Get("openapi"), root)
	d.Is32 = isVersion(version.Text, "3.2")
	if !d.Is32 && !isVersion(version.Text, "3.1") {
		d.Fail(version, "must be OpenAPI 3.1 or 3.2")
		return false
	}
	d.objects = objects(d.Is32)
	d.conform(root, "OpenAPI")
	if dialect := root.Get("jsonSchemaDialect"); dialect != nil {
		d.dialect(dialect)
	}
	if root.Get("paths") == nil && root.Get("components") == nil && root.Get("webhooks") == nil && !d.lossy[root] {
		d.Fail(root, "must have paths, components or webhooks")
	}
	for i := 0; i < len(d.links); i++ { // follow appends further links
		d.follow(d.links[i])
	}
	for _, link := range d.links {
		if link.to != "Schema" { // cycles of schemas are detected during compilation
			d.Resolve(link.from.parent)
		}
	}
	d.templates(root.Get("paths"))
	return true
}

// isVersion reports whether text is a version of OpenAPI such as 3.1, with or without a patch version.
func isVersion(text, minor string) bool {
	rest, ok := strings.CutPrefix(text, minor)
	return ok && (rest == "" || rest[0] == '.')
}

// read parses a document. It returns nil if the syntax is invalid.
func (d *Document) read(name string, uri *url.URL, text []byte) *Node {
	root, errs := parse(name, text)
	for _, e := range errs {
		d.Fail(&Node{Position: e.Position}, e.Detail)
	}
	if root == nil {
		d.resources[uri.String()] = nil
		return nil
	}
	d.resource(root, uri)
	return root
}

func (d *Document) resource(root *Node, uri *url.URL) *resource {
	r := &resource{uri: uri, root: root}
	d.resources[uri.String()], d.roots[root] = r, r
	return r
}

func (d *Document) dialect(n *Node) {
	switch text := strings.TrimSuffix(n.Text, "#"); {
	case text == dialectJSONSchema, strings.HasPrefix(text, dialectOpenAPI31), d.Is32 && strings.HasPrefix(text, dialectOpenAPI32):
	case strings.HasPrefix(text, dialectOpenAPI32):
		d.Unsupported(n, needs32)
	default:
		d.Unsupported(n, "must be the dialect of JSON Schema 2020-12 or of OpenAPI")
	}
}

// schema records the identifiers and the references of a schema.
func (d *Document) schema(n *Node) {
	if id := n.Get("$id"); id != nil && id.Kind == jsontext.KindString {
		d.identify(n, id)
	}
	if dialect := n.Get("$schema"); dialect != nil && dialect.Kind == jsontext.KindString {
		d.dialect(dialect)
	}
	for _, keyword := range []string{"$anchor", "$dynamicAnchor"} {
		if anchor := n.Get(keyword); anchor != nil && anchor.Kind == jsontext.KindString {
			d.anchor(n, anchor, keyword == "$dynamicAnchor")
		}
	}
	d.addLink(n, "$ref", "Schema")
	d.addLink(n, "$dynamicRef", "Schema")
	discriminator := n.Get("discriminator")
	targets := []*Node{discriminator.Get("defaultMapping")}
	for _, target := range discriminator.Get("mapping").All() {
		targets = append(targets, target)
	}
	for _, target := range targets { // components or references
		if target != nil && target.Kind == jsontext.KindString && d.Mapped(target.Text) == nil {
			d.links = append(d.links, link{target, "Schema"})
		}
	}
}

// Mapped returns the component schema that a discriminator names, or nil.
func (d *Document) Mapped(name string) *Node {
	return d.Root.Get("components").Get("schemas").Get(name)
}

func (d *Document) identify(n, id *Node) {
	uri, err := url.Parse(strings.TrimSuffix(id.Text, "#"))
	if err != nil || uri.Fragment != "" {
		d.Fail(id, "must be a URI reference without a fragment")
		return
	}
	r := d.resourceOf(n)
	uri = r.uri.ResolveReference(uri)
	if other := d.resources[uri.String()]; other != nil {
		if other.root != n {
			d.Fail(id, "is not unique")
		}
		return
	}
	if r.root != n {
		r = d.resource(n, uri)
	}
	r.uri, d.resources[uri.String()] = uri, r // the document keeps its other URI too
}

// resourceOf returns the resource that contains n.
func (d *Document) resourceOf(n *Node) *resource {
	for ; ; n = n.parent {
		if r := d.roots[n]; r != nil {
			return r
		}
	}
}

// DynamicAnchors returns the schemas with a $dynamicAnchor in the resource that contains n. The map must not be
// changed.
func (d *Document) DynamicAnchors(n *Node) map[string]*Node {
	return d.resourceOf(n).dynamic
}

func (d *Document) anchor(n, name *Node, dynamic bool) {
	if name.Text == "" || strings.IndexByte(letters+"_", name.Text[0]) < 0 || strings.Trim(name.Text, letters+digits+"-_.") != "" {
		d.Fail(name, "must begin with a letter, and have letters, digits and -_. only")
		return
	}
	r := d.resourceOf(n)
	if r.anchors == nil {
		r.anchors, r.dynamic = make(map[string]*Node), make(map[string]*Node)
	}
	if other := r.anchors[name.Text]; other != nil && other != n {
		d.Fail(name, "is not unique")
		return
	}
	r.anchors[name.Text] = n
	if dynamic {
		r.dynamic[name.Text] = n
	}
}
