package server

import (
	"fmt"
	"net/http"
	"net/url"
	"slices"
	"strconv"
	"strings"

	"github.com/avatarstudio/avatarstudio/server/validate"
)

// Credential is what a request presents for one security scheme of the document.
type Credential struct {
	// Scheme is the name of the security scheme in the document, and Kind says what it is.
	Scheme string
	Kind   validate.SecurityKind
	// Token is the bearer token or the API key.
	Token string
	// Username and Password are those of HTTP basic authentication.
	Username, Password string
	// Scopes are what the operation requires of the principal.
	Scopes []string
	// OperationID names the operation.
	OperationID string
	// Request is the request, for its headers and, of a mutual TLS connection, the verified
	// certificates in its TLS. Its body must not be read.
	Request *http.Request
}

// Format writes the name of the scheme only, with every verb, so that no secret gets into a log.
func (c Credential) Format(f fmt.State, _ rune) { _, _ = fmt.Fprintf(f, "credential of %s", c.Scheme) }

// MarshalText is Format for encoders.
func (c Credential) MarshalText() ([]byte, error) { return fmt.Append(nil, c), nil }

// readCredential takes the credential for a scheme from a request. It reports whether there is
// anything in its place, and whether that is a credential: a header, parameter or cookie that is
// repeated is none.
func readCredential(scheme *validate.SecurityScheme, r *http.Request) (c Credential, given, ok bool) {
	c = Credential{Scheme: scheme.Name, Kind: scheme.Kind, Request: r}
	switch scheme.Kind {
	case validate.SecurityBearer, validate.SecurityBasic:
		values := r.Header["Authorization"]
		if len(values) != 1 {
			return c, len(values) > 0, false
		}
		if scheme.Kind == validate.SecurityBasic {
			c.Username, c.Password, ok = r.BasicAuth()
			return c, true, ok
		}
		name, token, _ := strings.Cut(values[0], " ") // RFC 6750, 2.1
		c.Token = strings.TrimSpace(token)
		return c, true, strings.EqualFold(name, "Bearer") && c.Token != ""
	case validate.SecurityAPIKey:
		values := apiKeys(scheme, r)
		if len(values) == 0 {
			return c, false, false
		}
		c.Token = values[0]
		return c, true, len(values) == 1 && c.Token != ""
	case validate.SecurityMutualTLS:
		verified := r.TLS != nil && len(r.TLS.VerifiedChains) > 0
		return c, verified, verified
	}
	return c, false, false
}

// apiKeys returns every value in the place of an API key.
func apiKeys(scheme *validate.SecurityScheme, r *http.Request) []string {
	switch scheme.In {
	case "header":
		return r.Header.Values(scheme.Parameter)
	case "query":
		values, _ := url.ParseQuery(r.URL.RawQuery) // without what is malformed
		return values[scheme.Parameter]
	}
	var values []string
	for _, cookie := range r.CookiesNamed(scheme.Parameter) {
		values = append(values, cookie.Value)
	}
	return values
}

// refused says that the credential is not good.
func (c Credential) refused() string {
	if c.Kind == validate.SecurityBearer {
		return "The access token is not valid or has expired."
	}
	return "The credentials are not valid."
}

// challenges returns the value of WWW-Authenticate that names the schemes of alternatives
// (RFC 9110, 11.6.1). HTTP knows no scheme for API keys, so theirs says where the key belongs.
func challenges(alternatives [][]validate.SecurityRequirement) string {
	var all []string
	for _, alternative := range alternatives {
		for _, requirement := range alternative {
			var challenge string
			switch scheme := requirement.Scheme; scheme.Kind {
			case validate.SecurityBearer:
				challenge = "Bearer"
			case validate.SecurityBasic:
				challenge = `Basic realm="api", charset="UTF-8"`
			case validate.SecurityAPIKey:
				challenge = "ApiKey in=" + strconv.Quote(scheme.In) + ", name=" + strconv.Quote(scheme.Parameter)
			default: // a certificate is not asked for in HTTP
				continue
			}
			if !slices.Contains(all, challenge) {
				all = append(all, challenge)
			}
		}
	}
	return strings.Join(all, ", ")
}

// missing says which credentials are missing.
func missing(alternatives [][]validate.SecurityRequirement) string {
	if challenges(alternatives) == "Bearer" {
		return "An access token is required, as Authorization: Bearer ACCESS_TOKEN."
	}
	return "Credentials are required."
}
