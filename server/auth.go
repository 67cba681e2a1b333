package server

import (
	"context"
	"errors"
	"net/http"
	"strings"
)

// Principal is who makes a request.
type Principal struct {
	UserID string
}

// Authenticator judges the access token of a request. An [*Error] is answered as it is, for a
// failure of the authenticator itself; any other error is a 401. Authenticate is called
// concurrently, before the body is read.
type Authenticator interface {
	Authenticate(ctx context.Context, token string) (Principal, error)
}

// AuthenticatorFunc is a function that is an [Authenticator].
type AuthenticatorFunc func(ctx context.Context, token string) (Principal, error)

// Authenticate calls f.
func (f AuthenticatorFunc) Authenticate(ctx context.Context, token string) (Principal, error) {
	return f(ctx, token)
}

// PrincipalFrom returns who makes the request that ctx belongs to; false in an operation that
// the document declares public.
func PrincipalFrom(ctx context.Context) (Principal, bool) {
	called := exchangeFrom(ctx).call()
	return called.principal, called.authenticated
}

// authenticate returns who makes a request, or the error to answer.
func authenticate(authenticator Authenticator, r *http.Request) (Principal, error) {
	token, ok := bearerToken(r.Header)
	if !ok {
		return Principal{}, &Error{Status: http.StatusUnauthorized, Detail: "An access token is required, as Authorization: Bearer ACCESS_TOKEN."}
	}
	principal, err := authenticator.Authenticate(r.Context(), token)
	if err != nil {
		if known := (*Error)(nil); errors.As(err, &known) {
			return Principal{}, err
		}
		return Principal{}, &Error{Status: http.StatusUnauthorized, Detail: "The access token is not valid or has expired.", Err: err}
	}
	return principal, nil
}

// bearerToken reads the one Authorization header there may be (RFC 6750, 2.1).
func bearerToken(header http.Header) (string, bool) {
	values := header.Values("Authorization")
	if len(values) != 1 {
		return "", false
	}
	scheme, token, ok := strings.Cut(values[0], " ")
	token = strings.TrimSpace(token)
	return token, ok && strings.EqualFold(scheme, "Bearer") && token != ""
}
