package server

import (
	"context"
	"errors"
	"net/http"

	"github.com/avatarstudio/avatarstudio/server/validate"
)

// Principal is who makes a request.
type Principal struct {
	// UserID is what the log calls the caller.
	UserID string
	// Value is whatever else is known of the caller, in a type of your own; see [PrincipalValue].
	Value any
}

// Authenticator judges what a request presents, before its body is read. It is called
// concurrently.
//
// Where the document combines security schemes, Authenticate is called for each of them, in the
// order of their names and with the context that the call before returned; the principal of the
// last call counts, and [PrincipalFrom] returns that of the call before. Where the document gives
// alternatives, those for which a request presents everything are tried in the order of the
// document, until one succeeds.
type Authenticator interface {
	// Authenticate returns who presents the credential, and the context for the rest of the
	// request, which is ctx or derived from it; nil stands for ctx. It must check that the principal
	// has the scopes. An [*Error] is answered as it is, such as a 403 for a missing scope or a 503
	// for a failure of the authenticator itself; any other error is a 401.
	Authenticate(ctx context.Context, credential Credential) (context.Context, Principal, error)
}

// AuthenticatorFunc is an [Authenticator] for documents that use one security scheme, a bearer
// token or an API key, and no scopes. [New] refuses it for others.
type AuthenticatorFunc func(ctx context.Context, token string) (Principal, error)

// Authenticate calls f with the token.
func (f AuthenticatorFunc) Authenticate(ctx context.Context, credential Credential) (context.Context, Principal, error) {
	principal, err := f(ctx, credential.Token)
	return ctx, principal, err
}

// PrincipalFrom returns who makes the request that ctx belongs to; false for an anonymous request,
// which only an operation that the document declares public gets.
func PrincipalFrom(ctx context.Context) (Principal, bool) {
	called := exchangeFrom(ctx).call()
	return called.principal, called.authenticated
}

// PrincipalValue returns the Value of the principal; false when there is none of type T.
func PrincipalValue[T any](ctx context.Context) (T, bool) {
	principal, _ := PrincipalFrom(ctx)
	value, ok := principal.Value.(T)
	return value, ok
}

// authenticate finds out who makes a request, and returns the request with the context of the
// authenticator, or the error to answer.
func (rt *route) authenticate(x *exchange, r *http.Request) (*http.Request, error) {
	var failure error
	presented := false // something, if only for a part of an alternative
	for _, alternative := range rt.operation.Security() {
		credentials := make([]Credential, 0, 2)
		for _, requirement := range alternative {
			credential, given, ok := readCredential(requirement.Scheme, r)
			presented = presented || given
			if ok {
				credential.Scopes, credential.OperationID = requirement.Scopes, rt.operation.ID()
				credentials = append(credentials, credential)
			}
		}
		if len(alternative) == 0 || len(credentials) < len(alternative) {
			continue
		}
		ctx, err := rt.judge(r.Context(), x, credentials)
		if err == nil {
			if ctx != r.Context() {
				r = r.WithContext(ctx)
			}
			return r, nil
		}
		x.setCall(call{route: rt})
		if failure == nil {
			failure = err
		}
	}
	switch {
	case failure != nil:
		return nil, failure
	case rt.operation.Public() && !presented:
		return r, nil
	}
	return nil, &Error{Status: http.StatusUnauthorized, Detail: rt.missing}
}

// judge asks the authenticator for all credentials of an alternative.
func (rt *route) judge(ctx context.Context, x *exchange, credentials []Credential) (context.Context, error) {
	for _, credential := range credentials {
		next, principal, err := rt.router.cfg.Authenticator.Authenticate(ctx, credential)
		if err != nil {
			if _, ok := errors.AsType[*Error](err); ok {
				return nil, err
			}
			return nil, &Error{Status: http.StatusUnauthorized, Detail: credential.refused(), Err: err}
		}
		if next != nil {
			ctx = next //nolint:fatcontext // each credential may add to it
		}
		x.setCall(call{route: rt, principal: principal, authenticated: true})
	}
	return ctx, nil
}

// checkAuthenticator reports an operation whose callers cfg.Authenticator cannot tell apart.
func (cfg *Config) checkAuthenticator(validator *validate.Validator) error {
	_, simple := cfg.Authenticator.(AuthenticatorFunc)
	var only *validate.SecurityRequirement
	for operation := range validator.Operations() {
		for _, alternative := range operation.Security() {
			for _, requirement := range alternative {
				if cfg.Authenticator == nil {
					return errNoAuthenticator
				}
				if only == nil {
					only = &requirement
				}
				token := requirement.Scheme.Kind == validate.SecurityBearer || requirement.Scheme.Kind == validate.SecurityAPIKey
				if simple && (!token || len(requirement.Scopes) > 0 || requirement.Scheme.Name != only.Scheme.Name) {
					return errors.New("server: Config.Authenticator is an AuthenticatorFunc, which sees tokens of one security scheme" +
						" and no scopes; operation " + operation.ID() + " needs an Authenticator")
				}
			}
		}
	}
	return nil
}

var errNoAuthenticator = errors.New("server: Config.Authenticator is required: the document has operations that need credentials")
