package validate

import (
	"slices"
	"strings"

	"github.com/avatarstudio/avatarstudio/server/validate/internal/document"
)

// rules checks what OpenAPI requires of an object besides the types of its members.
func (l *loader) rules(n *document.Node, rule string) {
	switch rule {
	case "OpenAPI":
		l.tags(n.Get("tags"))
		l.servers(n.Get("servers"))
	case "Operation":
		l.operations = append(l.operations, n)
	case "PathItem":
		l.pathItem(n)
	case "Responses":
		if !slices.ContainsFunc(n.Members, func(m document.Member) bool { return !strings.HasPrefix(m.Name, "x-") }) && !l.lossy[n] {
			l.fail(n, "must have a response")
		}
	case "SecurityRequirement":
		for _, m := range n.Members {
			if known := l.root.Get("components").Get("securitySchemes").Get(m.Name); known == nil && l.is32 && strings.ContainsAny(m.Name, "/#") {
				ref := n.Key(m)
				l.schemes[m.Value] = ref
				l.links = append(l.links, link{ref, "SecurityScheme"})
			}
		}
	case "SecurityScheme":
		l.securityScheme(n)
	case "OAuthFlows":
		for name, urls := range flowURLs() {
			if flow := n.Get(name); flow != nil && !l.unfit[flow] {
				for _, url := range urls {
					l.required(flow, url)
				}
			}
		}
	case "XML":
		types := []string{"element", "attribute", "text", "cdata", "none"}
		if nodeType := n.Get("nodeType"); nodeType != nil && !slices.Contains(types, nodeType.Text) {
			l.fail(nodeType, "is not "+oneOf(types))
		}
		l.exclusive(n, "nodeType", "attribute", "wrapped")
	case "Example":
		l.exclusive(n, "value", "dataValue", "serializedValue", "externalValue")
		l.exclusive(n, "externalValue", "serializedValue")
	case "MediaType", "Encoding", "Parameter", "Header":
		l.exclusive(n, "examples", "example")
		l.exclusive(n, "encoding", "prefixEncoding", "itemEncoding")
	case "ServerVariable":
		l.serverVariable(n)
	}
}

// exclusive reports members that must not be beside another one.
func (l *loader) exclusive(n *document.Node, name string, others ...string) {
	if n.Get(name) == nil {
		return
	}
	for _, m := range n.Members {
		if slices.Contains(others, m.Name) {
			l.fail(n.Key(m), "must not be beside "+name)
		}
	}
}

// tags checks that the names of tags are unique, and that their parents exist and are in no circle.
func (l *loader) tags(tags *document.Node) {
	if tags == nil {
		return
	}
	parents := make(map[string]*document.Node)
	for _, tag := range tags.Elements {
		name := tag.Get("name")
		if name == nil {
			continue
		}
		if _, known := parents[name.Text]; known {
			l.fail(name, "is not unique")
			continue
		}
		parents[name.Text] = tag.Get("parent")
	}
	for _, tag := range tags.Elements {
		parent := tag.Get("parent")
		if parent == nil {
			continue
		}
		if _, known := parents[parent.Text]; !known && !l.lossy[tags] {
			l.fail(parent, "is no tag of the document")
		}
		next := parent
		for range tags.Elements {
			if next != nil {
				next = parents[next.Text]
			}
		}
		if next != nil { // there are no more parents than tags
			l.fail(parent, "leads to a circle of parents")
		}
	}
}

// servers checks that the names of servers are unique.
func (l *loader) servers(servers *document.Node) {
	if servers == nil {
		return
	}
	names := make(map[string]bool)
	for _, server := range servers.Elements {
		name := server.Get("name")
		if name == nil {
			continue
		}
		if names[name.Text] {
			l.fail(name, "is not unique")
		}
		names[name.Text] = true
	}
}

// serverVariable checks that the default is one of the values, if there are any.
func (l *loader) serverVariable(n *document.Node) {
	values, preset := n.Get("enum"), n.Get("default")
	switch {
	case values == nil || l.unfit[values] || l.lossy[values]:
	case len(values.Elements) == 0:
		l.fail(values, "must have a value")
	case preset != nil && !slices.ContainsFunc(values.Elements, func(value *document.Node) bool { return value.Text == preset.Text }):
		l.fail(preset, "is not in the enum beside it")
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
func (l *loader) securityScheme(n *document.Node) {
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
		l.fail(kind, "is not http, apiKey, oauth2, openIdConnect or mutualTLS")
		return
	}
	for i, name := range own {
		if i == 0 || kind.Text == "apiKey" {
			l.required(n, name)
		}
	}
	if how := n.Get("scheme"); how != nil && strings.EqualFold(how.Text, "basic") {
		own = own[:1]
	}
	if in := n.Get("in"); in != nil && kind.Text == "apiKey" && !slices.Contains([]string{"header", "query", "cookie"}, in.Text) {
		l.fail(in, "is not header, query or cookie")
	}
	if name := n.Get("name"); name != nil && name.Text == "" {
		l.fail(name, "must not be empty")
	}
	for _, m := range n.Members {
		if !slices.Contains(own, m.Name) && !slices.Contains([]string{"type", "description", "deprecated"}, m.Name) && !strings.HasPrefix(m.Name, "x-") {
			l.unsupported(n.Key(m), "is not of this type")
		}
	}
}
