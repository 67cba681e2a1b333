package validate

import (
	"slices"
	"strings"

	"github.com/avatarstudio/avatarstudio/server/validate/internal/document"
)

// methods returns the names of the operations in a path item, sorted.
func methods() []string {
	return []string{"delete", "get", "head", "options", "patch", "post", "put", "trace"}
}

func (l *loader) uniqueIDs() {
	ids := make(map[string]bool)
	for _, operation := range l.operations {
		id := operation.Get("operationId")
		if id == nil {
			continue
		}
		if ids[id.Text] {
			l.fail(id, "is not unique")
		}
		ids[id.Text] = true
	}
}

// templates checks that each path contains exactly the path parameters that its operations declare, and that
// no two paths differ only in the names of their parameters.
func (l *loader) templates(paths *document.Node) {
	if paths == nil {
		return
	}
	shapes := make(map[string]bool)
	for _, m := range paths.Members {
		if strings.HasPrefix(m.Name, "x-") {
			continue
		}
		names, shape, ok := templateNames(m.Name)
		switch {
		case !ok:
			l.failAt(paths, m, "has braces that are no parameters, or a parameter twice")
			continue
		case shapes[shape]:
			l.failAt(paths, m, "differs from another path in the names of its parameters only")
		}
		shapes[shape] = true
		item := l.resolve(m.Value)
		if item == nil {
			continue
		}
		for _, method := range methods() {
			if operation := item.Get(method); operation != nil {
				l.template(operation, names, l.pathParameters(item, operation))
			}
		}
	}
}

// template compares the names in a path with the path parameters of an operation.
func (l *loader) template(operation *document.Node, names []string, parameters map[string]*document.Node) {
	for _, name := range names {
		if parameters[name] == nil {
			l.fail(operation, "must declare the path parameter "+name)
		}
	}
	for name, parameter := range parameters {
		if !slices.Contains(names, name) {
			l.fail(parameter, "is no parameter of its path: "+name)
		}
		if required := parameter.Get("required"); required == nil || required.Kind != 't' {
			l.fail(parameter, "must be required, as it is in the path")
		}
	}
}

// pathParameters returns the path parameters of an operation, by name.
func (l *loader) pathParameters(item, operation *document.Node) map[string]*document.Node {
	parameters := make(map[string]*document.Node)
	for _, list := range []*document.Node{item.Get("parameters"), operation.Get("parameters")} {
		if list == nil {
			continue
		}
		for _, element := range list.Elements {
			p := l.resolve(element)
			if in := p.Get("in"); in != nil && in.Text == "path" && p.Get("name") != nil {
				parameters[p.Get("name").Text] = p
			}
		}
	}
	return parameters
}

// templateNames returns the parameter names in a path, and the path without the names.
func templateNames(path string) (names []string, shape string, ok bool) {
	for {
		before, rest, found := strings.Cut(path, "{")
		shape += before
		if !found {
			return names, shape, !strings.Contains(before, "}")
		}
		name, after, closed := strings.Cut(rest, "}")
		if !closed || name == "" || strings.Contains(name, "{") || strings.Contains(before, "}") || slices.Contains(names, name) {
			return nil, "", false
		}
		names = append(names, name)
		shape, path = shape+"{}", after
	}
}
