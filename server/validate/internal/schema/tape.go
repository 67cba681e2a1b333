package schema

import (
	"bytes"
	"hash/maphash"

	"github.com/go-json-experiment/json/jsontext"
)

// tape is a parsed JSON text. Its values are in the order of the text, and a container precedes what it
// contains. The members of an object are alternating names and values.
//
// If parsing stops at an error, the tape has the values before it. The containers that are open then reach to
// the end of the tape.
type tape struct {
	text      []byte
	values    []value
	err       error // why parsing stopped: errSyntax, errTooDeep or errDuplicate
	failed    int   // where it stopped
	innermost int   // the innermost container whose end is missing, or -1

	unquoted []byte // buffer for the content of a string
	seed     maphash.Seed
	slots    []uint32 // hash table of the names of an object
	hashes   []uint64 // of the values, if computed
}

func newTape() tape { return tape{seed: maphash.MakeSeed()} }

// value is a JSON value or the name of a member. It is small, because a text can have one for every two bytes.
type value struct {
	// start is the offset in the text, of the quote for a string. The bit flagged is set for a string with
	// escapes, and for a container that contains another one.
	start uint32
	// size is the length of a scalar in bytes, without quotes. For a container, it is the number of its values
	// including itself, with the bit container.
	size uint32
}

const (
	flagged   = 1 << 31
	container = 1 << 31
)

// keepValues limits the values for which memory is kept, as KeepBytes limits bytes.
const keepValues = KeepBytes / 8

// release drops the text and large buffers.
func (t *tape) release() {
	t.text, t.hashes = nil, nil
	if cap(t.values) > keepValues {
		t.values = nil
	}
	if cap(t.slots) > keepValues {
		t.slots = nil
	}
	if cap(t.unquoted) > KeepBytes {
		t.unquoted = nil
	}
}

// setScalar makes t a single scalar: a string with the given content, or the JSON value text.
func (t *tape) setScalar(text string, isString bool) {
	t.text = append(append(t.unquoted[:0], '"'), text...)
	t.unquoted = t.text
	v := value{size: uint32(len(text))}
	if !isString {
		v.start = uint32(len(`"`))
	}
	t.values, t.err, t.innermost = append(t.values[:0], v), nil, -1
}

// kind returns the type of v. All numbers are KindNumber.
func (t *tape) kind(v int) Kinds { return kindOf(jsontext.Kind(t.text[t.values[v].start&^flagged])) }

func (t *tape) isContainer(v int) bool { return t.values[v].size&container != 0 }

// isNested reports whether v is a container that contains another one.
func (t *tape) isNested(v int) bool { return t.isContainer(v) && t.values[v].start&flagged != 0 }

// isOpen reports whether v is a container whose end is missing.
func (t *tape) isOpen(v int) bool { return v <= t.innermost && t.innermost < t.next(v) }

// next returns the value after v and all values that v contains.
func (t *tape) next(v int) int {
	if size := t.values[v].size; size&container != 0 {
		return v + int(size&^container)
	}
	return v + 1
}

// nextName returns the name after the member with the given name. The value of the last member may be missing.
func (t *tape) nextName(name int) int {
	if name+1 < len(t.values) {
		return t.next(name + 1)
	}
	return name + 1
}

// content returns the text of a scalar. A string is returned without quotes and escapes. The result is valid
// until the next call.
func (t *tape) content(v int) []byte {
	start, size := t.values[v].start, t.values[v].size
	if t.text[start&^flagged] == '"' {
		return t.string(v)
	}
	return t.text[start : start+size]
}

// string is content for a string.
func (t *tape) string(v int) []byte {
	start, size := t.values[v].start+1, t.values[v].size
	if start&flagged != 0 {
		start &^= flagged
		t.unquoted, _ = jsontext.AppendUnquote(t.unquoted[:0], t.text[start-1:start+size+1])
		return t.unquoted
	}
	return t.text[start : start+size]
}

// same reports whether two strings are equal.
func (t *tape) same(v, other int) bool {
	if a, b := t.values[v], t.values[other]; (a.start|b.start)&flagged == 0 {
		return a.size == b.size && bytes.Equal(t.string(v), t.string(other))
	}
	return bytes.Equal(bytes.Clone(t.string(v)), t.string(other))
}

// find returns the index of a member name in an object, or -1. It finds no member whose value is missing.
func (t *tape) find(v int, name string) int {
	if t.kind(v) == KindObject {
		for at := v + 1; at+1 < t.next(v); at = t.next(at + 1) {
			if string(t.string(at)) == name {
				return at
			}
		}
	}
	return -1
}
