package schema

import (
	"bytes"
	"errors"
	"fmt"
	"math"
	"slices"
	"strconv"
	"sync"
	"unicode/utf8"
)

// Walker checks values. Several nodes can be active at the same location: an object is
// checked against its schema and all schemas that apply to the same value, such as those of allOf.
type Walker struct {
	pool *sync.Pool // of walkers
	tape tape       // the JSON text that is being checked

	active []entry
	seen   []uint64 // bits of the required members, for each entry
	path   []step

	depth, violations int // the most levels of nesting and violations

	Direction Direction // in which the value is sent
	quiet     int       // violations are not reported if above 0
	trial     trial
	done      bool                         // whether the rest of the text does not matter
	known     map[uint64]map[checkKey]bool // by the nodes beside which a value is checked

	Work int // for tests: node checks and bytes read more than once

	scratch   []byte // buffer for a canonical value or a folded name
	Root      string // prefix of all pointers: the parameter, or "" for a body
	Found     []Violation
	Malformed string // why the text is not JSON
}

// Violation is a rule that a value breaks.
type Violation struct {
	Pointer string // the JSON pointer of the place, after the root of the walker
	Keyword string
	Detail  string // what the rule requires
}

// entry is an active node.
type entry struct {
	node      *Node
	seen      int     // index of its bits in walker.seen
	member    *member // the last member that was read, if node declares it
	evaluated *[]bool // for each member or element, if node has unevaluatedProperties or unevaluatedItems
}

// step leads from a container to a member or element.
type step struct {
	token string // of a member
	index int    // of an element, if token is ""
}

// KeepBytes limits the buffers that are kept for the next value.
const KeepBytes = 128 << 10

// NewPool returns a pool of walkers, for values of at most depth levels. They report a number of violations at most.
func NewPool(depth, violations int) *sync.Pool {
	return &sync.Pool{New: func() any {
		return &Walker{tape: newTape(), depth: depth, violations: violations, Direction: Elsewhere}
	}}
}

// NewWalker returns a walker of a pool.
func NewWalker(pool *sync.Pool) *Walker {
	w := pool.Get().(*Walker)
	w.pool = pool
	return w
}

// Reset prepares w for another value. It reports whether the buffers are small enough to keep.
func (w *Walker) Reset() bool {
	w.Found, w.Root, w.Malformed, w.Direction = w.Found[:0], "", "", Elsewhere
	return cap(w.scratch) <= KeepBytes
}

// release returns w to its pool.
func (w *Walker) release() {
	if w.Reset() {
		w.pool.Put(w)
	}
}

// Add reports a violation at the current location.
func (w *Walker) Add(keyword, detail string) { w.addBelow("", keyword, detail) }

// addBelow reports a violation at a member of the current location.
func (w *Walker) addBelow(token, keyword, detail string) {
	if w.quiet > 0 {
		w.done = true
		return
	}
	if len(w.Found) == w.violations {
		return
	}
	w.Record(Violation{w.pointer(token), keyword, detail})
}

// pointer returns the JSON pointer of a member of the current location.
func (w *Walker) pointer(token string) string {
	pointer := []byte(w.Root)
	for _, s := range w.path {
		if s.token == "" {
			pointer = strconv.AppendInt(append(pointer, '/'), int64(s.index), 10)
		} else {
			pointer = append(pointer, s.token...)
		}
	}
	return string(append(pointer, token...))
}

// Record drops violations that several active nodes report alike.
func (w *Walker) Record(v Violation) {
	if len(w.Found) < w.violations && !slices.Contains(w.Found, v) {
		w.Found = append(w.Found, v)
	}
}

// Check checks a complete JSON text.
func (w *Walker) Check(text []byte, n *Node) {
	if len(text) == 0 {
		w.Add("required", "is required")
		return
	}
	if len(text) > math.MaxInt32 {
		w.Malformed = "The JSON is larger than 2 GiB."
		return
	}
	before := len(w.Found)
	_ = w.tape.parse(text, w.depth) // the walk ends at the error
	w.walk(n)
	switch err := w.tape.err; {
	case err == nil, errors.Is(err, errDuplicate): // the walk has reported the duplicate name
	case errors.Is(err, errTooDeep):
		w.Malformed = "The JSON is nested more than " + strconv.Itoa(w.depth) + " levels deep."
	default:
		w.Malformed = notJSON(text, w.tape.failed)
	}
	if w.Malformed != "" {
		w.Found = w.Found[:before]
	}
	w.known = nil
	w.tape.release()
}

// CheckText checks a text that stands for a scalar of the only type of n.
func (w *Walker) CheckText(text string, n *Node) {
	w.tape.setScalar(text, !isLiteral(text, n.types))
	w.walk(n)
}

// notJSON returns the detail of an error that says where a text is not JSON.
func notJSON(text []byte, at int) string {
	before := text[:at]
	line := before[bytes.LastIndexByte(before, '\n')+1:]
	return fmt.Sprintf("The body is not valid JSON at line %d, column %d.", bytes.Count(before, []byte("\n"))+1, utf8.RuneCount(line)+1)
}

// IsJSON reports whether text is I-JSON, nested to any depth.
func (w *Walker) IsJSON(text []byte) bool {
	defer w.tape.release()
	return w.tape.parse(text, math.MaxInt) == nil
}

// walk checks the tape.
func (w *Walker) walk(n *Node) {
	w.active, w.seen, w.path = w.active[:0], w.seen[:0], w.path[:0]
	w.Work, w.done, w.trial = 0, false, trial{}
	if len(w.tape.values) > 0 {
		w.activate(0, n)
		w.value(0, 0)
	}
}

// activate adds n to the active nodes from base on, unless it constrains nothing. A node is added only once.
// Otherwise, schemas that refer to themselves in two ways would double at each level of nesting.
func (w *Walker) activate(base int, n *Node) {
	if n == nil || n == anything {
		return
	}
	for i := base; i < len(w.active); i++ {
		if w.active[i].node == n {
			return
		}
	}
	w.active = append(w.active, entry{node: n})
}

// value checks the value v against the active nodes from base on. It may activate more nodes, which the caller
// must remove.
func (w *Walker) value(v, base int) {
	kind := w.tape.kind(v)
	w.expand(v, kind, base, base)
	var text []byte
	isScalar := kind&KindScalar != 0
	if isScalar && len(w.active) > base {
		text = w.tape.content(v)
	}
	kept, tried := base, base
	for i := base; !w.done; i++ {
		if i == len(w.active) {
			// An alternative is tried when all that applies in any case is active, for it may exempt members.
			for w.active = w.active[:kept]; tried < kept && len(w.active) == kept && !w.done; tried++ {
				if n := w.active[tried].node; n.hasBranches && !w.tape.isOpen(v) {
					w.tryUnions(v, kind, n, base, w.quiet == 0 && !isScalar)
					w.expand(v, kind, base, kept)
				}
			}
			if i = kept; i == len(w.active) || w.done {
				break
			}
		}
		w.Work++
		n := w.active[i].node
		if !w.begin(n, kind, text) {
			continue
		}
		if kept < i {
			w.active[kept] = w.active[i]
		}
		kept++
		if isScalar {
			w.scalar(n, kind, text)
		}
		if n.hasBranches && !w.tape.isOpen(v) {
			before := len(w.active)
			w.applyConditions(v, n, base, w.quiet == 0 && !isScalar)
			w.expand(v, kind, base, before)
		}
	}
	w.active = w.active[:kept]
	switch {
	case w.done || isScalar || kept == base && !w.tape.isOpen(v):
	case kind == KindObject:
		w.object(v, base)
	default:
		w.array(v, base)
	}
}

// inside checks a member or element against the active nodes from base on, and removes them.
func (w *Walker) inside(s step, v, base int) {
	switch {
	case len(w.active) == base && !w.tape.isOpen(v): // nothing to check
	case w.quiet > 0:
		for i := base; i < len(w.active) && !w.done; i++ {
			w.done = !w.matchesBeside(v, w.active[i].node, base)
		}
	default:
		w.path = append(w.path, s)
		w.value(v, base)
		w.path = w.path[:len(w.path)-1]
	}
	w.active = w.active[:base]
}

// expand activates the schemas that the active nodes from the first one on apply to v in any case.
func (w *Walker) expand(v int, kind Kinds, base, first int) {
	for i := first; i < len(w.active); i++ {
		n := w.active[i].node
		for _, also := range n.allOf {
			w.activate(base, also)
		}
		for _, u := range n.unions {
			if !u.mustTry(kind) {
				w.activate(base, w.choose(u, v, kind))
			}
		}
	}
}

// begin checks that a value may be sent in this direction and has an allowed type.
func (w *Walker) begin(n *Node, kind Kinds, text []byte) bool {
	switch {
	case n.forbidden&w.Direction == 0 && n.types.allow(kind, text):
		return true
	case w.quiet > 0:
		w.done = true
	case n.forbidden == always:
		w.Add("false", "must not be given")
	case n.forbidden&w.Direction == 0:
		w.Add("type", "must be "+n.types.String())
	case w.Direction == InRequest:
		w.Add("readOnly", "must not be sent, for it is read-only")
	default:
		w.Add("writeOnly", "must not be sent, for it is write-only")
	}
	return false
}
