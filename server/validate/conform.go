package validate

import (
	"strings"

	"github.com/go-json-experiment/json/jsontext"

	"github.com/avatarstudio/avatarstudio/server/validate/internal/document"
)

// visit is an object or array that has been checked against a rule.
type visit struct {
	node *document.Node
	as   string
}

// conform checks n against a type of openAPIObjects. It reports all errors in n and its descendants, removes the
// descendants whose type is wrong, and records all references to be followed later.
func (l *loader) conform(n *document.Node, rule string) {
	rule = strings.TrimLeft(rule, "*+-")
	if len(n.Members)+len(n.Elements) > 0 && rule != "any" { // others cost less to check than to remember
		count := len(l.visited)
		if l.visited[visit{n, rule}] = true; len(l.visited) == count {
			return
		}
	}
	wrong := ""
	kind, scalar := scalarOf(rule)
	list, isList := strings.CutPrefix(rule, "[")
	switch {
	case rule == "any", rule == "Schema" && isBoolean(n):
	case kind != 0:
		if n.Kind != kind && !(kind == jsontext.KindTrue && isBoolean(n)) {
			wrong = "must be " + scalar
		}
	case rule == "count":
		if _, ok := countOf(n); !ok {
			wrong = "must be an integer that is not negative"
		}
	case isList && n.Kind == jsontext.KindBeginArray:
		for _, element := range n.Elements {
			l.conform(element, strings.TrimSuffix(list, "]"))
		}
		l.prune(n)
	case isList:
		wrong = "must be an array"
	case n.Kind == jsontext.KindBeginObject:
		l.object(n, rule)
		l.prune(n)
	case rule == "Schema":
		wrong = "must be a schema: an object or a boolean"
	default:
		wrong = "must be an object"
	}
	if wrong != "" {
		l.fail(n, wrong)
		l.unfit[n] = true
	}
}

// scalarOf returns the kind of the scalars that a rule allows, and how errors call them, or 0 if it is no rule for scalars.
func scalarOf(rule string) (kind jsontext.Kind, name string) {
	switch rule {
	case "string":
		return jsontext.KindString, "a string"
	case "number":
		return jsontext.KindNumber, "a number"
	case "boolean":
		return jsontext.KindTrue, "a boolean"
	}
	return 0, ""
}

func isBoolean(n *document.Node) bool {
	return n.Kind == jsontext.KindTrue || n.Kind == jsontext.KindFalse
}

// prune removes the children of n whose type is wrong.
func (l *loader) prune(n *document.Node) {
	if len(l.unfit) > 0 && n.Filter(func(m document.Member) bool { return !l.unfit[m.Value] }) {
		l.lossy[n] = true
	}
}

// object checks the members of an object.
func (l *loader) object(n *document.Node, rule string) {
	if inner, ok := strings.CutPrefix(rule, "{"); ok {
		for _, m := range n.Members {
			l.conform(m.Value, strings.TrimSuffix(inner, "}"))
		}
		return
	}
	if inner, ok := strings.CutPrefix(rule, "&"); ok {
		rule = inner
		if n.Get("$ref") != nil && (inner != "MediaType" || l.is32) {
			l.members(n, "Reference")
			l.addLink(n, "$ref", inner)
			return
		}
	}
	if rule == "Schema" {
		l.schema(n) // first, because the URIs of inner schemas depend on it
	}
	switch rule {
	case "SecurityRequirement":
		l.object(n, "{[string]}")
	case "Paths", "Responses", "Callback":
		l.named(n, rule)
	default:
		l.members(n, rule)
	}
	l.rules(n, rule)
}

// named checks an object whose member names must have a certain form.
func (l *loader) named(n *document.Node, rule string) {
	for _, m := range n.Members {
		switch {
		case strings.HasPrefix(m.Name, "x-"):
			continue
		case rule == "Responses" && !isStatus(m.Name):
			l.fail(n.Key(m), "is no status, which has three digits, or one and XX, or is default")
		case rule == "Paths" && !strings.HasPrefix(m.Name, "/"):
			l.fail(n.Key(m), "must begin with a slash")
		}
		if rule == "Responses" {
			l.conform(m.Value, "&Response")
		} else {
			l.conform(m.Value, "PathItem")
		}
	}
}

func isStatus(name string) bool {
	return name == "default" || len(name) == 3 && '1' <= name[0] && name[0] <= '5' &&
		(name[1:] == "XX" || strings.Trim(name, digits) == "")
}

const needs32 = "needs OpenAPI 3.2"

// members checks an object whose member names OpenAPI defines.
func (l *loader) members(n *document.Node, rule string) {
	o := l.objects[rule]
	for _, name := range o.required {
		l.required(n, name)
	}
	for _, m := range n.Members {
		typ, ok := o.members[m.Name]
		switch {
		case ok && !l.is32 && strings.HasPrefix(typ, "+"):
			l.unsupported(n.Key(m), needs32)
			l.unfit[m.Value] = true
		case ok:
			l.conform(m.Value, typ)
		case strings.HasPrefix(m.Name, "x-"):
		case rule == "Schema" && m.Name == "nullable":
			l.unsupported(n.Key(m), "is not known since OpenAPI 3.1, which has the type null")
		default:
			l.unsupported(n.Key(m), "is not known")
		}
	}
}

// countOf parses a non-negative integer in any notation.
func countOf(n *document.Node) (uint64, bool) {
	if n == nil || n.Kind != jsontext.KindNumber {
		return 0, false
	}
	return parseDecimal(nil, []byte(n.Text)).count()
}

// oneOf lists names for errors.
func oneOf(names []string) string {
	last := len(names) - 1
	if last < 1 {
		return strings.Join(names, "")
	}
	return strings.Join(names[:last], ", ") + " or " + names[last]
}
