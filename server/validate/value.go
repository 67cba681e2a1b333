package validate

import (
	"bytes"
	"hash/maphash"

	"github.com/go-json-experiment/json/jsontext"
)

// value is a JSON value in memory, for schemas that have to look at it more than once.
type value struct {
	kind     jsontext.Kind
	text     []byte // of a scalar; a string is without quotes and escapes
	elements []value
	members  []field
	byName   map[string]int // of members, when there are many
	hash     uint64
	hashed   bool
}

// field is a member of an object.
type field struct {
	name   string
	token  string  // of a JSON pointer; anyMember when the document does not know the name
	folded *member // that the name differs from in case only
	value  value
}

// manyMembers is how many members are searched one by one.
const manyMembers = 8

// readValue reads what is known to be one value from w.ahead.
func (w *walker) readValue(v *value) error {
	v.kind = w.ahead.PeekKind()
	if v.kind != '{' && v.kind != '[' {
		text, err := w.ahead.ReadValue()
		v.text = bytes.Clone(unquoted(text))
		return err
	}
	if _, err := w.ahead.ReadToken(); err != nil {
		return err
	}
	for next := w.ahead.PeekKind(); next != '}' && next != ']'; next = w.ahead.PeekKind() {
		if v.kind == '[' {
			v.elements = append(v.elements, value{})
			if err := w.readValue(&v.elements[len(v.elements)-1]); err != nil {
				return err
			}
			continue
		}
		name, err := w.ahead.ReadValue()
		if err != nil {
			return err
		}
		v.members = append(v.members, field{name: string(unquoted(name)), token: anyMember})
		if err := w.readValue(&v.members[len(v.members)-1].value); err != nil {
			return err
		}
	}
	_, err := w.ahead.ReadToken()
	return err
}

// find returns the member of a name, or nil.
func (v *value) find(name string) *field {
	if len(v.members) <= manyMembers {
		for i := range v.members {
			if v.members[i].name == name {
				return &v.members[i]
			}
		}
		return nil
	}
	if v.byName == nil {
		v.byName = make(map[string]int, len(v.members))
		for i := range v.members {
			v.byName[v.members[i].name] = i
		}
	}
	if i, ok := v.byName[name]; ok {
		return &v.members[i]
	}
	return nil
}

// appendCanonical writes the canonical text of v, and reports whether it is nested no deeper
// than depth.
func (v *value) appendCanonical(dst []byte, depth int) ([]byte, bool) {
	if v.kind != '{' && v.kind != '[' {
		return appendScalar(dst, v.kind, v.text), true
	}
	if depth == 0 {
		return dst, false
	}
	ok := true
	if v.kind == '[' {
		dst = append(dst, '[')
		for i := range v.elements {
			if dst, ok = v.elements[i].appendCanonical(dst, depth-1); !ok {
				return dst, false
			}
			dst = append(dst, ',')
		}
		return append(dst, ']'), true
	}
	members := make([]string, 0, len(v.members))
	for i := range v.members {
		m := &v.members[i]
		text := append(appendScalar(nil, '"', []byte(m.name)), ':')
		if text, ok = m.value.appendCanonical(text, depth-1); !ok {
			return dst, false
		}
		members = append(members, string(text))
	}
	return appendMembers(dst, members), true
}

// sum returns a hash that equal values share.
func (v *value) sum(seed maphash.Seed) uint64 {
	if v.hashed {
		return v.hash
	}
	var h maphash.Hash
	h.SetSeed(seed)
	switch v.kind {
	case '[':
		h.WriteByte('[') //nolint:errcheck // never fails
		for i := range v.elements {
			maphash.WriteComparable(&h, v.elements[i].sum(seed))
		}
	case '{':
		total := uint64(len(v.members)) // in no order
		for i := range v.members {
			m := &v.members[i]
			total += maphash.Comparable(seed, [2]uint64{maphash.String(seed, m.name), m.value.sum(seed)})
		}
		h.WriteByte('{') //nolint:errcheck // never fails
		maphash.WriteComparable(&h, total)
	default:
		h.Write(appendScalar(nil, v.kind, v.text)) //nolint:errcheck // never fails
	}
	v.hash, v.hashed = h.Sum64(), true
	return v.hash
}

// equals reports whether two values are the same to JSON Schema.
func (v *value) equals(other *value) bool {
	if v.kind != other.kind || len(v.elements) != len(other.elements) || len(v.members) != len(other.members) {
		return false
	}
	switch v.kind {
	case '[':
		for i := range v.elements {
			if !v.elements[i].equals(&other.elements[i]) {
				return false
			}
		}
		return true
	case '{':
		for i := range v.members {
			m := other.find(v.members[i].name)
			if m == nil || !v.members[i].value.equals(&m.value) {
				return false
			}
		}
		return true
	case '0':
		a, _ := parseDecimal(nil, v.text)
		b, _ := parseDecimal(nil, other.text)
		return a.compare(b) == 0
	default:
		return bytes.Equal(v.text, other.text)
	}
}

// repeats reports whether two elements of an array are equal.
func (v *value) repeats() bool {
	seed := maphash.MakeSeed()
	first := make(map[uint64]*value, len(v.elements))
	for i := range v.elements {
		e := &v.elements[i]
		hash := e.sum(seed)
		if other := first[hash]; other != nil && other.equals(e) {
			return true
		}
		first[hash] = e
	}
	return false
}
