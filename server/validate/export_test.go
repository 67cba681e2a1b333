package validate

import (
	"maps"
	"slices"
)

// Work validates body and returns how often a value was checked against a node, and how many
// bytes were read again.
func (s *Schema) Work(body []byte) int {
	w := newWalker(s.pool)
	defer w.release()
	w.walkBody(body, s.node)
	return w.work
}

// TranslatePattern writes a pattern of ECMA-262 as RE2 reads it.
func TranslatePattern(text string) (string, error) {
	t := translator{rest: text}
	err := t.translate()
	return t.out.String(), err
}

// Keywords returns the keywords that a schema may have, sorted.
func Keywords() []string { return slices.Sorted(maps.Keys(openAPIObject("Schema"))) }
