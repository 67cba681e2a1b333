package schema

import (
	"maps"
	"math"
	"slices"
	"strconv"
	"strings"

	"github.com/avatarstudio/avatarstudio/server/validate/internal/decimal"
	"github.com/avatarstudio/avatarstudio/server/validate/internal/document"
)

// literal is an enum or const.
type literal struct {
	keyword string
	values  map[string]struct{} // in canonical form
	depth   int                 // depth of nesting of the values
	detail  string
}

func (c *Compiler) literals(n *Node, source *document.Node) {
	if value := source.Get("const"); value != nil {
		n.literals = append(n.literals, c.literal(value, "const", []*document.Node{value}))
	}
	if values := source.Get("enum"); values != nil {
		n.literals = append(n.literals, c.literal(values, "enum", values.Elements))
	}
}

func (c *Compiler) literal(at *document.Node, keyword string, values []*document.Node) *literal {
	l := &literal{keyword: keyword, values: make(map[string]struct{}, len(values))}
	var texts []string
	for _, value := range values {
		canonical, text, depth, err := canonicalLiteral(value)
		if err != nil {
			c.Fail(at, err.Error())
			continue
		}
		l.values[canonical] = struct{}{}
		l.depth = max(l.depth, depth)
		texts = append(texts, text)
	}
	switch l.detail = "must be " + strings.Join(texts, ", "); len(texts) {
	case 0:
		l.detail = "must not be given"
	case 1:
	default:
		l.detail = "must be one of " + strings.Join(texts, ", ")
	}
	return l
}

// canonicalLiteral returns the canonical text of a value of the document, its JSON, and its depth of nesting.
func canonicalLiteral(value *document.Node) (canonical, text string, depth int, err error) {
	encoded, err := value.AppendJSON(nil, 1<<20)
	if err != nil {
		return "", "", 0, err
	}
	t := newTape()
	_ = t.parse(encoded, math.MaxInt) // the JSON of a document is valid
	for ; ; depth++ {
		if c, ok := t.appendCanonical(nil, 0, depth); ok {
			return string(c), string(encoded), depth, nil
		}
	}
}

// checkLiterals compares a container with enum and const.
func (w *Walker) checkLiterals(n *Node, v int) {
	for _, l := range n.literals {
		var ok bool
		if w.scratch, ok = w.tape.appendCanonical(w.scratch[:0], v, l.depth); !ok {
			w.scratch = w.scratch[:0] // nested deeper than all allowed values
		}
		w.Work += len(w.scratch)
		w.checkLiteral(l, w.scratch)
	}
}

func (w *Walker) checkLiteral(l *literal, canonical []byte) {
	if _, ok := l.values[string(canonical)]; !ok {
		w.Add(l.keyword, l.detail)
	}
}

// appendCanonical appends the canonical text of v, which is the same for equal values: numbers are decimals and
// members are sorted by name. It reports false if v is nested deeper than depth.
func (t *tape) appendCanonical(dst []byte, v, depth int) ([]byte, bool) {
	if !t.isContainer(v) {
		return appendScalar(dst, t.kind(v), t.content(v)), true
	}
	if depth == 0 {
		return dst, false
	}
	if t.kind(v) == KindArray {
		dst = append(dst, '[')
		for at := v + 1; at < t.next(v); at = t.next(at) {
			var ok bool
			if dst, ok = t.appendCanonical(dst, at, depth-1); !ok {
				return dst, false
			}
			dst = append(dst, ',')
		}
		return append(dst, ']'), true
	}
	members := make(map[string]int)
	for name := v + 1; name < t.next(v); name = t.nextName(name) {
		members[string(t.string(name))] = name + 1
	}
	dst = append(dst, '{')
	for _, name := range slices.Sorted(maps.Keys(members)) {
		dst = append(appendScalar(dst, KindString, []byte(name)), ':')
		var ok bool
		if dst, ok = t.appendCanonical(dst, members[name], depth-1); !ok {
			return dst, false
		}
		dst = append(dst, ',')
	}
	return append(dst, '}'), true
}

// appendScalar appends the canonical text of a scalar. A string is given without quotes and escapes.
func appendScalar(dst []byte, kind Kinds, text []byte) []byte {
	switch kind {
	case KindString:
		// The length separates the string from what follows it.
		dst = strconv.AppendInt(append(dst, '"'), int64(len(text)), 10)
		return append(append(dst, ':'), text...)
	case KindNumber:
		var scratch [32]byte
		return decimal.Parse(scratch[:], text).AppendTo(dst)
	}
	return append(dst, text...)
}
