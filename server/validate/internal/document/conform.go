package document

import (
	"slices"
	"strings"

	"github.com/go-json-experiment/json/jsontext"

	"github.com/avatarstudio/avatarstudio/server/validate/internal/decimal"
)

// visit is an object or array that has been checked against a rule.
type visit struct {
	node *Node
	as   string
}

// conform checks n against a type of objects. It reports all errors in n and its descendants, removes the
// descendants whose type is wrong, and records all references to be followed later.
func (d *Document) conform(n *Node, rule string) {
	rule = strings.TrimLeft(rule, "*+-")
	if len(n.Members)+len(n.Elements) > 0 && rule != "any" { // others cost less to check than to remember
		count := len(d.visited)
		if d.visited[visit{n, rule}] = true; len(d.visited) == count {
			return
		}
	}
	wrong := ""
	list, isList := strings.CutPrefix(rule, "[")
	switch {
	case rule == "any", rule == "Schema" && isBoolean(n):
	case rule == "string", rule == "number", rule == "boolean":
		if n.Kind.String() != rule && (rule != "boolean" || !isBoolean(n)) {
			wrong = "must be a " + rule
		}
	case rule == "count":
		if _, ok := CountOf(n); !ok {
			wrong = "must be an integer that is not negative"
		}
	case isList && n.Kind == jsontext.KindBeginArray:
		for _, element := range n.Elements {
			d.conform(element, strings.TrimSuffix(list, "]"))
		}
		d.prune(n)
	case isList:
		wrong = "must be an array"
	case n.Kind == jsontext.KindBeginObject:
		d.object(n, rule)
		d.prune(n)
	case rule == "Schema":
		wrong = "must be a schema: an object or a boolean"
	default:
		wrong = "must be an object"
	}
	if wrong != "" {
		d.Fail(n, wrong)
		d.unfit[n] = true
	}
}

func isBoolean(n *Node) bool {
	return n.Kind == jsontext.KindTrue || n.Kind == jsontext.KindFalse
}

// prune removes the children of n whose type is wrong.
func (d *Document) prune(n *Node) {
	if len(d.unfit) == 0 {
		return
	}
	before := len(n.Members) + len(n.Elements)
	n.Members = slices.DeleteFunc(n.Members, func(m Member) bool { return d.unfit[m.Value] })
	n.Elements = slices.DeleteFunc(n.Elements, func(e *Node) bool { return d.unfit[e] })
	d.lossy[n] = d.lossy[n] || len(n.Members)+len(n.Elements) < before
}

// object checks the members of an object.
func (d *Document) object(n *Node, rule string) {
	if inner, ok := strings.CutPrefix(rule, "{"); ok {
		for _, m := range n.Members {
			d.conform(m.Value, strings.TrimSuffix(inner, "}"))
		}
		return
	}
	if inner, ok := strings.CutPrefix(rule, "&"); ok {
		rule = inner
		if n.Get("$ref") != nil && (inner != "MediaType" || d.Is32) {
			d.members(n, "Reference")
			d.addLink(n, "$ref", inner)
			return
		}
	}
	if rule == "Schema" {
		d.schema(n) // first, because the URIs of inner schemas depend on it
	}
	switch rule {
	case "SecurityRequirement":
		d.object(n, "{[string]}")
	case "Paths", "Responses", "Callback":
		d.named(n, rule)
	default:
		d.members(n, rule)
	}
	d.rules(n, rule)
}

// named checks an object whose member names must have a certain form.
func (d *Document) named(n *Node, rule string) {
	for _, m := range n.Members {
		switch {
		case strings.HasPrefix(m.Name, "x-"):
			continue
		case rule == "Responses" && !isStatus(m.Name):
			d.Fail(n.Key(m), "is no status, which has three digits, or one and XX, or is default")
		case rule == "Paths" && !strings.HasPrefix(m.Name, "/"):
			d.Fail(n.Key(m), "must begin with a slash")
		case rule == "Paths" && strings.ContainsAny(m.Name, "?#"): // no request has such a path
			d.Fail(n.Key(m), "must have no query and no fragment")
		}
		if rule == "Responses" {
			d.conform(m.Value, "&Response")
		} else {
			d.conform(m.Value, "PathItem")
		}
	}
}

// isStatus reports whether a name can be that of a response: a status, a range such as 2XX, or default.
func isStatus(name string) bool {
	return name == "default" || len(name) == 3 && '1' <= name[0] && name[0] <= '5' &&
		(name[1:] == "XX" || strings.Trim(name, digits) == "")
}

// members checks an object whose member names OpenAPI defines.
func (d *Document) members(n *Node, rule string) {
	o := d.objects[rule]
	for _, name := range o.required {
		d.required(n, name)
	}
	for _, m := range n.Members {
		typ, ok := o.members[m.Name]
		switch {
		case strings.HasPrefix(typ, "!"):
			d.Unsupported(n.Key(m), notSupported)
			d.unfit[m.Value] = true
		case ok && !d.Is32 && strings.HasPrefix(typ, "+"):
			d.Unsupported(n.Key(m), needs32)
			d.unfit[m.Value] = true
		case ok:
			d.conform(m.Value, typ)
		case strings.HasPrefix(m.Name, "x-"):
		case rule == "Schema" && m.Name == "nullable":
			d.Unsupported(n.Key(m), "is not known since OpenAPI 3.1, which has the type null")
		default:
			d.Unsupported(n.Key(m), "is not known")
		}
	}
}

// CountOf parses a non-negative integer in any notation.
func CountOf(n *Node) (uint64, bool) {
	if n == nil || n.Kind != jsontext.KindNumber {
		return 0, false
	}
	return decimal.Parse(nil, []byte(n.Text)).Count()
}

// OneOf lists names for errors.
func OneOf(names []string) string {
	last := len(names) - 1
	if last < 1 {
		return strings.Join(names, "")
	}
	return strings.Join(names[:last], ", ") + " or " + names[last]
}
