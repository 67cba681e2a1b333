package validate

import (
	"slices"
	"strings"

	"github.com/avatarstudio/avatarstudio/server/validate/internal/document"
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
func (c *compiler) securityOf(source *document.Node) [][]SecurityRequirement {
	alternatives := source.Get("security")
	if alternatives == nil {
		alternatives = c.root.Get("security")
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

// securityScheme compiles a scheme. One that is refused has no kind, so that nothing satisfies it.
func (c *compiler) securityScheme(name string, scopes *document.Node) *SecurityScheme {
	scheme := &SecurityScheme{Name: name}
	source := c.resolve(c.root.Get("components").Get("securitySchemes").Get(name))
	if source == nil {
		c.fail(scopes, "is no security scheme of the document")
		return scheme
	}
	kind, own := source.Get("type"), ""
	switch kind.Text {
	case "http":
		own = "scheme bearerFormat"
		how := source.Get("scheme")
		switch {
		case how == nil:
			c.fail(source, "must have the member scheme")
		case strings.EqualFold(how.Text, "bearer"):
			scheme.Kind = SecurityBearer
		case strings.EqualFold(how.Text, "basic"):
			scheme.Kind, own = SecurityBasic, "scheme"
		default:
			c.refuse(how, "is not bearer or basic")
		}
	case "apiKey":
		own = "in name"
		scheme.Kind = SecurityAPIKey
		c.apiKey(scheme, source)
	case "oauth2":
		own = "flows"
		scheme.Kind = SecurityBearer
		c.checkScopes(source, name, scopes)
	case "openIdConnect":
		own = "openIdConnectUrl"
		scheme.Kind = SecurityBearer
	case "mutualTLS":
		scheme.Kind = SecurityMutualTLS
	default:
		c.fail(kind, "is not http, apiKey, oauth2, openIdConnect or mutualTLS")
		return scheme
	}
	for _, m := range source.Members {
		if m.Name != "type" && m.Name != "description" && !strings.HasPrefix(m.Name, "x-") && !slices.Contains(strings.Fields(own), m.Name) {
			c.refuseAt(source, m, "is not of this type")
		}
	}
	return scheme
}

func (c *compiler) apiKey(scheme *SecurityScheme, source *document.Node) {
	in, name := source.Get("in"), source.Get("name")
	switch {
	case in == nil:
		c.fail(source, "must have the member in")
	case in.Text != "header" && in.Text != "query" && in.Text != "cookie":
		c.fail(in, "is not header, query or cookie")
	case name == nil || name.Text == "":
		c.fail(source, "must have the member name")
	default:
		scheme.In, scheme.Parameter = in.Text, name.Text
	}
}

// checkScopes refuses a scope that the flows of OAuth 2 do not offer.
func (c *compiler) checkScopes(source *document.Node, name string, scopes *document.Node) {
	flows := source.Get("flows")
	if flows == nil {
		c.fail(source, "must have the member flows")
		return
	}
	for _, scope := range scopes.Elements {
		offered := false
		for _, flow := range flows.All() {
			offered = offered || flow.Get("scopes").Get(scope.Text) != nil
		}
		if !offered {
			c.fail(scope, "is no scope of the flows of "+name)
		}
	}
}
