package validate

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"net/http"

	"github.com/avatarstudio/avatarstudio/server/internal/pathtemplate"
)

// Middleware returns a handler that calls next with each request that matches the document. It finds the operation by
// every path that [Load] accepts, such as /jobs/{id}:cancel, sets r.Pattern and the path values of r, calls
// [Config.Security], and checks the request as [Operation.Handler] describes. Of several paths that match, it uses the
// one whose first different segment has more text. In next, [OperationFrom] returns the operation.
//
// Middleware calls [Config.Fail] with an [*Error] instead of next if the request is invalid, if no path of the document
// matches (404), if the path has no such method (405, with Allow), and if Config.Security returns an error. An
// operation for GET also serves HEAD, and OPTIONS is a method like others, so a handler around this one must respond to
// the preflight requests of CORS. Paths are compared as they were sent: /jobs/a%3Acancel is the job "a:cancel", and
// /jobs/ is another path than /jobs. A prefix of all paths needs an [http.StripPrefix] around the handler.
//
// A router in next matches paths by its own rules. Many take an escaped slash for a slash, or replace r.Pattern and the
// path values with their own, which may be escaped. r.PathValue("path:NAME") is the JSON of the value that was checked.
func (v *Validator) Middleware(next http.Handler) http.Handler {
	routes := new(pathtemplate.Routes[http.Handler])
	for _, o := range v.operations {
		if err := routes.Add(o.method, o.path, v.secure(o, o.Handler(next, v.fail))); err != nil {
			panic(err) // Load has rejected such paths
		}
	}
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		switch found, allow, ok := routes.Find(r); {
		case ok:
			found.ServeHTTP(w, r)
		case allow != "":
			w.Header().Set("Allow", allow)
			v.fail(w, r, &Error{Status: http.StatusMethodNotAllowed, Detail: "This path does not support this method."})
		default:
			v.fail(w, r, &Error{Status: http.StatusNotFound, Detail: "No operation has this path."})
		}
	})
}

// secure calls next with the operation in the context, if the request satisfies its security requirements.
func (v *Validator) secure(o *Operation, next http.Handler) http.Handler {
	security, challenge := v.security, Challenge(o.security)
	if len(o.security) == 0 {
		security = NoSecurity
	}
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		ctx, err := security(r, o)
		if err != nil {
			refused, ok := errors.AsType[*Error](err)
			if !ok || refused == nil {
				refused = &Error{Status: http.StatusUnauthorized, Detail: "The credentials are missing or not valid.", Err: err}
			}
			if refused.Status == http.StatusUnauthorized && challenge != "" {
				w.Header().Set("WWW-Authenticate", challenge)
			}
			v.fail(w, r, refused)
			return
		}
		ctx = context.WithValue(cmp.Or(ctx, r.Context()), operationKey{}, o)
		next.ServeHTTP(w, r.WithContext(ctx)) //nolint:contextcheck // security derives ctx from that of r
	})
}

type operationKey struct{}

// OperationFrom returns the operation of a request that [Validator.Middleware] has checked, by its context.
func OperationFrom(ctx context.Context) (*Operation, bool) {
	o, ok := ctx.Value(operationKey{}).(*Operation)
	return o, ok
}

// NoSecurity is a [Config.Security] that accepts every request, for programs that authenticate elsewhere.
func NoSecurity(r *http.Request, _ *Operation) (context.Context, error) { return r.Context(), nil }

// onlyPublic is the Config.Security that serves public operations and no others.
func onlyPublic(r *http.Request, o *Operation) (context.Context, error) {
	if o.Public() {
		return r.Context(), nil
	}
	return nil, errors.New("validate: Config.Security is not set")
}

// writeProblem responds with a problem document (RFC 9457).
func writeProblem(w http.ResponseWriter, _ *http.Request, err error) {
	failed, _ := errors.AsType[*Error](err)
	if failed == nil || failed.Status < http.StatusBadRequest || failed.Status > 599 {
		failed = &Error{Status: http.StatusInternalServerError}
	}
	body, _ := json.Marshal(struct { // strings and numbers always marshal
		Title      string      `json:"title"`
		Status     int         `json:"status"`
		Detail     string      `json:"detail,omitempty"`
		Violations []Violation `json:"errors,omitempty"`
	}{http.StatusText(failed.Status), failed.Status, failed.Detail, failed.Violations})
	w.Header().Set("Content-Type", "application/problem+json")
	w.Header().Set("X-Content-Type-Options", "nosniff")
	w.WriteHeader(failed.Status)
	_, _ = w.Write(body) // the caller may have disconnected
}
