package validate

import (
	"maps"
	"net/url"
	"slices"
	"strings"

	"github.com/go-json-experiment/json/jsontext"

	"github.com/avatarstudio/avatarstudio/server/validate/internal/document"
)

// link is a reference, with the kind of OpenAPI object that it must resolve to.
type link struct {
	from *document.Node // the value of $ref or $dynamicRef
	to   string
}

// addLink records a reference, whose target may not have been checked yet.
func (l *loader) addLink(n *document.Node, keyword, to string) {
	if ref := n.Get(keyword); ref != nil && ref.Kind == jsontext.KindString {
		l.links = append(l.links, link{ref, to})
	}
}

// follow resolves a reference and checks its target.
func (l *loader) follow(link link) {
	ref := link.from
	r, fragment := l.resourceOf(ref), strings.TrimPrefix(ref.Text, "#")
	if fragment == ref.Text || strings.Contains(fragment, "%") {
		r, fragment = l.lookUp(ref)
	}
	if r == nil {
		return
	}
	target := r.anchors[fragment]
	if fragment == "" || fragment[0] == '/' {
		target = r.root.Find(fragment)
	}
	if target == nil {
		l.fail(ref, "leads nowhere")
		return
	}
	rule := link.to
	if rule != "Schema" && rule != "PathItem" {
		rule = "&" + rule
	}
	if l.conform(target, rule); !l.unfit[target] {
		l.targets[ref] = target
	}
}

// lookUp returns the resource that a reference leads to, or nil. It reports an error if there is no such
// resource, but none if the resource cannot be read.
func (l *loader) lookUp(ref *document.Node) (r *resource, fragment string) {
	uri, err := url.Parse(ref.Text)
	if err != nil {
		l.fail(ref, "leads nowhere")
		return nil, ""
	}
	base := l.resourceOf(ref).uri
	whole := base.ResolveReference(uri)
	fragment = whole.Fragment
	whole.Fragment, whole.RawFragment = "", ""
	if r, known := l.resources[whole.String()]; known {
		return r, fragment
	}
	name := fileName(whole)
	text, found := l.documents[whole.String()]
	switch {
	case found:
	case len(l.documents) == 0:
		l.fail(ref, "leads nowhere: a document of several files must be bundled first")
		return nil, ""
	case l.is32: // another document may have the URI as its $self or in an $id
		if r := l.readOthers(whole.String()); r != nil {
			return r, fragment
		}
		fallthrough
	default:
		l.fail(ref, "leads nowhere")
		return nil, ""
	}
	if name == l.name { // its $self is another URI
		return l.roots[l.root], fragment
	}
	root := l.read(name, whole, text)
	l.register(root)
	return l.roots[root], fragment
}

// register finds the URIs and the anchors in another document.
func (l *loader) register(root *document.Node) {
	switch {
	case l.is32 && root.Get("openapi") != nil:
		l.whole(root)
	case root.Get("$schema") != nil || root.Get("$id") != nil || root.Get("$defs") != nil:
		l.conform(root, "Schema")
	}
}

// readOthers reads the documents that nothing has referred to, until one of them has the URI. It returns nil if none has.
func (l *loader) readOthers(wanted string) *resource {
	for _, uri := range slices.Sorted(maps.Keys(l.documents)) {
		if _, read := l.resources[uri]; read {
			continue
		}
		parsed, _ := url.Parse(uri) // it was a URL before
		l.register(l.read(fileName(parsed), parsed, l.documents[uri]))
		if r := l.resources[wanted]; r != nil {
			return r
		}
	}
	return nil
}

// fileURI returns the URI of the document with the given name. If name is an absolute URI, it returns that
// URI.
func fileURI(name string) *url.URL {
	if u, err := url.Parse(name); err == nil && u.IsAbs() {
		return u
	}
	return &url.URL{Scheme: "file", Path: "/" + strings.TrimPrefix(name, "/")}
}

// fileName is the opposite of fileURI.
func fileName(uri *url.URL) string {
	if uri.Scheme == "file" {
		return strings.TrimPrefix(uri.Path, "/")
	}
	return uri.String()
}

// resolve returns n, or the final target of its $ref. If references form a cycle, it reports that and returns
// nil.
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
