package validate

import (
	"errors"
	"strconv"
	"unicode"
	"unicode/utf8"

	"github.com/go-json-experiment/json/jsontext"
)

const (
	anyMember    = "/*" // replaces names that are not in the document
	closedDetail = "must have no members but those of the document"
	// fewMembers is the number of members that are always read, to report all violations of small objects.
	fewMembers = 100
)

func (w *walker) object(base int) error {
	start, err := w.open(base, '{')
	if err != nil {
		return err
	}
	end := len(w.active)
	seen := len(w.seen)
	for i := base; i < end; i++ {
		w.active[i].seen = len(w.seen)
		for range (len(w.active[i].node.required) + 63) / 64 {
			w.seen = append(w.seen, 0)
		}
	}
	most := w.mostMembers(base, end)
	count := 0
	for ; w.tokens.PeekKind() != '}'; count++ {
		if most.set && uint64(count) == max(most.n, fewMembers) {
			w.checkRange(uint64(count)+1, limit{}, most, "", "maxProperties", "members")
			return errEnough
		}
		name, err := w.tokens.ReadValue()
		if err != nil {
			w.duplicate(base, end, err)
			return err
		}
		w.path = append(w.path, step{token: w.member(base, end, w.unquote(name))})
		if err := w.value(end); err != nil {
			return err
		}
		w.path = w.path[:len(w.path)-1]
		w.active = w.active[:end]
	}
	if _, err := w.tokens.ReadToken(); err != nil {
		return err
	}
	for i := base; i < end; i++ {
		w.closeObject(w.active[i], count, start)
	}
	w.seen = w.seen[:seen]
	return nil
}

// mostMembers returns the smallest maxProperties of the active nodes.
func (w *walker) mostMembers(base, end int) (most limit) {
	for _, e := range w.active[base:end] {
		if l := e.node.maxProps; l.set && (!most.set || l.n < most.n) {
			most = l
		}
	}
	return most
}

// member activates the schemas that the nodes of an object have for a member, and returns the JSON pointer
// token of the member.
func (w *walker) member(base, end int, name []byte) string {
	token := ""
	for i := base; i < end; i++ {
		e := &w.active[i]
		e.member = e.node.members[string(name)]
		if m := e.member; m != nil {
			token = m.token
			if m.index >= 0 {
				w.seen[e.seen+m.index/64] |= 1 << (m.index % 64)
			}
			w.activate(end, m.node)
		}
	}
	if token == "" {
		// encoding/json would decode the value into the declared member.
		if m := w.foldedMember(base, end, name); m != nil {
			w.addBelow(m.token, "case", "must be written "+strconv.Quote(m.name))
			return anyMember
		}
		token = anyMember
	}
	for i := base; i < end; i++ {
		n, m := w.active[i].node, w.active[i].member
		if n.names != nil {
			w.checkName(n.names, name)
		}
		if n.additional == nil && !n.closed && n.patterns == nil {
			continue
		}
		matched := m != nil && m.declared
		for _, p := range n.patterns {
			if p.pattern.Match(name) {
				matched = true
				w.activate(end, p.node)
			}
		}
		if matched {
			continue
		}
		w.activate(end, n.additional)
		if n.closed {
			w.add("additionalProperties", closedDetail)
		}
	}
	return token
}

// checkName checks a name against propertyNames.
func (w *walker) checkName(n *node, name []byte) {
	w.quiet++
	before := w.failures
	ok := w.checkScalarTree(n, '"', name)
	w.failures = before
	w.quiet--
	if !ok {
		w.add("propertyNames", "must have only names that the document allows")
	}
}

// foldedMember returns a declared member whose name differs from name only in case, or nil.
func (w *walker) foldedMember(base, end int, name []byte) *member {
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

func (w *walker) closeObject(e entry, count int, start int64) {
	n := e.node
	for i, m := range n.required {
		if w.seen[e.seen+i/64]&(1<<(i%64)) == 0 && m.exempt&w.direction == 0 {
			w.addBelow(m.token, "required", "is required")
		}
	}
	w.checkRange(uint64(count), n.minProps, n.maxProps, "minProperties", "maxProperties", "members")
	w.closeLiterals(n, start)
}

// duplicate reports a duplicate name if err is an error about one.
func (w *walker) duplicate(base, end int, err error) {
	syntactic := (*jsontext.SyntacticError)(nil)
	if !errors.As(err, &syntactic) || !errors.Is(err, jsontext.ErrDuplicateName) {
		return
	}
	token, name := "", syntactic.JSONPointer.LastToken()
	for i := base; i < end; i++ {
		if m := w.active[i].node.members[name]; m != nil {
			token = m.token
		}
	}
	w.addBelow(token, "duplicate", "must not occur more than once")
}
