package main

import (
	"cmp"
	_ "embed"
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/getkin/kin-openapi/openapi3"
	"github.com/oasdiff/oasdiff/checker"
)

// The verdict on each change that oasdiff knows: whether it breaks users or fits what they do. Where oasdiff thinks
// otherwise, the reason follows.
//
//go:embed verdicts.txt
var verdicts string

// severities returns the severity of each check of oasdiff.
func severities() map[string]checker.Level {
	levels, of := make(map[string]checker.Level), map[string]checker.Level{"breaks": checker.ERR, "fits": checker.INFO}
	for line := range strings.Lines(verdicts) {
		fields := strings.Fields(line)
		levels[fields[1]] = of[fields[0]]
	}
	return levels
}

// comparison collects the breaking changes that oasdiff has no check for.
type comparison struct {
	operation     string
	callback      bool // as in a finding
	before, after *openapi3.T
	compared      map[[5]any]bool // schemas, by operation or its callbacks, and direction
	breaks        []finding
	hide          []func()                  // what only one of the documents has
	shown         map[*openapi3.Schema]bool // what elsewhere is compared
}

// compareOperations applies our own rules to the operations that both documents have.
func compareOperations(before, after *openapi3.T) []finding {
	c := comparison{before: before, after: after, compared: make(map[[5]any]bool), shown: make(map[*openapi3.Schema]bool)}
	cover(before.Paths.Map(), after.Paths.Value, after.Paths.Set)
	cover(after.Paths.Map(), before.Paths.Value, before.Paths.Set)
	for _, path := range slices.Sorted(maps.Keys(before.Paths.Map())) {
		for method, old := range before.Paths.Value(path).Operations() {
			if item := after.Paths.Find(path); item != nil && item.GetOperation(method) != nil { // names of parameters may differ
				c.operation, c.callback = operationName(method, path), strings.HasPrefix(path, callbackPath)
				c.compare(method, old, item.GetOperation(method))
			}
		}
	}
	for _, hide := range c.hide { // for oasdiff, an enum that is removed has no more values, and a union no alternatives
		hide()
	}
	return c.breaks
}

// cover describes each status of another document, if a range or the default does. The status is the key or its last
// line.
func cover[V comparable](other map[string]V, value func(string) V, set func(string, V)) {
	var none V
	for key := range other {
		at := strings.LastIndex(key, "\n") + 1
		class := key[:min(at+1, len(key))]
		found := cmp.Or(value(key), value(class+"XX"))
		if class[at:] >= "4" { // the default is for errors
			found = cmp.Or(found, value(key[:at]+"default"))
		}
		if found != none {
			set(key, found)
		}
	}
}

func (c *comparison) add(rule, format string, args ...any) {
	c.breaks = append(c.breaks, finding{c.operation, rule, fmt.Sprintf(format, args...), c.callback})
}

func (c *comparison) compare(method string, before, after *openapi3.Operation) {
	c.security(before, after)
	cover(before.Responses.Map(), after.Responses.Value, after.Responses.Set)
	cover(after.Responses.Map(), before.Responses.Value, before.Responses.Set)
	if isIdempotent(method, before) && !isIdempotent(method, after) {
		c.add("idempotent-removed", "a request must no longer be repeated")
	}
	if before.RequestBody != nil && after.RequestBody != nil {
		c.content("the request", before.RequestBody.Value.Content, after.RequestBody.Value.Content, false)
	}
	for status, old := range before.Responses.Map() {
		if response := after.Responses.Value(status); response != nil {
			c.content("the response "+status, old.Value.Content, response.Value.Content, true)
		} else if status < "4" && status != "304" {
			c.add("status-removed", "the response is no longer %s", status)
		}
	}
	for status := range after.Responses.Map() {
		if strings.HasPrefix(status, "2") && before.Responses.Value(status) == nil {
			c.add("status-added", "the response may be %s", status)
		}
	}
}

// isIdempotent reports whether a request may be repeated: what the operation says, or else what its method does.
func isIdempotent(method string, operation *openapi3.Operation) bool {
	said, ok := operation.Extensions["x-idempotent"].(bool)
	return said || !ok && slices.Contains([]string{"GET", "HEAD", "OPTIONS", "TRACE", "PUT", "DELETE"}, method)
}

// security requires that each way to authenticate a request is still one.
func (c *comparison) security(before, after *openapi3.Operation) {
	accepted := c.requirements(c.after, after)
	for _, old := range c.requirements(c.before, before) {
		if !slices.ContainsFunc(accepted, func(all []string) bool {
			return !slices.ContainsFunc(all, func(one string) bool { return !slices.Contains(old, one) })
		}) {
			c.add("security-narrowed", "a request with %s is no longer authenticated", strings.Join(append(old, "no other credential"), ", "))
		}
	}
}

// requirements returns the alternatives of an operation. Each lists the scopes of its schemes.
func (c *comparison) requirements(document *openapi3.T, operation *openapi3.Operation) (alternatives [][]string) {
	security := document.Security
	if operation.Security != nil {
		security = *operation.Security
	}
	if len(security) == 0 {
		return [][]string{nil}
	}
	for _, requirement := range security {
		var all []string
		for name, scopes := range requirement {
			text := name
			if ref := document.Components.SecuritySchemes[name]; ref != nil {
				s := ref.Value
				text = strings.Join(strings.Fields(strings.Join([]string{s.Type, strings.ToLower(s.Scheme), s.In, s.Name}, " ")), " ")
			}
			if c.before.Components.SecuritySchemes[name] != nil && c.after.Components.SecuritySchemes[name] != nil {
				text = name + " (" + text + ")" // one of several that are sent alike
			}
			all = append(all, text)
			for _, scope := range scopes {
				all = append(all, text+" with the scope "+scope)
			}
		}
		slices.Sort(all)
		alternatives = append(alternatives, all)
	}
	return alternatives
}

// content compares the bodies of a request, or those of a response, which the service sends.
func (c *comparison) content(body string, before, after openapi3.Content, sent bool) {
	if !sent && len(before) == 0 && len(after) > 0 {
		c.add("body-added", "%s must have a body", body)
	}
	for media, old := range before {
		if within := after.Get(media); !sent && within != nil { // a range, which oasdiff compares under this name
			after[media] = within
		}
		now := after[media]
		if now == nil {
			c.add("media-type-removed", "%s is no longer %s", body, media)
		} else {
			c.members(body, sent, old.Schema, now.Schema)
		}
	}
	for media, now := range after {
		old := before.Get(media) // or a range, or without parameters
		if sent && before[media] == nil && (old == nil || isChanged(old.Schema, now.Schema)) {
			c.add("media-type-added", "%s may be %s", body, media)
		}
	}
}

// members reports the values that a schema, and those in it, no longer allow, or, if the service sends them, did not
// allow before, as far as oasdiff does not see it.
func (c *comparison) members(at string, sent bool, before, after *openapi3.SchemaRef) {
	if before == nil || after == nil || before.Value == nil || after.Value == nil { // a reference to itself
		return
	}
	a, b := before.Value, after.Value
	key := [5]any{c.operation, c.callback, sent, a, b}
	if c.compared[key] {
		return
	}
	c.compared[key] = true
	c.values(at, sent, a, b)
	c.members(at+"/additionalProperties", sent, a.AdditionalProperties.Schema, b.AdditionalProperties.Schema)
	c.members(at+"/unevaluatedProperties", sent, a.UnevaluatedProperties.Schema, b.UnevaluatedProperties.Schema)
	c.members(at+"/items", sent, a.Items, b.Items)
	c.members(at+"/unevaluatedItems", sent, a.UnevaluatedItems.Schema, b.UnevaluatedItems.Schema)
	for name, property := range a.Properties {
		c.members(at+"/"+name, sent, property, b.Properties[name])
	}
	for i, element := range a.PrefixItems[:min(len(a.PrefixItems), len(b.PrefixItems))] {
		c.members(fmt.Sprintf("%s/%d", at, i), sent, element, b.PrefixItems[i])
	}
	for pattern, property := range a.PatternProperties {
		c.members(at+"/"+pattern, sent, property, b.PatternProperties[pattern])
	}
	for _, lists := range [][2]openapi3.SchemaRefs{{a.AllOf, b.AllOf}, {a.AnyOf, b.AnyOf}, {a.OneOf, b.OneOf}} {
		for i, branch := range lists[0] {
			j := slices.IndexFunc(lists[1], func(other *openapi3.SchemaRef) bool { return !isChanged(branch, other) })
			if j < 0 && branch.Ref == "" && i < len(lists[1]) && lists[1][i].Ref == "" {
				j = i
			}
			if j >= 0 {
				c.members(at, sent, branch, lists[1][j])
			}
		}
	}
}

// values reports values that are open to one schema and closed to the other.
func (c *comparison) values(at string, sent bool, before, after *openapi3.Schema) {
	open, closed, verb := before, after, "must not have"
	if sent {
		open, closed, verb = after, before, "may have"
	}
	isUnused := sent && open.WriteOnly && closed.WriteOnly || !sent && open.ReadOnly && closed.ReadOnly
	report := func(is bool, what string) {
		if is && !isUnused {
			c.add("values", "%s %s %s", at, verb, what)
		}
	}
	report(others(open) > others(closed), "other members")
	report(!sent && closed.ReadOnly && !open.ReadOnly, "what only the service sends")
	hide := func(part func()) {
		c.hide = append(c.hide, func() {
			if !c.shown[open] && !c.shown[closed] {
				part()
			}
		})
	}
	for name, member := range after.Properties {
		other := before.AdditionalProperties.Schema
		isLike := other == nil || other.Value.Type == nil || slices.Equal(member.Value.Type.Slice(), other.Value.Type.Slice())
		report(before.Properties[name] == nil && !isLike, "a "+name+" unlike other members")
	}
	if (open.Enum == nil) != (closed.Enum == nil) {
		hide(func() { open.Enum, closed.Enum = nil, nil })
	}
	if open.Enum != nil && closed.Enum != nil || min(len(open.AnyOf), len(closed.AnyOf)) > 0 || min(len(open.OneOf), len(closed.OneOf)) > 0 {
		c.shown[open], c.shown[closed] = true, true
	}
	report(open.Enum == nil && closed.Enum != nil, "other values")
	for _, unions := range [][2]*openapi3.SchemaRefs{{&open.AnyOf, &closed.AnyOf}, {&open.OneOf, &closed.OneOf}} {
		isSame := slices.Equal(open.Type.Slice(), closed.Type.Slice())
		if (len(*unions[0]) == 0) != (len(*unions[1]) == 0) && isSame { // or else oasdiff compares the types
			hide(func() { *unions[0], *unions[1] = nil, nil })
		}
		isWithin := isAlternative(open, *unions[1]) || open.Type != nil && !slices.ContainsFunc(*open.Type, func(of string) bool {
			return !isAlternative(&openapi3.Schema{Type: &openapi3.Types{of}}, *unions[1])
		})
		report(len(*unions[0]) < min(len(*unions[1]), 1) && (isSame || closed.Type == nil) && !isWithin, "what is no alternative")
	}
	isNarrower := len(open.Type.Slice()) > len(closed.Type.Slice()) // in text, oasdiff takes this for compatible, but for null
	report(isNarrower && closed.Type != nil && slices.ContainsFunc(*open.Type, func(of string) bool {
		isWithin := of == openapi3.TypeInteger && closed.Type.Includes(openapi3.TypeNumber)
		return !isWithin && of != openapi3.TypeNull && !closed.Type.Includes(of) && !closed.Type.Includes(openapi3.TypeString)
	}), "other types")
	report(open.Items == nil && closed.Items != nil && (open.Type == nil || open.Type.Includes(openapi3.TypeArray)), "other elements")
	isClosed := func(s *openapi3.Schema) bool { return s.UnevaluatedItems.Has != nil && !*s.UnevaluatedItems.Has }
	report(isClosed(closed) && !isClosed(open), "other elements")
	report(closed.Format == "date-time" && (open.Format == "date" || open.Format == "time"), "the format "+open.Format)
	report(closed.Not != nil && (open.Not == nil || isChanged(open.Not, closed.Not)), "values that another not allows")
	isConditional := isChanged(open.If, closed.If) || isChanged(open.Then, closed.Then) || isChanged(open.Else, closed.Else)
	for name, schema := range closed.DependentSchemas {
		isConditional = isConditional || isChanged(open.DependentSchemas[name], schema)
	}
	report(isConditional, "values that another condition allows")
	for _, name := range closed.Required { // oasdiff compares those that are in properties
		report(closed.Properties[name] == nil && !slices.Contains(open.Required, name), "no "+name)
	}
}

// isAlternative reports whether a schema is one of those of a union.
func isAlternative(schema *openapi3.Schema, union openapi3.SchemaRefs) bool {
	return slices.ContainsFunc(union, func(branch *openapi3.SchemaRef) bool {
		return !isChanged(schema.NewRef(), branch.Value.NewRef())
	})
}

// isChanged reports whether both documents have a schema, which oasdiff compares no further, and they differ.
func isChanged(one, other *openapi3.SchemaRef) bool {
	a, _ := json.Marshal(one) // cannot fail
	b, _ := json.Marshal(other)
	return one != nil && other != nil && string(a) != string(b)
}

// others returns 0 if an object must not have other members, 1 if they must match a schema, and 2 if it may have any.
func others(s *openapi3.Schema) int {
	switch has, schema := s.AdditionalProperties.Has, s.AdditionalProperties.Schema; {
	case has != nil && !*has, s.UnevaluatedProperties.Has != nil && !*s.UnevaluatedProperties.Has:
		return 0
	case schema != nil && !schema.Value.IsEmpty():
		return 1
	default:
		return 2
	}
}
