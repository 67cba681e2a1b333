package schema

// Direction is a set of directions in which a value is sent.
type Direction uint8

// The directions. A value that is checked on its own is sent in none of the first two.
const (
	InRequest Direction = 1 << iota
	InResponse
	Elsewhere
	always = InRequest | InResponse | Elsewhere
)

// unsent returns the directions in which a value of n is not sent.
func (n *Node) unsent() Direction {
	if n == nil || n.forbidden == always {
		return 0
	}
	d := n.forbidden
	for _, other := range n.allOf {
		d |= other.unsent()
	}
	return d
}

// isUnsent reports whether one of the nodes of an object has a member that is not sent in the direction of the object,
// so that no schema for the object can require it.
func (w *Walker) isUnsent(nodes []entry, name string) bool {
	for _, e := range nodes {
		if e.node.exempts&w.Direction == 0 {
			continue
		}
		if m := e.node.members[name]; m != nil && m.node.unsent()&w.Direction != 0 {
			return true
		}
	}
	return false
}
