package validate

import (
	"errors"
	"net/url"
	"slices"
	"strings"

	"github.com/avatarstudio/avatarstudio/server/validate/internal/document"
)

// The dialects of JSON Schema that a document may name.
const (
	dialectJSONSchema = "https://json-schema.org/draft/2020-12/schema"
	dialectOpenAPI    = "https://spec.openapis.org/oas/3.1/dialect/base"
)

// loader reads documents, checks that they have the form of OpenAPI 3.1 and finds what references
// lead to.
type loader struct {
	problems
	documents map[string][]byte // not read yet, by URI

	objects    map[string]object
	visited    map[visit]bool
	resources  map[string]*resource         // by URI
	roots      map[*document.Node]*resource // by the node that they begin with
	root       *document.Node               // the main document
	links      []link                       // to follow
	operations []*document.Node             // all of them, in the order of the document
	targets    map[*document.Node]*document.Node
}

// resource is a document, or a schema that has an $id.
type resource struct {
	uri     *url.URL
	root    *document.Node
	anchors map[string]*document.Node
	dynamic map[string]*document.Node // those of $dynamicAnchor
}

// link is a reference to an object of OpenAPI.
type link struct {
	from *document.Node // the value of $ref or $dynamicRef
	to   string
}

func newLoader(cfg Config) *loader {
	l := &loader{
		problems:  problems{lenient: cfg.Lenient},
		documents: make(map[string][]byte),
		objects:   make(map[string]object),
		visited:   make(map[visit]bool),
		resources: make(map[string]*resource),
		roots:     make(map[*document.Node]*resource),
		targets:   make(map[*document.Node]*document.Node),
	}
	for name, text := range cfg.Documents {
		l.documents[fileURI(name).String()] = text
	}
	return l
}

// fileURI returns the URI of a document that is called name, which may be a URI already.
func fileURI(name string) *url.URL {
	if u, err := url.Parse(name); err == nil && u.IsAbs() {
		return u
	}
	return &url.URL{Scheme: "file", Path: "/" + strings.TrimPrefix(name, "/")}
}

// load reads the main document.
func (l *loader) load(name string, text []byte) {
	root := l.read(name, fileURI(name), text)
	if root == nil {
		return
	}
	l.root = root
	if version := root.Get("openapi"); version == nil || version.Text != "3.1" && !strings.HasPrefix(version.Text, "3.1.") {
		if version == nil {
			version = root
		}
		l.fail(version, "must be OpenAPI 3.1")
		return
	}
	l.conform(root, "OpenAPI")
	if dialect := root.Get("jsonSchemaDialect"); dialect != nil {
		l.dialect(dialect)
	}
	if root.Get("paths") == nil && root.Get("components") == nil && root.Get("webhooks") == nil {
		l.fail(root, "must have paths, components or webhooks")
	}
	for i := 0; i < len(l.links); i++ { // more are found on the way
		l.follow(l.links[i])
	}
	for _, link := range l.links {
		if link.to != "Schema" { // whose circles are those of compilation
			l.resolve(link.from.Parent())
		}
	}
	l.uniqueIDs()
	l.templates(root.Get("paths"))
}

// read parses a document.
func (l *loader) read(name string, uri *url.URL, text []byte) *document.Node {
	root, err := document.Parse(name, text)
	if err != nil {
		if failed := (*document.Error)(nil); errors.As(err, &failed) {
			l.add(failed.Position, "", failed.Detail)
		}
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
	if text := strings.TrimSuffix(n.Text, "#"); text != dialectJSONSchema && text != dialectOpenAPI {
		l.refuse(n, "must be the dialect of JSON Schema 2020-12 or of OpenAPI 3.1")
	}
}

// schema notes what a schema is called, and where it leads.
func (l *loader) schema(n *document.Node) {
	if id := n.Get("$id"); id != nil && id.Kind == '"' {
		l.identify(n, id)
	}
	if dialect := n.Get("$schema"); dialect != nil && dialect.Kind == '"' {
		l.dialect(dialect)
	}
	for _, keyword := range []string{"$anchor", "$dynamicAnchor"} {
		if anchor := n.Get(keyword); anchor != nil && anchor.Kind == '"' {
			l.anchor(n, anchor, keyword == "$dynamicAnchor")
		}
	}
	l.note(n, "$ref", "Schema")
	l.note(n, "$dynamicRef", "Schema")
	for _, target := range n.Get("discriminator").Get("mapping").All() {
		if target.Kind == '"' && l.mapped(target.Text) == nil {
			l.links = append(l.links, link{target, "Schema"})
		}
	}
}

// mapped returns the schema of components that a discriminator calls by its name, or nil.
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
	r.uri, l.resources[uri.String()] = uri, r // a document keeps its other name
}

// resourceOf returns the resource that a node belongs to.
func (l *loader) resourceOf(n *document.Node) *resource {
	for ; ; n = n.Parent() {
		if r := l.roots[n]; r != nil {
			return r
		}
	}
}

func (l *loader) anchor(n, name *document.Node, dynamic bool) {
	if name.Text == "" || !isLetter(name.Text[0]) && name.Text[0] != '_' || !consists([]byte(name.Text), "-_.") {
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

// note remembers a reference, which may lead to what has not been checked yet.
func (l *loader) note(n *document.Node, keyword, to string) {
	if ref := n.Get(keyword); ref != nil && ref.Kind == '"' {
		l.links = append(l.links, link{ref, to})
	}
}

// follow finds what a reference leads to and checks it as what it has to be.
func (l *loader) follow(link link) {
	ref := link.from
	var target *document.Node
	if pointer, ok := strings.CutPrefix(ref.Text, "#"); ok && !strings.Contains(pointer, "%") {
		target = l.inside(l.resourceOf(ref), pointer)
	} else {
		target = l.lookUp(ref)
	}
	if target == nil {
		l.fail(ref, "leads nowhere")
		return
	}
	l.targets[ref] = target
	rule := link.to
	switch rule {
	case "Schema", "PathItem":
	default:
		rule = "&" + rule
	}
	l.conform(target, rule)
}

func (l *loader) lookUp(ref *document.Node) *document.Node {
	uri, err := url.Parse(ref.Text)
	if err != nil {
		return nil
	}
	uri = l.resourceOf(ref).uri.ResolveReference(uri)
	fragment := uri.Fragment
	uri.Fragment, uri.RawFragment = "", ""
	r := l.resources[uri.String()]
	if text, ok := l.documents[uri.String()]; r == nil && ok {
		delete(l.documents, uri.String())
		if l.read(strings.TrimPrefix(uri.String(), "file:///"), uri, text) == nil {
			return nil
		}
		r = l.resources[uri.String()]
		if root := r.root; root.Get("$schema") != nil || root.Get("$id") != nil || root.Get("$defs") != nil {
			l.conform(root, "Schema") // so that its anchors are known
		}
	}
	if r == nil {
		return nil
	}
	return l.inside(r, fragment)
}

// inside returns the node that a fragment stands for in a resource.
func (l *loader) inside(r *resource, fragment string) *document.Node {
	if fragment == "" || fragment[0] == '/' {
		return r.root.Find(fragment)
	}
	return r.anchors[fragment]
}

// resolve returns what stands in the place of n: n itself, or what its $ref leads to in the end.
// It returns nil when references lead in a circle, which it reports.
func (l *loader) resolve(n *document.Node) *document.Node {
	var passed []*document.Node
	for n != nil && n.Get("$ref") != nil {
		if slices.Contains(passed, n) {
			l.fail(n.Get("$ref"), "leads to itself")
			return nil
		}
		passed = append(passed, n)
		n = l.targets[n.Get("$ref")]
	}
	return n
}
