package document

import (
	"slices"
	"strings"

	"github.com/go-json-experiment/json/jsontext"
)

// rules checks what OpenAPI requires of an object besides the types of its members.
func (d *Document) rules(n *Node, rule string) {
	switch rule {
	case "Operation":
		if id := n.Get("operationId"); id != nil && id.Kind == jsontext.KindString {
			if d.ids[id.Text] {
				d.Fail(id, "is not unique")
			}
			d.ids[id.Text] = true
		}
	case "PathItem":
		d.pathItem(n)
	case "Responses":
		if !slices.ContainsFunc(n.Members, func(m Member) bool { return !strings.HasPrefix(m.Name, "x-") }) && !d.lossy[n] {
			d.Fail(n, "must have a response")
		}
	case "SecurityScheme":
		d.securityScheme(n)
	}
}

// securityScheme checks that a scheme has the members of its type that a credential is read from.
func (d *Document) securityScheme(n *Node) {
	kind := n.Get("type")
	if kind == nil {
		return
	}
	required, known := map[string][]string{
		"http": {"scheme"}, "apiKey": {"in", "name"}, "oauth2": {"flows"}, "openIdConnect": {"openIdConnectUrl"}, "mutualTLS": nil,
	}[kind.Text]
	if !known {
		d.Fail(kind, "is not http, apiKey, oauth2, openIdConnect or mutualTLS")
		return
	}
	for _, name := range required {
		d.required(n, name)
	}
	if in := n.Get("in"); in != nil && kind.Text == "apiKey" && !slices.Contains([]string{"header", "query", "cookie"}, in.Text) {
		d.Fail(in, "is not header, query or cookie")
	}
	if name := n.Get("name"); name != nil && name.Text == "" {
		d.Fail(name, "must not be empty")
	}
}
