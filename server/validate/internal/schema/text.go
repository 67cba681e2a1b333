package schema

import (
	"slices"
	"unicode/utf8"

	"github.com/go-json-experiment/json/jsontext"
)

// TextValue is a value whose scalars are texts.
type TextValue struct {
	Kind     Kinds // KindString, KindArray or KindObject; KindAny if text is JSON
	Text     string
	Elements []TextValue
	Names    []string // names of the elements, for an object
}

// StringValue returns the value of one text.
func StringValue(text string) TextValue { return TextValue{Kind: KindString, Text: text} }

// AppendJSON appends the JSON that v represents.
func (s *Shape) AppendJSON(dst []byte, v TextValue, w *Walker) []byte {
	switch v.Kind {
	case KindAny:
		return append(dst, v.Text...)
	case KindString:
		return s.AppendScalar(dst, v.Text, w)
	}
	delimiters, inner := "[]", s
	if v.Kind == KindObject {
		delimiters = "{}"
	}
	dst = append(dst, delimiters[0])
	for i, element := range v.Elements {
		if i > 0 {
			dst = append(dst, ',')
		}
		if v.Kind == KindObject {
			dst, _ = jsontext.AppendQuote(dst, v.Names[i])
			dst = append(dst, ':')
		}
		switch {
		case v.Kind == KindArray && i <= s.prefixed: // the others have the same shape
			inner = s.Element(i)
		case v.Kind == KindObject && element.Kind != KindAny:
			inner = s.Member(v.Names[i])
		}
		dst = inner.AppendJSON(dst, element, w)
	}
	return append(dst, delimiters[1])
}

// AppendScalar appends the scalar that a text represents: null, a boolean or a number if the schema allows
// that type, and otherwise a string. If the schema allows both, the result is the one that matches the
// schema.
func (s *Shape) AppendScalar(dst []byte, text string, w *Walker) []byte {
	types := s.Types
	if types&KindScalar == 0 {
		types = KindAny // the types exclude each other: try all scalars
	}
	start := len(dst)
	if isLiteral(text, types) {
		dst = append(dst, text...)
		if types&KindString == 0 || s.Accepts(dst[start:], w) {
			return dst
		}
		dst = dst[:start]
	}
	dst, _ = jsontext.AppendQuote(dst, text) // invalid UTF-8 has been rejected before
	return dst
}

// isLiteral reports whether text is a JSON value of one of the types, except string.
func isLiteral(text string, types Kinds) bool {
	switch text {
	case "null":
		return types&KindNull != 0
	case "true", "false":
		return types&KindBoolean != 0
	}
	return types&(KindNumber|KindInteger) != 0 && isDecimal([]byte(text))
}

// Accepts reports whether a JSON text matches all nodes.
func (w *Walker) Accepts(nodes []*Node, text []byte) bool {
	trial := NewWalker(w.pool)
	trial.Direction = w.Direction
	defer trial.release()
	for _, n := range nodes {
		trial.Check(text, n)
	}
	return len(trial.Found) == 0 && trial.Malformed == ""
}

// IsUTF8 reports whether all texts of t are valid UTF-8.
func (t TextValue) IsUTF8() bool {
	invalid := func(text string) bool { return !utf8.ValidString(text) }
	return utf8.ValidString(t.Text) && !slices.ContainsFunc(t.Names, invalid) &&
		!slices.ContainsFunc(t.Elements, func(e TextValue) bool { return !e.IsUTF8() })
}
