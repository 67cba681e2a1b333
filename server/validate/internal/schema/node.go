package schema

import (
	"reflect"
	"slices"
)

// Node is a compiled schema. Fields for keywords that the schema does not have are zero. The fields that every value
// needs are first, so that they share a cache line.
type Node struct {
	types     Kinds
	forbidden Direction // directions in which a value must not be sent
	shared    bool      // whether several schemas refer to this node
	// hasBranches is set if schemas for the same value apply only if it matches others: a union whose
	// alternatives must be tried, not, if, or dependentSchemas.
	hasBranches bool
	exempts     Direction // directions in which it has a member that is not sent, so that none can require it
	id          uint32    // unique id of a node that is shared or exempts members, and 0 otherwise
	allOf       []*Node   // including the targets of references
	unions      []*union

	members               map[string]*member // properties and required names
	required              []*member
	additional            *Node // nil without additionalProperties
	names                 *Node
	patterns              []patternMembers
	unevaluatedProperties *Node
	size                  *Size // number of members
	dependents            []dependent
	folded                map[string]*member // properties by foldName

	literals []*literal // enum and const

	length     *Size
	pattern    *pattern
	format     *format // format of strings
	content    *Node   // of the JSON in a string
	number     *format // format of numbers
	bounds     []bound
	multipleOf *multiple

	prefix           []*Node // prefixItems
	items            *Node   // schema of the other elements
	count            *Size   // of the elements
	contains         *contains
	unique           bool
	unevaluatedItems *Node

	not       *Node
	condition *condition
}

// anything is the schema that is given and allows all values.
//
//nolint:gochecknoglobals // never changed
var anything = new(Node)

// isOpen reports whether n is given and is not false.
func (n *Node) isOpen() bool { return n != nil && n.forbidden != always }

// isClosed reports whether n is false.
func (n *Node) isClosed() bool { return n != nil && n.forbidden == always }

// NewText returns the schema of any string.
func NewText() *Node { return &Node{types: KindString} }

// NewTexts returns the schema of an object with any strings.
func NewTexts() *Node { return &Node{types: KindObject, additional: NewText()} }

// HasOneType reports whether all values of n are strings, integers, numbers, or booleans.
func (n *Node) HasOneType() bool {
	return n.types == KindString || n.types == KindInteger || n.types == KindNumber || n.types == KindBoolean
}

// Bytes returns the limits of a text as those of a body in bytes, and whether n constrains nothing else.
func (n *Node) Bytes() (size *Size, only bool) {
	if n == nil {
		return nil, true
	}
	if n.length != nil {
		size = &Size{n.length.of, "bytes", n.length.least, n.length.most}
	}
	rest := *n
	rest.types &^= KindString
	rest.shared = false
	rest.length = nil
	if rest.format.isBinary() {
		rest.format = nil
	}
	return size, reflect.ValueOf(rest).IsZero()
}

// IsLength reports whether n constrains only the length of a text.
func (n *Node) IsLength() bool {
	_, only := n.Bytes()
	return only
}

// allows reports whether n has one of the types.
func (n *Node) allows(types Kinds) bool { return n.types == 0 || n.types&types != 0 }

// anyTypes returns the types of n, or else those of a schema that n applies to each value, or 0 if none has types.
func (n *Node) anyTypes() Kinds {
	if n == nil {
		return 0
	}
	types := n.types
	for i := 0; types == 0 && i < len(n.allOf); i++ {
		types = n.allOf[i].anyTypes()
	}
	return types
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
		all = append(all, u.alternatives...)
	}
	for _, d := range n.dependents {
		all = append(all, d.node)
	}
	if c := n.condition; c != nil {
		all = append(all, c.when, c.then, c.otherwise)
	}
	return append(all, n.not)
}
