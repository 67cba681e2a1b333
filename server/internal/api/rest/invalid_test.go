package rest_test

import (
	"encoding/json"
	"fmt"
	"maps"
	"net/url"
	"slices"

	"github.com/getkin/kin-openapi/openapi3"
)

// attempt is a request.
type attempt struct {
	target, body string
	header       map[string]string
}

// invalid returns requests that differ from one that succeeds in a part that the document does not allow: a parameter
// or a member that is missing or has another type, format, length or value, or a body that is not JSON.
func invalid(c operation) (all []attempt) {
	for _, reference := range c.described.Parameters {
		all = append(all, invalidParameter(c, reference.Value)...)
	}
	if c.described.RequestBody == nil {
		return all
	}
	media := c.described.RequestBody.Value.Content.Get("application/json")
	if media == nil {
		return all // a file
	}
	send := func(body string) {
		all = append(all, attempt{c.target, body, map[string]string{"Content-Type": "application/json"}})
	}
	for _, body := range []string{``, `{`, `{"a":1,"a":1}`, `{}{}`, `"` + "\xff" + `"`} {
		send(body)
	}
	var valid any
	if err := json.Unmarshal([]byte(c.body), &valid); err != nil {
		panic(err)
	}
	for _, wrong := range wrongValues(media.Schema.Value, valid) {
		encoded, err := json.Marshal(wrong)
		if err != nil {
			panic(err)
		}
		send(string(encoded))
	}
	return all
}

func invalidParameter(c operation, p *openapi3.Parameter) (all []attempt) {
	if p.In == openapi3.ParameterInHeader {
		if p.Required {
			header := maps.Clone(c.header)
			delete(header, p.Name)
			all = append(all, attempt{c.target, c.body, header})
		}
		return all
	}
	target, err := url.Parse(c.target)
	if err != nil {
		panic(err)
	}
	send := func(change func(query url.Values)) {
		query := target.Query()
		change(query)
		all = append(all, attempt{(&url.URL{Path: target.Path, RawQuery: query.Encode()}).String(), c.body, c.header})
	}
	if p.Required {
		send(func(query url.Values) { query.Del(p.Name) })
	}
	if p.Name == "cursor" {
		send(func(query url.Values) { query.Set(p.Name, "guess") })
	}
	for _, wrong := range wrongValues(p.Schema.Value, nil) {
		switch wrong.(type) {
		case string, float64:
			send(func(query url.Values) { query.Set(p.Name, fmt.Sprint(wrong)) })
		}
	}
	return all
}

// wrongValues returns values that a schema does not allow. valid is one that it allows, whose members they keep, or
// nil.
func wrongValues(schema *openapi3.Schema, valid any) (wrong []any) {
	if len(schema.OneOf) > 0 {
		wrong = wrongValues(schema.OneOf[0].Value, valid)
		return slices.DeleteFunc(wrong, func(value any) bool { return value == nil }) // the other schema
	}
	switch {
	case schema.Type.Includes("object"):
		wrong = []any{7, []any{}}
		for name, member := range schema.Properties {
			members, _ := valid.(map[string]any)
			for _, value := range wrongValues(member.Value, members[name]) {
				changed := maps.Clone(members)
				if changed == nil {
					changed = map[string]any{}
				}
				changed[name] = value
				wrong = append(wrong, changed)
			}
			if slices.Contains(schema.Required, name) {
				changed := maps.Clone(members)
				delete(changed, name)
				wrong = append(wrong, changed)
			}
		}
	case schema.Type.Includes("array"):
		wrong = []any{"a", map[string]any{}}
		if schema.MinItems > 0 {
			wrong = append(wrong, []any{})
		}
		for _, value := range wrongValues(schema.Items.Value, nil) {
			wrong = append(wrong, []any{value})
		}
	case schema.Type.Includes("boolean"):
		wrong = []any{"yes", 1}
	case schema.Type.Includes("string"):
		wrong = []any{7, []any{}}
		if schema.MinLength > 0 {
			wrong = append(wrong, "")
		}
		if schema.Format != "" || schema.Enum != nil {
			wrong = append(wrong, "no such value")
		}
	default: // a number
		wrong = []any{"ten"}
		if schema.Min != nil {
			wrong = append(wrong, *schema.Min-0.5)
		}
		if schema.Max != nil {
			wrong = append(wrong, *schema.Max+0.5)
		}
	}
	if !schema.Type.Includes("null") {
		wrong = append(wrong, nil)
	}
	return wrong
}
