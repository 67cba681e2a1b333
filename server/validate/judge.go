package validate

import (
	"slices"
	"strconv"
)

// judge checks a value in memory, for the sake of schemas that need to look at it more than once.
// A value is checked against a schema once, or alternatives that lead to themselves would double
// the work at each level.
type judge struct {
	*walker
	known map[judged]verdict
	fold  bool // some name differs in case from one that a schema knows
}

type judged struct {
	value *value
	node  *node
	quiet bool
}

// verdict is what came of it.
type verdict struct {
	ok        bool
	seen      marks // when collected
	collected bool
}

// marks are the members or elements that a schema has evaluated.
type marks []uint64

func (m *marks) set(i int) {
	for len(*m) <= i/64 {
		*m = append(*m, 0)
	}
	(*m)[i/64] |= 1 << (i % 64)
}

func (m marks) has(i int) bool { return i/64 < len(m) && m[i/64]&(1<<(i%64)) != 0 }

func (m *marks) add(other marks) {
	for len(*m) < len(other) {
		*m = append(*m, 0)
	}
	for i, bits := range other {
		(*m)[i] |= bits
	}
}

// judge checks the value of a text against the nodes in force from base on.
func (w *walker) judge(text []byte, base int) error {
	var v value
	w.resetAhead(text)
	if err := w.readValue(&v); err != nil {
		return err
	}
	w.work += len(text)
	j := &judge{walker: w, known: make(map[judged]verdict)}
	for i := base; i < len(w.inForce); i++ {
		j.check(&v, w.inForce[i].node, false)
	}
	if j.fold {
		j.refuseCase(&v)
	}
	return nil
}

// refuseCase reports the names that differ only in case from one that a schema knows, which
// encoding/json would take for it.
func (j *judge) refuseCase(v *value) {
	for i := range v.elements {
		j.path = append(j.path, step{index: i})
		j.refuseCase(&v.elements[i])
		j.path = j.path[:len(j.path)-1]
	}
	for i := range v.members {
		m := &v.members[i]
		if m.folded != nil && m.token == anyMember {
			j.addBelow(m.folded.token, "case", "must be written "+strconv.Quote(m.folded.name))
		}
		j.path = append(j.path, step{token: m.token})
		j.refuseCase(&m.value)
		j.path = j.path[:len(j.path)-1]
	}
}

// try is check without a report.
func (j *judge) try(v *value, n *node, collect bool) verdict {
	j.quiet++
	before := j.failures
	found := j.check(v, n, collect)
	j.failures = before
	j.quiet--
	return found
}

// check checks v against n. It collects what n evaluates when somebody wants to know.
func (j *judge) check(v *value, n *node, collect bool) verdict {
	if n == nil {
		return verdict{ok: true}
	}
	key := judged{v, n, j.quiet > 0}
	container := v.kind == '{' || v.kind == '['
	if container {
		if known, ok := j.known[key]; ok && (known.collected || !collect || !known.ok) {
			if !known.ok {
				j.failures++
			}
			return known
		}
	}
	j.work++
	t := trial{judge: j, v: v, n: n, collect: collect, before: j.failures}
	t.run()
	found := verdict{ok: j.failures == t.before, seen: t.seen, collected: t.collect}
	if container {
		j.known[key] = found
	}
	return found
}

// trial is one check of a value against a node.
type trial struct {
	*judge
	v       *value
	n       *node
	collect bool
	seen    marks
	before  int
}

// lost reports whether nothing that follows can matter.
func (t *trial) lost() bool { return t.quiet > 0 && t.failures > t.before }

func (t *trial) run() {
	n := t.n
	t.collect = t.collect || n.unevaluated(t.v.kind) != nil
	if !t.begin(n, t.v.kind, t.v.text) {
		return
	}
	switch t.v.kind {
	case '"':
		t.checkString(n, t.v.text)
	case '0':
		t.checkNumber(n, t.v.text)
	case '{':
		t.object()
	case '[':
		t.array()
	}
	for _, l := range n.literals {
		if t.lost() {
			return
		}
		text, ok := t.v.appendCanonical(t.scratch[:0], l.depth)
		t.scratch = text
		if !ok {
			text = text[:0]
		}
		t.checkLiteral(l, text)
	}
	t.inPlace()
	if rest := n.unevaluated(t.v.kind); rest != nil && !t.lost() {
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
	switch {
	case !u.general:
		t.also(t.pick(u))
		return
	case u.keyword == "anyOf":
		if t.anyOf(u) {
			return
		}
	default:
		matches := 0
		for _, n := range u.alternatives {
			if found := t.try(t.v, n, t.collect); found.ok {
				matches++
				t.seen.add(found.seen)
			}
		}
		if matches == 1 {
			return
		}
		if matches > 1 {
			t.add(u.keyword, "must match one alternative of the document, and matches several")
			return
		}
	}
	if likely := u.likely(t.v); likely != nil && t.quiet == 0 {
		t.check(t.v, likely, false)
		return
	}
	t.add(u.keyword, "must match an alternative of the document")
}

func (t *trial) anyOf(u *union) bool {
	matched := false
	for _, n := range u.alternatives {
		found := t.try(t.v, n, t.collect)
		if found.ok {
			t.seen.add(found.seen)
			matched = true
			if !t.collect {
				break
			}
		}
	}
	return matched
}

// pick is walker.choose for a value in memory.
func (t *trial) pick(u *union) *node {
	for _, alternative := range u.byType {
		if alternative.types.allow(t.v.kind, nil) {
			return alternative.node
		}
	}
	if u.by == nil || t.v.kind != '{' {
		t.add("type", "must be "+u.types.String())
		return nil
	}
	m := t.v.find(u.by.name)
	if m == nil {
		t.addBelow(u.by.token, "required", "is required")
		return nil
	}
	m.token = u.by.token
	n := u.byValue[string(m.value.text)]
	if m.value.kind != '"' || n == nil {
		t.addBelow(u.by.token, u.keyword, "must be one of "+u.values)
		return nil
	}
	return n
}

// likely returns the alternative that a value was probably meant to be: the one that the
// discriminator names, or the only one of its type.
func (u *union) likely(v *value) *node {
	if m := v.find(u.hint); u.hint != "" && m != nil && m.value.kind == '"' {
		if n := u.byHint[string(m.value.text)]; n != nil {
			return n
		}
	}
	var likely *node
	for i, n := range u.alternatives {
		if !u.typesOf[i].allow(v.kind, nil) {
			continue
		}
		if likely != nil {
			return nil
		}
		likely = n
	}
	return likely
}

// evaluated notes a member or an element.
func (t *trial) evaluated(i int) {
	if t.collect {
		t.seen.set(i)
	}
}

// below checks a member or an element against a node.
func (t *trial) below(s step, v *value, n *node) {
	if n == nil || t.lost() {
		return
	}
	t.path = append(t.path, s)
	t.check(v, n, false)
	t.path = t.path[:len(t.path)-1]
}

func (t *trial) array() {
	n := t.n
	for i := range t.v.elements {
		item, evaluated := n.items, n.hasItems
		if i < len(n.prefix) {
			item, evaluated = n.prefix[i], true
		}
		if evaluated {
			t.evaluated(i)
		}
		t.below(step{index: i}, &t.v.elements[i], item)
	}
	t.checkRange(uint64(len(t.v.elements)), n.minItems, n.maxItems, "minItems", "maxItems", "elements")
	if n.contains != nil && !t.lost() {
		t.contains(n.contains)
	}
	if n.unique && !t.lost() && t.v.repeats() {
		t.add("uniqueItems", "must not have equal elements")
	}
}

func (t *trial) contains(c *contains) {
	count := uint64(0)
	for i := range t.v.elements {
		if t.try(&t.v.elements[i], c.node, false).ok {
			count++
			t.evaluated(i)
		}
	}
	keyword := "contains"
	if c.least.set {
		keyword = "minContains"
	}
	least := c.least
	if !least.set {
		least = limit{1, true}
	}
	t.checkRange(count, least, c.most, keyword, "maxContains", "matching elements")
}

func (t *trial) object() {
	n := t.n
	for i := range t.v.members {
		if t.lost() {
			return
		}
		t.member(i, &t.v.members[i])
	}
	for _, m := range n.required {
		if m.exempt&t.direction == 0 && t.v.find(m.name) == nil {
			t.addBelow(m.token, "required", "is required")
		}
	}
	t.checkRange(uint64(len(t.v.members)), n.minProps, n.maxProps, "minProperties", "maxProperties", "members")
	for _, d := range n.dependents {
		if t.v.find(d.name) == nil {
			continue
		}
		for _, m := range d.required {
			if t.v.find(m.name) == nil {
				t.addBelow(m.token, "dependentRequired", "is required")
			}
		}
		t.also(d.node)
	}
}

func (t *trial) member(i int, f *field) {
	n := t.n
	m := n.members[f.name]
	if m != nil {
		f.token = m.token
	} else if len(n.folded) > 0 {
		t.scratch = foldName(t.scratch[:0], []byte(f.name))
		if f.folded = n.folded[string(t.scratch)]; f.folded != nil {
			t.fold = true
		}
	}
	matched := false
	if m != nil && m.declared {
		matched = true
		t.below(step{token: f.token}, &f.value, m.node)
	}
	for _, p := range n.patterns {
		if p.pattern.MatchString(f.name) {
			matched = true
			t.below(step{token: f.token}, &f.value, p.node)
		}
	}
	if !matched && n.closed {
		t.add("additionalProperties", closedDetail)
	} else if !matched && n.hasAdditional {
		matched = true
		t.below(step{token: f.token}, &f.value, n.additional)
	}
	if matched {
		t.evaluated(i)
	}
	if n.names != nil && !t.lost() {
		t.checkName(n.names, []byte(f.name))
	}
}

// unevaluated checks what no schema has evaluated.
func (t *trial) unevaluated(rest *rest) {
	for i := range t.v.members {
		if m := &t.v.members[i]; !t.seen.has(i) {
			t.leftOver(rest, step{token: m.token}, &m.value, "unevaluatedProperties", closedDetail)
		}
	}
	for i := range t.v.elements {
		if !t.seen.has(i) {
			t.leftOver(rest, step{index: i}, &t.v.elements[i], "unevaluatedItems", "must have no elements but those of the document")
		}
	}
	if t.collect {
		for i := range max(len(t.v.members), len(t.v.elements)) {
			t.seen.set(i)
		}
	}
}

func (t *trial) leftOver(rest *rest, s step, v *value, keyword, detail string) {
	if rest.closed {
		if !t.lost() {
			t.add(keyword, detail)
		}
		return
	}
	t.below(s, v, rest.node)
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
