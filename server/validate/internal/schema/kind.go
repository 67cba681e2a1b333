package schema

import (
	"slices"
	"strings"

	"github.com/go-json-experiment/json/jsontext"

	"github.com/avatarstudio/avatarstudio/server/validate/internal/decimal"
	"github.com/avatarstudio/avatarstudio/server/validate/internal/document"
)

// Kinds is a set of JSON types. The zero value allows all types.
type Kinds uint8

// The types of JSON. A number is KindNumber, whether it is an integer or not.
const (
	KindNull Kinds = 1 << iota
	KindBoolean
	KindInteger
	KindNumber
	KindString
	KindArray
	KindObject
)

// kindNamed returns the type with the given name in JSON Schema, or 0.
func kindNamed(name string) Kinds {
	i := slices.Index([]string{"null", "boolean", "integer", "number", "string", "array", "object"}, name)
	if i < 0 {
		return 0
	}
	return 1 << i
}

// kindOf returns the type of a token, or of the value that begins with k. All numbers are KindNumber.
func kindOf(k jsontext.Kind) Kinds {
	switch k {
	case jsontext.KindNull:
		return KindNull
	case jsontext.KindTrue, jsontext.KindFalse:
		return KindBoolean
	case jsontext.KindNumber, '-', '1', '2', '3', '4', '5', '6', '7', '8', '9':
		return KindNumber
	case jsontext.KindString:
		return KindString
	case jsontext.KindBeginArray:
		return KindArray
	case jsontext.KindBeginObject:
		return KindObject
	}
	return 0
}

// allow reports whether a value of the given kind and text has one of the types.
func (k Kinds) allow(kind Kinds, text []byte) bool {
	if k == 0 || k&kind != 0 {
		return true
	}
	return kind == KindNumber && k&KindInteger != 0 && decimal.IsInteger(text)
}

func (k Kinds) String() string {
	var texts []string
	for i, text := range []string{"null", "a boolean", "an integer", "a number", "a string", "an array", "an object"} {
		if k&(1<<i) != 0 {
			texts = append(texts, text)
		}
	}
	return strings.Join(texts, " or ")
}

// The sets of types that texts can stand for.
const (
	KindScalar = KindNull | KindBoolean | KindInteger | KindNumber | KindString
	KindAny    = KindScalar | KindArray | KindObject
)

// orAny expands the zero value to all types, and adds integer to number.
func (k Kinds) orAny() Kinds {
	switch {
	case k == 0:
		return KindAny
	case k&KindNumber != 0:
		return k | KindInteger
	}
	return k
}

func (c *Compiler) types(n *Node, source *document.Node) {
	t := source.Get("type")
	if t == nil {
		return
	}
	names := t.Elements
	if t.Kind == jsontext.KindString {
		names = []*document.Node{t}
	}
	for _, name := range names {
		kind := kindNamed(name.Text)
		if kind == 0 || name.Kind != jsontext.KindString || n.types&kind != 0 {
			c.Fail(name, "must be array, boolean, integer, null, number, object or string, and occur once")
			continue
		}
		n.types |= kind
	}
	if len(names) == 0 {
		c.Fail(t, "must be the name of a type, or several")
	}
}
