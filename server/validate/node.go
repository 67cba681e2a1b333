package validate

import (
	"iter"
	"slices"
	"strings"

	"github.com/go-json-experiment/json/jsontext"

	"github.com/avatarstudio/avatarstudio/server/validate/internal/document"
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
	types  kinds
	barred direction // in which a value must not be sent
	tree   kinds     // of values that are needed in memory
	shared bool      // whether several schemas lead here
	id     uint32    // of a shared node

	literals []*literal // enum and const

	minLength, maxLength limit
	pattern              *pattern
	format               *format // of strings
	number               *format // of numbers
	bounds               []bound
	multipleOf           *multiple

	prefix             []*node // of the first elements
	items              *node   // of the others
	hasItems           bool
	minItems, maxItems limit
	contains           *contains
	unique             bool

	members            map[string]*member // properties and required names
	folded             map[string]*member // the same, by foldName
	required           []*member
	patterns           []patternMembers
	additional         *node
	hasAdditional      bool
	closed             bool // no additional members
	names              *node
	minProps, maxProps limit
	dependents         []dependent

	allOf     []*node // what a reference leads to, too
	unions    []*union
	not       *node
	condition *condition

	restMembers, restElements *rest
}

// contains is what some elements of an array must match.
type contains struct {
	node        *node
	least, most limit
}

// patternMembers are the members whose names match a pattern.
type patternMembers struct {
	pattern *pattern
	node    *node
}

// dependent is what the presence of a member asks for.
type dependent struct {
	name     string
	required []*member
	node     *node
}

// condition is an if with its then and its else.
type condition struct {
	when, then, otherwise *node
}

// rest is what is asked of members or elements that no other schema has evaluated.
type rest struct {
	closed bool // there must be none
	node   *node
}

// unevaluated returns the rule for what is left over in a value of a kind.
func (n *node) unevaluated(kind jsontext.Kind) *rest {
	switch kind {
	case '{':
		return n.restMembers
	case '[':
		return n.restElements
	}
	return nil
}

// direction is a set of ways that a value is sent.
type direction uint8

const (
	inRequest direction = 1 << iota
	inResponse
	elsewhere
	always = inRequest | inResponse | elsewhere
)

// limit is a bound of a length or count; set tells 0 from none.
type limit struct {
	n   uint64
	set bool
}

// literal is an enum or a const.
type literal struct {
	keyword string
	values  map[string]struct{} // canonical
	depth   int                 // levels of nesting in them
	detail  string
}

// member is a name that a schema knows.
type member struct {
	token    string // "/" and the name, escaped for a JSON pointer
	name     string
	declared bool      // among the properties; else it is only required
	node     *node     // nil when the property may be anything
	index    int       // among the required ones; -1 when optional
	exempt   direction // in which it need not be given
}

func newMember(name string) *member {
	return &member{token: "/" + document.Escape(name), name: name, index: -1}
}

// member returns the member of a name, which is new when the schema has not named it yet.
func (n *node) member(name string) *member {
	m := n.members[name]
	if m == nil {
		if n.members == nil {
			n.members = make(map[string]*member)
		}
		m = newMember(name)
		n.members[name] = m
	}
	return m
}

// also puts another schema beside n.
func (n *node) also(other *node) {
	if other != nil {
		n.allOf = append(n.allOf, other)
	}
}

// inPlace returns the schemas that n applies to the same value, some of which may be nil.
func (n *node) inPlace() iter.Seq[*node] {
	return func(yield func(*node) bool) {
		all := slices.Clone(n.allOf)
		for _, u := range n.unions {
			all = append(all, u.alternatives...)
		}
		for _, d := range n.dependents {
			all = append(all, d.node)
		}
		if c := n.condition; c != nil {
			all = append(all, c.when, c.then, c.otherwise)
		}
		for _, inner := range append(all, n.not) {
			if !yield(inner) {
				return
			}
		}
	}
}

// union is a oneOf or anyOf.
type union struct {
	keyword      string
	alternatives []*node // nil allows everything
	typesOf      []kinds // of each alternative; 0 allows all
	types        kinds   // of all alternatives

	// Alternatives that have to be tried. A hint, the value of the discriminator, chooses whose
	// violations are reported when none matches.
	general bool
	hint    string
	byHint  map[string]*node

	// Alternatives that the type of a value tells apart. The first that allows it counts.
	byType []typed

	// Alternatives that the value of a member tells apart.
	by      *member
	byValue map[string]*node
	values  string             // of by, for people
	tags    map[string]*member // the by of all unions of the document
}

// typed is an alternative of a union.
type typed struct {
	types kinds
	node  *node
}
