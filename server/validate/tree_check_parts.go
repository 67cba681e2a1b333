package validate

// evaluated records that a member or element has been evaluated.
func (t *nodeCheck) evaluated(i int) {
	if t.collect {
		t.seen.set(i)
	}
}

// below checks a member or element against a node.
func (t *nodeCheck) below(s step, v int, n *node) {
	if n == nil || t.decided() {
		return
	}
	t.path = append(t.path, s)
	t.check(v, n, false)
	t.path = t.path[:len(t.path)-1]
}

func (t *nodeCheck) array() {
	n, count, matching := t.n, 0, uint64(0)
	for at := t.v + 1; at < t.next(t.v); at = t.next(at) {
		item, evaluated := n.items, n.hasItems
		if count < len(n.prefix) {
			item, evaluated = n.prefix[count], true
		}
		if n.contains != nil && !t.decided() && t.checkQuietly(at, n.contains.node, false).ok {
			matching++
			evaluated = true
		}
		if evaluated {
			t.evaluated(count)
		}
		t.below(step{index: count}, at, item)
		count++
	}
	t.checkRange(uint64(count), n.minItems, n.maxItems, "minItems", "maxItems", "elements")
	if c := n.contains; c != nil {
		least, keyword := c.least, "minContains"
		if !least.set {
			least, keyword = limit{1, true}, "contains"
		}
		t.checkRange(matching, least, c.most, keyword, "maxContains", "matching elements")
	}
	if n.unique && !t.decided() && t.repeats(t.v) {
		t.add("uniqueItems", "must not have equal elements")
	}
}

func (t *nodeCheck) object() {
	n, count := t.n, 0
	var given indexSet // required members that are present
	for name := t.v + 1; name < t.next(t.v); name = t.next(name + 1) {
		if t.decided() {
			return
		}
		text := t.content(name)
		if m := n.members[string(text)]; m != nil && m.index >= 0 {
			given.set(m.index)
		}
		t.member(count, name, text)
		count++
	}
	for i, m := range n.required {
		if !given.has(i) && m.exempt&t.direction == 0 {
			t.addBelow(m.token, "required", "is required")
		}
	}
	t.checkRange(uint64(count), n.minProps, n.maxProps, "minProperties", "maxProperties", "members")
	for _, d := range n.dependents {
		if t.find(t.v, d.name) < 0 {
			continue
		}
		for _, m := range d.required {
			if t.find(t.v, m.name) < 0 {
				t.addBelow(m.token, "dependentRequired", "is required")
			}
		}
		t.checkAlso(d.node)
	}
}

func (t *nodeCheck) member(i, name int, text []byte) {
	n := t.n
	m := n.members[string(text)]
	if m != nil {
		t.declare(name, m)
	} else if len(n.folded) > 0 {
		t.scratch = foldName(t.scratch[:0], text)
		if known := n.folded[string(t.scratch)]; known != nil {
			if t.folded == nil {
				t.folded = make(map[int]*member)
			}
			t.folded[name] = known
		}
	}
	if n.names != nil {
		t.checkName(n.names, text)
	}
	s := step{token: t.token(name)}
	matched := m != nil && m.declared
	if matched {
		t.below(s, name+1, m.node)
	}
	for _, p := range n.patterns {
		if p.pattern.Match(text) {
			matched = true
			t.below(s, name+1, p.node)
		}
	}
	if !matched && n.closed {
		t.add("additionalProperties", closedDetail)
	} else if !matched && n.hasAdditional {
		matched = true
		t.below(s, name+1, n.additional)
	}
	if matched {
		t.evaluated(i)
	}
}

// unevaluated checks the members or elements that no schema has evaluated.
func (t *nodeCheck) unevaluated(rest *rest) {
	count := 0
	for at := t.v + 1; at < t.next(t.v); at = t.next(at) {
		s := step{index: count}
		keyword, detail := "unevaluatedItems", "must have no elements but those of the document"
		if t.kind == '{' {
			s.token = t.token(at)
			keyword, detail = "unevaluatedProperties", closedDetail
			at++
		}
		switch seen := t.seen.has(count); {
		case seen || t.decided():
		case rest.closed:
			t.add(keyword, detail)
		default:
			t.below(s, at, rest.node)
		}
		t.evaluated(count)
		count++
	}
}
