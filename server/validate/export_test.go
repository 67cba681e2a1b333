package validate

import (
	"maps"
	"slices"
)

// Work validates body and returns the number of node checks plus the number of bytes read more than once.
func (s *Schema) Work(body []byte) int {
	w := newChecker(s.pool, elsewhere)
	defer w.release()
	w.walkBody(body, s.node)
	return w.work
}

// TranslatePattern translates a pattern of ECMA-262 to the syntax of RE2.
func TranslatePattern(text string) (string, error) {
	t := translator{source: text}
	err := t.translate()
	return t.out.String(), err
}

// Keywords returns the keywords that a schema may have, sorted.
func Keywords() []string { return slices.Sorted(maps.Keys(openAPIObjects(true)["Schema"].members)) }
