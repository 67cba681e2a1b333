package schema

import (
	"reflect"
	"slices"
	"strings"

	"github.com/go-json-experiment/json/jsontext"

	"github.com/avatarstudio/avatarstudio/server/validate/internal/decimal"
	"github.com/avatarstudio/avatarstudio/server/validate/internal/document"
)

// Kinds is a set of JSON types. The zero value allows all types.
type Kinds uint8

const (
	KindNull Kinds = 1 << iota
	kindBoolean
	kindInteger
	kindNumber
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

// kindOf returns the type of a token, or of the value that begins with k. All numbers are kindNumber.
func kindOf(k jsontext.Kind) Kinds {
	switch k {
	case jsontext.KindNull:
		return KindNull
	case jsontext.KindTrue, jsontext.KindFalse:
		return kindBoolean
	case jsontext.KindNumber, '-', '1', '2', '3', '4', '5', '6', '7', '8', '9':
		return kindNumber
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
	return kind == kindNumber && k&kindInteger != 0 && decimal.IsInteger(text)
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

// Node is a compiled schema. Fields for keywords that the schema does not have are zero. The fields that every value
// needs are first, so that they share a cache line.
type Node struct {
	types     Kinds
	forbidden Direction // directions in which a value must not be sent
	shared    bool      // whether several schemas refer to this node
	closed    bool      // additional members are not allowed
	// conditional is set if schemas for the same value apply only if it matches others: a union whose
	// alternatives must be tried, not, if, or dependentSchemas.
	conditional bool
	id          uint32  // unique id of a shared node, and 0 otherwise
	allOf       []*Node // including the targets of references
	unions      []*union

	members               map[string]*member // properties and required names
	required              []*member
	additional            *Node
	names                 *Node
	patterns              []patternMembers
	unevaluatedProperties *unevaluated
	minProps, maxProps    Limit
	dependents            []dependent
	folded                map[string]*member // properties by foldName
	hasAdditional         bool

	literals []*literal // enum and const

	minLength, maxLength Limit
	pattern              *pattern
	format               *format // format of strings
	content              *Node   // of the JSON in a string
	number               *format // format of numbers
	bounds               []bound
	multipleOf           *multiple

	prefix             []*Node // prefixItems
	items              *Node   // schema of the other elements
	hasItems           bool
	minItems, maxItems Limit
	contains           *contains
	unique             bool
	unevaluatedItems   *unevaluated

	not       *Node
	condition *condition
}

// requires reports whether every object that matches n has a member. It must not be called before cycles have been
// rejected.
func (n *Node) requires(name string) bool {
	if n == nil {
		return false
	}
	if m := n.members[name]; m != nil && m.index >= 0 {
		return true
	}
	return slices.ContainsFunc(n.allOf, func(other *Node) bool { return other.requires(name) }) ||
		slices.ContainsFunc(n.unions, func(u *union) bool {
			return !slices.ContainsFunc(u.alternatives, func(a alternative) bool {
				return (a.types == 0 || a.types&KindObject != 0) && !a.node.requires(name)
			})
		})
}

// NewText returns the schema of any string, and newTexts that of an object with any strings.
func NewText() *Node { return &Node{types: KindString} }

func NewTexts() *Node { return &Node{types: KindObject, additional: NewText(), hasAdditional: true} }

// NewAll returns the schema of the values that match all nodes.
func NewAll(nodes []*Node) *Node { return &Node{allOf: nodes} }

// HasOneType reports whether all values of n are strings, integers, numbers, or booleans.
func (n *Node) HasOneType() bool {
	return n.types == KindString || n.types == kindInteger || n.types == kindNumber || n.types == kindBoolean
}

// Size returns the least and the most length of a text, and whether n constrains nothing else.
func (n *Node) Size() (least, most Limit, only bool) {
	if n == nil {
		return Limit{}, Limit{}, true
	}
	rest := *n
	rest.types &^= KindString
	rest.shared = false
	rest.minLength, rest.maxLength = Limit{}, Limit{}
	if rest.format.isBinary() {
		rest.format = nil
	}
	return n.minLength, n.maxLength, reflect.ValueOf(rest).IsZero()
}

// IsLength reports whether n constrains only the length of a text.
func (n *Node) IsLength() bool {
	_, _, only := n.Size()
	return only
}

// allows reports whether n has one of the types.
func (n *Node) allows(types Kinds) bool { return n.types == 0 || n.types&types != 0 }

// contains is a contains with its minContains and maxContains.
type contains struct {
	node        *Node
	least, most Limit
}

// patternMembers is one entry of patternProperties.
type patternMembers struct {
	pattern *pattern
	node    *Node
}

// dependent is one entry of dependentRequired or dependentSchemas.
type dependent struct {
	name     string
	required []*member
	node     *Node
}

// condition is an if with then and else.
type condition struct {
	when, then, otherwise *Node
}

// unevaluated is an unevaluatedItems or unevaluatedProperties.
type unevaluated struct {
	closed bool // whether the schema is false
	node   *Node
}

// unevaluated returns the rule for unevaluated members or elements of a value.
func (n *Node) unevaluated(kind Kinds) *unevaluated {
	switch kind {
	case KindObject:
		return n.unevaluatedProperties
	case KindArray:
		return n.unevaluatedItems
	}
	return nil
}

// Direction is a set of directions in which a value is sent.
type Direction uint8

const (
	InRequest Direction = 1 << iota
	InResponse
	Elsewhere
	always = InRequest | InResponse | Elsewhere
)

// Limit is a bound of a length or count. set distinguishes 0 from no limit.
type Limit struct {
	N   uint64
	Set bool
}

// literal is an enum or const.
type literal struct {
	keyword string
	values  map[string]struct{} // in canonical form
	depth   int                 // depth of nesting of the values
	detail  string
}

// member is a member that a schema declares or requires.
type member struct {
	token    string // "/" and the name, escaped for a JSON pointer
	name     string
	declared bool      // in properties, and not only in required
	node     *Node     // nil if any value is allowed
	index    int       // in required, or -1 if optional
	exempt   Direction // directions in which the member may be missing although it is required
}

func newMember(name string) *member {
	return &member{token: "/" + document.Escape(name), name: name, index: -1}
}

// member returns the member with the given name, and creates it if necessary.
func (n *Node) member(name string) *member {
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

// addAllOf applies another schema to the same value. A nil schema has no effect.
func (n *Node) addAllOf(other *Node) {
	if other != nil {
		n.allOf = append(n.allOf, other)
	}
}

// inPlace returns the schemas that n applies to the same value. Some may be nil.
func (n *Node) inPlace() []*Node {
	all := slices.Clone(n.allOf)
	for _, u := range n.unions {
		for _, a := range u.alternatives {
			all = append(all, a.node)
		}
	}
	for _, d := range n.dependents {
		all = append(all, d.node)
	}
	if c := n.condition; c != nil {
		all = append(all, c.when, c.then, c.otherwise)
	}
	return append(all, n.not)
}

// union is a oneOf or anyOf.
type union struct {
	keyword      string
	alternatives []alternative
	types        Kinds // types of all alternatives together

	// general is set if the alternatives must be tried one by one. If none matches, hint is the name of the
	// discriminator, whose value selects the alternative whose violations are reported, or else unhinted.
	general  bool
	hint     string
	byHint   map[string]*Node
	unhinted *Node

	// byType is set if the type of a value selects the alternative. The first one that allows the type is
	// used.
	byType []alternative

	// by is set if the value of this member selects the alternative.
	by      *member
	byValue map[string]*Node
	values  string // the values of by, for error messages
}

// alternative is an alternative of a union.
type alternative struct {
	types Kinds // 0 allows all types
	node  *Node // nil allows all values
}
