package validate

import (
	"slices"
	"sync"
)

// checker checks one request, response or value. Its buffers serve the next one.
type checker struct {
	*walker

	pool       *sync.Pool      // of checkers
	body       []byte          // the body of the request
	parameters []readParameter // the decoded parameters that are not plain
}

// newCheckers returns a pool of checkers.
func newCheckers(l limits) *sync.Pool {
	walkers := newPool(l)
	return &sync.Pool{New: func() any { return &checker{walker: newWalker(walkers)} }}
}

// newChecker returns a checker of values that are sent in a direction.
func newChecker(pool *sync.Pool, sent direction) *checker {
	w := pool.Get().(*checker)
	w.pool, w.direction = pool, sent
	return w
}

// release returns w to its pool, unless its buffers are large.
func (w *checker) release() {
	w.parameters = nil
	if w.reset() && cap(w.body) <= keepBytes {
		w.pool.Put(w)
	}
}

// failure returns the violations as an [*Error], or nil if there are none.
func (w *checker) failure(status int, detail string) error {
	if w.malformed != "" {
		detail = w.malformed
	} else if len(w.found) == 0 {
		return nil
	}
	return &Error{Status: status, Detail: detail, Violations: slices.Clone(w.found)}
}
