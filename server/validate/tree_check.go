package validate

import (
	"slices"
	"strconv"

	"github.com/go-json-experiment/json/jsontext"
)

// treeChecker checks a value in memory, for schemas that must evaluate a value more than once. It caches the
// result of checking a nested container against a shared node. Otherwise, recursive alternatives would double
// the work at each level of nesting.
type treeChecker struct {
	*walker
	tree
	known     map[checkKey]cachedResult
	evaluated map[checkKey]indexSet
	names     map[int]*member // names of members that a schema declares
	folded    map[int]*member // names of members that differ only in case from a declared one
}

// checkKey identifies the check of a value against a shared node, with or without reporting.
type checkKey uint64

func (j *treeChecker) key(v int, n *node) checkKey {
	key := checkKey(v)<<32 | checkKey(n.id)<<1
	if j.quiet > 0 {
		key |= 1
	}
	return key
}

// cachedResult is the stored result of a check. It is small because there can be many.
type cachedResult uint8

const (
	passed cachedResult = 1 << iota
	collected
)

// result is the result of a check.
type result struct {
	ok   bool
	seen indexSet // evaluated members or elements, if collected
}

// indexSet is a set of indexes of members or elements.
type indexSet []uint64

func (m *indexSet) set(i int) {
	for len(*m) <= i/64 {
		*m = append(*m, 0)
	}
	(*m)[i/64] |= 1 << (i % 64)
}

func (m *indexSet) has(i int) bool { return i/64 < len(*m) && (*m)[i/64]&(1<<(i%64)) != 0 }

func (m *indexSet) add(other indexSet) {
	for len(*m) < len(other) {
		*m = append(*m, 0)
	}
	for i, bits := range other {
		(*m)[i] |= bits
	}
}

// checkTree checks the JSON value text against the active nodes from base on.
func (w *walker) checkTree(text []byte, base int) {
	j := &treeChecker{walker: w, tree: readTree(text)}
	w.work += len(text)
	for i := base; i < len(w.active); i++ {
		j.check(0, w.active[i].node, false)
	}
	if j.folded != nil {
		j.rejectCase(0)
	}
}

// checkScalarTree checks a scalar that is not part of a JSON text. A string is given without quotes and
// escapes.
func (w *walker) checkScalarTree(n *node, kind jsontext.Kind, text []byte) bool {
	j := &treeChecker{walker: w, tree: tree{text: text, values: []value{{kind: kind, end: uint32(len(text)), size: 1}}}}
	return j.check(0, n, false).ok
}

// rejectCase reports names that differ only in case from one that a schema declares. encoding/json would
// decode them as that member.
func (j *treeChecker) rejectCase(v int) {
	count := 0
	for at := v + 1; at < j.next(v) && j.isContainer(v); at = j.next(at) {
		s := step{index: count}
		if j.values[v].kind == '{' {
			if m := j.folded[at]; m != nil && j.names[at] == nil {
				j.addBelow(m.token, "case", "must be written "+strconv.Quote(m.name))
			}
			s.token = j.token(at)
			at++
		}
		j.path = append(j.path, s)
		j.rejectCase(at)
		j.path = j.path[:len(j.path)-1]
		count++
	}
}

// token returns the JSON pointer token for a name.
func (j *treeChecker) token(name int) string {
	if m := j.names[name]; m != nil {
		return m.token
	}
	return anyMember
}

// declare records that a schema declares a name.
func (j *treeChecker) declare(name int, m *member) {
	if j.names == nil {
		j.names = make(map[int]*member)
	}
	j.names[name] = m
}

// checkQuietly is check without reporting violations.
func (j *treeChecker) checkQuietly(v int, n *node, collect bool) result {
	j.quiet++
	before := j.failures
	found := j.check(v, n, collect)
	j.failures = before
	j.quiet--
	return found
}

// check checks v against n. If collect is set, the result has the members or elements that n evaluates.
func (j *treeChecker) check(v int, n *node, collect bool) result {
	if n == nil {
		return result{ok: true}
	}
	remember := n.id != 0 && j.values[v].nested
	key := j.key(v, n)
	if known, ok := j.known[key]; remember && ok && (known&collected != 0 || !collect || known&passed == 0) {
		if known&passed == 0 {
			j.failures++
		}
		return result{ok: known&passed != 0, seen: j.evaluated[key]}
	}
	j.work++
	t := nodeCheck{treeChecker: j, v: v, kind: j.values[v].kind, n: n, collect: collect, before: j.failures}
	t.run()
	found := result{ok: j.failures == t.before, seen: t.seen}
	if remember {
		j.remember(key, found, t.collect)
	}
	return found
}

func (j *treeChecker) remember(key checkKey, found result, collect bool) {
	known := cachedResult(0)
	if found.ok {
		known |= passed
	}
	if collect {
		known |= collected
	}
	if j.known == nil {
		j.known, j.evaluated = make(map[checkKey]cachedResult), make(map[checkKey]indexSet)
	}
	j.known[key] = known
	if len(found.seen) > 0 {
		j.evaluated[key] = found.seen
	}
}

// nodeCheck is one check of a value against a node.
type nodeCheck struct {
	*treeChecker
	v       int
	kind    jsontext.Kind
	n       *node
	collect bool
	seen    indexSet
	before  int
}

// decided reports whether the result cannot change any more, so that the rest can be skipped. While
// violations are reported, nothing is skipped.
func (t *nodeCheck) decided() bool { return t.quiet > 0 && t.failures > t.before }

func (t *nodeCheck) run() {
	n, scalar := t.n, []byte(nil)
	t.collect = t.collect || n.unevaluated(t.kind) != nil
	if !t.isContainer(t.v) {
		scalar = t.content(t.v)
	}
	if !t.begin(n, t.kind, scalar) {
		return
	}
	switch t.kind {
	case '"':
		t.checkString(n, scalar)
	case '0':
		t.checkNumber(n, scalar)
	case '{':
		t.object()
	case '[':
		t.array()
	}
	for _, l := range n.literals {
		if t.decided() {
			return
		}
		text, ok := t.appendCanonical(t.scratch[:0], t.v, l.depth)
		t.scratch = text
		if !ok {
			text = text[:0]
		}
		t.checkLiteral(l, text)
	}
	t.inPlace()
	if rest := n.unevaluated(t.kind); rest != nil && !t.decided() {
		t.unevaluated(rest)
	}
}

// checkAlso checks the value against another schema and adds what that schema evaluates.
func (t *nodeCheck) checkAlso(n *node) {
	if !t.decided() {
		t.seen.add(t.check(t.v, n, t.collect).seen)
	}
}

func (t *nodeCheck) inPlace() {
	n := t.n
	for _, other := range n.allOf {
		t.checkAlso(other)
	}
	for _, u := range n.unions {
		if !t.decided() {
			t.union(u)
		}
	}
	if n.not != nil && !t.decided() && t.checkQuietly(t.v, n.not, false).ok {
		t.add("not", "must not match what the document excludes")
	}
	if n.condition != nil && !t.decided() {
		found := t.checkQuietly(t.v, n.condition.when, t.collect)
		if found.ok {
			t.seen.add(found.seen)
			t.checkAlso(n.condition.then)
		} else {
			t.checkAlso(n.condition.otherwise)
		}
	}
}

func (t *nodeCheck) union(u *union) {
	if !u.general {
		t.checkAlso(t.pick(u))
		return
	}
	matches := 0
	for _, n := range u.alternatives {
		if matches > 0 && u.keyword == "anyOf" && !t.collect {
			break
		}
		if found := t.checkQuietly(t.v, n, t.collect); found.ok {
			matches++
			t.seen.add(found.seen)
		}
	}
	switch {
	case matches == 1 || matches > 1 && u.keyword == "anyOf":
	case matches > 1:
		t.add(u.keyword, "must match one alternative of the document, and matches several")
	default:
		if likely := t.likely(u); likely != nil && t.quiet == 0 {
			t.check(t.v, likely, false)
			return
		}
		t.add(u.keyword, "must match an alternative of the document")
	}
}

// pick is walker.choose for a value in memory.
func (t *nodeCheck) pick(u *union) *node {
	for _, alternative := range u.byType {
		if alternative.types.allow(t.kind, nil) {
			return alternative.node
		}
	}
	if u.by == nil || t.kind != '{' {
		t.add("type", "must be "+u.types.String())
		return nil
	}
	name := t.find(t.v, u.by.name)
	if name < 0 {
		t.addBelow(u.by.token, "required", "is required")
		return nil
	}
	t.declare(name, u.by)
	n := u.byValue[string(t.content(name+1))]
	if t.values[name+1].kind != '"' || n == nil {
		t.addBelow(u.by.token, u.keyword, "must be one of "+u.values)
		return nil
	}
	return n
}

// likely returns the alternative that the value was probably meant to match: the one that the discriminator
// names, or the only one of its type. It returns nil if there is none.
func (t *nodeCheck) likely(u *union) *node {
	if name := t.find(t.v, u.hint); u.hint != "" && name >= 0 && t.values[name+1].kind == '"' {
		if n := u.byHint[string(t.content(name+1))]; n != nil {
			return n
		}
	}
	var likely *node
	for i, n := range u.alternatives {
		if !u.typesOf[i].allow(t.kind, nil) {
			continue
		}
		if likely != nil {
			return nil
		}
		likely = n
	}
	return likely
}

// propagateTrees computes which values each node needs in memory, and in which directions required members
// may be missing.
func (c *compiler) propagateTrees() {
	done := make(map[*node]bool)
	var visit func(n *node)
	visit = func(n *node) {
		if n == nil || done[n] {
			return
		}
		done[n] = true
		for inner := range n.inPlace() {
			if visit(inner); inner != nil {
				n.tree |= inner.tree
			}
		}
		if slices.ContainsFunc(n.unions, func(u *union) bool { return u.general }) || n.not != nil || n.condition != nil {
			n.tree = ^kinds(0)
		}
	}
	for _, p := range c.order {
		visit(p.node)
	}
	for i, p := range c.order {
		if p.node.shared {
			p.node.id = uint32(i + 1)
		}
	}
	for _, p := range c.order {
		for _, m := range p.node.required {
			m.exempt = m.node.exempt()
		}
	}
}

// exempt returns the directions in which a value of n is not sent.
func (n *node) exempt() direction {
	if n == nil || n.forbidden == always {
		return 0
	}
	d := n.forbidden
	for _, other := range n.allOf {
		d |= other.exempt()
	}
	return d
}
