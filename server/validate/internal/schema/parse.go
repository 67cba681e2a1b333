package schema

import (
	"bytes"
	"errors"
	"hash/maphash"
	"math/bits"
	"slices"

	"github.com/go-json-experiment/json/jsontext"

	"github.com/avatarstudio/avatarstudio/api/runtime/rawjson"
)

var (
	errSyntax    = errors.New("the text is not I-JSON")
	errTooDeep   = errors.New("the text is nested too deeply")
	errDuplicate = errors.New("the text has an object with a duplicate name")
)

// root stands for the container around the outermost value.
const root = -1

// parse makes t the tape of a JSON text, which must be smaller than 2 GiB. It stops at the first error. If that
// is errDuplicate, the last value is the duplicate name.
func (t *tape) parse(text []byte, maxDepth int) error {
	t.text, t.values, t.err, t.innermost = text, t.values[:0], nil, root
	parent, depth := root, 0
	isObject, isName := false, false // whether parent is an object, and its next value is a name
	for i := 0; ; {
		i = rawjson.Space(text, i)
		if i == len(text) || isName && text[i] != '"' {
			return t.fail(errSyntax, parent, i)
		}
		if len(t.values) == cap(t.values) {
			t.grow(text[i:])
		}
		if c := text[i]; c == '{' || c == '[' {
			if depth == maxDepth {
				return t.fail(errTooDeep, parent, i)
			}
			parent, isObject = t.open(i, parent), c == '{'
			depth++
			i = rawjson.Space(text, i+1)
			if i == len(text) || text[i] != closing(isObject) {
				isName = isObject
				continue
			}
		} else {
			v := value{start: uint32(i)}
			end, escaped := 0, false
			if c == '"' {
				var plain bool
				if end, plain = rawjson.String(text, i); end >= 0 && !plain {
					escaped = bytes.IndexByte(text[i:end], '\\') >= 0
					var err error
					if t.unquoted, err = jsontext.AppendUnquote(t.unquoted[:0], text[i:end]); err != nil {
						end = -1
					}
				}
				v.size = uint32(end - i - len(`""`))
			} else {
				end = scanLiteral(text, i)
				v.size = uint32(end - i)
			}
			if end < 0 {
				return t.fail(errSyntax, parent, i)
			}
			if escaped {
				v.start |= flagged
			}
			t.values = append(t.values, v)
			i = rawjson.Space(text, end)
		}
		if isName {
			if i == len(text) || text[i] != ':' {
				return t.fail(errSyntax, parent, i)
			}
			i, isName = i+1, false
			continue
		}
		for parent != root && i < len(text) && text[i] == closing(isObject) {
			if isObject && len(t.values) > parent+3 && t.duplicate(parent) >= 0 { // one scalar member makes 3 values
				return t.fail(errDuplicate, parent, i)
			}
			parent = t.close(parent)
			isObject = parent != root && t.kind(parent) == KindObject
			depth--
			i = rawjson.Space(text, i+1)
		}
		switch {
		case parent == root && i == len(text):
			return nil
		case parent == root || i == len(text) || text[i] != ',':
			return t.fail(errSyntax, parent, i)
		}
		i, isName = i+1, isObject
	}
}

// open appends the container at i in the text.
func (t *tape) open(i, parent int) (v int) {
	if parent != root {
		t.values[parent].start |= flagged
	}
	t.values = append(t.values, value{uint32(i), container | uint32(parent-root)})
	return len(t.values) - 1
}

// close ends the container v, and returns the one around it.
func (t *tape) close(v int) (parent int) {
	parent = int(t.values[v].size&^container) + root
	t.values[v].size = container | uint32(len(t.values)-v)
	return parent
}

// fail ends the tape at an error in the container parent, at i in the text. A duplicate name in an object that is open
// is an earlier error.
func (t *tape) fail(err error, parent, i int) error {
	t.err, t.innermost, t.failed = err, parent, i
	for v := parent; v != root; v = t.close(v) {
		if t.kind(v) != KindObject {
			continue
		}
		if name := t.duplicate(v); name >= 0 {
			t.err, t.innermost, t.values = errDuplicate, v, t.values[:name+1]
		}
	}
	return t.err
}

// duplicate returns the first name that occurs twice in an object, or -1. The object must be the last one on
// the tape, and may be open.
func (t *tape) duplicate(object int) int {
	var names [8]int
	count := 0
	for name := object + 1; name < len(t.values); name = t.nextName(name) {
		if count < len(names) {
			for _, other := range names[:count] {
				if t.same(other, name) {
					return name
				}
			}
			names[count] = name
		}
		count++
	}
	if count <= len(names) {
		return -1
	}
	mask := 2<<bits.Len(uint(count)) - 1 // at most half of the slots are used
	t.slots = slices.Grow(t.slots[:0], mask+1)[:mask+1]
	clear(t.slots)
	for name := object + 1; name < len(t.values); name = t.nextName(name) {
		slot := int(maphash.Bytes(t.seed, t.string(name))) & mask
		for ; t.slots[slot] != 0; slot = (slot + 1) & mask {
			if t.same(int(t.slots[slot]), name) {
				return name
			}
		}
		t.slots[slot] = uint32(name)
	}
	return -1
}

// grow makes room for at least one more value. Up to keepValues, the room doubles. Then it suffices for rest,
// which is the rest of the text, so that a large tape is not copied again.
func (t *tape) grow(rest []byte) {
	more := max(64, len(t.values))
	if len(t.values)+more > keepValues {
		more = countValues(rest)
	}
	t.values = slices.Grow(t.values, more)
}

// countValues returns an upper bound for the values at the start of text.
func countValues(text []byte) int {
	count, inString := 1, false
	for i := 0; i < len(text); i++ {
		switch text[i] {
		case '"':
			inString = !inString
		case '\\':
			i++
		case '{', '[', ',', ':':
			if !inString && (i+1 == len(text) || text[i+1] != text[i]+('}'-'{')) { // not {} or []
				count++
			}
		}
	}
	return count
}
