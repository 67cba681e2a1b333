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

// walker checks one value or one request. Several nodes can be active at the same location: an object is
// checked against its schema and all schemas that allOf adds.
type walker struct {
	pool *sync.Pool
	body []byte // reused between requests
	text []byte // the JSON text that is being checked

	tokens      tokenReader // &plainTokens or &strict
	plainTokens plainReader
	in          bytes.Buffer
	strict      jsontext.Decoder
	active      []entry
	seen        []uint64 // bits of the required members, for each entry
	path        []step
	skips       bool // whether unconstrained values are skipped as a whole
	limits      limits

	direction direction // in which the value is sent
	quiet     int       // violations are not reported if above 0
	failures  int       // number of violations, reported or not

	work int // for tests: node checks and bytes read more than once

	aheadIn     bytes.Buffer // for reading ahead of the walk
	ahead       jsontext.Decoder
	tags        map[tag]jsontext.Value // complete up to aheadEnd
	aheadEnd    int64
	aheadFailed bool

	unquoteBuffer []byte // buffer for an unquoted string
	scratch       []byte // buffer for a canonical value or a folded name

	parameters []readParameter // decoded parameters that are not plain
	root       string          // prefix of all pointers: the parameter, or "" for a body
	found      []Violation
	malformed  string // why the text is not JSON
}

// entry is an active node.
type entry struct {
	node   *node
	seen   int     // index of its bits in walker.seen
	member *member // the last member that was read, if node declares it
}

// step leads from a container to a member or element.
type step struct {
	token string // of a member
	index int    // of an element, if token is ""
}

// Walkers with larger buffers or maps are not reused.
const (
	keepBytes = 128 << 10
	keepTags  = 1 << 10
)

// limits are the limits of a [Config].
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

// release returns w and its buffers to the pool.
func (w *walker) release() {
	if cap(w.body) > keepBytes || cap(w.unquoteBuffer)+cap(w.scratch) > keepBytes || len(w.tags) > keepTags {
		return
	}
	if len(w.text) > 0 && (len(w.text) != len(w.body) || &w.text[0] != &w.body[0]) { // the text belongs to the caller
		w.in = bytes.Buffer{}
		w.strict.Reset(&w.in)
		w.plainTokens.forget()
	}
	if w.aheadIn.Cap() > 0 {
		w.resetAhead(nil)
		clear(w.tags)
	}
	w.text, w.parameters = nil, nil
	w.found, w.root, w.malformed, w.direction = w.found[:0], "", "", elsewhere
	w.pool.Put(w)
}

// resetAhead makes w.ahead read text.
func (w *walker) resetAhead(text []byte) {
	w.aheadIn = *bytes.NewBuffer(text)
	w.ahead.Reset(&w.aheadIn)
}

// failure returns the violations as an [*Error], or nil if there are none.
func (w *walker) failure(status int, detail string) error {
	if w.malformed != "" {
		detail = w.malformed
	} else if len(w.found) == 0 {
		return nil
	}
	return &Error{Status: status, Detail: detail, Violations: slices.Clone(w.found)}
}

// add reports a violation at the current location.
func (w *walker) add(keyword, detail string) { w.addBelow("", keyword, detail) }

// addBelow reports a violation at a member of the current location.
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

// record drops violations that several active nodes report alike.
func (w *walker) record(v Violation) {
	if len(w.found) < w.limits.violations && !slices.Contains(w.found, v) {
		w.found = append(w.found, v)
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

var (
	// errEnough ends a walk early: the object has more members than allowed, and could have as many as fit
	// into a body.
	errEnough   = errors.New("too many members")
	errTooDeep  = errors.New("too deep")
	errTrailing = errors.New("trailing data")
)

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
	w.text = text
	before := len(w.found)
	w.skips = true
	w.plainTokens.reset(text, w.limits.depth)
	w.tokens = &w.plainTokens
	err := w.walkText(n)
	if err != nil && !errors.Is(err, errEnough) {
		w.found = w.found[:before] // start again: the text is not plain
		err = w.walkStrictly(n)
	}
	if errors.Is(err, jsontext.ErrDuplicateName) || err != nil && !errors.Is(err, errEnough) && depthOf(text) > w.limits.depth {
		w.found, w.skips = w.found[:before], false // start again, to find the location of the error
		err = w.walkStrictly(n)
	}
	if err == nil {
		return
	}
	w.path = w.path[:0]
	if errors.Is(err, jsontext.ErrDuplicateName) || errors.Is(err, errEnough) {
		return // already reported
	}
	w.found = w.found[:before] // violations are not reported for invalid JSON
	switch {
	case errors.Is(err, errTooDeep):
		w.malformed = "The JSON is nested more than " + strconv.Itoa(w.limits.depth) + " levels deep."
	default:
		w.malformed = "The body is not valid JSON."
	}
}

// walkStrictly is walkText with a reader that supports all JSON.
func (w *walker) walkStrictly(n *node) error {
	w.in = *bytes.NewBuffer(w.text)
	w.strict.Reset(&w.in)
	w.tokens = &w.strict
	return w.walkText(n)
}

// walkText checks w.text.
func (w *walker) walkText(n *node) error {
	w.active, w.seen, w.path = w.active[:0], w.seen[:0], w.path[:0]
	w.work, w.aheadEnd, w.aheadFailed = 0, 0, false
	w.activate(0, n)
	if err := w.value(0); err != nil {
		return err
	}
	if _, err := w.tokens.ReadToken(); !errors.Is(err, io.EOF) {
		return cmp.Or(err, errTrailing)
	}
	return nil
}

// value checks the next value against the active nodes from base on. It may activate more nodes, which the
// caller must remove.
func (w *walker) value(base int) error {
	kind := w.tokens.PeekKind()
	if types := kindOf(kind); types != 0 {
		if w.skips && w.needsTree(base, types) {
			return w.inMemory(base)
		}
		w.expand(base, kind)
	}
	w.work += 1 + len(w.active) - base
	unconstrained := w.skips && len(w.active) == base
	switch {
	case kind == '{' && !unconstrained:
		return w.object(base)
	case kind == '[' && !unconstrained:
		return w.array(base)
	}
	value, err := w.tokens.ReadValue()
	if err != nil {
		return err
	}
	if unconstrained && w.isTooDeep(value) {
		return errTooDeep
	}
	if len(w.active) > base {
		w.scalar(base, kind, w.unquote(value))
	}
	return nil
}

// needsTree reports whether an active node from base on needs a value of one of the types in memory.
func (w *walker) needsTree(base int, types kinds) bool {
	for i := base; i < len(w.active); i++ {
		if w.active[i].node.tree&types != 0 {
			return true
		}
	}
	return false
}

// inMemory reads the next value into memory and checks it against the active nodes from base on.
func (w *walker) inMemory(base int) error {
	value, err := w.tokens.ReadValue()
	if err != nil {
		return err
	}
	if w.isTooDeep(value) {
		return errTooDeep
	}
	w.checkTree(value, base)
	return nil
}

// isTooDeep reports whether a value that has just been read is nested too deeply. It first counts the
// brackets, which is much faster.
func (w *walker) isTooDeep(value []byte) bool {
	if w.tokens == &w.plainTokens { // plainReader has checked the depth
		return false
	}
	left := w.limits.depth - w.tokens.StackDepth()
	return bytes.Count(value, []byte{'{'})+bytes.Count(value, []byte{'['}) > left && depthOf(value) > left
}

// unquote is unquoted without allocation. The result is valid until the next call.
func (w *walker) unquote(value jsontext.Value) []byte {
	if value.Kind() != '"' || bytes.IndexByte(value, '\\') < 0 {
		return unquoted(value)
	}
	w.unquoteBuffer, _ = jsontext.AppendUnquote(w.unquoteBuffer[:0], value)
	return w.unquoteBuffer
}

// expand activates the schemas that the active nodes from base on apply to the same value.
func (w *walker) expand(base int, kind jsontext.Kind) {
	for i := base; i < len(w.active); i++ {
		n := w.active[i].node
		for _, also := range n.allOf {
			w.activate(base, also)
		}
		for _, u := range n.unions {
			if !u.general {
				w.activate(base, w.choose(u, kind))
			}
		}
	}
}

// open reads the start of a container, and deactivates the nodes that do not allow a container.
func (w *walker) open(base int, kind jsontext.Kind) (start int64, err error) {
	if _, err := w.tokens.ReadToken(); err != nil {
		return 0, err
	}
	if w.tokens.StackDepth() > w.limits.depth {
		return 0, errTooDeep
	}
	kept := base
	for i := base; i < len(w.active); i++ {
		n := w.active[i].node
		if !w.begin(n, kind, nil) {
			continue
		}
		w.active[kept] = w.active[i]
		kept++
	}
	w.active = w.active[:kept]
	return w.tokens.InputOffset() - 1, nil
}

// begin checks that a value may be sent in this direction and has an allowed type.
func (w *walker) begin(n *node, kind jsontext.Kind, text []byte) bool {
	if n.forbidden&w.direction != 0 {
		switch {
		case n.forbidden == always:
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
			w.resetAhead(w.text[start:w.tokens.InputOffset()])
			var err error
			if w.scratch, err = appendCanonical(w.scratch, &w.ahead, l.depth); err != nil {
				w.scratch = w.scratch[:0] // nested deeper than all allowed values
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
	end := len(w.active)
	count := 0
	w.path = append(w.path, step{})
	for ; w.tokens.PeekKind() != ']'; count++ {
		for i := base; i < end; i++ {
			n := w.active[i].node
			if count < len(n.prefix) {
				w.activate(end, n.prefix[count])
			} else {
				w.activate(end, n.items)
			}
		}
		w.path[len(w.path)-1].index = count
		if err := w.value(end); err != nil {
			return err
		}
		w.active = w.active[:end]
	}
	w.path = w.path[:len(w.path)-1]
	if _, err := w.tokens.ReadToken(); err != nil {
		return err
	}
	for i := base; i < end; i++ {
		n := w.active[i].node
		w.checkRange(uint64(count), n.minItems, n.maxItems, "minItems", "maxItems", "elements")
		w.closeLiterals(n, start)
	}
	return nil
}
