package validate

import (
	"strings"

	"github.com/go-json-experiment/json/jsontext"
)

// kinds is a set of JSON types. The zero value allows all.
type kinds uint8

const (
	kindNull kinds = 1 << iota
	kindBoolean
	kindInteger
	kindNumber
	kindString
	kindArray
	kindObject
)

// kindNamed returns the type that a schema calls name, or 0.
func kindNamed(name string) kinds {
	switch name {
	case "null":
		return kindNull
	case "boolean":
		return kindBoolean
	case "integer":
		return kindInteger
	case "number":
		return kindNumber
	case "string":
		return kindString
	case "array":
		return kindArray
	case "object":
		return kindObject
	}
	return 0
}

// kindOf returns the type of a token; numbers are kindNumber.
func kindOf(k jsontext.Kind) kinds {
	switch k {
	case 'n':
		return kindNull
	case 't', 'f':
		return kindBoolean
	case '0':
		return kindNumber
	case '"':
		return kindString
	case '[':
		return kindArray
	case '{':
		return kindObject
	}
	return 0
}

// allow reports whether a token of kind k with this text is of one of the types.
func (ks kinds) allow(k jsontext.Kind, text []byte) bool {
	kind := kindOf(k)
	if ks == 0 || ks&kind != 0 {
		return true
	}
	return kind == kindNumber && ks&kindInteger != 0 && isInteger(text)
}

func (ks kinds) String() string {
	var texts []string
	for i, text := range []string{"null", "a boolean", "an integer", "a number", "a string", "an array", "an object"} {
		if ks&(1<<i) != 0 {
			texts = append(texts, text)
		}
	}
	return strings.Join(texts, " or ")
}

// node is a compiled schema. Where it does not constrain a value it has zero values.
type node struct {
	types kinds

	enum        map[string]struct{} // canonical values; nil allows all
	enumKeyword string              // "enum" or "const"
	enumText    string              // the values, for people
	enumDepth   int                 // levels of nesting in them

	minLength, maxLength limit
	pattern              *pattern
	format               *format // of strings
	number               *format // of numbers
	bounds               []bound

	items              *node
	minItems, maxItems limit

	members            map[string]*member // properties and required names
	folded             map[string]*member // the same, by foldName
	required           []*member
	additional         *node
	closed             bool // no additional members
	minProps, maxProps limit

	allOf  []*node
	unions []*union
}

// limit is a bound of a length or count; set tells 0 from none.
type limit struct {
	n   uint64
	set bool
}

// member is a name that a schema knows.
type member struct {
	token string // "/" and the name, escaped for a JSON pointer
	name  string
	node  *node // nil when it is only required
	index int   // among the required ones; -1 when optional
}

func newMember(name string) *member {
	return &member{token: "/" + token(name), name: name, index: -1}
}

// union is a oneOf or anyOf of at most one alternative besides null, or of alternatives told
// apart by the value of a member.
type union struct {
	keyword string
	null    bool // null is an alternative
	only    *node
	by      *member
	byValue map[string]*node
	values  string             // of by, for people
	tags    map[string]*member // the by of all unions of the document
}

// token escapes a name for a JSON pointer.
func token(name string) string {
	return strings.ReplaceAll(strings.ReplaceAll(name, "~", "~0"), "/", "~1")
}
