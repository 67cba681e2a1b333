package validate

import (
	"slices"
	"strconv"

	"github.com/go-json-experiment/json/jsontext"
)

// judge checks a value in memory, for the sake of schemas that need to look at it more than once.
// A container that has others is checked against a schema once, or alternatives that lead to
// themselves would double the work at each level.
type judge struct {
	*walker
	tree
	known  map[judged]outcome
	marks  map[judged]marks
	names  map[int]*member // names that a schema knows
	folded map[int]*member // names that differ in case from one that a schema knows
}

// judged is a value, a node that several schemas lead to, and whether it was quiet.
type judged uint64

func (j *judge) key(v int, n *node) judged {
	key := judged(v)<<32 | judged(n.id)<<1
	if j.quiet > 0 {
		key |= 1
	}
	return key
}

// outcome is a set of what is known of something judged. It is small, for there can be many.
type outcome uint8

const (
	passed outcome = 1 << iota
	collected
)

// verdict is what came of a check.
type verdict struct {
	ok   bool
	seen marks // when collected
}

// marks are the members or elements that a schema has evaluated, by their place in the container.
type marks []uint64

func (m *marks) set(i int) {
	for len(*m) <= i/64 {
		*m = append(*m, 0)
	}
	(*m)[i/64] |= 1 << (i % 64)
}

func (m *marks) has(i int) bool { return i/64 < len(*m) && (*m)[i/64]&(1<<(i%64)) != 0 }

func (m *marks) add(other marks) {
	for len(*m) < len(other) {
		*m = append(*m, 0)
	}
	for i, bits := range other {
		(*m)[i] |= bits
	}
}

// judge checks the value of a text against the nodes in force from base on.
func (w *walker) judge(text []byte, base int) {
	j := &judge{walker: w, tree: readTree(text)}
	w.work += len(text)
	for i := base; i < len(w.inForce); i++ {
		j.check(0, w.inForce[i].node, false)
	}
	if j.folded != nil {
		j.refuseCase(0)
	}
}

// judgeScalar checks a scalar that is not in a text, a string without quotes and escapes.
func (w *walker) judgeScalar(n *node, kind jsontext.Kind, text []byte) bool {
	j := &judge{walker: w, tree: tree{text: text, values: []value{{kind: kind, end: uint32(len(text)), size: 1}}}}
	return j.check(0, n, false).ok
}

// refuseCase reports the names that differ only in case from one that a schema knows, which
// encoding/json would take for it.
func (j *judge) refuseCase(v int) {
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
		j.refuseCase(at)
		j.path = j.path[:len(j.path)-1]
		count++
	}
}

// token returns what stands for a name in a pointer.
func (j *judge) token(name int) string {
	if m := j.names[name]; m != nil {
		return m.token
	}
	return anyMember
}

// know notes that a schema knows a name.
func (j *judge) know(name int, m *member) {
	if j.names == nil {
		j.names = make(map[int]*member)
	}
	j.names[name] = m
}

// try is check without a report.
func (j *judge) try(v int, n *node, collect bool) verdict {
	j.quiet++
	before := j.failures
	found := j.check(v, n, collect)
	j.failures = before
	j.quiet--
	return found
}

// check checks v against n. It collects what n evaluates when somebody wants to know.
func (j *judge) check(v int, n *node, collect bool) verdict {
	if n == nil {
		return verdict{ok: true}
	}
	remember := n.id != 0 && j.values[v].tall
	key := j.key(v, n)
	if known, ok := j.known[key]; remember && ok && (known&collected != 0 || !collect || known&passed == 0) {
		if known&passed == 0 {
			j.failures++
		}
		return verdict{ok: known&passed != 0, seen: j.marks[key]}
	}
	j.work++
	t := trial{judge: j, v: v, kind: j.values[v].kind, n: n, collect: collect, before: j.failures}
	t.run()
	found := verdict{ok: j.failures == t.before, seen: t.seen}
	if remember {
		j.remember(key, found, t.collect)
	}
	return found
}

func (j *judge) remember(key judged, found verdict, collect bool) {
	known := outcome(0)
	if found.ok {
		known |= passed
	}
	if collect {
		known |= collected
	}
	if j.known == nil {
		j.known, j.marks = make(map[judged]outcome), make(map[judged]marks)
	}
	j.known[key] = known
	if len(found.seen) > 0 {
		j.marks[key] = found.seen
	}
}

// trial is one check of a value against a node.
type trial struct {
	*judge
	v       int
	kind    jsontext.Kind
	n       *node
	collect bool
	seen    marks
	before  int
}

// lost reports whether nothing that follows can matter.
func (t *trial) lost() bool { return t.quiet > 0 && t.failures > t.before }

func (t *trial) run() {
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
		if t.lost() {
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
	if rest := n.unevaluated(t.kind); rest != nil && !t.lost() {
		t.unevaluated(rest)
	}
}

// also adds what another schema has evaluated.
func (t *trial) also(n *node) {
	if !t.lost() {
		t.seen.add(t.check(t.v, n, t.collect).seen)
	}
}

func (t *trial) inPlace() {
	n := t.n
	for _, other := range n.allOf {
		t.also(other)
	}
	for _, u := range n.unions {
		if !t.lost() {
			t.union(u)
		}
	}
	if n.not != nil && !t.lost() && t.try(t.v, n.not, false).ok {
		t.add("not", "must not match what the document excludes")
	}
	if n.condition != nil && !t.lost() {
		found := t.try(t.v, n.condition.when, t.collect)
		if found.ok {
			t.seen.add(found.seen)
			t.also(n.condition.then)
		} else {
			t.also(n.condition.otherwise)
		}
	}
}

func (t *trial) union(u *union) {
	if !u.general {
		t.also(t.pick(u))
		return
	}
	matches := 0
	for _, n := range u.alternatives {
		if matches > 0 && u.keyword == "anyOf" && !t.collect {
			break
		}
		if found := t.try(t.v, n, t.collect); found.ok {
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
func (t *trial) pick(u *union) *node {
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
	t.know(name, u.by)
	n := u.byValue[string(t.content(name+1))]
	if t.values[name+1].kind != '"' || n == nil {
		t.addBelow(u.by.token, u.keyword, "must be one of "+u.values)
		return nil
	}
	return n
}

// likely returns the alternative that a value was probably meant to be: the one that the
// discriminator names, or the only one of its type.
func (t *trial) likely(u *union) *node {
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

// closeTrees finds which values each node needs in memory, and which members need not be given
// in a direction.
func (c *compiler) closeTrees() {
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
	if n == nil || n.barred == always {
		return 0
	}
	d := n.barred
	for _, also := range n.allOf {
		d |= also.exempt()
	}
	return d
}
