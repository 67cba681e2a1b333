package validate

import (
	"slices"
	"strconv"
	"strings"

	"github.com/avatarstudio/avatarstudio/server/validate/internal/document"
)

// SecurityKind is the kind of credential that a security scheme requires.
type SecurityKind string

// The kinds of credentials. OAuth 2 and OpenID Connect use bearer tokens.
const (
	SecurityBearer    SecurityKind = "bearer"    // a token in the Authorization header
	SecurityBasic     SecurityKind = "basic"     // username and password in the Authorization header
	SecurityAPIKey    SecurityKind = "apiKey"    // a key in a header, a query parameter or a cookie
	SecurityMutualTLS SecurityKind = "mutualTLS" // a client certificate
)

// SecurityScheme is a security scheme of the document.
type SecurityScheme struct {
	// Name is the name of the scheme in the components of the document.
	Name string
	Kind SecurityKind
	// In is "header", "query" or "cookie", and Parameter is the name there. Both are set only for API keys.
	In, Parameter string
}

// SecurityRequirement requires one scheme. Scopes are the scopes of OAuth 2 and OpenID Connect, and role
// names for all other schemes.
type SecurityRequirement struct {
	Scheme *SecurityScheme
	Scopes []string
}

// Security returns the alternatives of security requirements. A request must satisfy one alternative, which
// means all of its requirements. They are sorted by the names of their schemes. A request may be anonymous if
// an alternative is empty or there are no alternatives.
func (o *Operation) Security() [][]SecurityRequirement { return o.security }

// Public reports whether the document allows anonymous requests.
func (o *Operation) Public() bool {
	return len(o.security) == 0 ||
		slices.ContainsFunc(o.security, func(all []SecurityRequirement) bool { return len(all) == 0 })
}

// Challenge returns the WWW-Authenticate value of a 401 that names the schemes of alternatives (RFC 9110, section
// 11.6.1), or "" if they have none. No HTTP authentication scheme exists for API keys, so their challenge describes
// where the key belongs.
func Challenge(alternatives [][]SecurityRequirement) string {
	var all []string
	for _, requirement := range slices.Concat(alternatives...) {
		var challenge string
		switch scheme := requirement.Scheme; scheme.Kind {
		case SecurityBearer:
			challenge = "Bearer"
		case SecurityBasic:
			challenge = `Basic realm="api", charset="UTF-8"`
		case SecurityAPIKey:
			challenge = "ApiKey in=" + strconv.Quote(scheme.In) + ", name=" + strconv.Quote(scheme.Parameter)
		default: // mutual TLS has no challenge in HTTP
			continue
		}
		if !slices.Contains(all, challenge) {
			all = append(all, challenge)
		}
	}
	return strings.Join(all, ", ")
}

// securityOf compiles the requirements of an operation, or those of the document if the operation has none.
func (c *compiler) securityOf(source *document.Node) [][]SecurityRequirement {
	alternatives := source.Get("security")
	if alternatives == nil {
		alternatives = c.Root.Get("security")
	}
	if alternatives == nil {
		return nil
	}
	var security [][]SecurityRequirement
	for _, alternative := range alternatives.Elements {
		var all []SecurityRequirement
		for name, list := range alternative.All() {
			requirement := SecurityRequirement{Scheme: c.securityScheme(name, list)}
			for _, scope := range list.Elements {
				requirement.Scopes = append(requirement.Scopes, scope.Text)
			}
			all = append(all, requirement)
		}
		slices.SortFunc(all, func(a, b SecurityRequirement) int { return strings.Compare(a.Scheme.Name, b.Scheme.Name) })
		security = append(security, all)
	}
	return security
}

// apiKeys returns the API keys of requirements as parameters, whose names belong to no other parameter.
func apiKeys(security [][]SecurityRequirement) (keys []*parameter) {
	for _, requirement := range slices.Concat(security...) {
		if requirement.Scheme.Kind == SecurityAPIKey {
			keys = append(keys, &parameter{in: requirement.Scheme.In, serialization: serialization{name: requirement.Scheme.Parameter}})
		}
	}
	return keys
}

// securityScheme compiles a scheme. An unsupported scheme has no kind, so that no request satisfies it.
func (c *compiler) securityScheme(name string, scopes *document.Node) *SecurityScheme {
	scheme := &SecurityScheme{Name: name}
	source := c.SecurityScheme(name, scopes)
	switch kind := source.Get("type"); {
	case kind == nil:
	case kind.Text == "http":
		switch how := source.Get("scheme"); {
		case how == nil:
		case strings.EqualFold(how.Text, "bearer"):
			scheme.Kind = SecurityBearer
		case strings.EqualFold(how.Text, "basic"):
			scheme.Kind = SecurityBasic
		default:
			c.Unsupported(how, "is not bearer or basic")
		}
	case kind.Text == "apiKey" && source.Get("in") != nil && source.Get("name") != nil:
		scheme.Kind, scheme.In, scheme.Parameter = SecurityAPIKey, source.Get("in").Text, source.Get("name").Text
	case kind.Text == "oauth2", kind.Text == "openIdConnect":
		scheme.Kind = SecurityBearer
	case kind.Text == "mutualTLS":
		scheme.Kind = SecurityMutualTLS
	}
	return scheme
}
