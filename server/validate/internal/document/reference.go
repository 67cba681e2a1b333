package document

import (
	"net/url"
	"path"
	"slices"
	"strings"

	"github.com/go-json-experiment/json/jsontext"
)

// link is a reference, with the kind of OpenAPI object that it must resolve to.
type link struct {
	from *Node // the value of $ref or $dynamicRef
	to   string
}

// addLink records a reference, whose target may not have been checked yet.
func (d *Document) addLink(n *Node, keyword, to string) {
	if ref := n.Get(keyword); ref != nil && ref.Kind == jsontext.KindString {
		d.links = append(d.links, link{ref, to})
	}
}

// follow resolves a reference and checks its target.
func (d *Document) follow(link link) {
	ref := link.from
	r, fragment := d.resourceOf(ref), strings.TrimPrefix(ref.Text, "#")
	if fragment == ref.Text || strings.Contains(fragment, "%") {
		r, fragment = d.lookUp(ref)
	}
	if r == nil {
		return
	}
	target := r.anchors[fragment]
	if fragment == "" || fragment[0] == '/' {
		target = r.root.Find(fragment)
	}
	if target == nil {
		d.Fail(ref, "leads nowhere")
		return
	}
	rule := link.to
	if rule != "Schema" && rule != "PathItem" {
		rule = "&" + rule
	}
	if d.conform(target, rule); !d.unfit[target] {
		d.targets[ref] = target
	}
}

// lookUp returns the resource that a reference leads to, or nil. It reports an error if there is no such
// resource, but none if the resource cannot be read.
func (d *Document) lookUp(ref *Node) (r *resource, fragment string) {
	uri, err := url.Parse(ref.Text)
	if err != nil {
		d.Fail(ref, "leads nowhere")
		return nil, ""
	}
	base := d.resourceOf(ref).uri
	whole := base.ResolveReference(uri)
	fragment = whole.Fragment
	whole.Fragment, whole.RawFragment = "", ""
	if r, known := d.resources[whole.String()]; known {
		return r, fragment
	}
	text, found := d.unread[whole.String()]
	switch {
	case !found && len(d.unread) == 0:
		d.Fail(ref, "leads nowhere: a document of several files must be bundled first")
		return nil, ""
	case !found:
		d.Fail(ref, "leads nowhere")
		return nil, ""
	}
	name := whole.String()
	if whole.Scheme == "file" {
		name = strings.TrimPrefix(whole.Path, "/") // as in fileURI
	}
	root := d.read(name, whole, text)
	if root.Get("$schema") != nil || root.Get("$id") != nil || root.Get("$defs") != nil { // its URIs and anchors are known then
		d.conform(root, "Schema")
	}
	return d.roots[root], fragment
}

// fileURI returns the URI of the document with the given name. If name is an absolute URI, it returns that
// URI.
func fileURI(name string) *url.URL {
	if u, err := url.Parse(name); err == nil && u.IsAbs() {
		return u
	}
	return &url.URL{Scheme: "file", Path: path.Clean("/" + name)} // as url.URL resolves references to it
}

// Resolve returns n, or the final target of its $ref. If references form a cycle, it reports that and returns
// nil.
func (d *Document) Resolve(n *Node) *Node {
	var passed []*Node
	for n != nil && n.Get("$ref") != nil {
		if slices.Contains(passed, n) {
			d.Fail(n.Get("$ref"), "leads to itself")
			return nil
		}
		passed = append(passed, n)
		n = d.targets[n.Get("$ref")]
	}
	return n
}

// Target returns the target of the value of a $ref or $dynamicRef, or nil if it leads nowhere.
func (d *Document) Target(ref *Node) *Node { return d.targets[ref] }

// SecurityScheme returns the scheme that a requirement names, by the list of scopes beside the name, or nil. A name
// that is no scheme is an error.
func (d *Document) SecurityScheme(name string, scopes *Node) *Node {
	scheme := d.Resolve(d.Root.Get("components").Get("securitySchemes").Get(name))
	if scheme == nil {
		d.Fail(scopes, "is no security scheme of the document")
	}
	return scheme
}
