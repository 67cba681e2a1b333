package validate

import (
	"errors"
	"strconv"
	"unicode"
	"unicode/utf8"

	"github.com/go-json-experiment/json/jsontext"
)

const (
	anyMember    = "/*" // stands for a name that the document does not know
	closedDetail = "must have no members but those of the document"
)

func (w *walker) object(base int) error {
	start, err := w.open(base, '{')
	if err != nil {
		return err
	}
	end := len(w.inForce)
	seen := len(w.seen)
	for i := base; i < end; i++ {
		w.inForce[i].seen = len(w.seen)
		for range (len(w.inForce[i].node.required) + 63) / 64 {
			w.seen = append(w.seen, 0)
		}
	}
	count := 0
	for ; w.from.PeekKind() != '}'; count++ {
		name, err := w.from.ReadValue()
		if err != nil {
			w.duplicate(base, end, err)
			return err
		}
		w.path = append(w.path, step{token: w.member(base, end, w.unquote(name))})
		if err := w.value(end); err != nil {
			return err
		}
		w.path = w.path[:len(w.path)-1]
		w.inForce = w.inForce[:end]
	}
	if _, err := w.from.ReadToken(); err != nil {
		return err
	}
	for i := base; i < end; i++ {
		w.closeObject(w.inForce[i], count, start)
	}
	w.seen = w.seen[:seen]
	return nil
}

// member puts in force what the nodes of an object ask of a member, and returns its token.
func (w *walker) member(base, end int, name []byte) string {
	token := ""
	for i := base; i < end; i++ {
		e := &w.inForce[i]
		e.member = e.node.members[string(name)]
		if m := e.member; m != nil {
			token = m.token
			if m.index >= 0 {
				w.seen[e.seen+m.index/64] |= 1 << (m.index % 64)
			}
			w.force(end, m.node)
		}
	}
	if token == "" {
		// encoding/json would bind the value to the known name.
		if m := w.foldedMember(base, end, name); m != nil {
			w.addBelow(m.token, "case", "must be written "+strconv.Quote(m.name))
			return anyMember
		}
		token = anyMember
	}
	for i := base; i < end; i++ {
		n, m := w.inForce[i].node, w.inForce[i].member
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
				w.force(end, p.node)
			}
		}
		if matched {
			continue
		}
		w.force(end, n.additional)
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
	ok := w.judgeScalar(n, '"', name)
	w.failures = before
	w.quiet--
	if !ok {
		w.add("propertyNames", "must have only names that the document allows")
	}
}

// foldedMember finds a known member whose name differs from name only in case.
func (w *walker) foldedMember(base, end int, name []byte) *member {
	folded := false
	for i := base; i < end; i++ {
		n := w.inForce[i].node
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

// foldName maps names that encoding/json takes for the same to the same.
func foldName(dst, name []byte) []byte {
	for _, r := range string(name) {
		// The smallest rune of the orbit stands for all of it.
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

// duplicate reports a name that occurs again in an object, if that is what err says.
func (w *walker) duplicate(base, end int, err error) {
	syntactic := (*jsontext.SyntacticError)(nil)
	if !errors.As(err, &syntactic) || !errors.Is(err, jsontext.ErrDuplicateName) {
		return
	}
	token, name := "", syntactic.JSONPointer.LastToken()
	for i := base; i < end; i++ {
		if m := w.inForce[i].node.members[name]; m != nil {
			token = m.token
		}
	}
	w.addBelow(token, "duplicate", "must not occur more than once")
}
