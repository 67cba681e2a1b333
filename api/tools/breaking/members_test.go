package main

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/oasdiff/oasdiff/checker"
)

// A schema is compared in each place that it can have in a request, and in what the service sends.
func TestCompare_seesAChangeInEveryPlace(t *testing.T) {
	t.Parallel()
	const (
		body   = "content: {application/json: {schema: SCHEMA}}"
		member = "content: {application/json: {schema: {type: object, properties: {m: SCHEMA}}}}"
		item   = "content: {application/json: {schema: {type: object, properties: {m: {type: array, items: SCHEMA}}}}}"
		value  = "content: {application/json: {schema: {type: object, additionalProperties: SCHEMA}}}"
		header = "headers: {X-H: {schema: SCHEMA}}"
		head   = "openapi: 3.1.0\ninfo: {title: t, version: '1'}\ncomponents:\n  schemas: {A: {type: object, required: [k], properties: {k: {type: string}, " +
			"a: {type: string}}}, B: {type: object, properties: {k: {type: string}, b: {type: string}}}, L: {type: array, items: {$ref: '#/components/schemas/L'}}}\n  responses: {R: {description: d, " + header + "}}\n"
	)
	received := []string{ // operations that receive the schema, and a webhook whose receiver sends it
		"get: {responses: {'200': {description: d, " + body + "}}}",
		"get: {responses: {'200': {description: d, " + member + "}}}",
		"get: {responses: {2XX: {description: d, " + item + "}}}",
		"get: {responses: {'200': {description: d, " + value + "}}}",
		"get: {responses: {'200': {description: d, " + header + "}}}",
		"get: {responses: {default: {description: d, " + member + "}}}",
		"get: {responses: {'200': {$ref: '#/components/responses/R'}}}",
		"put: {responses: {'200': {$ref: '#/components/responses/R'}}}",
	}
	sent := []string{
		"get: {requestBody: {" + body + "}, responses: {}}",
		"get: {requestBody: {" + member + "}, responses: {}}",
		"get: {requestBody: {" + item + "}, responses: {}}",
		"get: {parameters: [{name: p, in: query, schema: SCHEMA}], responses: {}}",
		"get: {parameters: [{name: p, in: header, required: true, schema: SCHEMA}], responses: {}}",
		"get: {parameters: [{name: p, in: cookie, schema: SCHEMA}], responses: {}}",
		"get: {parameters: [{name: p, in: query, " + body + "}], responses: {}}",
		"get: {parameters: [{name: p, in: query, schema: {type: object, properties: {m: SCHEMA}}}], responses: {}}",
		"get: {parameters: [{name: p, in: query, schema: {type: array, items: SCHEMA}}], responses: {}}",
		"parameters: [{name: p, in: query, schema: SCHEMA}], get: {responses: {}}",
	}
	document := func(schema string) []byte {
		text := head + "webhooks:\n  received: {post: {requestBody: {" + member + "}, responses: {}}}\n" +
			"  sent: {post: {responses: {'200': {description: d, " + member + "}}}}\npaths:\n"
		for direction, items := range map[string][]string{"received": received, "sent": sent} {
			for i, item := range items {
				text += fmt.Sprintf("  /%s/%d: {%s}\n", direction, i, item)
			}
		}
		return []byte(strings.ReplaceAll(text, "SCHEMA", schema))
	}
	const object = "{type: object, properties: {a: {type: string, %s}}}"
	for name, change := range map[string]struct {
		before, after string
		breaks        string // who breaks: users who received this, or sent it
	}{
		"another type":                {"{type: string}", "{type: array}", "sent received"},
		"no array of itself":          {"{$ref: '#/components/schemas/L'}", "{type: boolean}", "sent received"},
		"a format":                    {"{type: string}", "{type: string, format: date-time}", "sent"},
		"no format":                   {"{type: string, format: date-time}", "{type: string}", "received"},
		"another format":              {"{type: string, format: date}", "{type: string, format: uuid}", "sent received"},
		"a pattern":                   {"{type: string}", "{type: string, pattern: '^a'}", "sent"},
		"no pattern":                  {"{type: string, pattern: '^a'}", "{type: string}", "received"},
		"another pattern":             {"{type: string, pattern: '^a'}", "{type: string, pattern: '^b'}", "sent received"},
		"a maximum":                   {"{type: integer}", "{type: integer, maximum: 9}", "sent"},
		"a value less":                {"{type: string, enum: [a, b]}", "{type: string, enum: [a]}", "sent"},
		"a value more":                {"{type: string, enum: [a]}", "{type: string, enum: [a, b]}", "received"},
		"an enum":                     {"{type: string}", "{type: string, enum: [a]}", "sent"},
		"no enum":                     {"{type: string, enum: [a]}", "{type: string}", "received"},
		"no constant":                 {"{type: array, items: {type: string, const: a}}", "{type: array, items: {type: string}}", "received"},
		"a shorter format":            {"{type: string, format: date-time}", "{type: string, format: date}", "sent received"},
		"a longer format":             {"{type: string, format: time}", "{type: string, format: date-time}", "sent received"},
		"items":                       {"{type: array}", "{type: array, items: {type: string}}", "sent"},
		"no items":                    {"{type: array, items: {type: string}}", "{type: array}", "received"},
		"a not":                       {"{type: string}", "{type: string, not: {const: a}}", "sent"},
		"no not":                      {"{type: string, not: {const: a}}", "{type: string}", "received"},
		"another not":                 {"{type: string, not: {const: a}}", "{type: string, not: {const: b}}", "sent received"},
		"another condition":           {"{if: {required: [a]}, then: {required: [b]}}", "{if: {required: [a]}, then: {required: [c]}}", "sent received"},
		"another dependent schema":    {"{dependentSchemas: {a: {required: [b]}}}", "{dependentSchemas: {a: {required: [c]}}}", "sent received"},
		"a required member elsewhere": {"{allOf: [{$ref: '#/components/schemas/A'}, {required: [k]}]}", "{allOf: [{$ref: '#/components/schemas/A'}, {required: [k, a]}]}", "sent"},
		"an optional one elsewhere":   {"{allOf: [{$ref: '#/components/schemas/A'}, {required: [k, a]}]}", "{allOf: [{$ref: '#/components/schemas/A'}, {required: [k]}]}", "received"},
		"no unevaluated members":      {"{type: object, properties: {a: {type: string}}}", "{type: object, unevaluatedProperties: false, properties: {a: {type: string}}}", "sent"},
		"a member that cannot be":     {fmt.Sprintf(object, ""), "{type: object, properties: {a: false}}", "sent received"},
		"or null":                     {"{$ref: '#/components/schemas/A'}", "{anyOf: [{$ref: '#/components/schemas/A'}, {type: 'null'}]}", "received"},
		"no longer or null":           {"{oneOf: [{type: 'null'}, {oneOf: [{$ref: '#/components/schemas/A'}, {type: string}]}]}", "{oneOf: [{$ref: '#/components/schemas/A'}, {type: string}]}", "sent"},
		"all of several, or null":     {"{allOf: [{$ref: '#/components/schemas/A'}, {required: [a]}]}", "{anyOf: [{allOf: [{$ref: '#/components/schemas/A'}, {required: [a]}]}, {type: 'null'}]}", "received"},
		"alternatives for a type":     {"{type: integer}", "{oneOf: [{type: string}, {const: a}]}", "sent received"},
		"a described member":          {"{type: object, required: [a]}", "{type: object, properties: {a: {type: string}}}", "received"},
		"null as an alternative":      {"{type: [string, 'null'], enum: [a, null]}", "{oneOf: [{type: [string], enum: [a]}, {type: 'null'}]}", ""},
		"alternatives in an order":    {"{oneOf: [{$ref: '#/components/schemas/A'}, {const: a}, {type: array, items: {type: string}}]}", "{oneOf: [{type: array, items: {type: string}}, {$ref: '#/components/schemas/A'}, {const: a}]}", ""},
		"alternatives":                {"{type: object}", "{type: object, oneOf: [{required: [a]}, {required: [b]}]}", "sent"},
		"no alternatives":             {"{type: object, oneOf: [{required: [a]}, {required: [b]}]}", "{type: object}", "received"},
		"a title in a condition":      {"{if: {required: [a]}, then: {required: [b]}}", "{if: {required: [a], title: t}, then: {required: [b]}}", ""},
		"no unevaluated elements":     {"{type: array}", "{type: array, unevaluatedItems: false}", "sent"},
		"a member unlike others":      {"{type: object, additionalProperties: {type: string}}", "{type: object, additionalProperties: {type: string}, properties: {a: {type: integer}}}", "sent received"},
		"a limit beside a reference":  {"{anyOf: [{$ref: '#/components/schemas/A', maxProperties: 2}, {type: 'null'}]}", "{anyOf: [{$ref: '#/components/schemas/A', maxProperties: 1}, {type: 'null'}]}", "sent"},
		"a reference beside a limit":  {"{$ref: '#/components/schemas/A', required: [a]}", "{allOf: [{$ref: '#/components/schemas/A'}, {required: [a]}]}", ""},
		"no constant at a place":      {"{type: array, prefixItems: [{const: a}]}", "{type: array, prefixItems: [{}]}", "received"},
		"any of one":                  {"{anyOf: [{oneOf: [{const: a}], description: d}]}", "{enum: [a]}", ""},
		"all of one":                  {"{$ref: '#/components/schemas/A'}", "{description: e, allOf: [{description: d}, {$ref: '#/components/schemas/A'}, {title: t}]}", ""},
		"members named like keywords": {"{type: object, properties: {const: {type: string}, allOf: {type: array}}}", "{type: object, properties: {const: {type: string}, allOf: {type: array}}}", ""},
		"fewer types":                 {"{type: [boolean, integer]}", "{type: boolean}", "sent"},
		"fewer types, but numbers":    {"{type: [boolean, integer, number]}", "{type: [boolean, number]}", ""},
		"more types":                  {"{type: boolean}", "{type: [boolean, string]}", "received"},
		"null":                        {"{type: string}", "{type: [string, 'null']}", "received"},
		"a required member":           {"{type: object, properties: {a: {type: string}}}", "{type: object, required: [a], properties: {a: {type: string}}}", "sent"},
		"an optional member":          {"{type: object, required: [a], properties: {a: {type: string}}}", "{type: object, properties: {a: {type: string}}}", "received"},
		"a member less":               {"{type: object, properties: {a: {type: string}, b: {type: string}}}", "{type: object, properties: {a: {type: string}}}", "sent received"},
		"a closed object":             {"{type: object, properties: {a: {type: string}}}", "{type: object, additionalProperties: false, properties: {a: {type: string}}}", "sent"},
		"an open object":              {"{type: object, additionalProperties: false, properties: {a: {type: string}}}", "{type: object, properties: {a: {type: string}}}", "received"},
		"a default":                   {fmt.Sprintf(object, "default: x"), fmt.Sprintf(object, "default: y"), "sent received"},
		"readOnly":                    {fmt.Sprintf(object, ""), fmt.Sprintf(object, "readOnly: true"), "sent"},
		"an enum that is readOnly":    {fmt.Sprintf(object, "readOnly: true"), fmt.Sprintf(object, "readOnly: true, enum: [a]"), ""},
		"readOnly elements":           {"{type: array, items: {type: string}}", "{type: array, items: {type: string, readOnly: true}}", "sent"},
		"no longer readOnly":          {fmt.Sprintf(object, "readOnly: true"), fmt.Sprintf(object, ""), ""},
		"writeOnly":                   {fmt.Sprintf(object, ""), fmt.Sprintf(object, "writeOnly: true"), "received"},
		"no longer writeOnly":         {fmt.Sprintf(object, "writeOnly: true"), fmt.Sprintf(object, ""), ""},
		"no readOnly, but required":   {"{type: object, required: [a], properties: {a: {type: string, readOnly: true}}}", "{type: object, required: [a], properties: {a: {type: string}}}", "sent"},
		"a renamed mapping value":     {"{oneOf: [{$ref: '#/components/schemas/A'}, {$ref: '#/components/schemas/B'}], discriminator: {propertyName: k, mapping: {a: '#/components/schemas/A', b: '#/components/schemas/B'}}}", "{oneOf: [{$ref: '#/components/schemas/A'}, {$ref: '#/components/schemas/B'}], discriminator: {propertyName: k, mapping: {a: '#/components/schemas/A', c: '#/components/schemas/B'}}}", "sent received"},
	} {
		breaks, err := compare(document(change.before), document(change.after))
		if err != nil {
			t.Fatalf("%s: %v", name, err)
		}
		for direction, items := range map[string][]string{"received": received, "sent": sent} {
			operations := []string{"webhook " + direction}
			for i, item := range items {
				operations = append(operations, fmt.Sprintf("%s /%s/%d", map[bool]string{true: "PUT", false: "GET"}[strings.HasPrefix(item, "put")], direction, i))
			}
			for i, operation := range operations {
				found := slices.DeleteFunc(slices.Clone(breaks), func(b finding) bool { return b.operation != operation })
				if want := strings.Contains(change.breaks, direction); len(found) > 0 != want || len(found) > 1 && strings.Contains(name, "null") {
					t.Errorf("%s: %s breaks: %v, want %t; %s", name, operation, found, want, slices.Concat([]string{""}, items)[i])
				}
			}
		}
	}
}

// The table has a verdict on every change that oasdiff knows, and a reason where oasdiff thinks otherwise.
func TestVerdicts_areComplete(t *testing.T) {
	t.Parallel()
	levels := severities()
	for _, rule := range checker.GetAllRules() {
		level := levels[rule.Id]
		if level == 0 { // or its verdict is another word
			t.Errorf("verdicts.txt has no verdict on %s, which oasdiff takes for %s", rule.Id, rule.Level)
		}
		delete(levels, rule.Id)
		hasReason := strings.Contains(verdicts, " "+rule.Id+"  ")
		if (level == checker.ERR) != (rule.Level != checker.INFO) != hasReason {
			t.Errorf("%s: the level of oasdiff is %s, and there is a reason to think otherwise: %t", rule.Id, rule.Level, hasReason)
		}
	}
	for id := range levels {
		t.Errorf("oasdiff no longer knows %s", id)
	}
}

// How parameters and the fields of forms are written is part of a request; where it is described is not.
func TestCompare_seesHowAValueIsWritten(t *testing.T) {
	t.Parallel()
	const (
		list  = "parameters: [{name: p, in: query, schema: {type: array}%s}]"
		field = "requestBody: {content: {%s: {schema: {type: object, properties: {f: {type: object}}}%s}}}"
		form  = "application/x-www-form-urlencoded"
		twice = "/a: {put: {requestBody: {content: {application/json: {schema: {$ref: '#/components/schemas/E'}}}}, responses: {}}}\n" +
			"  /b: {put: {requestBody: {content: {application/json: {schema: {$ref: '#/components/schemas/%s'}}}}, responses: {}}}\n" +
			"components: {schemas: {T: {type: object}, E: {type: object, oneOf: [{required: [a]}, {required: [b]}%s]}}}"
		same = "/p: {put: {requestBody: {content: {application/json: {schema: {$ref: '#/components/schemas/E'}}}}, responses: {'200': {description: d, " +
			"content: {application/json: {schema: {$ref: '#/components/schemas/E'}}}}}}}\ncomponents: {schemas: {E: {type: object, properties: {a: {type: string%s}}}}}"
		token = "/p: {get: {security: [{%s: []}], responses: {%s: {description: d}}}}\ncomponents: {securitySchemes: {a: {type: http, scheme: bearer}, b: {type: http, scheme: bearer}}}"
		moved = "/p/{id}: {get: {parameters: [{name: id, in: path, required: true, schema: {}}, {name: p, in: header, required: true, schema: {}}], responses: {}}}"
	)
	operation := func(format string, values ...any) string {
		return "/p: {post: {" + fmt.Sprintf(format, values...) + ", responses: {}}}"
	}
	for name, test := range map[string]struct {
		before, after string
		breaks        bool
	}{
		"another explode":           {operation(list, ""), operation(list, ", explode: false"), true},
		"the same explode":          {operation(list, ""), operation(list, ", style: form, explode: true"), false},
		"another style":             {operation(list, ", explode: false"), operation(list, ", explode: false, style: pipeDelimited"), true},
		"explode of a scalar":       {operation("parameters: [{name: p, in: query, schema: {type: string}}]"), operation("parameters: [{name: p, in: query, explode: false, schema: {type: string}}]"), false},
		"JSON":                      {operation(list, ""), operation("parameters: [{name: p, in: query, content: {application/json: {schema: {type: array}}}}]"), true},
		"reserved characters":       {operation(list, ""), operation(list, ", allowReserved: true"), false},
		"no reserved characters":    {operation(list, ", allowReserved: true"), operation(list, ""), true},
		"an empty value":            {operation(list, ""), operation(list, ", allowEmptyValue: true"), false},
		"no empty value":            {operation(list, ", allowEmptyValue: true"), operation(list, ""), true},
		"an encoding":               {operation(field, form, ""), operation(field, form, ", encoding: {f: {style: deepObject, explode: true}}"), true},
		"another media type":        {operation(field, "multipart/mixed", ", encoding: {f: {contentType: image/png}}"), operation(field, "multipart/mixed", ", encoding: {f: {contentType: image/jpeg}}"), true},
		"no encoding":               {operation(field, form, ", encoding: {f: {contentType: application/json}}"), operation(field, form, ""), true},
		"an exploded header":        {"/p: {get: {responses: {'200': {description: d, headers: {H: {schema: {type: object}}}}}}}", "/p: {get: {responses: {'200': {description: d, headers: {H: {explode: true, schema: {type: object}}}}}}}", true},
		"parameters of the path":    {moved, "/p/{id}: {parameters: [{name: id, in: path, required: true, schema: {}}, {name: p, in: header, required: true, schema: {}}], get: {responses: {}}}", false},
		"a header in another case":  {moved, strings.Replace(moved, "name: p,", "name: P,", 1), false},
		"another name in the path":  {moved, strings.ReplaceAll(strings.Replace(moved, "{id}", "{key}", 1), "name: id", "name: key"), false},
		"such a path, with a token": {moved, "/p/{key}: {parameters: [{name: key, in: path, required: true, schema: {}}, {name: p, in: header, required: true, schema: {}}], get: {security: [{t: []}], responses: {}}}", true},
		"a list in a form":          {operation(strings.ReplaceAll(field, "type: object}}", "type: array}}"), form, ""), operation(strings.ReplaceAll(field, "{type: object}}", "{type: string}}"), form, ""), true},
		"a range of media types":    {operation("requestBody: {content: {image/png: }}"), operation("requestBody: {content: {image/*: {}}}"), false},
		"less in such a range":      {operation("requestBody: {content: {text/json: {schema: {type: object}}}}"), operation("requestBody: {content: {text/*: {schema: {type: object, additionalProperties: false}}}}"), true},
		"another type in a range":   {operation("requestBody: {content: {text/json: {schema: {type: object}}}}"), operation("requestBody: {content: {text/*: {schema: {type: array}}}}"), true},
		"more in a range":           {operation("requestBody: {content: {text/json: {schema: {enum: [a]}}}}"), operation("requestBody: {content: {text/*: {schema: {enum: [a, b]}}}}"), false},
		"one version of JSON":       {operation("requestBody: {content: {application/json;v=1: {}, application/json;v=2: {}}}"), operation("requestBody: {content: {application/json;v=2: {}}}"), true},
		"another version of JSON":   {fmt.Sprintf(token, "a", "200: {description: d, content: {application/json: {schema: {type: object}}}}, 400"), fmt.Sprintf(token, "a", "200: {description: d, content: {application/json: {schema: {type: object}}, application/json;v=2: {schema: {type: array}}}}, 400"), true},
		"an answer like a request":  {fmt.Sprintf(same, ", enum: [a]"), fmt.Sprintf(same, ""), true},
		"another token":             {fmt.Sprintf(token, "a", "200"), fmt.Sprintf(token, "b", "200"), true},
		"any success":               {fmt.Sprintf(token, "a", "200"), fmt.Sprintf(token, "a", "200: {description: d}, 2XX"), true},
		"a success of any":          {fmt.Sprintf(token, "a", "200: {description: d}, 2XX"), fmt.Sprintf(token, "a", "2XX"), false},
		"an error of its own":       {fmt.Sprintf(token, "a", "default"), fmt.Sprintf(token, "a", "409: {description: d, content: {text/plain: {}}}, default"), true},
		"a redirect is removed":     {"/p: {get: {responses: {'303': {description: d}, '400': {description: d}}}}", "/p: {get: {responses: {'400': {description: d}}}}", true},
		"a parameter is removed":    {operation(list, ""), operation("description: d"), true},
		"a parameter is required":   {operation(list, ""), operation(list, ", required: true"), true},
		"a required parameter more": {operation("description: d"), operation(list, ", required: true"), true},
		"a union that stays, once":  {fmt.Sprintf(twice, "E", ", {required: [c]}"), fmt.Sprintf(twice, "T", ""), true},
		"a parameter more":          {operation("description: d"), operation(list, ""), false},
	} {
		const head = "openapi: 3.1.0\ninfo: {title: t, version: '1'}\npaths:\n  "
		breaks, err := compare([]byte(head+test.before), []byte(head+test.after))
		if err != nil || len(breaks) > 0 != test.breaks {
			t.Errorf("%s: breaks %v, want %t, error %v", name, breaks, test.breaks, err)
		}
	}
}
