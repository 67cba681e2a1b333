package schema

import (
	"errors"
	"maps"
	"slices"
	"strconv"
	"unicode"
	"unicode/utf8"

	"github.com/avatarstudio/avatarstudio/server/validate/internal/document"
)

// AnyMember replaces names that are not in the document, which violations must not contain.
const AnyMember = "/*"

const (
	closedDetail = "must have no members but those of the document"
	// fewMembers is the number of members that are always read, to report all violations of small objects.
	fewMembers = 100
)

// member is a member that a schema declares or requires.
type member struct {
	token    string // "/" and the name, escaped for a JSON pointer
	name     string
	declared bool  // in properties, and not only in required
	node     *Node // nil if any value is allowed
	index    int   // in required, or -1 if optional
}

func newMember(name string) *member {
	return &member{token: "/" + document.Escape(name), name: name, index: -1}
}

// member returns the member with the given name, and creates it if necessary.
func (n *Node) member(name string) *member {
	m := n.members[name]
	if m == nil {
		if n.members == nil {
			n.members = make(map[string]*member)
		}
		m = newMember(name)
		n.members[name] = m
	}
	return m
}

// patternMembers is one entry of patternProperties.
type patternMembers struct {
	pattern *pattern
	node    *Node
}

// dependent is one entry of dependentRequired or dependentSchemas.
type dependent struct {
	name     string
	required []*member
	node     *Node
}

func (c *Compiler) objects(s *scope, n *Node, source *document.Node) {
	n.size = sizeOf(source, "Properties", "members")
	n.additional = c.given(s, source.Get("additionalProperties"))
	properties, required := source.Get("properties"), source.Get("required")
	if properties != nil {
		for _, property := range properties.Members {
			m := n.member(property.Name)
			m.declared = true
			m.node = c.schemaIn(s, property.Value)
		}
	}
	if required != nil {
		for _, name := range required.Elements {
			m := n.member(name.Text)
			if m.index >= 0 {
				c.Fail(name, "occurs more than once")
				continue
			}
			m.index = len(n.required)
			n.required = append(n.required, m)
		}
	}
	if properties != nil && len(properties.Members) > 0 {
		n.folded = make(map[string]*member, len(n.members))
		for _, name := range slices.Sorted(maps.Keys(n.members)) {
			n.folded[string(foldName(nil, []byte(name)))] = n.members[name]
		}
	}
}

// moreObjects compiles the rarer object keywords.
func (c *Compiler) moreObjects(s *scope, n *Node, source *document.Node) {
	if patterns := source.Get("patternProperties"); patterns != nil {
		for _, m := range patterns.Members {
			if compiled := c.pattern(patterns.Key(m)); compiled != nil {
				n.patterns = append(n.patterns, patternMembers{compiled, c.schemaIn(s, m.Value)})
			}
		}
	}
	n.names = c.schemaIn(s, source.Get("propertyNames"))
	for name, list := range source.Get("dependentRequired").All() {
		d := dependent{name: name}
		for _, required := range list.Elements {
			d.required = append(d.required, newMember(required.Text))
		}
		n.dependents = append(n.dependents, d)
	}
	for name, schema := range source.Get("dependentSchemas").All() {
		n.dependents = append(n.dependents, dependent{name: name, node: c.schemaIn(s, schema)})
	}
	n.unevaluatedProperties = c.given(s, source.Get("unevaluatedProperties"))
}

// object checks an object against the active nodes from base on.
func (w *Walker) object(v, base int) {
	end, seen, isOpen := len(w.active), len(w.seen), w.tape.isOpen(v)
	var size *Size // that with the smallest maxProperties
	for i := base; i < end; i++ {
		n := w.active[i].node
		if n.size != nil && (size == nil || n.size.most < size.most) {
			size = n.size
		}
		w.active[i].seen = len(w.seen)
		for range (len(n.required) + 63) / 64 {
			w.seen = append(w.seen, 0)
		}
		if n.unevaluatedProperties != nil && !isOpen {
			w.active[i].evaluated = w.evaluated(v, n, base)
		}
	}
	count := 0
	for name := v + 1; name < w.tape.next(v) && !w.done; name = w.tape.nextName(name) {
		if size != nil && uint64(count) == max(size.most, fewMembers) {
			w.checkSize(size, count+1)
			w.done = true
			if w.quiet == 0 {
				w.tape.err = nil // the rest of the text does not matter
			}
			return
		}
		if name == len(w.tape.values)-1 { // its value is missing
			w.checkDuplicate(base, end, name)
			break
		}
		token := w.member(base, end, name, count, isOpen)
		w.inside(step{token: token}, name+1, end)
		count++
	}
	w.done = w.done || isOpen
	for i := base; i < end && !w.done; i++ {
		w.closeObject(&w.active[i], w.active[w.first(base):end], v, count)
	}
	w.seen = w.seen[:seen]
}

// member activates the schemas that the nodes of an object have for the member at an index, and returns the
// JSON pointer token of the member.
func (w *Walker) member(base, end, at, index int, isOpen bool) string {
	name, token := w.tape.string(at), ""
	for i := base; i < end; i++ {
		m := w.active[i].node.members[string(name)]
		w.active[i].member = m
		if m != nil {
			token = m.token
			if m.index >= 0 {
				w.seen[w.active[i].seen+m.index/64] |= 1 << (m.index % 64)
			}
			w.activate(end, m.node)
		}
	}
	if token == "" {
		token = AnyMember
		if w.quiet == 0 { // a wrong case does not change what JSON Schema says
			// encoding/json would decode the value into the declared member.
			if m := w.foldedMember(base, end, name); m != nil {
				w.addBelow(m.token, "case", "must be written "+strconv.Quote(m.name))
				return token
			}
		}
	}
	for i := base; i < end; i++ {
		n, m := w.active[i].node, w.active[i].member
		if n.names != nil && !w.matches(at, n.names) {
			w.Add("propertyNames", "must have only names that the document allows")
		}
		matched := m != nil && m.declared
		for _, p := range n.patterns {
			if p.pattern.Match(name) {
				matched = true
				w.activate(end, p.node)
			}
		}
		switch {
		case matched:
		case n.additional.isClosed():
			w.Add("additionalProperties", closedDetail)
		default:
			w.activate(end, n.additional)
		}
		if u := n.unevaluatedProperties; u != nil && !isOpen && !(*w.active[i].evaluated)[index] {
			if u.isClosed() {
				w.Add("unevaluatedProperties", closedDetail)
			} else {
				w.activate(end, u)
			}
		}
	}
	return token
}

// foldedMember returns a declared member whose name differs from name only in case, or nil.
func (w *Walker) foldedMember(base, end int, name []byte) *member {
	folded := false
	for i := base; i < end; i++ {
		n := w.active[i].node
		if len(n.folded) == 0 {
			continue
		}
		if !folded {
			w.scratch = foldName(w.scratch[:0], name)
			folded = true
		}
		if m := n.folded[string(w.scratch)]; m != nil {
			return m
		}
	}
	return nil
}

// foldName returns the same text for all names that encoding/json treats as equal.
func foldName(dst, name []byte) []byte {
	for _, r := range string(name) {
		// The smallest rune of a folding orbit represents all of them.
		for next := unicode.SimpleFold(r); ; r, next = next, unicode.SimpleFold(next) {
			if next <= r {
				r = next
				break
			}
		}
		dst = utf8.AppendRune(dst, r)
	}
	return dst
}

// closeObject checks an object against one of its nodes after all members have been read.
func (w *Walker) closeObject(e *entry, nodes []entry, v, count int) {
	n := e.node
	for i, m := range n.required {
		if !w.done && w.seen[e.seen+i/64]&(1<<(i%64)) == 0 && !w.isUnsent(nodes, m.name) {
			w.addBelow(m.token, "required", "is required")
		}
	}
	w.checkSize(n.size, count)
	for _, d := range n.dependents {
		if len(d.required) == 0 || w.tape.find(v, d.name) < 0 {
			continue
		}
		for _, m := range d.required {
			if w.tape.find(v, m.name) < 0 && !w.isUnsent(nodes, m.name) {
				w.addBelow(m.token, "dependentRequired", "is required")
			}
		}
	}
	w.checkLiterals(n, v)
}

// checkDuplicate reports a name at the end of the tape if it is a duplicate.
func (w *Walker) checkDuplicate(base, end, at int) {
	if !errors.Is(w.tape.err, errDuplicate) {
		return
	}
	token, name := "", w.tape.string(at)
	for _, e := range w.active[base:end] {
		if m := e.node.members[string(name)]; m != nil {
			token = m.token
		}
	}
	w.addBelow(token, "duplicate", "must not occur more than once")
}
