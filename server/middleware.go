package server

import (
	"context"
	"net/http"
	"slices"
	"sync"

	"github.com/avatarstudio/avatarstudio/gen"
	"github.com/avatarstudio/avatarstudio/server/validate"
)

// chains maps operation ids to their middleware chains. The generated code would build a chain for every
// request, and pass Go names instead of operation ids.
type chains map[string]*chain

type chain struct {
	middleware []gen.StrictMiddlewareFunc
	once       sync.Once
	handler    gen.StrictHandlerFunc
}

// newChains returns the middleware for the generated code: nil if middleware is empty, and otherwise a single
// one that applies the chain of the operation.
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

// requireContext passes a context of the request to next, which the middleware around it may have replaced.
func requireContext(next gen.StrictHandlerFunc) gen.StrictHandlerFunc {
	return func(ctx context.Context, w http.ResponseWriter, r *http.Request, request any) (any, error) {
		if ctx = withExchange(ctx, w); ctx == nil {
			return nil, errContext("Middleware")
		}
		return next(ctx, w, r, request)
	}
}

// wrap is a [gen.StrictMiddlewareFunc]. It builds each chain once, because next is always the same for an
// operation.
func (all chains) wrap(next gen.StrictHandlerFunc, _ string) gen.StrictHandlerFunc {
	return func(ctx context.Context, w http.ResponseWriter, r *http.Request, request any) (any, error) {
		id := OperationID(ctx)
		c := all[id]
		c.once.Do(func() {
			handler := next
			for _, middleware := range slices.Backward(c.middleware) {
				handler = middleware(requireContext(handler), id)
			}
			c.handler = handler
		})
		return c.handler(ctx, w, r, request)
	}
}
