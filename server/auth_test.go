package server

import (
	"context"
	"crypto/tls"
	"crypto/x509"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"github.com/avatarstudio/avatarstudio/api/tools/harness"
	"github.com/avatarstudio/avatarstudio/server/validate"
)

// serveSecured serves GET /p of a document with the given security requirements. It responds with the principal of the
// caller.
func serveSecured(t *testing.T, security string, authenticator Authenticator, logger ...*slog.Logger) (http.Handler, error) {
	t.Helper()
	validator := harness.Try(validate.Load([]byte(`{
		"openapi": "3.1.0", "info": {"title": "T", "version": "1"}, "paths": {"/p": {
			"get": {"operationId": "get", "security": `+security+`, "responses": {"200": {"description": "D"}}}}},
		"components": {"securitySchemes": {
			"bearer": {"type": "http", "scheme": "bearer"}, "basic": {"type": "http", "scheme": "basic"},
			"header": {"type": "apiKey", "in": "header", "name": "x-key"}, "query": {"type": "apiKey", "in": "query", "name": "key"},
			"cookie": {"type": "apiKey", "in": "cookie", "name": "session"}, "tls": {"type": "mutualTLS"},
			"oidc": {"type": "openIdConnect", "openIdConnectUrl": "https://id.example.com"},
			"digest": {"type": "http", "scheme": "digest"}}}}`), validate.Config{Lenient: func(*validate.DocumentError) {}}))(t)
	return newHandler(Config{Authenticator: authenticator, Logger: append(logger, slog.New(slog.DiscardHandler))[0]}, validator, func(router *router) {
		router.HandleFunc("GET /p", func(w http.ResponseWriter, r *http.Request) {
			principal, ok := PrincipalFrom(r.Context())
			_, _ = fmt.Fprint(w, principal.UserID, " ", ok, " ", r.Context().Value(trailKey{}))
		})
	})
}

type trailKey struct{}

// testAuthenticator accepts all credentials except "bad" and "broken". It adds each credential to the
// principal and the context.
type testAuthenticator struct{}

func (testAuthenticator) Authenticate(ctx context.Context, c Credential) (context.Context, Principal, error) {
	switch c.Token + c.Password {
	case "bad":
		return nil, Principal{}, errors.New("it is bad")
	case "broken":
		return nil, Principal{}, &Error{Status: http.StatusServiceUnavailable}
	}
	before, _ := PrincipalFrom(ctx)
	is := fmt.Sprintf("%s=%s%s%s%v", c.Scheme, c.Username, c.Password, c.Token, c.Scopes)
	return context.WithValue(ctx, trailKey{}, is), Principal{UserID: before.UserID + is}, nil
}

func TestHandler_authenticatesByTheSecurityOfTheDocument(t *testing.T) {
	t.Parallel()
	const (
		bearer = `[{"bearer": []}]`
		either = `[{"bearer": []}, {"header": []}, {"basic": []}]`
		both   = `[{"header": [], "bearer": []}]`
		maybe  = `[{}, {"bearer": []}]`
		mixed  = `[{"header": [], "bearer": []}, {"query": []}, {}]`
	)
	for _, test := range []struct {
		security, header, target, want string
	}{
		{bearer, "Authorization: Bearer a", "/p", "bearer=a[] true bearer=a[]"},
		{bearer, "Authorization: bearer  a ", "/p", "bearer=a[] true bearer=a[]"},
		{bearer, "Authorization: Bearer bad", "/p", "401 Bearer"},
		{bearer, "Authorization: Bearer broken", "/p", "503 "},
		{bearer, "Authorization: Bearer a\nAuthorization: Bearer b", "/p", "401 Bearer"},
		{`[{"basic": []}]`, "Authorization: Basic YTpi", "/p", "basic=ab[] true basic=ab[]"},
		{`[{"basic": []}]`, "Authorization: Basic YTpi!", "/p", `401 Basic realm="api", charset="UTF-8"`},
		{`[{"header": []}]`, "X-Key: a b", "/p", "header=a b[] true header=a b[]"},
		{`[{"header": []}]`, "X-Key: ", "/p", `401 ApiKey in="header", name="x-key"`},
		{`[{"header": []}]`, "X-Key: a\nX-Key: a", "/p", `401 ApiKey in="header", name="x-key"`},
		{`[{"query": []}]`, "", "/p?a=1&key=a%20b", "query=a b[] true query=a b[]"},
		{`[{"query": []}]`, "", "/p?key=a&key=a", `401 ApiKey in="query", name="key"`},
		{`[{"query": []}]`, "", "/p?key=%zz", `401 ApiKey in="query", name="key"`},
		{`[{"cookie": []}]`, "Cookie: a=1; session=a", "/p", "cookie=a[] true cookie=a[]"},
		{`[{"cookie": []}]`, "Cookie: session=a; session=b", "/p", `401 ApiKey in="cookie", name="session"`},
		{`[{"oidc": ["read", "write"]}]`, "Authorization: Bearer a", "/p", "oidc=a[read write] true oidc=a[read write]"},
		{`[{"tls": []}]`, "", "/p", "401 "},
		{`[{"tls": []}]`, "TLS: any", "/p", "401 "},
		{`[{"tls": []}]`, "TLS: verified", "/p", "tls=[] true tls=[]"},
		{either, "X-Key: a", "/p", "header=a[] true header=a[]"},
		{either, "Authorization: Bearer bad\nX-Key: a", "/p", "header=a[] true header=a[]"},
		{either, "Authorization: Bearer broken\nX-Key: bad", "/p", "503 "},
		{either, "", "/p", `401 Bearer, ApiKey in="header", name="x-key", Basic realm="api", charset="UTF-8"`},
		{both, "Authorization: Bearer a\nX-Key: b", "/p", "bearer=a[]header=b[] true header=b[]"},
		{both, "Authorization: Bearer a", "/p", `401 Bearer, ApiKey in="header", name="x-key"`},
		{maybe, "", "/p", " false <nil>"},
		{maybe, "Authorization: Bearer bad", "/p", "401 Bearer"},
		{maybe, "Authorization: Bearer ", "/p", "401 Bearer"},
		{mixed, "X-Key: a", "/p", `401 Bearer, ApiKey in="header", name="x-key", ApiKey in="query", name="key"`},
		{mixed, "X-Key: bad\nAuthorization: Bearer a", "/p?key=b", "query=b[] true query=b[]"},
		// A lenient document may use unsupported schemes. They authenticate nobody.
		{`[{"digest": []}]`, "Authorization: Digest a", "/p", "401 "},
		{`[{"digest": [], "header": []}]`, "X-Key: a", "/p", `401 ApiKey in="header", name="x-key"`},
		{`[{"digest": []}, {"header": []}]`, "X-Key: a", "/p", "header=a[] true header=a[]"},
		{`[]`, "Authorization: Bearer bad", "/p", " false <nil>"},
	} {
		handler := harness.Try(serveSecured(t, test.security, testAuthenticator{}))(t)
		request := httptest.NewRequest(http.MethodGet, test.target, http.NoBody)
		for line := range strings.SplitSeq(test.header, "\n") {
			name, value, _ := strings.Cut(line, ": ")
			request.Header.Add(name, value)
		}
		if strings.HasPrefix(test.header, "TLS") {
			request.TLS = &tls.ConnectionState{PeerCertificates: []*x509.Certificate{{}}}
			if strings.HasSuffix(test.header, "verified") {
				request.TLS.VerifiedChains = [][]*x509.Certificate{{{}}}
			}
		}
		recorder := httptest.NewRecorder()
		handler.ServeHTTP(recorder, request)
		got := recorder.Body.String()
		if recorder.Code != http.StatusOK {
			got = fmt.Sprint(recorder.Code, " ", recorder.Header().Get("WWW-Authenticate"))
		}
		if got != test.want {
			t.Errorf("%s with %q and %s: got %s, want %s", test.security, test.header, test.target, got, test.want)
		}
	}
}

// Whatever error an authenticator returns, the log says why a request was refused at level Debug, even if another
// credential was accepted, and never with a secret.
func TestAuthentication_logsWhyItRefusesWithoutSecrets(t *testing.T) {
	t.Parallel()
	const secret, escaped = "hunter+2", "hunter%2B2"
	for scheme, header := range map[string]string{
		"bearer": "Authorization: Bearer " + secret, "basic": "Authorization: Basic YWRhOmh1bnRlcisy", "header": "X-Key: " + secret, "cookie": "Cookie: session=" + secret,
	} {
		for _, test := range []struct {
			err    error
			status int
		}{
			{fs.ErrPermission, 401},
			{errors.New("Get https://id.example.com/?token=" + escaped + ": refused " + secret), 401},
			{&Error{Status: 403, Err: errors.New("not " + secret)}, 403},
			{Busy(time.Second, errors.New("no answer about "+secret)), 503},
		} {
			var log strings.Builder
			handler := harness.Try(serveSecured(t, `[{"`+scheme+`": []}, {"query": []}]`, authenticatorFunc(func(c Credential) error {
				if c.Scheme == "query" {
					return nil
				}
				return test.err
			}), slog.New(slog.NewJSONHandler(&log, &slog.HandlerOptions{Level: slog.LevelDebug}))))(t)
			said := strings.NewReplacer(secret, "[secret]", escaped, "[secret]").Replace(test.err.Error())
			want := `"level":"DEBUG","msg":"credential refused","request_id":"r-1","operation":"get","scheme":"` + scheme + `","err":"` + said + `"`
			for target, status := range map[string]int{"/p": test.status, "/p?key=a": 200} {
				log.Reset()
				request, recorder := httptest.NewRequest(http.MethodGet, target, http.NoBody), httptest.NewRecorder()
				key, value, _ := strings.Cut(header, ": ")
				request.Header.Set(key, value)
				request.Header.Set("X-Request-Id", "r-1")
				handler.ServeHTTP(recorder, request)
				if recorder.Code != status || !strings.Contains(log.String(), want) {
					t.Errorf("%s, %v: %d, %s", scheme, test.err, recorder.Code, log.String())
				}
				if all := log.String() + recorder.Body.String(); strings.Contains(all, secret) || strings.Contains(all, escaped) {
					t.Errorf("%s, %v: the secret is in %s", scheme, test.err, all)
				}
			}
		}
	}
}

// authenticatorFunc is an Authenticator that returns only an error.
type authenticatorFunc func(Credential) error

func (f authenticatorFunc) Authenticate(ctx context.Context, c Credential) (context.Context, Principal, error) {
	return ctx, Principal{}, f(c)
}

func TestNew_rejectsAnAuthenticatorFuncForOtherSchemes(t *testing.T) {
	t.Parallel()
	tokens := AuthenticatorFunc(func(context.Context, string) (Principal, error) { return Principal{}, nil })
	for security, taken := range map[string]bool{
		`[]`: true, `[{"bearer": []}]`: true, `[{}, {"header": []}]`: true,
		`[{"oidc": ["read"]}]`: false, `[{"basic": []}]`: false, `[{"tls": []}]`: false,
		`[{"bearer": []}, {"header": []}]`: false, `[{"cookie": [], "header": []}]`: false,
	} {
		if _, err := serveSecured(t, security, tokens); (err == nil) != taken {
			t.Errorf("%s: an AuthenticatorFunc gets %v", security, err)
		}
		if _, err := serveSecured(t, security, nil); (err == nil) != (security == `[]`) {
			t.Errorf("%s: no authenticator gets %v", security, err)
		}
	}
}

func TestCredential_formatsWithoutSecrets(t *testing.T) {
	t.Parallel()
	credential := Credential{Scheme: "basic", Username: "hunter", Password: "hunter2", Token: "hunter3"}
	encoded := harness.Try(json.Marshal(credential))(t)
	var log strings.Builder
	slog.New(slog.NewJSONHandler(&log, nil)).Info("json", "credential", credential)
	slog.New(slog.NewTextHandler(&log, nil)).Info("text", "credential", &credential)
	shown := fmt.Sprintf("%v %+v %#v %s %q %d %v", credential, credential, credential, credential, credential, credential, &credential)
	if all := shown + string(encoded) + log.String(); strings.Contains(all, "hunter") || !strings.Contains(all, "basic") {
		t.Error(all)
	}
}
