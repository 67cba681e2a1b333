package validate

import (
	"bytes"
	"hash/maphash"

	"github.com/go-json-experiment/json/jsontext"
)

// tree is a JSON text in memory, for schemas that must evaluate a value more than once. The values are in the
// order of the text. The members of an object are alternating names and values.
type tree struct {
	text   []byte
	values []value
	seed   maphash.Seed
	hashes []uint64 // of the values, if computed
}

// value is small, because a text can have one for every two bytes.
type value struct {
	kind       jsontext.Kind
	escaped    bool   // whether a string contains escapes
	nested     bool   // whether a container contains another container
	start, end uint32 // offsets in the text; without the quotes of a string
	size       int32  // number of values, including nested ones
}

// readTree reads a text that is known to be a single JSON value.
func readTree(text []byte) tree {
	t := tree{text: text, values: make([]value, 0, countValues(text))}
	t.read(0)
	return t
}

// countValues returns an upper bound for the values in a text, including names.
func countValues(text []byte) int {
	count := 1
	for i := 0; i < len(text); i++ {
		switch text[i] {
		case '{', '[', ',', ':':
			count++
		case '"':
			i = endOfString(text, i)
		}
	}
	return count
}

// endOfString returns the offset of the closing quote of the string that begins at i.
func endOfString(text []byte, i int) int {
	for {
		i += 1 + bytes.IndexByte(text[i+1:], '"')
		slashes := 0
		for text[i-1-slashes] == '\\' {
			slashes++
		}
		if slashes%2 == 0 { // otherwise the quote is escaped
			return i
		}
	}
}

// read reads the value at i, after skipping whitespace, and returns the offset of its end.
func (t *tree) read(i int) int {
	for isSpace(t.text[i]) {
		i++
	}
	at := len(t.values)
	v := value{kind: jsontext.Kind(t.text[i]), start: uint32(i)}
	if v.kind == '-' || '0' <= v.kind && v.kind <= '9' {
		v.kind = '0'
	}
	t.values = append(t.values, v)
	switch v.kind {
	case '{', '[':
		i, v.nested = t.readInside(i + 1)
	case '"':
		end := endOfString(t.text, i)
		v.start++
		v.escaped = bytes.IndexByte(t.text[i:end], '\\') >= 0
		i = end
	default:
		for i < len(t.text) && bytes.IndexByte([]byte(",:]}"), t.text[i]) < 0 && !isSpace(t.text[i]) {
			i++
		}
	}
	v.end = uint32(i)
	if v.kind == '"' {
		i++
	}
	v.size = int32(len(t.values) - at)
	t.values[at] = v
	return i
}

// readInside reads the content of a container, and reports whether it contains another container.
func (t *tree) readInside(i int) (end int, nested bool) {
	for {
		switch c := t.text[i]; {
		case c == '}' || c == ']':
			return i + 1, nested
		case c == ',' || c == ':' || isSpace(c):
			i++
		default:
			at := len(t.values)
			i = t.read(i)
			nested = nested || t.isContainer(at)
		}
	}
}

func isSpace(b byte) bool { return b == ' ' || b == '\t' || b == '\n' || b == '\r' }

func (t *tree) isContainer(v int) bool { return t.values[v].kind == '{' || t.values[v].kind == '[' }

// content returns the text of a scalar. A string is returned without quotes and escapes.
func (t *tree) content(v int) []byte {
	text := t.text[t.values[v].start:t.values[v].end]
	if t.values[v].escaped {
		text, _ = jsontext.AppendUnquote(nil, t.text[t.values[v].start-1:t.values[v].end+1])
	}
	return text
}

// next returns the value after v and all values that v contains.
func (t *tree) next(v int) int { return v + int(t.values[v].size) }

// find returns the index of a member name in an object, or -1.
func (t *tree) find(v int, name string) int {
	if t.values[v].kind == '{' {
		for at := v + 1; at < t.next(v); at = t.next(at + 1) {
			if string(t.content(at)) == name {
				return at
			}
		}
	}
	return -1
}

// appendCanonical appends the canonical text of v. It reports false if v is nested deeper than depth.
func (t *tree) appendCanonical(dst []byte, v, depth int) ([]byte, bool) {
	if !t.isContainer(v) {
		return appendScalar(dst, t.values[v].kind, t.content(v)), true
	}
	if depth == 0 {
		return dst, false
	}
	if t.values[v].kind == '[' {
		dst = append(dst, '[')
		for at := v + 1; at < t.next(v); at = t.next(at) {
			var ok bool
			if dst, ok = t.appendCanonical(dst, at, depth-1); !ok {
				return dst, false
			}
			dst = append(dst, ',')
		}
		return append(dst, ']'), true
	}
	var members []string
	for at := v + 1; at < t.next(v); at = t.next(at + 1) {
		text := append(appendScalar(nil, '"', t.content(at)), ':')
		text, ok := t.appendCanonical(text, at+1, depth-1)
		if !ok {
			return dst, false
		}
		members = append(members, string(text))
	}
	return appendMembers(dst, members), true
}

// hash returns the same number for equal values.
func (t *tree) hash(v int) uint64 {
	if t.hashes == nil {
		t.seed, t.hashes = maphash.MakeSeed(), make([]uint64, len(t.values))
	}
	if t.hashes[v] != 0 {
		return t.hashes[v]
	}
	var h maphash.Hash
	h.SetSeed(t.seed)
	switch t.values[v].kind {
	case '[':
		for at := v + 1; at < t.next(v); at = t.next(at) {
			maphash.WriteComparable(&h, t.hash(at))
		}
	case '{':
		total := uint64(1) // independent of the order of the members
		for at := v + 1; at < t.next(v); at = t.next(at + 1) {
			total += maphash.Comparable(t.seed, [2]uint64{maphash.Bytes(t.seed, t.content(at)), t.hash(at + 1)})
		}
		maphash.WriteComparable(&h, total)
	default:
		var scratch [64]byte
		h.Write(appendScalar(scratch[:0], t.values[v].kind, t.content(v)))
	}
	t.hashes[v] = max(1, h.Sum64())
	return t.hashes[v]
}

// equal reports whether two values are equal by JSON Schema.
func (t *tree) equal(v, other int) bool {
	kind := t.values[v].kind
	if kind != t.values[other].kind || t.hash(v) != t.hash(other) {
		return false
	}
	switch kind {
	case '[':
		a, b := v+1, other+1
		for ; a < t.next(v) && b < t.next(other); a, b = t.next(a), t.next(b) {
			if !t.equal(a, b) {
				return false
			}
		}
		return a == t.next(v) && b == t.next(other)
	case '{':
		count := 0
		for at := other + 1; at < t.next(other); at = t.next(at + 1) {
			count++
		}
		for at := v + 1; at < t.next(v); at = t.next(at + 1) {
			same := t.find(other, string(t.content(at)))
			if same < 0 || !t.equal(at+1, same+1) {
				return false
			}
			count--
		}
		return count == 0
	case '0':
		a, _ := parseDecimal(nil, t.content(v))
		b, _ := parseDecimal(nil, t.content(other))
		return a.compare(b) == 0
	default:
		return bytes.Equal(t.content(v), t.content(other))
	}
}

// repeats reports whether two elements of an array are equal.
func (t *tree) repeats(v int) bool {
	first := make(map[uint64]int)
	for at := v + 1; at < t.next(v); at = t.next(at) {
		hash := t.hash(at)
		if other, ok := first[hash]; ok && t.equal(other, at) {
			return true
		}
		first[hash] = at
	}
	return false
}
