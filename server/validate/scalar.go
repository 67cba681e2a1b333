package validate

import (
	"strconv"
	"unicode/utf8"
)

// bound is a minimum or maximum.
type bound struct {
	keyword string
	value   decimal
	detail  string
}

func (b *bound) allows(d decimal) bool {
	order := d.compare(b.value)
	switch b.keyword {
	case "minimum":
		return order >= 0
	case "maximum":
		return order <= 0
	case "exclusiveMinimum":
		return order > 0
	default:
		return order < 0
	}
}

// scalar checks a scalar against a node. A string is given without quotes and escapes.
func (w *walker) scalar(n *node, kind kinds, text []byte) {
	for _, l := range n.literals {
		w.scratch = appendScalar(w.scratch[:0], kind, text)
		w.checkLiteral(l, w.scratch)
	}
	switch kind {
	case kindString:
		w.checkString(n, text)
	case kindNumber:
		w.checkNumber(n, text)
	}
}

func (w *walker) checkString(n *node, text []byte) {
	if n.minLength.set || n.maxLength.set {
		w.checkRange(uint64(utf8.RuneCount(text)), n.minLength, n.maxLength, "minLength", "maxLength", "characters")
	}
	if n.pattern != nil && !n.pattern.Match(text) {
		w.add("pattern", n.pattern.detail)
	}
	if n.format != nil && !n.format.check(text) {
		w.add("format", n.format.detail)
	}
	if n.content != nil {
		w.checkContent(n.content, text)
	}
}

// checkContent checks the JSON in a string.
func (w *walker) checkContent(n *node, text []byte) {
	inner := newWalker(w.pool)
	defer inner.release()
	inner.direction = w.direction
	inner.walkBody(text, n)
	switch {
	case inner.malformed != "":
		w.add("content", "must be valid JSON")
	case w.quiet > 0:
		w.done = w.done || len(inner.found) > 0
	default:
		for _, v := range inner.found {
			v.Pointer = w.pointer(v.Pointer)
			w.record(v)
		}
	}
}

func (w *walker) checkNumber(n *node, text []byte) {
	if n.number != nil {
		if n.number.types == kindInteger && !isInteger(text) {
			w.add("type", "must be "+kindInteger.String())
			return
		}
		if !n.number.check(text) {
			w.add("format", n.number.detail)
		}
	}
	if len(n.bounds) == 0 && n.multipleOf == nil {
		return
	}
	var scratch [32]byte
	d := parseDecimal(scratch[:], text)
	for i := range n.bounds {
		if b := &n.bounds[i]; !b.allows(d) {
			w.add(b.keyword, b.detail)
		}
	}
	if m := n.multipleOf; m != nil && !m.divides(d) {
		w.add("multipleOf", m.detail)
	}
}

// checkRange checks a length or count.
func (w *walker) checkRange(got uint64, least, most limit, leastKeyword, mostKeyword, unit string) {
	if least.set && got < least.n {
		w.add(leastKeyword, "must have "+strconv.FormatUint(least.n, 10)+" or more "+unit)
	}
	if most.set && got > most.n {
		w.add(mostKeyword, "must have "+strconv.FormatUint(most.n, 10)+" or fewer "+unit)
	}
}
