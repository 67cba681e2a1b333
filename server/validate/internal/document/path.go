package document

import (
	"iter"
	"slices"
	"strings"

	"github.com/avatarstudio/avatarstudio/server/internal/pathtemplate"
)

// methods returns the names of the members of a path item that are operations.
func methods() []string {
	return []string{"delete", "get", "head", "options", "patch", "post", "put", "query", "trace"}
}

// Operations returns the operations of a path item by their method.
func Operations(item *Node) iter.Seq2[string, *Node] {
	return func(yield func(string, *Node) bool) {
		for _, method := range methods() {
			if operation := item.Get(method); operation != nil && !yield(strings.ToUpper(method), operation) {
				return
			}
		}
		item.Get("additionalOperations").All()(yield)
	}
}

// IsToken reports whether text can be a method or the name of a header (RFC 9110, section 5.6.2).
func IsToken(text string) bool {
	return text != "" && strings.Trim(text, letters+digits+"!#$%&'*+-.^_`|~") == ""
}

// pathItem checks the members beside a $ref, and the methods of additionalOperations.
func (d *Document) pathItem(n *Node) {
	d.addLink(n, "$ref", "PathItem")
	for _, m := range n.Members {
		if n.Get("$ref") != nil && !slices.Contains([]string{"$ref", "summary", "description"}, m.Name) && !strings.HasPrefix(m.Name, "x-") {
			d.Unsupported(n.Key(m), "is beside $ref, which replaces it")
		}
	}
	additional := n.Get("additionalOperations")
	if additional == nil {
		return
	}
	for _, m := range additional.Members {
		switch lower := strings.ToLower(m.Name); {
		case slices.Contains(methods(), lower):
			d.Fail(additional.Key(m), "is the method of the member "+lower)
		case !IsToken(m.Name):
			d.Fail(additional.Key(m), "is no HTTP method")
		}
	}
}

// templates checks that each path contains exactly the path parameters that its operations declare, and that
// no two paths differ only in the names of their parameters.
func (d *Document) templates(paths *Node) {
	if paths == nil {
		return
	}
	shapes := make(map[string]string) // and the path of each
	for _, m := range paths.Members {
		if strings.HasPrefix(m.Name, "x-") {
			continue
		}
		t, err := pathtemplate.Parse(m.Name)
		switch {
		case err != nil:
			d.Fail(paths.Key(m), err.Error())
			continue
		case shapes[t.Shape] != "":
			d.Fail(paths.Key(m), "differs from "+shapes[t.Shape]+" in the names of its parameters only")
		}
		shapes[t.Shape] = m.Name
		item := d.Resolve(m.Value)
		if item == nil {
			continue
		}
		for _, operation := range Operations(item) {
			d.template(item, operation, t.Names)
		}
	}
}

// template compares the names in a path with the path parameters of an operation. If a parameter of the
// operation is invalid or its reference leads nowhere, a name may be its own.
func (d *Document) template(item, operation *Node, names []string) {
	parameters := make(map[string]*Node)
	complete := !d.lossy[item] && !d.lossy[operation]
	for _, list := range []*Node{item.Get("parameters"), operation.Get("parameters")} {
		if list == nil {
			continue
		}
		complete = complete && !d.lossy[list]
		for _, element := range list.Elements {
			p := d.Resolve(element)
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
			d.Fail(operation, "must declare the path parameter "+name)
		}
	}
	for name, parameter := range parameters {
		if !slices.Contains(names, name) {
			d.Fail(parameter, "is no parameter of its path: "+name)
		}
		if !parameter.Get("required").IsTrue() {
			d.Fail(parameter, "must be required, as it is in the path")
		}
	}
}
