package server

import (
	"errors"
	"fmt"
	"net/http"
	"net/url"
	"strings"

	"github.com/avatarstudio/avatarstudio/server/validate"
)

// Credential is the credential that a request has for one security scheme of the document.
type Credential struct {
	// Scheme is the name of the security scheme in the document. Kind is its kind.
	Scheme string
	Kind   validate.SecurityKind
	// Token is the bearer token or the API key.
	Token string
	// Username and Password are set for HTTP basic authentication.
	Username, Password string
	// Scopes are the scopes that the operation requires.
	Scopes []string
	// OperationID is the id of the operation.
	OperationID string
	// Request is the request, for its headers and, with mutual TLS, for the verified certificates in its TLS
	// field. Its body must not be read.
	Request *http.Request
}

// Format implements [fmt.Formatter]. With every verb it writes only the name of the scheme, so that secrets
// do not get into logs.
func (c Credential) Format(f fmt.State, _ rune) { _, _ = fmt.Fprintf(f, "credential of %s", c.Scheme) }

// MarshalText implements [encoding.TextMarshaler]. Like Format, it writes only the name of the scheme.
func (c Credential) MarshalText() ([]byte, error) { return fmt.Append(nil, c), nil }

// readCredential reads the credential for scheme from c.Request into c. given reports whether the request has any value
// in the place of the credential, and ok whether that value is usable. A repeated header, parameter or cookie is not
// usable.
func readCredential(c *Credential, scheme *validate.SecurityScheme) (given, ok bool) {
	switch r := c.Request; scheme.Kind {
	case validate.SecurityBearer, validate.SecurityBasic:
		values := r.Header["Authorization"]
		if len(values) != 1 {
			return len(values) > 0, false
		}
		if scheme.Kind == validate.SecurityBasic {
			c.Username, c.Password, ok = r.BasicAuth()
			return true, ok
		}
		name, token, _ := strings.Cut(values[0], " ") // RFC 6750, 2.1
		c.Token = strings.TrimSpace(token)
		return true, strings.EqualFold(name, "Bearer") && c.Token != ""
	case validate.SecurityAPIKey:
		values := apiKeys(scheme, r)
		if len(values) == 0 {
			return false, false
		}
		c.Token = values[0]
		return true, len(values) == 1 && c.Token != ""
	case validate.SecurityMutualTLS:
		verified := r.TLS != nil && len(r.TLS.VerifiedChains) > 0
		return verified, verified
	}
	return false, false
}

// apiKeys returns all values in the place where scheme expects an API key.
func apiKeys(scheme *validate.SecurityScheme, r *http.Request) []string {
	switch scheme.In {
	case "header":
		return r.Header.Values(scheme.Parameter)
	case "query":
		values, _ := url.ParseQuery(r.URL.RawQuery) // skips malformed pairs
		return values[scheme.Parameter]
	}
	var values []string
	for _, cookie := range r.CookiesNamed(scheme.Parameter) {
		values = append(values, cookie.Value)
	}
	return values
}

// redacted returns err, or if its text contains the token or the password, an error without them.
func (c Credential) redacted(err error) error {
	if err == nil {
		return nil
	}
	safe := err.Error()
	for _, secret := range []string{c.Token, c.Password} {
		if secret != "" {
			safe = strings.NewReplacer(secret, "[secret]", url.QueryEscape(secret), "[secret]").Replace(safe)
		}
	}
	if safe == err.Error() {
		return err
	}
	return errors.New(safe)
}

// missingDetail returns the problem detail for a request without credentials.
func missingDetail(alternatives [][]validate.SecurityRequirement) string {
	if validate.Challenge(alternatives) == "Bearer" {
		return "An access token is required, as Authorization: Bearer ACCESS_TOKEN."
	}
	return "Credentials are required."
}
