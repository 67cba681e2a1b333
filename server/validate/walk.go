package validate

import (
	"bytes"
	"cmp"
	"errors"
	"io"
	"math"
	"slices"
	"strconv"
	"sync"

	"github.com/go-json-experiment/json/jsontext"
)

// walker checks one value or one request. Several nodes can be in force at the same place: an
// object is checked against its schema and all schemas that allOf adds to it.
type walker struct {
	pool *sync.Pool
	body []byte // what a handler has read; grows and is used again
	text []byte // the JSON text under check

	from    tokens // plain or strict
	plainly plainReader
	in      bytes.Buffer
	strict  jsontext.Decoder
	inForce []entry
	seen    []uint64 // bits of required members, per entry
	path    []step
	skips   bool // whether a value that nothing constrains is read as a whole
	limits  limits

	direction direction // of what is checked
	quiet     int       // while it is above 0 nothing is reported
	failures  int       // rules that were broken, reported or not

	work int // what tests look at: nodes that values were checked against, bytes read again

	aheadIn     bytes.Buffer // reads again what a decision needs before dec gets there
	ahead       jsontext.Decoder
	tags        map[tag]jsontext.Value // up to aheadEnd
	aheadEnd    int64
	aheadFailed bool

	plain   []byte // an unquoted string
	scratch []byte // a canonical value or a folded name

	parameters []readParameter // of a request, but for the plain ones
	root       string          // where the path begins: a parameter, or "" for a body
	found      []Violation
	malformed  string // why the text is no JSON
}

// entry is a node in force.
type entry struct {
	node   *node
	seen   int     // where its bits begin in walker.seen
	member *member // what an object's node says of the member that was read last
}

// step leads from a container to what it contains.
type step struct {
	token string // of a member
	index int    // of an element, when there is no token
}

// The sizes of the largest buffer and the largest map that are worth keeping.
const (
	keepBytes = 128 << 10
	keepTags  = 1 << 10
)

// limits are those of a [Config].
type limits struct {
	depth, violations int
}

// newPool returns a pool of walkers.
func newPool(l limits) *sync.Pool {
	return &sync.Pool{New: func() any {
		w := &walker{limits: l, direction: elsewhere}
		w.strict.Reset(&w.in)
		w.ahead.Reset(&w.aheadIn)
		return w
	}}
}

func newWalker(pool *sync.Pool) *walker {
	w := pool.Get().(*walker)
	w.pool = pool
	return w
}

// release ends the use of w and its buffers.
func (w *walker) release() {
	if cap(w.body) > keepBytes || cap(w.plain)+cap(w.scratch) > keepBytes || len(w.tags) > keepTags {
		return
	}
	if len(w.text) > 0 && (len(w.text) != len(w.body) || &w.text[0] != &w.body[0]) { // it is another's
		w.in = bytes.Buffer{}
		w.strict.Reset(&w.in)
		w.plainly.forget()
	}
	if w.aheadIn.Cap() > 0 {
		w.resetAhead(nil)
		clear(w.tags)
	}
	w.text, w.parameters = nil, nil
	w.found, w.root, w.malformed, w.direction = w.found[:0], "", "", elsewhere
	w.pool.Put(w)
}

// resetAhead lets w.ahead read text.
func (w *walker) resetAhead(text []byte) {
	w.aheadIn = *bytes.NewBuffer(text)
	w.ahead.Reset(&w.aheadIn)
}

// failure returns what was found as an [*Error], or nil.
func (w *walker) failure(status int, detail string) error {
	if w.malformed != "" {
		detail = w.malformed
	} else if len(w.found) == 0 {
		return nil
	}
	return &Error{Status: status, Detail: detail, Violations: slices.Clone(w.found)}
}

// add reports a violation at the current place.
func (w *walker) add(keyword, detail string) { w.addBelow("", keyword, detail) }

// addBelow reports a violation at a member of the current place.
func (w *walker) addBelow(token, keyword, detail string) {
	w.failures++
	if w.quiet > 0 || len(w.found) == w.limits.violations {
		return
	}
	pointer := []byte(w.root)
	for _, s := range w.path {
		if s.token == "" {
			pointer = strconv.AppendInt(append(pointer, '/'), int64(s.index), 10)
		} else {
			pointer = append(pointer, s.token...)
		}
	}
	w.record(Violation{Pointer: string(append(pointer, token...)), Keyword: keyword, Detail: detail})
}

// record leaves out what several schemas in force at one place say alike.
func (w *walker) record(v Violation) {
	if len(w.found) < w.limits.violations && !slices.Contains(w.found, v) {
		w.found = append(w.found, v)
	}
}

// force puts a node in force with those from base on; nil constrains nothing. A node is in force
// once, or schemas that lead to themselves on two ways would double at each level.
func (w *walker) force(base int, n *node) {
	if n == nil {
		return
	}
	for i := base; i < len(w.inForce); i++ {
		if w.inForce[i].node == n {
			return
		}
	}
	w.inForce = append(w.inForce, entry{node: n})
}

var (
	errTooDeep  = errors.New("too deep")
	errTrailing = errors.New("trailing data")
)

// walkBody checks a whole JSON text.
func (w *walker) walkBody(text []byte, n *node) {
	if len(text) == 0 {
		w.add("required", "is required")
		return
	}
	if len(text) > math.MaxInt32 {
		w.malformed = "The JSON is larger than 2 GiB."
		return
	}
	w.text = text
	before := len(w.found)
	w.skips = true
	w.plainly.reset(text, w.limits.depth)
	w.from = &w.plainly
	err := w.walkText(n)
	if err != nil {
		w.found = w.found[:before] // again, for it is not plain
		err = w.walkStrictly(n)
	}
	if err != nil {
		w.found, w.skips = w.found[:before], false // again, to see where it happened
		err = w.walkStrictly(n)
	}
	if err == nil {
		return
	}
	w.path = w.path[:0]
	if errors.Is(err, jsontext.ErrDuplicateName) {
		return // it has been reported
	}
	w.found = w.found[:before] // what is no JSON breaks no rule of the document
	switch {
	case errors.Is(err, errTooDeep):
		w.malformed = "The JSON is nested more than " + strconv.Itoa(w.limits.depth) + " levels deep."
	default:
		w.malformed = "The body is not valid JSON."
	}
}

// walkStrictly is walkText with a reader that knows all JSON.
func (w *walker) walkStrictly(n *node) error {
	w.in = *bytes.NewBuffer(w.text)
	w.strict.Reset(&w.in)
	w.from = &w.strict
	return w.walkText(n)
}

// walkText checks w.text from its start to its end.
func (w *walker) walkText(n *node) error {
	w.inForce, w.seen, w.path = w.inForce[:0], w.seen[:0], w.path[:0]
	w.work, w.aheadEnd, w.aheadFailed = 0, 0, false
	w.force(0, n)
	if err := w.value(0); err != nil {
		return err
	}
	if _, err := w.from.ReadToken(); !errors.Is(err, io.EOF) {
		return cmp.Or(err, errTrailing)
	}
	return nil
}

// value checks the next value against the nodes in force from base on. It leaves more of them
// behind, for the caller to remove.
func (w *walker) value(base int) error {
	kind := w.from.PeekKind()
	if types := kindOf(kind); types != 0 {
		if w.skips && w.needsTree(base, types) {
			return w.inMemory(base)
		}
		w.expand(base, kind)
	}
	w.work += 1 + len(w.inForce) - base
	unconstrained := w.skips && len(w.inForce) == base
	switch {
	case kind == '{' && !unconstrained:
		return w.object(base)
	case kind == '[' && !unconstrained:
		return w.array(base)
	}
	value, err := w.from.ReadValue()
	if err != nil {
		return err
	}
	if unconstrained && w.isTooDeep(value) {
		return errTooDeep
	}
	if len(w.inForce) > base {
		w.scalar(base, kind, w.unquote(value))
	}
	return nil
}

// needsTree reports whether a node in force from base on needs a value of a type in memory.
func (w *walker) needsTree(base int, types kinds) bool {
	for i := base; i < len(w.inForce); i++ {
		if w.inForce[i].node.tree&types != 0 {
			return true
		}
	}
	return false
}

// inMemory checks the next value as a whole against the nodes in force from base on.
func (w *walker) inMemory(base int) error {
	value, err := w.from.ReadValue()
	if err != nil {
		return err
	}
	if w.isTooDeep(value) {
		return errTooDeep
	}
	w.judge(value, base)
	return nil
}

// isTooDeep reports whether a value that has just been read is nested too deep. One with few brackets
// cannot be, which is known in a fraction of the time.
func (w *walker) isTooDeep(value []byte) bool {
	if w.from == &w.plainly { // which has looked to it
		return false
	}
	left := w.limits.depth - w.from.StackDepth()
	return bytes.Count(value, []byte{'{'})+bytes.Count(value, []byte{'['}) > left && depthOf(value) > left
}

// unquote is unquoted without allocation; its result is valid until the next call.
func (w *walker) unquote(value jsontext.Value) []byte {
	if value.Kind() != '"' || bytes.IndexByte(value, '\\') < 0 {
		return unquoted(value)
	}
	w.plain, _ = jsontext.AppendUnquote(w.plain[:0], value)
	return w.plain
}

// expand puts in force what the nodes in force from base on ask for at the same place.
func (w *walker) expand(base int, kind jsontext.Kind) {
	for i := base; i < len(w.inForce); i++ {
		n := w.inForce[i].node
		for _, also := range n.allOf {
			w.force(base, also)
		}
		for _, u := range n.unions {
			if !u.general {
				w.force(base, w.choose(u, kind))
			}
		}
	}
}

// open reads the start of a container, and takes out of force what does not want one.
func (w *walker) open(base int, kind jsontext.Kind) (start int64, err error) {
	if _, err := w.from.ReadToken(); err != nil {
		return 0, err
	}
	if w.from.StackDepth() > w.limits.depth {
		return 0, errTooDeep
	}
	kept := base
	for i := base; i < len(w.inForce); i++ {
		n := w.inForce[i].node
		if !w.begin(n, kind, nil) {
			continue
		}
		w.inForce[kept] = w.inForce[i]
		kept++
	}
	w.inForce = w.inForce[:kept]
	return w.from.InputOffset() - 1, nil
}

// begin checks what a value of any type is checked for: that it may be given, and its type.
func (w *walker) begin(n *node, kind jsontext.Kind, text []byte) bool {
	if n.barred&w.direction != 0 {
		switch {
		case n.barred == always:
			w.add("false", "must not be given")
		case w.direction == inRequest:
			w.add("readOnly", "must not be sent, for it is read-only")
		default:
			w.add("writeOnly", "must not be sent, for it is write-only")
		}
		return false
	}
	if !n.types.allow(kind, text) {
		w.add("type", "must be "+n.types.String())
		return false
	}
	return true
}

// closeLiterals compares a container that has been read with enum and const.
func (w *walker) closeLiterals(n *node, start int64) {
	for _, l := range n.literals {
		w.scratch = w.scratch[:0]
		if l.depth > 0 {
			w.resetAhead(w.text[start:w.from.InputOffset()])
			var err error
			if w.scratch, err = appendCanonical(w.scratch, &w.ahead, l.depth); err != nil {
				w.scratch = w.scratch[:0] // nested deeper than any of the values
			}
			w.work += int(w.ahead.InputOffset())
		}
		w.checkLiteral(l, w.scratch)
	}
}

func (w *walker) array(base int) error {
	start, err := w.open(base, '[')
	if err != nil {
		return err
	}
	end := len(w.inForce)
	count := 0
	w.path = append(w.path, step{})
	for ; w.from.PeekKind() != ']'; count++ {
		for i := base; i < end; i++ {
			n := w.inForce[i].node
			if count < len(n.prefix) {
				w.force(end, n.prefix[count])
			} else {
				w.force(end, n.items)
			}
		}
		w.path[len(w.path)-1].index = count
		if err := w.value(end); err != nil {
			return err
		}
		w.inForce = w.inForce[:end]
	}
	w.path = w.path[:len(w.path)-1]
	if _, err := w.from.ReadToken(); err != nil {
		return err
	}
	for i := base; i < end; i++ {
		n := w.inForce[i].node
		w.checkRange(uint64(count), n.minItems, n.maxItems, "minItems", "maxItems", "elements")
		w.closeLiterals(n, start)
	}
	return nil
}
