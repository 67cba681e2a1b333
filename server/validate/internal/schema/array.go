package schema

import "github.com/avatarstudio/avatarstudio/server/validate/internal/document"

// contains is a contains with its minContains and maxContains.
type contains struct {
	node  *Node
	some  bool // whether there is no minContains, so that one element must match
	count *Size
}

func (c *Compiler) arrays(s *scope, n *Node, source *document.Node) {
	n.count = sizeOf(source, "Items", "elements")
	if prefix := source.Get("prefixItems"); prefix != nil {
		if len(prefix.Elements) == 0 {
			c.Fail(prefix, "must have a schema")
		}
		for _, element := range prefix.Elements {
			n.prefix = append(n.prefix, c.schemaIn(s, element))
		}
	}
	n.items = c.given(s, source.Get("items"))
	if contained := source.Get("contains"); contained != nil {
		some := source.Get("minContains") == nil
		n.contains = &contains{c.given(s, contained), some, sizeOf(source, "Contains", "matching elements")}
	}
	n.unique = source.Get("uniqueItems").IsTrue()
	n.unevaluatedItems = c.given(s, source.Get("unevaluatedItems"))
}

// array checks an array against the active nodes from base on.
func (w *Walker) array(v, base int) {
	end, isOpen := len(w.active), w.tape.isOpen(v)
	for i := base; i < end; i++ {
		if n := w.active[i].node; n.unevaluatedItems != nil && !isOpen {
			w.active[i].evaluated = w.evaluated(v, n, base)
		}
	}
	count := 0
	for at := v + 1; at < w.tape.next(v) && !w.done; at = w.tape.next(at) {
		for i := base; i < end; i++ {
			n := w.active[i].node
			if count < len(n.prefix) {
				w.activate(end, n.prefix[count])
			} else {
				w.activate(end, n.items)
			}
			if u := n.unevaluatedItems; u != nil && !isOpen && !(*w.active[i].evaluated)[count] {
				if u.isClosed() {
					w.Add("unevaluatedItems", "must have no elements but those of the document")
				} else {
					w.activate(end, u)
				}
			}
		}
		w.inside(step{index: count}, at, end)
		count++
	}
	w.done = w.done || isOpen
	for i := base; i < end && !w.done; i++ {
		n := w.active[i].node
		w.checkSize(n.count, count)
		if n.contains != nil {
			w.checkContains(n.contains, v)
		}
		if n.unique && w.tape.repeats(v) {
			w.Add("uniqueItems", "must not have equal elements")
		}
		w.checkLiterals(n, v)
	}
}

// checkContains counts the elements that match contains.
func (w *Walker) checkContains(c *contains, v int) {
	count := 0
	for at := v + 1; at < w.tape.next(v); at = w.tape.next(at) {
		if w.matches(at, c.node) {
			count++
		}
	}
	if c.some && count == 0 {
		w.Add("contains", "must have 1 or more matching elements")
	}
	w.checkSize(c.count, count)
}
