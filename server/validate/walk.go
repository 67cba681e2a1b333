package validate

import (
	"bytes"
	"errors"
	"fmt"
	"math"
	"slices"
	"strconv"
	"sync"
	"unicode/utf8"

	"github.com/avatarstudio/avatarstudio/api/runtime/stream"
)

// walker checks values. Several nodes can be active at the same location: an object is
// checked against its schema and all schemas that apply to the same value, such as those of allOf.
type walker struct {
	pool *sync.Pool // of walkers
	tape tape       // the JSON text that is being checked

	active []entry
	seen   []uint64 // bits of the required members, for each entry
	path   []step
	limits limits

	direction direction // in which the value is sent
	quiet     int       // violations are not reported if above 0
	done      bool      // whether the rest of the text does not matter
	known     map[checkKey]bool

	work int // for tests: node checks and bytes read more than once

	scratch   []byte // buffer for a canonical value or a folded name
	root      string // prefix of all pointers: the parameter, or "" for a body
	found     []Violation
	malformed string // why the text is not JSON
}

// entry is an active node.
type entry struct {
	node      *node
	seen      int       // index of its bits in walker.seen
	member    *member   // the last member that was read, if node declares it
	evaluated *indexSet // set if node has unevaluatedProperties or unevaluatedItems
}

// step leads from a container to a member or element.
type step struct {
	token string // of a member
	index int    // of an element, if token is ""
}

// Larger buffers are not kept.
const keepBytes = 128 << 10

// limits are the limits of a [Config].
type limits struct {
	depth, violations int
}

// newPool returns a pool of walkers.
func newPool(l limits) *sync.Pool {
	return &sync.Pool{New: func() any { return &walker{tape: newTape(), limits: l, direction: elsewhere} }}
}

func newWalker(pool *sync.Pool) *walker {
	w := pool.Get().(*walker)
	w.pool = pool
	return w
}

// reset prepares w for another value. It reports whether the buffers are small enough to keep.
func (w *walker) reset() bool {
	w.found, w.root, w.malformed, w.direction = w.found[:0], "", "", elsewhere
	return cap(w.scratch) <= keepBytes
}

// release returns w to its pool.
func (w *walker) release() {
	if w.reset() {
		w.pool.Put(w)
	}
}

// add reports a violation at the current location.
func (w *walker) add(keyword, detail string) { w.addBelow("", keyword, detail) }

// addBelow reports a violation at a member of the current location.
func (w *walker) addBelow(token, keyword, detail string) {
	if w.quiet > 0 {
		w.done = true
		return
	}
	if len(w.found) == w.limits.violations {
		return
	}
	w.record(Violation{Pointer: w.pointer(token), Keyword: keyword, Detail: detail})
}

// pointer returns the JSON pointer of a member of the current location.
func (w *walker) pointer(token string) string {
	pointer := []byte(w.root)
	for _, s := range w.path {
		if s.token == "" {
			pointer = strconv.AppendInt(append(pointer, '/'), int64(s.index), 10)
		} else {
			pointer = append(pointer, s.token...)
		}
	}
	return string(append(pointer, token...))
}

// record drops violations that several active nodes report alike.
func (w *walker) record(v Violation) {
	if len(w.found) < w.limits.violations && !slices.Contains(w.found, v) {
		w.found = append(w.found, v)
	}
}

// walkBody checks a complete JSON text.
func (w *walker) walkBody(text []byte, n *node) {
	if len(text) == 0 {
		w.add("required", "is required")
		return
	}
	if len(text) > math.MaxInt32 {
		w.malformed = "The JSON is larger than 2 GiB."
		return
	}
	before := len(w.found)
	_ = w.tape.parse(text, w.limits.depth) // the walk ends at the error
	w.walk(n)
	switch err := w.tape.err; {
	case err == nil, errors.Is(err, errDuplicate): // the walk has reported the duplicate name
	case errors.Is(err, errTooDeep):
		w.malformed = "The JSON is nested more than " + strconv.Itoa(w.limits.depth) + " levels deep."
	default:
		w.malformed = notJSON(text, w.tape.failed)
	}
	if w.malformed != "" {
		w.found = w.found[:before]
	}
	w.known = nil
	w.tape.release()
}

// walkText checks a text that stands for a scalar of the only type of n.
func (w *walker) walkText(text string, n *node) {
	w.tape.setScalar(text, !isLiteral(text, n.types))
	w.walk(n)
}

// walkEvent checks a server-sent event, whose texts must be valid UTF-8.
func (w *walker) walkEvent(event stream.Frame, n *node) {
	w.tape.setEvent(event)
	w.walk(n)
	w.known = nil
	w.tape.release()
}

// notJSON returns the detail of an error that says where a text is not JSON.
func notJSON(text []byte, at int) string {
	before := text[:at]
	line := before[bytes.LastIndexByte(before, '\n')+1:]
	return fmt.Sprintf("The body is not valid JSON at line %d, column %d.", bytes.Count(before, []byte("\n"))+1, utf8.RuneCount(line)+1)
}

// isJSON reports whether text is I-JSON, nested to any depth.
func (w *walker) isJSON(text []byte) bool {
	defer w.tape.release()
	return w.tape.parse(text, math.MaxInt) == nil
}

// walk checks the tape.
func (w *walker) walk(n *node) {
	w.active, w.seen, w.path = w.active[:0], w.seen[:0], w.path[:0]
	w.work, w.done = 0, false
	if len(w.tape.values) > 0 {
		w.activate(0, n)
		w.value(0, 0)
	}
}

// activate adds n to the active nodes from base on. A nil node constrains nothing. A node is added only once.
// Otherwise, schemas that refer to themselves in two ways would double at each level of nesting.
func (w *walker) activate(base int, n *node) {
	if n == nil {
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
func (w *walker) value(v, base int) {
	kind := w.tape.kind(v)
	w.expand(v, kind, base, base)
	var text []byte
	isScalar := kind&kindScalar != 0
	if isScalar && len(w.active) > base {
		text = w.tape.content(v)
	}
	kept := base
	for i := base; i < len(w.active) && !w.done; i++ {
		w.work++
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
		if n.conditional && !w.tape.isOpen(v) {
			before := len(w.active)
			w.applyConditions(v, kind, n, base, w.quiet == 0 && !isScalar)
			w.expand(v, kind, base, before)
		}
	}
	w.active = w.active[:kept]
	switch {
	case w.done || isScalar || kept == base && !w.tape.isOpen(v):
	case kind == kindObject:
		w.object(v, base)
	default:
		w.array(v, base)
	}
}

// inside checks a member or element against the active nodes from base on, and removes them.
func (w *walker) inside(s step, v, base int) {
	switch {
	case len(w.active) == base && !w.tape.isOpen(v): // nothing to check
	case w.quiet > 0:
		for i := base; i < len(w.active) && !w.done; i++ {
			w.done = !w.matches(v, w.active[i].node)
		}
	default:
		w.path = append(w.path, s)
		w.value(v, base)
		w.path = w.path[:len(w.path)-1]
	}
	w.active = w.active[:base]
}

// expand activates the schemas that the active nodes from the first one on apply to v in any case.
func (w *walker) expand(v int, kind kinds, base, first int) {
	for i := first; i < len(w.active); i++ {
		n := w.active[i].node
		for _, also := range n.allOf {
			w.activate(base, also)
		}
		for _, u := range n.unions {
			if !u.general {
				w.activate(base, w.choose(u, v, kind))
			}
		}
	}
}

// begin checks that a value may be sent in this direction and has an allowed type.
func (w *walker) begin(n *node, kind kinds, text []byte) bool {
	switch {
	case n.forbidden&w.direction == 0 && n.types.allow(kind, text):
		return true
	case w.quiet > 0:
		w.done = true
	case n.forbidden == always:
		w.add("false", "must not be given")
	case n.forbidden&w.direction == 0:
		w.add("type", "must be "+n.types.String())
	case w.direction == inRequest:
		w.add("readOnly", "must not be sent, for it is read-only")
	default:
		w.add("writeOnly", "must not be sent, for it is write-only")
	}
	return false
}
