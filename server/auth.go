package server

import (
	"cmp"
	"context"
	"errors"
	"net/http"
	"slices"

	"github.com/avatarstudio/avatarstudio/server/validate"
)

// Principal identifies the caller of a request.
type Principal struct {
	// UserID is the id of the caller in the access log.
	UserID string
	// Value is additional information about the caller, in a type of the authenticator. See
	// [PrincipalValue].
	Value any
}

// An Authenticator authenticates requests before their bodies are read. Its method is called concurrently.
//
// If the document requires several security schemes together, Authenticate is called for each of them, in the
// order of their names, with the context that the previous call returned. During each call, [PrincipalFrom]
// returns the principal of the previous call; the principal of the last call is the caller.
//
// If the document allows alternatives, they are tried in the order of the document until one succeeds.
// Alternatives for which the request lacks a credential are skipped.
type Authenticator interface {
	// Authenticate returns the principal that the credential belongs to, and the context for the rest of the
	// request. The context should be derived from ctx, with which the request is cancelled; nil means ctx.
	//
	// Authenticate must check that the principal has the scopes of the credential. If the error is an
	// [*Error], it is the response, such as 403 for a missing scope or 503 if the authenticator is
	// unavailable. Any other error results in 401. The error is logged at level Debug, without the token or the
	// password if its text contains them.
	Authenticate(ctx context.Context, credential Credential) (context.Context, Principal, error)
}

// AuthenticatorFunc is an [Authenticator] for documents with a single security scheme, which must be a bearer
// token or an API key without scopes. [New] returns an error for any other document.
type AuthenticatorFunc func(ctx context.Context, token string) (Principal, error)

// Authenticate calls f with the token.
func (f AuthenticatorFunc) Authenticate(ctx context.Context, credential Credential) (context.Context, Principal, error) {
	principal, err := f(ctx, credential.Token)
	return ctx, principal, err
}

// PrincipalFrom returns the caller of the request that ctx belongs to. It returns false for an anonymous
// request, which only reaches operations that the document declares public.
func PrincipalFrom(ctx context.Context) (Principal, bool) {
	called := exchangeFrom(ctx).call()
	return called.principal, called.authenticated
}

// PrincipalValue returns the Value of the principal. It returns false if there is no Value of type T.
func PrincipalValue[T any](ctx context.Context) (T, bool) {
	principal, _ := PrincipalFrom(ctx)
	value, ok := principal.Value.(T)
	return value, ok
}

// authentication is the layer that authenticates the requests of one operation.
type authentication struct {
	operation     *validate.Operation
	authenticator Authenticator
	next          http.Handler
}

func (a *authentication) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	authenticated, err := a.authenticate(r)
	if err != nil {
		writeProblem(w, r, err)
		return
	}
	a.next.ServeHTTP(w, authenticated)
}

// authenticate returns r with the context that the authenticator returned, or the error to respond with.
func (a *authentication) authenticate(r *http.Request) (*http.Request, error) {
	x := exchangeFrom(r.Context())
	var failure error
	presented := false // whether the request has any credential, even if an alternative needs more
	for _, alternative := range a.operation.Security() {
		credentials := make([]Credential, 0, 2)
		for _, requirement := range alternative {
			credential := Credential{
				Scheme: requirement.Scheme.Name, Kind: requirement.Scheme.Kind,
				Scopes: requirement.Scopes, OperationID: a.operation.ID(), Request: r,
			}
			given, ok := readCredential(&credential, requirement.Scheme)
			presented = presented || given
			if ok {
				credentials = append(credentials, credential)
			}
		}
		if len(alternative) == 0 || len(credentials) < len(alternative) {
			continue
		}
		ctx, err := a.checkCredentials(r.Context(), x, credentials)
		if err == nil {
			if ctx != r.Context() {
				r = r.WithContext(ctx)
			}
			return r, nil
		}
		x.setPrincipal(Principal{}, false)
		if failure == nil {
			failure = err
		}
	}
	switch {
	case failure != nil:
		return nil, failure
	case a.operation.Public() && !presented:
		return r, nil
	}
	return nil, &Error{Status: http.StatusUnauthorized, Detail: missingDetail(a.operation.Security())}
}

// checkCredentials calls the authenticator with each credential of an alternative.
func (a *authentication) checkCredentials(ctx context.Context, x *exchange, credentials []Credential) (context.Context, error) {
	for _, credential := range credentials {
		next, principal, err := a.authenticator.Authenticate(ctx, credential)
		if err = notNil(err); err != nil {
			x.log().DebugContext(ctx, "credential refused", "request_id", x.requestID(), "operation", credential.OperationID,
				"scheme", credential.Scheme, "err", credential.redacted(err))
			refused := &Error{Status: http.StatusUnauthorized, Detail: "The credentials are not valid."}
			if credential.Kind == validate.SecurityBearer {
				refused.Detail = "The access token is not valid or has expired."
			}
			if known, ok := errors.AsType[*Error](err); ok {
				*refused = *known
				refused.Err = credential.redacted(known.Err)
			}
			return nil, refused
		}
		if next != nil {
			ctx = next //nolint:fatcontext // each call may add values
		}
		ctx = withExchange(ctx, x)
		x.setPrincipal(principal, true)
	}
	return ctx, nil
}

// checkAuthenticator returns an error if the document has an operation that cfg.Authenticator cannot
// authenticate.
func (cfg *Config) checkAuthenticator(validator *validate.Validator) error {
	_, simple := cfg.Authenticator.(AuthenticatorFunc)
	only := ""
	for operation := range validator.Operations() {
		for _, requirement := range slices.Concat(operation.Security()...) {
			if cfg.Authenticator == nil {
				return errors.New("server: Config.Authenticator is required: the document has operations that need credentials")
			}
			only = cmp.Or(only, requirement.Scheme.Name)
			token := requirement.Scheme.Kind == validate.SecurityBearer || requirement.Scheme.Kind == validate.SecurityAPIKey
			if simple && (!token || len(requirement.Scopes) > 0 || requirement.Scheme.Name != only) {
				return errors.New("server: Config.Authenticator is an AuthenticatorFunc, which supports tokens of one security scheme only" +
					" and no scopes; operation " + operation.ID() + " needs an Authenticator")
			}
		}
	}
	return nil
}
