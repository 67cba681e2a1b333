package validate

import (
	"sync"

	"github.com/avatarstudio/avatarstudio/server/validate/internal/schema"
)

// checker checks one request, response or value. Its buffers serve the next one.
type checker struct {
	schema.Walker

	body       []byte          // the body of the request
	parameters []readParameter // the decoded parameters that are not plain
}

//nolint:gochecknoglobals // pools are shared
var (
	walkers  = schema.NewPool(MaxDepth, MaxViolations)
	checkers = sync.Pool{New: func() any { return &checker{Walker: *schema.NewWalker(walkers)} }}
)

// newChecker returns a checker of values that are sent in a direction.
func newChecker(sent schema.Direction) *checker {
	w := checkers.Get().(*checker)
	w.Direction = sent
	return w
}

// release returns w to the pool, unless its buffers are large.
func (w *checker) release() {
	w.parameters = nil
	if w.Reset() && cap(w.body) <= schema.KeepBytes {
		checkers.Put(w)
	}
}

// failure returns the violations as an [*Error], or nil if there are none.
func (w *checker) failure(status int, detail string) error {
	if w.Malformed != "" {
		detail = w.Malformed
	} else if len(w.Found) == 0 {
		return nil
	}
	all := make([]Violation, len(w.Found))
	for i, v := range w.Found {
		all[i] = Violation(v)
	}
	return &Error{Status: status, Detail: detail, Violations: all}
}
