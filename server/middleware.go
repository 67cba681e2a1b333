package server

import (
	"context"
	"net/http"

	"github.com/avatarstudio/avatarstudio/gen"
)

// requireContexts returns middleware that passes on contexts of the request, which the middleware may have replaced.
func requireContexts(middleware []gen.StrictMiddlewareFunc) []gen.StrictMiddlewareFunc {
	required := make([]gen.StrictMiddlewareFunc, len(middleware))
	for i, wrap := range middleware {
		required[i] = func(next gen.StrictHandlerFunc, operationID string) gen.StrictHandlerFunc {
			return wrap(requireContext(next), operationID)
		}
	}
	return required
}

func requireContext(next gen.StrictHandlerFunc) gen.StrictHandlerFunc {
	return func(ctx context.Context, w http.ResponseWriter, r *http.Request, request any) (any, error) {
		if ctx = withExchange(ctx, w); ctx == nil {
			return nil, errContext("Middleware")
		}
		return next(ctx, w, r, request)
	}
}
