package server

import (
	"context"
	"net/http"
	"slices"
	"sync"

	"github.com/avatarstudio/avatarstudio/gen"
	"github.com/avatarstudio/avatarstudio/server/validate"
)

// chains holds the middleware of each operation, by its id. The generated code would build a
// chain for every request, from the last to the first, and with Go names in place of ids.
type chains map[string]*chain

type chain struct {
	middleware []gen.StrictMiddlewareFunc
	once       sync.Once
	handler    gen.StrictHandlerFunc
}

// newChains returns the middleware for the generated code: none, or one for all.
func newChains(validator *validate.Validator, middleware []gen.StrictMiddlewareFunc) []gen.StrictMiddlewareFunc {
	if len(middleware) == 0 {
		return nil
	}
	all := make(chains)
	for operation := range validator.Operations() {
		all[operation.ID()] = &chain{middleware: middleware}
	}
	return []gen.StrictMiddlewareFunc{all.wrap}
}

// wrap is a [gen.StrictMiddlewareFunc]. The next handler of an operation is always the same.
func (all chains) wrap(next gen.StrictHandlerFunc, _ string) gen.StrictHandlerFunc {
	return func(ctx context.Context, w http.ResponseWriter, r *http.Request, request any) (any, error) {
		id := OperationID(ctx)
		c := all[id]
		c.once.Do(func() {
			handler := next
			for _, middleware := range slices.Backward(c.middleware) {
				handler = middleware(handler, id)
			}
			c.handler = handler
		})
		return c.handler(ctx, w, r, request)
	}
}
