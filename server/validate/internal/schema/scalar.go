package schema

import (
	"unicode/utf8"

	"github.com/avatarstudio/avatarstudio/server/validate/internal/decimal"
	"github.com/avatarstudio/avatarstudio/server/validate/internal/document"
)

// bound is a minimum or maximum.
type bound struct {
	keyword string
	value   decimal.Decimal
	detail  string
}

func (b *bound) allows(d decimal.Decimal) bool {
	order := d.Compare(b.value)
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

// multiple is a multipleOf.
type multiple struct {
	of     decimal.Decimal
	detail string
}

func (c *Compiler) scalars(n *Node, source *document.Node) {
	n.length = sizeOf(source, "Length", "characters")
	if text := source.Get("pattern"); text != nil {
		n.pattern = c.pattern(text)
	}
	c.format(n, source.Get("format"))
	c.bound(n, source, "minimum", "at least ")
	c.bound(n, source, "maximum", "at most ")
	c.bound(n, source, "exclusiveMinimum", "greater than ")
	c.bound(n, source, "exclusiveMaximum", "less than ")
	if multiple := source.Get("multipleOf"); multiple != nil {
		n.multipleOf = c.multipleOf(multiple)
	}
}

func (c *Compiler) bound(n *Node, source *document.Node, keyword, relation string) {
	if value := source.Get(keyword); value != nil {
		n.bounds = append(n.bounds, bound{keyword, decimal.Parse(nil, []byte(value.Text)), "must be " + relation + value.Text})
	}
}

// multipleOf compiles a multipleOf with its exact value.
func (c *Compiler) multipleOf(n *document.Node) *multiple {
	of := decimal.Parse(nil, []byte(n.Text))
	switch {
	case !of.IsPositive():
		c.Fail(n, "must be greater than 0")
		return nil
	case !of.IsDivisor():
		c.Unsupported(n, "must have at most 18 digits")
		return nil
	}
	return &multiple{of, "must be a multiple of " + n.Text}
}

// scalar checks a scalar against a node. A string is given without quotes and escapes.
func (w *Walker) scalar(n *Node, kind Kinds, text []byte) {
	for _, l := range n.literals {
		w.scratch = appendScalar(w.scratch[:0], kind, text)
		w.checkLiteral(l, w.scratch)
	}
	switch kind {
	case KindString:
		w.checkString(n, text)
	case KindNumber:
		w.checkNumber(n, text)
	}
}

func (w *Walker) checkString(n *Node, text []byte) {
	if n.length != nil {
		w.checkSize(n.length, utf8.RuneCount(text))
	}
	if n.pattern != nil && !n.pattern.Match(text) {
		w.Add("pattern", n.pattern.detail)
	}
	if n.format != nil && !n.format.check(text) {
		w.Add("format", n.format.detail)
	}
	if n.content != nil {
		w.checkContent(n.content, text)
	}
}

// checkContent checks the JSON in a string.
func (w *Walker) checkContent(n *Node, text []byte) {
	inner := NewWalker(w.pool)
	defer inner.release()
	inner.Direction = w.Direction
	inner.Check(text, n)
	switch {
	case inner.Malformed != "":
		w.Add("content", "must be valid JSON")
	case w.quiet > 0:
		w.done = w.done || len(inner.Found) > 0
	default:
		for _, v := range inner.Found {
			v.Pointer = w.pointer(v.Pointer)
			w.Record(v)
		}
	}
}

func (w *Walker) checkNumber(n *Node, text []byte) {
	if n.number != nil {
		if n.number.types == KindInteger && !decimal.IsInteger(text) {
			w.Add("type", "must be "+KindInteger.String())
			return
		}
		if !n.number.check(text) {
			w.Add("format", n.number.detail)
		}
	}
	if len(n.bounds) == 0 && n.multipleOf == nil {
		return
	}
	var scratch [32]byte
	d := decimal.Parse(scratch[:], text)
	for i := range n.bounds {
		if b := &n.bounds[i]; !b.allows(d) {
			w.Add(b.keyword, b.detail)
		}
	}
	if m := n.multipleOf; m != nil && !d.IsMultipleOf(m.of) {
		w.Add("multipleOf", m.detail)
	}
}
