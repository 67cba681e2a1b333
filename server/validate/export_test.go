package validate

import "github.com/avatarstudio/avatarstudio/server/validate/internal/schema"

// Work validates body and returns the number of node checks plus the number of bytes read more than once.
func (s *Schema) Work(body []byte) int {
	w := newChecker(schema.Elsewhere)
	defer w.release()
	w.Check(body, s.node)
	return w.Work
}
