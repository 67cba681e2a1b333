package schema

import (
	"cmp"
	"fmt"
	"slices"
)

// Direction is a set of directions in which a value is sent.
type Direction uint8

// The directions. A value that is checked on its own is sent in none of the first two.
const (
	InRequest Direction = 1 << iota
	InResponse
	Elsewhere
	always = InRequest | InResponse | Elsewhere
)

// exemptRequired exempts the members that a value of some nodes does not have in a direction from all lists of required
// members for this value, whichever schema has the list, and does so for the elements and members that several of them
// describe.
func exemptRequired(roots []*Node, done map[string]bool) {
	key := fmt.Sprintf("%p", roots)
	if done[key] {
		return
	}
	done[key] = true
	here := make(map[*Node]bool)
	for _, root := range roots {
		root.together(here)
	}
	parts := make(map[string][]*Node)
	add := func(name string, part *Node) {
		if part != nil && !slices.Contains(parts[name], part) {
			parts[name] = append(parts[name], part)
		}
	}
	for other := range here {
		add("", other.items)
		for name, m := range other.members {
			add("/"+name, m.node)
		}
	}
	for _, shared := range parts {
		if len(shared) > 1 {
			slices.SortFunc(shared, func(a, b *Node) int { return cmp.Compare(fmt.Sprintf("%p", a), fmt.Sprintf("%p", b)) })
			exemptRequired(shared, done)
		}
	}
	unsent := make(map[string]Direction)
	for other := range here {
		for name, m := range other.members {
			if d := m.node.unsent(); d != 0 {
				unsent[name] |= d
			}
		}
	}
	if len(unsent) == 0 {
		return
	}
	for other := range here {
		for _, m := range other.required {
			m.unsent |= unsent[m.name]
		}
		for _, d := range other.dependents {
			for _, m := range d.required {
				m.unsent |= unsent[m.name]
			}
		}
	}
}

// together adds n and the nodes that constrain the same value to a set. Those of not and if only test it.
func (n *Node) together(found map[*Node]bool) {
	if n == nil || found[n] {
		return
	}
	found[n] = true
	for _, other := range n.inPlace() {
		if other != n.not && (n.condition == nil || other != n.condition.when) {
			other.together(found)
		}
	}
}

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
