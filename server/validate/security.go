package validate

import (
	"maps"
	"slices"
	"strconv"
	"strings"

	"github.com/getkin/kin-openapi/openapi3"
)

// SecurityKind says what a request presents to satisfy a security scheme.
type SecurityKind string

// The kinds. OAuth 2 and OpenID Connect are bearer tokens to who receives them.
const (
	SecurityBearer    SecurityKind = "bearer"    // a token, in Authorization
	SecurityBasic     SecurityKind = "basic"     // user and password, in Authorization
	SecurityAPIKey    SecurityKind = "apiKey"    // a key, in a header, a query parameter or a cookie
	SecurityMutualTLS SecurityKind = "mutualTLS" // a certificate of the client, in the connection
)

// SecurityScheme is a security scheme of the document.
type SecurityScheme struct {
	// Name is the name in the document's components.
	Name string
	Kind SecurityKind
	// In is "header", "query" or "cookie", and Parameter the name there; both are of an API key.
	In, Parameter string
}

// SecurityRequirement asks for one scheme. Scopes are those of OAuth 2 and OpenID Connect, and
// names of roles with any other scheme.
type SecurityRequirement struct {
	Scheme *SecurityScheme
	Scopes []string
}

// Security returns the alternatives of which a request must satisfy one. The requirements of an
// alternative, sorted by the names of their schemes, must be satisfied together; where there are
// none, as where there are no alternatives, a request may be anonymous.
func (o *Operation) Security() [][]SecurityRequirement { return o.security }

// Public reports whether the document allows an anonymous request.
func (o *Operation) Public() bool {
	return len(o.security) == 0 ||
		slices.ContainsFunc(o.security, func(all []SecurityRequirement) bool { return len(all) == 0 })
}

// securityOf compiles the requirements of an operation, or else those of the document.
func (c *compiler) securityOf(at string, source *openapi3.Operation) [][]SecurityRequirement {
	at += "/security"
	alternatives := source.Security
	if alternatives == nil {
		at, alternatives = "/security", &c.doc.Security
	}
	var security [][]SecurityRequirement
	for i, alternative := range *alternatives {
		var all []SecurityRequirement
		for _, name := range slices.Sorted(maps.Keys(alternative)) {
			at := at + "/" + strconv.Itoa(i) + "/" + token(name)
			all = append(all, SecurityRequirement{Scheme: c.securityScheme(at, name), Scopes: alternative[name]})
			c.checkScopes(at, name, alternative[name])
		}
		security = append(security, all)
	}
	return security
}

// securityScheme compiles a scheme. One that is refused has no kind, so that nothing satisfies it.
func (c *compiler) securityScheme(at, name string) *SecurityScheme {
	scheme := &SecurityScheme{Name: name}
	var ref *openapi3.SecuritySchemeRef
	if c.doc.Components != nil {
		ref = c.doc.Components.SecuritySchemes[name]
	}
	if ref == nil || ref.Value == nil {
		c.fail(at, "is no security scheme of the document")
		return scheme
	}
	at = place("/components/securitySchemes/"+token(name), ref.Ref)
	rest := *ref.Value
	switch {
	case rest.Type == "http" && strings.EqualFold(rest.Scheme, "bearer"):
		scheme.Kind = SecurityBearer
		rest.Scheme, rest.BearerFormat = "", ""
	case rest.Type == "http" && strings.EqualFold(rest.Scheme, "basic"):
		scheme.Kind = SecurityBasic
		rest.Scheme = ""
	case rest.Type == "oauth2":
		scheme.Kind = SecurityBearer
		rest.Flows = nil
	case rest.Type == "openIdConnect":
		scheme.Kind = SecurityBearer
		rest.OpenIdConnectUrl = ""
	case rest.Type == "mutualTLS":
		scheme.Kind = SecurityMutualTLS
	case rest.Type == "apiKey":
		scheme.Kind, scheme.In, scheme.Parameter = SecurityAPIKey, rest.In, rest.Name
		if rest.In != openapi3.ParameterInHeader && rest.In != openapi3.ParameterInQuery && rest.In != openapi3.ParameterInCookie {
			c.fail(at+"/in", "is not header, query or cookie")
		}
		if rest.Name == "" {
			c.fail(at+"/name", "is missing")
		}
		rest.In, rest.Name = "", ""
	case rest.Type == "http":
		c.fail(at+"/scheme", "is not bearer or basic")
		return scheme
	default:
		c.fail(at+"/type", "is not http, apiKey, oauth2, openIdConnect or mutualTLS")
		return scheme
	}
	rest.Type, rest.Description = "", ""
	c.refuseRest(at, &rest, ref.Value.Extensions)
	return scheme
}

// checkScopes refuses a scope that the flows of OAuth 2 do not offer.
func (c *compiler) checkScopes(at, name string, scopes []string) {
	if c.doc.Components == nil {
		return
	}
	ref := c.doc.Components.SecuritySchemes[name]
	if ref == nil || ref.Value == nil || ref.Value.Flows == nil {
		return
	}
	flows, offered := ref.Value.Flows, make(map[string]bool)
	for _, flow := range []*openapi3.OAuthFlow{flows.Implicit, flows.Password, flows.ClientCredentials, flows.AuthorizationCode} {
		if flow != nil {
			for scope := range flow.Scopes {
				offered[scope] = true
			}
		}
	}
	for i, scope := range scopes {
		if !offered[scope] {
			c.fail(at+"/"+strconv.Itoa(i), "is no scope of the flows of %s", name)
		}
	}
}
