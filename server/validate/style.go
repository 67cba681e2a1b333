package validate

import (
	"errors"
	"net/url"
	"slices"
	"strconv"
	"strings"
)

// The styles of OpenAPI 3.1.
const (
	styleMatrix         = "matrix"
	styleLabel          = "label"
	styleSimple         = "simple"
	styleForm           = "form"
	styleSpaceDelimited = "spaceDelimited"
	stylePipeDelimited  = "pipeDelimited"
	styleDeepObject     = "deepObject"
)

// fault is why a parameter could not be read.
type fault struct{ keyword, detail string }

func (f *fault) Error() string { return f.keyword + ": " + f.detail }

var (
	errEscape   = &fault{"escape", "must be percent-encoded"}
	errRepeated = &fault{"repeated", "must be given once"}
	errUTF8     = &fault{"type", "must be UTF-8"}
	errEmpty    = &fault{"required", "must not be empty"}
	errAbsent   = errors.New("the parameter is not there")
	errNotJSON  = &fault{"content", "must be valid JSON"}
)

// wrongStyle says which style a text does not have.
func wrongStyle(style string) error {
	return &fault{"style", "must be serialized in the style " + style}
}

// serialization is how a value becomes the text of a path segment, a header, a query or a cookie.
type serialization struct {
	name     string
	style    string
	explode  bool
	unescape func(string) (string, error) // nil where nothing is percent-encoded
}

func (s *serialization) unescaped(text string) (string, error) {
	if s.unescape == nil || !strings.ContainsAny(text, "%+") {
		return text, nil
	}
	unescaped, err := s.unescape(text)
	if err != nil {
		return "", errEscape
	}
	return unescaped, nil
}

// readText reads a text in the style matrix, label or simple.
func (s *serialization) readText(text string, as kinds) (spelled, error) {
	delimiter := ","
	switch s.style {
	case styleLabel:
		after, ok := strings.CutPrefix(text, ".")
		if !ok {
			return spelled{}, wrongStyle(s.style)
		}
		text = after
		if s.explode {
			delimiter = "."
		}
	case styleMatrix:
		after, ok := strings.CutPrefix(text, ";")
		if !ok {
			return spelled{}, wrongStyle(s.style)
		}
		text = after
		if !s.explode || as == kindString {
			name, value, _ := strings.Cut(text, "=")
			if name, err := s.unescaped(name); err != nil || name != s.name {
				return spelled{}, wrongStyle(s.style)
			}
			text = value
			break
		}
		delimiter = ";"
		if as == kindArray {
			return s.readNamed(strings.Split(text, delimiter))
		}
	}
	return s.readList(text, as, delimiter)
}

// readNamed reads elements that each have the name of the parameter.
func (s *serialization) readNamed(pairs []string) (spelled, error) {
	v := spelled{kind: kindArray}
	for _, pair := range pairs {
		escaped, text, _ := strings.Cut(pair, "=")
		name, err := s.unescaped(escaped)
		if err != nil || name != s.name {
			return spelled{}, wrongStyle(s.style)
		}
		if text, err = s.unescaped(text); err != nil {
			return spelled{}, err
		}
		v.elements = append(v.elements, spelled{kind: kindString, text: text})
	}
	return v, nil
}

// readList reads a scalar, or an array or object between whose parts are delimiters. A list
// without any text is empty.
func (s *serialization) readList(text string, as kinds, delimiter string) (spelled, error) {
	if as == kindString {
		text, err := s.unescaped(text)
		return spelled{kind: kindString, text: text}, err
	}
	v := spelled{kind: as}
	if text == "" {
		return v, nil
	}
	parts := strings.Split(text, delimiter)
	if as == kindObject {
		if s.explode {
			names := make([]string, 0, 2*len(parts))
			for _, part := range parts {
				name, value, ok := strings.Cut(part, "=")
				if !ok {
					return spelled{}, wrongStyle(s.style)
				}
				names = append(names, name, value)
			}
			parts = names
		}
		if len(parts)%2 != 0 {
			return spelled{}, wrongStyle(s.style)
		}
	}
	for i, part := range parts {
		if s.unescape == nil { // a header may have space around the delimiters
			part = strings.Trim(part, " \t")
		}
		part, err := s.unescaped(part)
		if err != nil {
			return spelled{}, err
		}
		if as == kindObject && i%2 == 0 {
			v.names = append(v.names, part)
		} else {
			v.elements = append(v.elements, spelled{kind: kindString, text: part})
		}
	}
	return v, nil
}

// pair is a name and its value as they are in a query, a form or the cookies.
type pair struct {
	name  string // unescaped
	value string
}

// queryPairs splits a query or a form. It leaves out what has no readable name.
func queryPairs(query string) []pair {
	var pairs []pair
	for text := range strings.SplitSeq(query, "&") {
		name, value, _ := strings.Cut(text, "=")
		if text == "" {
			continue
		}
		if strings.ContainsAny(name, "%+") {
			unescaped, err := url.QueryUnescape(name)
			if err != nil {
				continue
			}
			name = unescaped
		}
		pairs = append(pairs, pair{name, value})
	}
	return pairs
}

// readPairs reads what pairs say in the style form, spaceDelimited, pipeDelimited or deepObject.
// takes reports whether a name is that of a member of an exploded object. It returns false when
// no pair belongs to the value.
func (s *serialization) readPairs(
	pairs []pair, as kinds, shape *shape, takes func(string) bool,
) (v spelled, present bool, err error) {
	if s.style == styleDeepObject {
		return s.readDeep(pairs, shape)
	}
	if s.explode && as == kindObject {
		return s.readMembers(pairs, shape, takes)
	}
	var values []string
	for _, p := range pairs {
		if p.name == s.name {
			values = append(values, p.value)
		}
	}
	if len(values) == 0 {
		return v, false, nil
	}
	if s.explode && as == kindArray {
		v, err = s.texts(values)
		return v, true, err
	}
	if len(values) > 1 {
		return v, true, errRepeated
	}
	delimiter, text := ",", values[0]
	if as != kindString {
		switch s.style {
		case styleSpaceDelimited:
			delimiter, text = "%20", strings.NewReplacer("+", "%20", " ", "%20").Replace(text)
		case stylePipeDelimited:
			delimiter, text = "|", strings.NewReplacer("%7C", "|", "%7c", "|").Replace(text)
		}
	}
	v, err = (&serialization{s.name, s.style, false, s.unescape}).readList(text, as, delimiter)
	return v, true, err
}

func (s *serialization) texts(values []string) (spelled, error) {
	v := spelled{kind: kindArray}
	for _, value := range values {
		text, err := s.unescaped(value)
		if err != nil {
			return spelled{}, err
		}
		v.elements = append(v.elements, spelled{kind: kindString, text: text})
	}
	return v, nil
}

// readMembers reads an exploded object, whose members are pairs of their own. A member that is an
// array may be given more than once.
func (s *serialization) readMembers(pairs []pair, shape *shape, takes func(string) bool) (v spelled, present bool, err error) {
	var entries []deepEntry
	for _, p := range pairs {
		if !takes(p.name) {
			continue
		}
		text, err := s.unescaped(p.value)
		if err != nil {
			return v, true, err
		}
		entries = append(entries, deepEntry{path: []string{p.name}, text: text})
	}
	if len(entries) == 0 {
		return v, false, nil
	}
	v, err = nest(entries, shape, s.style)
	return v, true, err
}

// deepEntry is a text with the keys that lead to it.
type deepEntry struct {
	path []string
	text string
}

// readDeep reads name[key]=value. Keys below keys, which OpenAPI leaves open, lead to members of
// members, and to elements when they are indexes or empty.
func (s *serialization) readDeep(pairs []pair, shape *shape) (v spelled, present bool, err error) {
	var entries []deepEntry
	for _, p := range pairs {
		keys, ok := strings.CutPrefix(p.name, s.name)
		if !ok || keys != "" && keys[0] != '[' {
			continue
		}
		path, ok := brackets(keys)
		if !ok {
			return v, true, wrongStyle(s.style)
		}
		text, err := s.unescaped(p.value)
		if err != nil {
			return v, true, err
		}
		entries = append(entries, deepEntry{path, text})
	}
	if len(entries) == 0 {
		return v, false, nil
	}
	v, err = nest(entries, shape, s.style)
	return v, true, err
}

// brackets splits "[a][b]".
func brackets(text string) (keys []string, ok bool) {
	for text != "" {
		end := strings.IndexByte(text, ']')
		if text[0] != '[' || end < 0 || len(keys) == MaxDepth {
			return nil, false
		}
		keys = append(keys, text[1:end])
		text = text[end+1:]
	}
	return keys, true
}

// nest makes one value of all entries.
func nest(entries []deepEntry, s *shape, style string) (spelled, error) {
	var keys []string
	below := make(map[string][]deepEntry)
	leaf := spelled{kind: kindArray}
	for _, e := range entries {
		if len(e.path) == 0 {
			leaf.elements = append(leaf.elements, spelled{kind: kindString, text: e.text})
			continue
		}
		key := e.path[0]
		if below[key] == nil {
			keys = append(keys, key)
		}
		below[key] = append(below[key], deepEntry{e.path[1:], e.text})
	}
	isArray := s.types&kindArray != 0 && s.types&kindObject == 0
	switch {
	case len(leaf.elements) > 0 && len(keys) > 0:
		return spelled{}, wrongStyle(style)
	case len(leaf.elements) > 1 && s.types&kindArray == 0:
		return spelled{}, errRepeated
	case len(leaf.elements) == 1 && !isArray:
		return leaf.elements[0], nil
	case len(leaf.elements) > 0:
		return leaf, nil
	case isArray:
		return nestElements(keys, below, s.items, style)
	}
	v := spelled{kind: kindObject, names: keys}
	for _, key := range keys {
		member, err := nest(below[key], s.member(key), style)
		if err != nil {
			return spelled{}, err
		}
		v.elements = append(v.elements, member)
	}
	return v, nil
}

// nestElements makes an array of keys that are indexes from 0 on, in any order, or all empty.
func nestElements(keys []string, below map[string][]deepEntry, items *shape, style string) (spelled, error) {
	if slices.Equal(keys, []string{""}) {
		v := spelled{kind: kindArray}
		for _, e := range below[""] {
			element, err := nest([]deepEntry{e}, items, style)
			if err != nil {
				return spelled{}, err
			}
			v.elements = append(v.elements, element)
		}
		return v, nil
	}
	v := spelled{kind: kindArray, elements: make([]spelled, len(keys))}
	for _, key := range keys {
		i, err := strconv.Atoi(key)
		if err != nil || i < 0 || i >= len(keys) || strconv.Itoa(i) != key {
			return spelled{}, wrongStyle(style)
		}
		element, err := nest(below[key], items, style)
		if err != nil {
			return spelled{}, err
		}
		v.elements[i] = element
	}
	return v, nil
}
