package validate

import (
	"cmp"
	"fmt"
	"path"
	"slices"
	"strings"

	"github.com/go-json-experiment/json/jsontext"

	"github.com/avatarstudio/avatarstudio/server/validate/internal/document"
)

// bundler copies a document and the values of other documents to which references lead.
type bundler struct {
	*loader
	kinds   map[*document.Node]string         // of the objects that references lead to, by reference
	homes   map[*document.Node]string         // the pointers in the bundle of values from other documents
	aliases map[*document.Node]*document.Node // the references that such values replace
	named   map[string]*document.Node         // the components, and the path items, by pointer
	foreign []*document.Node                  // the values with a home
	added   []*document.Node                  // those that become further components
	passed  map[*document.Node]bool
	copies  map[*document.Node]*document.Node
}

func newBundler(l *loader) *bundler {
	b := &bundler{
		loader: l, kinds: make(map[*document.Node]string), homes: make(map[*document.Node]string),
		aliases: make(map[*document.Node]*document.Node), named: make(map[string]*document.Node),
		passed: make(map[*document.Node]bool), copies: make(map[*document.Node]*document.Node),
	}
	for _, link := range l.links {
		b.kinds[link.from] = link.to
	}
	return b
}

// document returns the bundle, or nil after errors. The nodes have the positions of those that they are copies of.
func (b *bundler) document() *document.Node {
	for _, group := range b.root.Get("components").All() {
		b.name(group)
	}
	b.name(b.root.Get("paths"))
	b.name(b.root.Get("webhooks"))
	b.pass(b.root)
	for i := 0; i < len(b.foreign); i++ { // pass appends further values
		b.pass(b.foreign[i])
	}
	for _, ref := range b.schemes {
		if !strings.HasPrefix(ref.Text, "#") {
			b.fail(ref, "leads to another file: refer to it from components")
		}
	}
	if len(b.errs) > 0 {
		return nil
	}
	root := b.copy(b.root)
	for _, value := range b.added {
		at, object := nameOf(value), root
		tokens := strings.Split(b.homes[value], "/") // empty, components, group and name
		for _, token := range tokens[1:3] {
			if object.Get(token) == nil {
				empty := &document.Node{Kind: jsontext.KindBeginObject, Position: at}
				object.Members = append(object.Members, document.Member{Name: token, Value: empty, Position: at})
			}
			object = object.Get(token)
		}
		object.Members = append(object.Members, document.Member{Name: tokens[3], Value: b.content(value), Position: at})
	}
	return root
}

// nameOf returns the position of the name of a value, or of the value if it has no name.
func nameOf(n *document.Node) document.Position {
	if n.Parent() != nil {
		for _, m := range n.Parent().Members {
			if m.Value == n {
				return m.Position
			}
		}
	}
	return n.Position
}

// name records the components of a group, or the path items, and those that are references to other documents.
func (b *bundler) name(group *document.Node) {
	for _, value := range group.All() {
		b.named[value.Pointer()] = value
		ref := value.Get("$ref")
		if b.kinds[ref] == "" || len(value.Members) > 1 {
			continue
		}
		if target := b.target(ref); b.isForeign(target) && b.homes[target] == "" {
			b.homes[target], b.aliases[value] = value.Pointer(), target
			b.foreign = append(b.foreign, target)
		}
	}
}

func (b *bundler) isForeign(n *document.Node) bool {
	return n != nil && n.Position.File != b.root.Position.File
}

// target returns what a reference leads to, if need be by way of other documents whose values are only references.
func (b *bundler) target(ref *document.Node) *document.Node {
	target := b.targets[ref]
	for passed := []*document.Node{target}; b.isForeign(target) && len(target.Members) == 1; passed = append(passed, target) {
		next := b.targets[target.Get("$ref")]
		if next == nil || slices.Contains(passed, next) {
			break
		}
		target = next
	}
	return target
}

// pass finds a home for what the references in n lead to.
func (b *bundler) pass(n *document.Node) {
	if b.passed[n] {
		return
	}
	b.passed[n] = true
	if target := b.aliases[n]; target != nil {
		return
	}
	if b.kinds[n] != "" {
		b.settle(n)
	}
	if operation := n.Get("operationRef"); b.visited[visit{n, "&Link"}] && operation != nil && (b.isForeign(n) || !strings.HasPrefix(operation.Text, "#")) {
		b.fail(operation, "leads to another file, which only operationId can")
	}
	for _, m := range n.Members {
		if b.visited[visit{n, "SecurityRequirement"}] && b.root.Get("components").Get("securitySchemes").Get(m.Name) == nil {
			b.fail(n.Key(m), "must be the name of a component in a document of several files")
		}
		if !b.leftOut(n, m.Name) {
			b.pass(m.Value)
		}
	}
	for _, element := range n.Elements {
		b.pass(element)
	}
}

// leftOut reports whether the bundle lacks a member: an identifier of a schema, or definitions in another document.
func (b *bundler) leftOut(n *document.Node, name string) bool {
	switch name {
	case "$id", "$anchor", "$dynamicAnchor", "$schema":
		return b.visited[visit{n, "Schema"}]
	case "$defs", "definitions":
		return b.visited[visit{n, "Schema"}] && b.isForeign(n)
	}
	return false
}

// settle finds a home for what a reference leads to.
func (b *bundler) settle(ref *document.Node) {
	if ref == ref.Parent().Get("$dynamicRef") {
		b.fail(ref, "is not possible in a document of several files")
		return
	}
	target := b.target(ref)
	if !b.isForeign(target) || b.homes[target] != "" {
		return
	}
	name := target.Pointer()
	name = name[strings.LastIndexByte(name, '/')+1:]
	if name == "" {
		file := path.Base(target.Position.File)
		name = strings.TrimSuffix(file, path.Ext(file))
	}
	if strings.ContainsAny(name, "~%{} ") {
		b.fail(target, "has no name for a component: refer to it from components")
		return
	}
	for group, kind := range b.objects["Components"].members {
		if strings.Trim(kind, "*+-{&}") == b.kinds[ref] {
			b.homes[target] = "/components/" + group + "/" + name
		}
	}
	if other := b.named[b.homes[target]]; other != nil {
		b.fail(target, fmt.Sprintf("has the same name as %s: refer to it from components with another name", nameOf(other)))
	}
	b.named[b.homes[target]] = target
	b.foreign, b.added = append(b.foreign, target), append(b.added, target)
}

// copy copies n. Values with a home elsewhere become references to it.
func (b *bundler) copy(n *document.Node) *document.Node {
	if target := b.aliases[n]; target != nil {
		return b.content(target)
	}
	if home := b.homes[n]; home != "" {
		return &document.Node{Kind: jsontext.KindBeginObject, Position: n.Position, Members: []document.Member{
			{Name: "$ref", Value: reference(n, home), Position: n.Position},
		}}
	}
	return b.content(n)
}

// content copies n to its home.
func (b *bundler) content(n *document.Node) *document.Node {
	if b.kinds[n] != "" {
		if target := b.target(n); target != nil { // or Lenient ignores it
			return reference(n, cmp.Or(b.homes[target], target.Pointer()))
		}
	}
	if known := b.copies[n]; known != nil {
		return known
	}
	c := &document.Node{Kind: n.Kind, Text: n.Text, Position: n.Position}
	b.copies[n] = c
	for _, m := range n.Members {
		if !b.leftOut(n, m.Name) {
			c.Members = append(c.Members, document.Member{Name: m.Name, Value: b.copy(m.Value), Position: m.Position})
		}
	}
	for _, element := range n.Elements {
		c.Elements = append(c.Elements, b.copy(element))
	}
	return c
}

// reference returns a reference to a pointer.
func reference(from *document.Node, pointer string) *document.Node {
	return &document.Node{Kind: jsontext.KindString, Text: "#" + strings.ReplaceAll(pointer, "%", "%25"), Position: from.Position}
}
