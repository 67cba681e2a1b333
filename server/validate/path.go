package validate

import (
	"iter"
	"slices"
	"strings"

	"github.com/avatarstudio/avatarstudio/server/internal/pathtemplate"
	"github.com/avatarstudio/avatarstudio/server/validate/internal/document"
)

// methods returns the names of the members of a path item that are operations.
func methods() []string {
	return []string{"delete", "get", "head", "options", "patch", "post", "put", "query", "trace"}
}

// operationsOf returns the operations of a path item by their method.
func operationsOf(item *document.Node) iter.Seq2[string, *document.Node] {
	return func(yield func(string, *document.Node) bool) {
		for _, method := range methods() {
			if operation := item.Get(method); operation != nil && !yield(strings.ToUpper(method), operation) {
				return
			}
		}
		item.Get("additionalOperations").All()(yield)
	}
}

// isToken reports whether text can be a method or the name of a header (RFC 9110, section 5.6.2).
func isToken(text string) bool {
	return text != "" && strings.Trim(text, letters+digits+"!#$%&'*+-.^_`|~") == ""
}

// pathItem checks the members beside a $ref, and the methods of additionalOperations.
func (l *loader) pathItem(n *document.Node) {
	l.addLink(n, "$ref", "PathItem")
	for _, m := range n.Members {
		if n.Get("$ref") != nil && !slices.Contains([]string{"$ref", "summary", "description"}, m.Name) && !strings.HasPrefix(m.Name, "x-") {
			l.unsupported(n.Key(m), "is beside $ref, which replaces it")
		}
	}
	additional := n.Get("additionalOperations")
	if additional == nil {
		return
	}
	for _, m := range additional.Members {
		switch lower := strings.ToLower(m.Name); {
		case slices.Contains(methods(), lower):
			l.fail(additional.Key(m), "is the method of the member "+lower)
		case !isToken(m.Name):
			l.fail(additional.Key(m), "is no HTTP method")
		}
	}
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
		t, err := pathtemplate.Parse(m.Name)
		switch {
		case err != nil:
			l.fail(paths.Key(m), err.Error())
			continue
		case shapes[t.Shape]:
			l.fail(paths.Key(m), "differs from another path in the names of its parameters only")
		}
		shapes[t.Shape] = true
		item := l.resolve(m.Value)
		if item == nil {
			continue
		}
		for _, operation := range operationsOf(item) {
			l.template(item, operation, t.Names)
		}
	}
}

// template compares the names in a path with the path parameters of an operation. If a parameter of the
// operation is invalid or its reference leads nowhere, a name may be its own.
func (l *loader) template(item, operation *document.Node, names []string) {
	parameters := make(map[string]*document.Node)
	complete := !l.lossy[item] && !l.lossy[operation]
	for _, list := range []*document.Node{item.Get("parameters"), operation.Get("parameters")} {
		if list == nil {
			continue
		}
		complete = complete && !l.lossy[list]
		for _, element := range list.Elements {
			p := l.resolve(element)
			name, in := p.Get("name"), p.Get("in")
			if name == nil || in == nil {
				complete = false
			} else if in.Text == "path" {
				parameters[name.Text] = p
			}
		}
	}
	for _, name := range names {
		if parameters[name] == nil && complete {
			l.fail(operation, "must declare the path parameter "+name)
		}
	}
	for name, parameter := range parameters {
		if !slices.Contains(names, name) {
			l.fail(parameter, "is no parameter of its path: "+name)
		}
		if !parameter.Get("required").IsTrue() {
			l.fail(parameter, "must be required, as it is in the path")
		}
	}
}
