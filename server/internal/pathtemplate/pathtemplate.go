// Package pathtemplate matches the paths of requests with the paths of an OpenAPI document, in which a segment
// may have parameters beside text, such as /files/{name}.json.
package pathtemplate

import (
	"cmp"
	"errors"
	"net/url"
	"slices"
	"strings"
)

// Template is a path of a document. It is immutable and safe for concurrent use.
type Template struct {
	// Names are the names of the parameters, in their order.
	Names []string
	// Shape is the path without the names. Templates with the same shape match the same paths.
	Shape string
	// Segments are the parts of the path after each slash.
	Segments []Segment
}

// Segment is a part of a path between slashes.
type Segment struct {
	Names    []string
	literals []string // the text before, between and after the parameters; escaped, unless there are none
	size     int      // the length of all literals
}

var (
	errBraces    = errors.New("has braces that are no parameters, or a parameter twice")
	errAmbiguous = errors.New("has two parameters without a text between")
)

// Parse parses a path.
func Parse(path string) (Template, error) {
	t := Template{Segments: make([]Segment, 0, strings.Count(path, "/")+1)}
	var shape strings.Builder
	for text := range strings.SplitSeq(strings.TrimPrefix(path, "/"), "/") {
		s, err := parseSegment(text)
		if err != nil {
			return Template{}, err
		}
		for _, name := range s.Names {
			if slices.Contains(t.Names, name) {
				return Template{}, errBraces
			}
			t.Names = append(t.Names, name)
		}
		shape.WriteString("/" + strings.Join(s.literals, "{}"))
		t.Segments = append(t.Segments, s)
	}
	t.Shape = shape.String()
	return t, nil
}

func parseSegment(text string) (s Segment, err error) {
	for {
		literal, rest, found := strings.Cut(text, "{")
		name, after, closed := strings.Cut(rest, "}")
		switch {
		case strings.Contains(literal, "}") || found && (!closed || name == "" || strings.Contains(name, "{")):
			return Segment{}, errBraces
		case found && literal == "" && len(s.Names) > 0:
			return Segment{}, errAmbiguous
		}
		unescaped, err := url.PathUnescape(literal)
		if err != nil {
			unescaped = literal
		}
		if found || len(s.Names) > 0 { // with the escapes of the document, which clients send as they are
			unescaped = (&url.URL{Path: unescaped, RawPath: literal}).EscapedPath()
		}
		literal = unescaped
		s.literals = append(s.literals, literal)
		s.size += len(literal)
		if !found {
			return s, nil
		}
		s.Names = append(s.Names, name)
		text = after
	}
}

// Match reports whether an escaped path matches the template, and returns the escaped values of the
// parameters. A value is neither empty nor a dot segment.
func (t *Template) Match(path string) (values []string, ok bool) {
	rest, ok := strings.CutPrefix(path, "/")
	if !ok {
		return nil, false
	}
	for i, s := range t.Segments {
		text, after, more := strings.Cut(rest, "/")
		if more != (i < len(t.Segments)-1) {
			return nil, false
		}
		if values, ok = s.Match(values, text); !ok {
			return nil, false
		}
		rest = after
	}
	return values, true
}

// Match is like [Template.Match] for a segment. It appends the values to dst. Of several parameters, each but
// the last ends where the following text first occurs.
func (s Segment) Match(dst []string, text string) (values []string, ok bool) {
	last := len(s.literals) - 1
	if last == 0 {
		if strings.Contains(text, "%") {
			text, _ = url.PathUnescape(text)
		}
		return dst, text == s.literals[0]
	}
	text, ok = strings.CutPrefix(text, s.literals[0])
	for i := 1; ok && i <= last; i++ {
		end := len(text) - len(s.literals[i])
		if i < last {
			end = 1 + strings.Index(text[min(1, len(text)):], s.literals[i])
		}
		if end < 1 || !strings.HasPrefix(text[end:], s.literals[i]) || isDots(text[:end]) {
			return dst, false
		}
		dst, text = append(dst, text[:end]), text[end+len(s.literals[i]):]
	}
	return dst, ok
}

func isDots(text string) bool {
	if len(text) > len("%2e%2e") {
		return false
	}
	text, err := url.PathUnescape(text)
	return err != nil || text == "." || text == ".."
}

// Compare orders templates so that of several that match a path, the one whose first different segment has
// more text is first.
func Compare(a, b *Template) int {
	return slices.CompareFunc(a.Segments, b.Segments, func(a, b Segment) int {
		return cmp.Or(cmp.Compare(min(1, len(a.Names)), min(1, len(b.Names))), cmp.Compare(b.size, a.size))
	})
}
