package validate

import (
	"errors"
	"net/url"
	"slices"
	"strconv"
	"strings"
)

// The parameter styles of OpenAPI 3.1.
const (
	styleMatrix         = "matrix"
	styleLabel          = "label"
	styleSimple         = "simple"
	styleForm           = "form"
	styleSpaceDelimited = "spaceDelimited"
	stylePipeDelimited  = "pipeDelimited"
	styleDeepObject     = "deepObject"
)

// decodeError is the reason why a parameter cannot be decoded.
type decodeError struct{ keyword, detail string }

func (e *decodeError) Error() string { return e.keyword + ": " + e.detail }

var (
	errEscape   = &decodeError{"escape", "must be percent-encoded"}
	errRepeated = &decodeError{"repeated", "must be given once"}
	errUTF8     = &decodeError{"type", "must be UTF-8"}
	errEmpty    = &decodeError{"required", "must not be empty"}
	errAbsent   = errors.New("the parameter is missing")
	errNotJSON  = &decodeError{"content", "must be valid JSON"}
)

// wrongStyle returns the error for a text that does not have the given style.
func wrongStyle(style string) error {
	return &decodeError{"style", "must be serialized in the style " + style}
}

// serialization describes how a value is written in a path segment, header, query or cookie.
type serialization struct {
	name     string
	style    string
	explode  bool
	unescape func(string) (string, error) // nil if the location uses no percent-encoding
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

// readText decodes a text in the style matrix, label or simple.
func (s *serialization) readText(text string, as kinds) (textValue, error) {
	delimiter := ","
	switch s.style {
	case styleLabel:
		after, ok := strings.CutPrefix(text, ".")
		if !ok {
			return textValue{}, wrongStyle(s.style)
		}
		text = after
		if s.explode {
			delimiter = "."
		}
	case styleMatrix:
		after, ok := strings.CutPrefix(text, ";")
		if !ok {
			return textValue{}, wrongStyle(s.style)
		}
		text = after
		if !s.explode || as == kindString {
			name, value, _ := strings.Cut(text, "=")
			if name, err := s.unescaped(name); err != nil || name != s.name {
				return textValue{}, wrongStyle(s.style)
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

// readNamed decodes elements that are each preceded by the name of the parameter.
func (s *serialization) readNamed(pairs []string) (textValue, error) {
	v := textValue{kind: kindArray}
	for _, pair := range pairs {
		escaped, text, _ := strings.Cut(pair, "=")
		name, err := s.unescaped(escaped)
		if err != nil || name != s.name {
			return textValue{}, wrongStyle(s.style)
		}
		if text, err = s.unescaped(text); err != nil {
			return textValue{}, err
		}
		v.elements = append(v.elements, textValue{kind: kindString, text: text})
	}
	return v, nil
}

// readList decodes a scalar, or an array or object with delimiters. An empty text is an empty list.
func (s *serialization) readList(text string, as kinds, delimiter string) (textValue, error) {
	if as == kindString {
		text, err := s.unescaped(text)
		return textValue{kind: kindString, text: text}, err
	}
	v := textValue{kind: as}
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
					return textValue{}, wrongStyle(s.style)
				}
				names = append(names, name, value)
			}
			parts = names
		}
		if len(parts)%2 != 0 {
			return textValue{}, wrongStyle(s.style)
		}
	}
	for i, part := range parts {
		if s.unescape == nil { // headers may have whitespace around delimiters
			part = strings.Trim(part, " \t")
		}
		part, err := s.unescaped(part)
		if err != nil {
			return textValue{}, err
		}
		if as == kindObject && i%2 == 0 {
			v.names = append(v.names, part)
		} else {
			v.elements = append(v.elements, textValue{kind: kindString, text: part})
		}
	}
	return v, nil
}

// pair is a name and value in a query, form or cookie.
type pair struct {
	name  string // unescaped
	value string
}

// queryPairs splits a query or form. It ignores pairs whose name cannot be decoded.
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

// readPairs decodes the pairs of a value in the style form, spaceDelimited, pipeDelimited or deepObject.
// acceptsMember reports whether a name is a member of an exploded object. present is false if no pair belongs
// to the value.
func (s *serialization) readPairs(
	pairs []pair, as kinds, shape *shape, acceptsMember func(string) bool,
) (v textValue, present bool, err error) {
	if s.style == styleDeepObject {
		return s.readDeep(pairs, shape)
	}
	if s.explode && as == kindObject {
		return s.readMembers(pairs, shape, acceptsMember)
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

func (s *serialization) texts(values []string) (textValue, error) {
	v := textValue{kind: kindArray}
	for _, value := range values {
		text, err := s.unescaped(value)
		if err != nil {
			return textValue{}, err
		}
		v.elements = append(v.elements, textValue{kind: kindString, text: text})
	}
	return v, nil
}

// readMembers decodes an exploded object, which has one pair for each member. A member that is an array may
// be repeated.
func (s *serialization) readMembers(pairs []pair, shape *shape, acceptsMember func(string) bool) (v textValue, present bool, err error) {
	var entries []deepEntry
	for _, p := range pairs {
		if !acceptsMember(p.name) {
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

// deepEntry is a text with its path of keys.
type deepEntry struct {
	path []string
	text string
}

// readDeep decodes name[key]=value. OpenAPI does not define nested keys; here they are members of members, or
// elements if they are indexes or empty.
func (s *serialization) readDeep(pairs []pair, shape *shape) (v textValue, present bool, err error) {
	var entries []deepEntry
	for _, p := range pairs {
		keys, ok := strings.CutPrefix(p.name, s.name)
		if !ok || keys != "" && keys[0] != '[' {
			continue
		}
		path, ok := splitBrackets(keys)
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

// splitBrackets splits "[a][b]" into its keys.
func splitBrackets(text string) (keys []string, ok bool) {
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

// nest combines entries into one value.
func nest(entries []deepEntry, s *shape, style string) (textValue, error) {
	var keys []string
	below := make(map[string][]deepEntry)
	leaf := textValue{kind: kindArray}
	for _, e := range entries {
		if len(e.path) == 0 {
			leaf.elements = append(leaf.elements, textValue{kind: kindString, text: e.text})
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
		return textValue{}, wrongStyle(style)
	case len(leaf.elements) > 1 && s.types&kindArray == 0:
		return textValue{}, errRepeated
	case len(leaf.elements) == 1 && !isArray:
		return leaf.elements[0], nil
	case len(leaf.elements) > 0:
		return leaf, nil
	case isArray:
		return nestElements(keys, below, s.items, style)
	}
	v := textValue{kind: kindObject, names: keys}
	for _, key := range keys {
		member, err := nest(below[key], s.member(key), style)
		if err != nil {
			return textValue{}, err
		}
		v.elements = append(v.elements, member)
	}
	return v, nil
}

// nestElements returns an array. The keys must be the indexes from 0, in any order, or all empty.
func nestElements(keys []string, below map[string][]deepEntry, items *shape, style string) (textValue, error) {
	if slices.Equal(keys, []string{""}) {
		v := textValue{kind: kindArray}
		for _, e := range below[""] {
			element, err := nest([]deepEntry{e}, items, style)
			if err != nil {
				return textValue{}, err
			}
			v.elements = append(v.elements, element)
		}
		return v, nil
	}
	v := textValue{kind: kindArray, elements: make([]textValue, len(keys))}
	for _, key := range keys {
		i, err := strconv.Atoi(key)
		if err != nil || i < 0 || i >= len(keys) || strconv.Itoa(i) != key {
			return textValue{}, wrongStyle(style)
		}
		element, err := nest(below[key], items, style)
		if err != nil {
			return textValue{}, err
		}
		v.elements[i] = element
	}
	return v, nil
}
