package document

import (
	"slices"
	"strings"
)

// rules checks what OpenAPI requires of an object besides the types of its members.
func (d *Document) rules(n *Node, rule string) {
	switch rule {
	case "OpenAPI":
		d.tags(n.Get("tags"))
	case "Operation":
		d.operations = append(d.operations, n)
	case "PathItem":
		d.pathItem(n)
	case "Responses":
		if !slices.ContainsFunc(n.Members, func(m Member) bool { return !strings.HasPrefix(m.Name, "x-") }) && !d.lossy[n] {
			d.Fail(n, "must have a response")
		}
	case "SecurityScheme":
		d.securityScheme(n)
	case "OAuthFlows":
		for name, urls := range flowURLs() {
			if flow := n.Get(name); flow != nil && !d.unfit[flow] {
				for _, url := range urls {
					d.required(flow, url)
				}
			}
		}
	case "Example":
		d.exclusive(n, "value", "externalValue")
	case "MediaType", "Encoding", "Parameter", "Header":
		d.exclusive(n, "examples", "example")
	case "ServerVariable":
		d.serverVariable(n)
	}
}

// exclusive reports members that must not be beside another one.
func (d *Document) exclusive(n *Node, name string, others ...string) {
	if n.Get(name) == nil {
		return
	}
	for _, m := range n.Members {
		if slices.Contains(others, m.Name) {
			d.Fail(n.Key(m), "must not be beside "+name)
		}
	}
}

// tags checks that the names of tags are unique.
func (d *Document) tags(tags *Node) {
	if tags == nil {
		return
	}
	known := make(map[string]bool)
	for _, tag := range tags.Elements {
		name := tag.Get("name")
		if name == nil {
			continue
		}
		if known[name.Text] {
			d.Fail(name, "is not unique")
		}
		known[name.Text] = true
	}
}

// serverVariable checks that the default is one of the values, if there are any.
func (d *Document) serverVariable(n *Node) {
	values, preset := n.Get("enum"), n.Get("default")
	switch {
	case values == nil || d.unfit[values] || d.lossy[values]:
	case len(values.Elements) == 0:
		d.Fail(values, "must have a value")
	case preset != nil && !slices.ContainsFunc(values.Elements, func(value *Node) bool { return value.Text == preset.Text }):
		d.Fail(preset, "is not in the enum beside it")
	}
}

// flowURLs returns the members that each OAuth 2 flow must have.
func flowURLs() map[string][]string {
	return map[string][]string{
		"implicit":            {"authorizationUrl"},
		"password":            {"tokenUrl"},
		"clientCredentials":   {"tokenUrl"},
		"authorizationCode":   {"authorizationUrl", "tokenUrl"},
		"deviceAuthorization": {"deviceAuthorizationUrl", "tokenUrl"},
	}
}

// securityScheme checks that a scheme has the members of its type, and no others.
func (d *Document) securityScheme(n *Node) {
	kind := n.Get("type")
	if kind == nil {
		return
	}
	own, known := map[string][]string{ // the first ones are required
		"http":          {"scheme", "bearerFormat"},
		"apiKey":        {"in", "name"},
		"oauth2":        {"flows", "oauth2MetadataUrl"},
		"openIdConnect": {"openIdConnectUrl"},
		"mutualTLS":     {},
	}[kind.Text]
	if !known {
		d.Fail(kind, "is not http, apiKey, oauth2, openIdConnect or mutualTLS")
		return
	}
	for i, name := range own {
		if i == 0 || kind.Text == "apiKey" {
			d.required(n, name)
		}
	}
	if how := n.Get("scheme"); how != nil && strings.EqualFold(how.Text, "basic") {
		own = own[:1]
	}
	if in := n.Get("in"); in != nil && kind.Text == "apiKey" && !slices.Contains([]string{"header", "query", "cookie"}, in.Text) {
		d.Fail(in, "is not header, query or cookie")
	}
	if name := n.Get("name"); name != nil && name.Text == "" {
		d.Fail(name, "must not be empty")
	}
	for _, m := range n.Members {
		if !slices.Contains(own, m.Name) && !slices.Contains([]string{"type", "description", "deprecated"}, m.Name) && !strings.HasPrefix(m.Name, "x-") {
			d.Unsupported(n.Key(m), "is not of this type")
		}
	}
}
