package validate

import (
	"slices"
	"strings"

	"github.com/avatarstudio/avatarstudio/server/internal/pathtemplate"
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
		for _, method := range methods() {
			if operation := item.Get(method); operation != nil {
				l.template(item, operation, t.Names)
			}
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
			} else if in.Text == inPath {
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
		if !isTrue(parameter.Get("required")) {
			l.fail(parameter, "must be required, as it is in the path")
		}
	}
}
