package validate

import (
	"bytes"
	"hash/maphash"

	"github.com/go-json-experiment/json/jsontext"
)

// tree is a JSON text in memory, for schemas that have to look at a value more than once. Its
// values are in the order of the text; the members of an object are names and values in turn.
type tree struct {
	text   []byte
	values []value
	seed   maphash.Seed
	hashes []uint64 // of values, when they have been asked for
}

// value is small, for a text has up to one for each two of its bytes.
type value struct {
	kind       jsontext.Kind
	escaped    bool   // whether a string has escapes
	tall       bool   // whether a container has another
	start, end uint32 // in the text; of a string without its quotes
	size       int32  // how many values begin here, with those that it contains
}

// readTree reads what is known to be one value.
func readTree(text []byte) tree {
	t := tree{text: text, values: make([]value, 0, countValues(text))}
	t.read(0)
	return t
}

// countValues returns how many values a text has, names included.
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

// endOfString returns where the string ends that begins at i.
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

// read reads the value that begins at i or behind the space there, and returns where it ends.
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
		i, v.tall = t.readInside(i + 1)
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

// readInside reads what a container has, and reports whether that has a container.
func (t *tree) readInside(i int) (end int, tall bool) {
	for {
		switch c := t.text[i]; {
		case c == '}' || c == ']':
			return i + 1, tall
		case c == ',' || c == ':' || isSpace(c):
			i++
		default:
			at := len(t.values)
			i = t.read(i)
			tall = tall || t.isContainer(at)
		}
	}
}

func isSpace(b byte) bool { return b == ' ' || b == '\t' || b == '\n' || b == '\r' }

func (t *tree) isContainer(v int) bool { return t.values[v].kind == '{' || t.values[v].kind == '[' }

// content returns the text of a scalar; a string is without quotes and escapes.
func (t *tree) content(v int) []byte {
	text := t.text[t.values[v].start:t.values[v].end]
	if t.values[v].escaped {
		text, _ = jsontext.AppendUnquote(nil, t.text[t.values[v].start-1:t.values[v].end+1])
	}
	return text
}

// next returns the value behind v and all that v contains.
func (t *tree) next(v int) int { return v + int(t.values[v].size) }

// find returns the name of a member of an object, or -1.
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

// appendCanonical writes the canonical text of v, and reports whether v is nested no deeper than
// depth.
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

// hash returns what equal values share.
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
		total := uint64(1) // in no order
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

// equal reports whether two values are the same to JSON Schema.
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
