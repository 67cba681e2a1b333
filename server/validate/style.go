package validate

import (
	"net/url"
	"strings"

	"github.com/avatarstudio/avatarstudio/server/validate/internal/schema"
)

// The parameter styles of OpenAPI.
const (
	styleMatrix         = "matrix"
	styleLabel          = "label"
	styleSimple         = "simple"
	styleForm           = "form"
	styleSpaceDelimited = "spaceDelimited"
	stylePipeDelimited  = "pipeDelimited"
	styleDeepObject     = "deepObject"
)

// stylesIn returns the styles of parameters in one location. The first is the default.
func stylesIn(in string) []string {
	switch in {
	case inPath:
		return []string{styleSimple, styleLabel, styleMatrix}
	case inQuery:
		return []string{styleForm, styleSpaceDelimited, stylePipeDelimited, styleDeepObject}
	case inCookie:
		return []string{styleForm}
	}
	return []string{styleSimple}
}

// decodeError is the reason why a parameter cannot be decoded.
type decodeError struct{ keyword, detail string }

func (e *decodeError) Error() string { return e.keyword + ": " + e.detail }

var (
	errEscape   = &decodeError{"escape", "must be percent-encoded"}
	errRepeated = &decodeError{"repeated", "must be given once"}
	errUTF8     = &decodeError{"type", "must be UTF-8"}
	errEmpty    = &decodeError{"required", "must not be empty"}
	errAbsent   = &decodeError{"required", "is required"}
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
func (s *serialization) readText(text string, as schema.Kinds) (schema.TextValue, error) {
	prefix, delimiter := "", ","
	switch s.style {
	case styleLabel:
		prefix = "."
		if s.explode {
			delimiter = "."
		}
	case styleMatrix:
		prefix = ";"
	}
	text, ok := strings.CutPrefix(text, prefix)
	if !ok {
		return schema.TextValue{}, wrongStyle(s.style)
	}
	if s.style != styleMatrix {
		return s.readList(text, as, delimiter)
	}
	if s.explode && as == schema.KindObject {
		return s.readList(text, as, ";")
	}
	pairs := []string{text}
	if s.explode && as == schema.KindArray {
		pairs = strings.Split(text, ";")
	}
	for i, pair := range pairs {
		escaped, value, _ := strings.Cut(pair, "=")
		if name, err := s.unescaped(escaped); err != nil || name != s.name {
			return schema.TextValue{}, wrongStyle(s.style)
		}
		pairs[i] = value
	}
	if s.explode && as == schema.KindArray {
		return s.readParts(pairs, as)
	}
	return s.readList(pairs[0], as, ",")
}

// readList decodes a scalar, or an array or object with delimiters. An empty text is an empty list.
func (s *serialization) readList(text string, as schema.Kinds, delimiter string) (schema.TextValue, error) {
	switch {
	case as == schema.KindString:
		text, err := s.unescaped(text)
		return schema.StringValue(text), err
	case text == "":
		return schema.TextValue{Kind: as}, nil
	}
	parts := strings.Split(text, delimiter)
	if as == schema.KindObject && s.explode {
		members := make([]string, 0, 2*len(parts))
		for _, part := range parts {
			name, value, ok := strings.Cut(part, "=")
			if !ok {
				return schema.TextValue{}, wrongStyle(s.style)
			}
			members = append(members, name, value)
		}
		parts = members
	}
	for i := range parts {
		if s.unescape == nil { // headers may have whitespace around delimiters
			parts[i] = strings.Trim(parts[i], " \t")
		}
	}
	return s.readParts(parts, as)
}

// readParts decodes the elements of an array, or the names and values of an object.
func (s *serialization) readParts(parts []string, as schema.Kinds) (schema.TextValue, error) {
	v := schema.TextValue{Kind: as}
	if as == schema.KindObject && len(parts)%2 != 0 {
		return v, wrongStyle(s.style)
	}
	for i, part := range parts {
		part, err := s.unescaped(part)
		if err != nil {
			return v, err
		}
		if as == schema.KindObject && i%2 == 0 {
			v.Names = append(v.Names, part)
		} else {
			v.Elements = append(v.Elements, schema.StringValue(part))
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
	for query != "" {
		q, rest, ok := cutPair(query)
		if query = rest; ok {
			pairs = append(pairs, q)
		}
	}
	return pairs
}

// cutPair returns the first pair of a query or form, and what follows it. ok is false if there is no pair before the
// ampersand, or its name cannot be decoded.
func cutPair(query string) (q pair, rest string, ok bool) {
	text, rest, _ := strings.Cut(query, "&")
	q.name, q.value, _ = strings.Cut(text, "=")
	if !strings.ContainsAny(q.name, "%+") {
		return q, rest, text != ""
	}
	name, err := url.QueryUnescape(q.name)
	return pair{name, q.value}, rest, err == nil
}

// readPairs decodes the pairs of a value in the style form, spaceDelimited, pipeDelimited or deepObject. The error
// is errAbsent if no pair belongs to the value.
func (p *parameter) readPairs(pairs []pair, as schema.Kinds) (schema.TextValue, error) {
	if p.style == styleDeepObject || p.explode && as == schema.KindObject {
		return p.readMembers(pairs)
	}
	var values []string
	for _, q := range pairs {
		if q.name == p.name {
			values = append(values, q.value)
		}
	}
	switch {
	case len(values) == 0:
		return schema.TextValue{}, errAbsent
	case p.explode && as == schema.KindArray:
		return p.readParts(values, as)
	case len(values) > 1:
		return schema.TextValue{}, errRepeated
	}
	delimiter, text := ",", values[0]
	if as != schema.KindString {
		switch p.style {
		case styleSpaceDelimited:
			delimiter, text = "%20", strings.NewReplacer("+", "%20", " ", "%20").Replace(text)
		case stylePipeDelimited:
			delimiter, text = "|", strings.NewReplacer("%7C", "|", "%7c", "|").Replace(text)
		}
	}
	flat := p.serialization
	flat.explode = false
	return flat.readList(text, as, delimiter)
}

// readMembers decodes an object that has a pair for each member, or several for a member that is an array.
func (p *parameter) readMembers(pairs []pair) (schema.TextValue, error) {
	var all fields
	for _, q := range pairs {
		name := q.name
		if p.style == styleDeepObject {
			key, named := strings.CutPrefix(q.name, p.name+"[")
			if !named && q.name != p.name {
				continue
			}
			var closed bool
			if name, closed = strings.CutSuffix(key, "]"); !named || !closed || strings.ContainsAny(name, "[]") {
				return schema.TextValue{}, wrongStyle(p.style)
			}
		} else if !p.acceptsMember(name) {
			continue
		}
		text, err := p.unescaped(q.value)
		if err != nil {
			return schema.TextValue{}, err
		}
		known := all.get(name)
		list := known != nil && known.Kind == schema.KindArray
		if !list {
			types := p.shape.Member(name).Types
			if known != nil && types&schema.KindArray == 0 {
				return schema.TextValue{}, errRepeated
			}
			list = types&schema.KindArray != 0 && types&schema.KindObject == 0
		}
		all.add(name, schema.StringValue(text), list)
	}
	if len(all.names) == 0 {
		return schema.TextValue{}, errAbsent
	}
	return all.object(), nil
}
