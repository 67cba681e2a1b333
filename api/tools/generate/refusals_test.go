package main

import (
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"testing"

	"github.com/avatarstudio/avatarstudio/api/tools/harness"
)

// refused is a part of a document that is refused, and what its error advises to write instead. In all, @ stands for a
// number that no other part has, and § is before the place of the error.
type refused struct {
	part, want string
	after      []string
}

// The parts of a document that a test is about. The rest of the document is in the function whole.
func param(text string) string {
	return "  /a@: { get: { operationId: a@, responses: { '204': { description: d } }, parameters: [ { name: p, " + text + " } ] } }"
}

func inPath(text string) string {
	return "  /a@/{p}: { get: { operationId: a@, responses: { '204': { description: d } }, parameters: [ { name: p, in: path, required: true, " + text + " } ] } }"
}

func media(content string) string { return requestBody("content: { " + content + " }") }

func requestBody(text string) string {
	return "  /a@: { post: { operationId: a@, responses: { '204': { description: d } }, requestBody: { " + text + " } } }"
}

func respond(text string) string { return respondAll("'200': { description: d, " + text + " }") }

func respondAll(text string) string {
	return "  /a@: { get: { operationId: a@, responses: { " + text + " } } }"
}

func inJSON(schema string) string {
	return respond("content: { application/json: { schema: " + schema + " } }")
}

func formOf(properties, more string) string {
	return media("application/x-www-form-urlencoded: { schema: { type: object, properties: { " + properties + " } }, " + more + " }")
}

func schemas(all ...string) string {
	return "  {}\ncomponents:\n  schemas:\n    " + strings.Join(all, "\n    ")
}

func get(path, id, more string) string {
	return "  /" + path + ": { get: { operationId: " + id + ", responses: { '204': { description: d } }" + more + " } }\n"
}

const notNullBefore = "a parameter or header that may be null is not generated: allow no null, and leave it out instead"

func refusals() []refused {
	const (
		inQuery  = "in: query, "
		orList   = "declare one type, a string, integer, number, boolean or a list of these"
		orJSON   = orList + ", or use content: application/json"
		styled   = "set contentType to application/json in its encoding, and no style, explode or allowReserved"
		inForm   = "declare one type, a string, integer, number, boolean, object or a list of one of these, or " + styled
		part     = "a reference to a part of a component is not generated: name the part in components, and refer to that"
		asJSON   = "encoding: { p: { contentType: application/json } }"
		multiple = "a value of several types"
		onePath  = "a reference to a path item is not generated: write the path item in its place, with operationIds of its own"
		items    = "\ncomponents:\n  schemas:\n    EventType: {}\n    Event: {}\n  pathItems: { A: { get: { operationId: a, responses: { '204': { description: d } } } } }"
		list     = "schema: { type: array, items: { type: string } }"
		event    = "{ type: object, required: [event_type, data], properties: { event_type: { const: a }, data: { type: object, required: [b_id], properties: { b_id: { type: string } } } } }"
	)
	refs := func(names ...string) string {
		return "oneOf: [ { $ref: '#/components/schemas/" + strings.Join(names, "' }, { $ref: '#/components/schemas/") + "' } ]"
	}
	data := func(event, kind string) string {
		return "{ properties: { event: { const: " + event + " }, data: { type: string, contentMediaType: application/json, contentSchema: { type: " + kind + " } } } }"
	}
	twoEvents := func(one, other string) string {
		return "content: { text/event-stream: { itemSchema: { oneOf: [ " + data(one, "object") + ", " + data(other, "[string, integer]") + " ] } } }"
	}
	// untyped gives a schema in each place where a value has no type in its text.
	var all []refused
	for schema, kind := range map[string]string{
		"{}": "any value", "{ type: object }": "object", "{ oneOf: [ { type: integer }, { enum: [all] } ] }": "a union", "{ type: [string, integer] }": multiple, "{ enum: [a, 1] }": multiple,
		"{ type: array, items: { type: array, items: {} } }": "a list of array", "{ type: array }": "a list of any values",
	} {
		for _, in := range []string{inQuery, "in: header, ", "in: cookie, "} {
			all = append(all, refused{param(in + "§schema: " + schema), kind + " is not generated here: " + orJSON, []string{
				param(in + "schema: { type: string }"), param(in + list), param(in + "content: { application/json: { schema: " + schema + " } }"),
			}})
		}
		all = append(all,
			refused{inPath("§schema: " + schema), kind + " is not generated here: " + orJSON, []string{inPath("schema: { type: integer }"), inPath("content: { application/json: { schema: " + schema + " } }")}},
			refused{respond("headers: { §X-A: { schema: " + schema + " } }"), kind + " is not generated here: " + orList, []string{respond("headers: { X-A: { " + list + " } }")}})
	}
	webhook := func(name, post string) string {
		return "  {}\nwebhooks:\n  " + name + ": §{ " + post + " }"
	}
	notified := func(schema string) string {
		return "post: { operationId: n, requestBody: { content: { application/json: { schema: " + schema + " } } }, responses: { 2XX: { description: d } } }"
	}
	ofEvents := func(webhook, types, more string) string {
		return strings.Replace(webhook, "§{", "{", 1) + "\ncomponents:\n  schemas:\n    EventType: " + types + "\n" + more
	}
	twoIDs := strings.NewReplacer("[b_id]", "[b_id, c_id]", "{ b_id:", "{ c_id: { type: string }, b_id:").Replace(event)
	good := notified("{ $ref: '#/components/schemas/N' }")
	const envelope = "\n    E: { type: object, required: [event_type, data], properties: { event_type: { $ref: '#/components/schemas/EventType' }, data: {} } }"
	fine := ofEvents(webhook("a", good), "{ enum: [a] }", "    N: "+event)
	return append(all, []refused{
		{inPath("§style: matrix, schema: { type: string }"), "the style matrix is not generated: use simple", []string{inPath("style: simple, schema: { type: string }")}},
		{inPath("§style: label, " + list), "the style label is not generated: use simple", []string{inPath("style: simple, " + list)}},
		{param(inQuery + "§style: spaceDelimited, " + list), "the style spaceDelimited is not generated: use form", []string{param(inQuery + "style: form, " + list)}},
		{param(inQuery + "§style: pipeDelimited, " + list), "the style pipeDelimited is not generated: use form", []string{param(inQuery + "style: form, explode: false, " + list)}},
		{param("in: cookie, §style: cookie, schema: { type: string }"), "the style cookie is not generated: use form", []string{param("in: cookie, style: form, schema: { type: string }")}},
		{"  /a@: { get: { operationId: a@, responses: { '204': { description: d } }, parameters: [ { §name: p, in: querystring, content: { application/json: {} } } ] } }", "a parameter that is the whole query is not generated: declare each of its members in the query", []string{param(inQuery + "schema: { type: string }")}},
		{param(inQuery + "§schema: { type: [string, 'null'] }"), notNullBefore, []string{param(inQuery + "schema: { type: string }")}},
		{param("in: header, §schema: { enum: [a, null] }"), notNullBefore, []string{param("in: header, schema: { enum: [a, 'null'] }")}},
		{respond("headers: { §X-A: { schema: { allOf: [ { type: [string, 'null'] } ] } } }"), notNullBefore, []string{respond("headers: { X-A: { schema: { allOf: [ { type: string } ] } } }")}},
		{param(inQuery + "content: { application/json: { §schema: { anyOf: [ { type: 'null' }, {} ] } } }"), notNullBefore, []string{param(inQuery + "content: { application/json: { schema: {} } }")}},
		{param(inQuery + "content: { §text/plain: { schema: { type: string } } }"), "a parameter in text/plain is not generated: use application/json", []string{param(inQuery + "content: { application/json: { schema: { type: string } } }")}},
		{param(inQuery + "style: deepObject, schema: { type: object, properties: { §a: { type: array, items: { type: string } } } }"), "the member a of a deepObject must be a string, integer, number or boolean: use content: application/json", []string{param(inQuery + "content: { application/json: { schema: { type: object, properties: { a: { type: array, items: { type: string } } } } } }")}},
		{param(inQuery + "style: deepObject, §schema: { type: object, patternProperties: { b: { type: string } } }"), "the member additionalProperties of a deepObject must be a string, integer, number or boolean: use content: application/json", []string{param(inQuery + "style: deepObject, schema: { type: object, patternProperties: { b: { type: string } }, additionalProperties: false }"), param(inQuery + "style: deepObject, schema: { allOf: [ { type: object, patternProperties: { b: { type: string } }, additionalProperties: false } ] }")}},
		{param(inQuery + "style: deepObject, §schema: {}"), "deepObject is generated for objects only, and this is any value: declare an object, or use content: application/json", []string{param(inQuery + "style: deepObject, schema: { type: object, properties: { a: { type: string } } }"), param(inQuery + "content: { application/json: { schema: {} } }")}},
		{"  /a@: { §query: { operationId: a@, responses: { '204': { description: d } } } }", "the methods of OpenAPI 3.2 are not generated: use POST", []string{"  /a@: { post: { operationId: a@, responses: { '204': { description: d } } } }"}},
		{"  /a@: { get: { operationId: b@, responses: { '204': { description: d } } }, additionalOperations: { §COPY: { operationId: a@, responses: { '204': { description: d } } } } }", "the methods of OpenAPI 3.2 are not generated: use POST", []string{"  /a@: { post: { operationId: a@, responses: { '204': { description: d } } } }"}},
		{"  §\"/a@\\nb\": { get: { operationId: a@, responses: { '204': { description: d } } } }", `the name "/a@\nb" has a quote or a control character: rename it`, []string{get("a@", "a@", "")}},
		{strings.Replace(param("in: query, schema: { type: string }"), "name: p", "§name: 'p`'", 1), "the name \"p`\" has a quote or a control character: rename it", []string{param("in: query, schema: { type: string }")}},
		{get("a@", "a@", `, §description: "a\uFEFF"`), "a comment in Go with U+0000 or U+FEFF is not generated: remove the character", []string{get("a@", "a@", `, description: a, x-foo: "\0", callbacks: { c: { '{$url}': { post: { description: "\0", responses: { '204': { description: "\0\uFEFF" } } } } } }`)}},
		{strings.Replace(fine, "post: {", "post: { §summary: \"a\\uFEFF\",", 1), "a comment in Go with U+0000 or U+FEFF is not generated: remove the character", []string{fine}},
		{media(`application/json: { schema: { type: object, properties: { b: { type: string, §examples: [ "\0" ] } } } }`), "a comment in Go with U+0000 or U+FEFF is not generated: remove the character", []string{media("application/json: { example: { b: \"`\\0\\uFEFF\", t: '2026-01-01T00:00:00Z' }, " + `schema: { type: object, properties: { t: { type: string, format: date-time }, b: { type: string, description: "\uFEFF", pattern: "^[^\0\uFEFF]*$", default: "\0" } } } }`)}},
		{strings.Replace(get("a@", `"a@\x85"`, ""), "operationId", "§operationId", 1), "an operationId with a control character is not generated: choose another", []string{get("a@", `"a@\u2028"`, "")}},
		{strings.Replace(get("a@", strings.Repeat("a", 5000), ""), "operationId", "§operationId", 1), "an operationId of more than 200 escaped bytes is no name for a file: choose another", []string{get("a@", "a@", "")}},
		{respondAll("'200': { description: d }, §'101': { description: d }"), "the status 101 is not generated, because it ends no request: remove it", []string{respondAll("'200': { description: d }")}},
		{"  /a@: { §get: { responses: { '204': { description: d } } } }", "an operation without an operationId is not generated: give it one", []string{get("a@", "a@", ""), strings.Replace(fine, "operationId: n, ", "", 1)}},
		{get("a@", "a@", ", x-idempotent: §yes"), "x-idempotent must be true or false: correct it", []string{get("a@", "a@", ", x-idempotent: true")}},
		{media("application/jsonl: { §itemSchema: { type: object } }"), "a request that is a stream is not generated: use a list in application/json, or a binary body", []string{media("application/json: { schema: { type: array, items: { type: object } } }"), media("application/jsonl: { schema: { type: string, format: binary } }")}},
		{requestBody("content: { application/json: { §schema: { type: [string, 'null'] } } }"), "an optional body that may be null is not generated: set required to true, or allow no null", []string{requestBody("required: true, content: { application/json: { schema: { type: [string, 'null'] } } }"), requestBody("content: { application/json: { schema: { type: string } } }")}},
		{media("§text/json: { schema: { type: string } }"), "text/json is not generated: use application/json", []string{media("application/json: { schema: { type: string } }")}},
		{media("§multipart/mixed: { schema: { type: array } }"), "multipart/mixed is not generated: use multipart/form-data", []string{media("multipart/form-data: { schema: { type: object, properties: { a: { type: string } } } }")}},
		{media("§multipart/form-data: { schema: { type: object }, prefixEncoding: [ {} ] }"), "parts without a name are not generated: name them, and use encoding", []string{media("multipart/form-data: { schema: { type: object, properties: { a: { type: string } } }, encoding: { a: { contentType: text/plain } } }")}},
		{respond("content: { application/json-seq: { §itemSchema: { type: object } } }"), "a JSON text sequence is not generated: use application/jsonl", []string{respond("content: { application/jsonl: { itemSchema: { type: object } } }")}},
		{respond("content: { §multipart/mixed: { itemSchema: {} } }"), "multipart/mixed is not generated: use multipart/form-data", []string{respond("content: { multipart/form-data: { schema: { type: object, properties: { a: { type: string } } } } }")}},
		{"  {}" + strings.Replace(items, "pathItems: { A: { get: { operationId: a, responses: { '204': { description: d } } } } }", "responses: { §R: { description: d, x-go-name: Other } }", 1), "the x-go-name of a response is not generated: rename the response", []string{respondAll("'204': { description: d }")}},
		{respond("headers: { §transfer-encoding: { schema: { type: string } } }"), "the header Transfer-Encoding is not generated, because the server chooses it: remove it", []string{respond("headers: {}")}},
		{respond("headers: { §Set-Cookie: { " + list + " } }"), "a list in Set-Cookie is not generated: declare a string", []string{respond("headers: { Set-Cookie: { schema: { type: string } } }")}},
		{respond("headers: { §X-A: { content: { application/json: {} } } }"), "a header of a response with a media type is not generated: use a scalar or a list, or the body", []string{respond("headers: { X-A: { schema: { type: string } } }"), respond("headers: { X-A: { " + list + " } }")}},

		{formOf("§p: { type: [string, 'null'] }", ""), "the field p of a form is " + multiple + ", which is not generated: " + inForm, []string{formOf("p: { type: string }", ""), formOf("p: { type: [string, 'null'] }", asJSON)}},
		{formOf("§p: { oneOf: [ { type: string }, { type: integer } ] }", ""), "the field p of a form is a union, which is not generated: " + inForm, []string{formOf("p: { type: integer }", ""), formOf("p: { oneOf: [ { type: string }, { type: integer } ] }", asJSON)}},
		{formOf("§p: { type: object, additionalProperties: true }", "encoding: { p: { style: deepObject } }"), "the member additionalProperties of a deepObject must be a string, integer, number or boolean: " + styled, []string{formOf("p: { type: object }", asJSON), formOf("p: { type: object, additionalProperties: { type: string } }", "encoding: { p: { style: deepObject, explode: true } }")}},
		{formOf("p: { type: array, §items: { type: object } }", "encoding: { p: { explode: true } }"), "the field p of a form is object, which has no style: " + styled, []string{formOf("p: { type: array, items: { type: object } }", asJSON)}},
		{formOf("§p: {}", ""), "the field p of a form is any value, which is not generated: " + inForm, []string{formOf("p: { type: [object, 'null'] }", ""), formOf("p: {}", asJSON)}},
		{formOf("§p: { type: array }", ""), "the field p of a form is list of any value, which is not generated: " + inForm, []string{formOf("p: { type: array, items: { type: object } }", ""), formOf("p: { type: array }", asJSON)}},
		{formOf("p: { type: array, §items: { type: [integer, 'null'] } }", "encoding: { p: { style: form } }"), "the field p of a form is " + multiple + ", which is not generated: " + inForm, []string{formOf("p: { type: array, items: { type: array, items: { type: string } } }", ""), formOf("p: { type: array, items: { type: [integer, 'null'] } }", asJSON)}},
		{formOf("}, oneOf: [ { properties: { p: { type: integer } } }, { properties: { §p: { type: string } } } ], x-a: {", ""), "the field p of a form is " + multiple + ", which is not generated: " + inForm, []string{formOf("}, allOf: [ { properties: { p: { type: integer } } }, { properties: { p: { minimum: 1 } } } ], x-a: {", "")}},
		{formOf("a: { type: string } }, §additionalProperties: { enum: [ a, null ] }, x-a: { ", ""), "the other fields of a form have " + multiple + ", which is not generated: name them, or declare one type", []string{formOf("p: { enum: [ a, null ] }", asJSON), formOf("a: { type: string } }, additionalProperties: { enum: [ a ] }, x-a: { ", "")}},

		{inJSON("{ properties: { $ref: { $ref: §'#/components/schemas/Event/properties/data' } } }"), part, []string{inJSON("{ properties: { $ref: { $ref: '#/components/schemas/EventType' } } }")}},
		{inJSON("{ $ref: §'#/components/schemas/Event%54ype' }"), "a reference with escapes is not generated: write the name as it is in components", []string{inJSON("{ $ref: '#/components/schemas/EventType' }")}},
		{get("a@", "a@", "") + "  /b@: { $ref: §'#/paths/~1%61@' }", onePath, []string{get("a@", "a@", "") + get("b@", "b@", "")}},
		{"  /a@: { $ref: §'#/components/pathItems/A' }" + items, onePath, []string{get("a@", "a@", "")}},
		{inJSON("{ items: { $ref: §'#here' }, $anchor: here }"), part, []string{inJSON("{ items: { $ref: '#/components/schemas/EventType' } }")}},
		{respond("content: { application/json: { $ref: §'#/components/mediaTypes/M' } }") + "\ncomponents:\n  schemas:\n    EventType: {}\n    Event: {}\n  mediaTypes: { M: {} }", "a reference to a media type is not generated: write the media type in its place", []string{respond("content: { application/json: {} }")}},
		{schemas("A@: { oneOf: [ { $ref: '#/components/schemas/EventType' } ], discriminator: { propertyName: k, defaultMapping: §EventType } }"), "defaultMapping is not generated: require the property, and map each of its values", []string{schemas("A@: { oneOf: [ { $ref: '#/components/schemas/C@' } ], discriminator: { propertyName: k, mapping: { a: C@ } } }", "C@: { type: object, required: [k], properties: { k: { const: a } } }")}},
		{inJSON("{ type: string, nullable: §true }"), "nullable is of OpenAPI 3.0: remove it, and if it is true, add 'null' to the type beside it", []string{inJSON("{ type: [string, 'null'], x-a: { nullable: true, mapping: { '\"': 1 } } }")}},
		{schemas("A@: { type: object, properties: { a: { type: string, x-go-name: §type } } }"), `the x-go-name "type" is no Go name: choose another`, []string{schemas("A@: { type: object, properties: { a: { type: string, x-go-name: Kind } } }")}},
		{schemas("A@: { type: object, properties: { a: { enum: [ a ], x-go-type-name: §[] } } }"), `the x-go-type-name "" is no Go name: choose another`, []string{schemas("A@: { type: object, properties: { a: { enum: [ a ], x-go-type-name: Kind@ } } }")}},
		{schemas("A@: { enum: [ a ], x-enum-varnames: §[ a-b ] }"), "x-enum-varnames must be a list of different Go names: correct it", []string{schemas("A@: { enum: [ a ], x-enum-varnames: [ B ] }")}},
		{schemas("A@: { enum: [ a, b ], x-enum-varnames: §[ B, B ] }"), "x-enum-varnames must be a list of different Go names: correct it", []string{schemas("A@: { enum: [ a, b ], x-enum-varnames: [ A, B ] }")}},
		{schemas("A@: { type: string, x-go-type: §'a b' }"), `the x-go-type "a b" is no Go type: choose another`, []string{schemas("A@: { type: string, x-go-type: json.RawMessage }")}},
		{schemas("§A@: { type: string, x-go-type: nowhere }"), "the code for the schema A@ does not compile (undefined: nowhere): choose another with x-go-type", []string{schemas("A@: { type: string, x-go-type: '[]byte' }")}},
		{inJSON("{ $ref: '#/components/schemas/A@' }") + "\ncomponents:\n  schemas:\n    §A@: { type: array, items: { $ref: '#/components/schemas/A@' } }", "the code for the schema A@ does not compile (invalid recursive type: A@ refers to itself; see also the operation a@ in line 4): choose another with x-go-type", []string{schemas("A@: { type: array, x-go-type: '[]any', items: { $ref: '#/components/schemas/A@' } }")}},
		{schemas("A@: { type: object, properties: { §b: { type: string, x-go-type: nowhere } } }"), `the code for the property "b" does not compile (undefined: nowhere): choose another with x-go-type`, []string{schemas("A@: { type: object, properties: { b: { type: string, x-go-type: string } } }")}},
		{schemas("A@: { type: string, x-omitempty: §true }"), "x-omitempty is not generated: remove it", []string{schemas("A@: { type: string }")}},

		{schemas("A@: { type: object, properties: { b: { oneOf: [ { §type: object, required: [k] } ], discriminator: { propertyName: k, mapping: { a: '#/components/schemas/A@' } } } } }"), "an alternative of a discriminator needs a name: move it to components/schemas, and refer to it", nil},
		{schemas("A@: { type: object, properties: { §b: { oneOf: [ {}, { $ref: '#/components/schemas/A@' } ], discriminator: { propertyName: k, mapping: { a: '#/components/schemas/A@' } } } } }"), "an alternative of a discriminator needs a name: move it to components/schemas, and refer to it", []string{schemas("A@: { type: object, required: [k], properties: { k: { const: a }, b: { oneOf: [ { $ref: '#/components/schemas/A@' } ], discriminator: { propertyName: k, mapping: { a: '#/components/schemas/A@' } } } } }"), schemas("A@: { oneOf: [ { $ref: '#/components/schemas/B@' } ], discriminator: { propertyName: k } }\n    B@: { type: object, $ref: '#/components/schemas/C@' }\n    C@: { type: object, required: [k], properties: { k: { type: string } }, oneOf: [ { required: [k] } ] }")}},
		{respond("content: { §application/jsonl: { x-itemSchema: { allOf: [ { type: string }, { type: [object, integer] }, { type: boolean } ] } } }"), "no value has both types that the allOf requires, string and object or integer: remove one of the parts", []string{schemas("A@: { allOf: [ { type: [object, integer] } ] }")}},
		{schemas("§A@: { type: string, allOf: [ { format: date }, { format: date-time } ] }"), "the allOf gives one value the formats date and date-time: keep one", []string{schemas("A@: { type: string, allOf: [ { format: date } ] }")}},
		{schemas("§A@: { enum: [ a, b ], allOf: [ { const: c } ] }"), "no value is in both enums of the allOf, or has its type: remove one of the parts", []string{schemas("A@: { enum: [ a, b ], allOf: [ { const: b } ] }")}},
		{schemas("§A@: { allOf: [ { oneOf: [ { type: string }, { type: integer } ] }, { oneOf: [ { type: string }, { type: boolean } ] } ] }"), "the allOf has two unions, for which there is no Go type: write them as one union, or remove one of the parts", []string{schemas("A@: { allOf: [ { oneOf: [ { type: string }, { type: integer } ] } ] }")}},
		{respond("content: { application/jsonl: { §itemSchema: { type: [object, 'null'] } } }"), "the items of application/jsonl may be null, for which their Go type has no value: allow no null", []string{respond("content: { application/jsonl: { itemSchema: { type: object } } }")}},

		{respond("content: { text/event-stream: { itemSchema: { oneOf: [ " + strings.Replace(data("a", "[object, 'null']"), "contentSchema", "§contentSchema", 1) + ", " + data("b", "[string, integer]") + " ] } } }"), "the data of the event a may be null, for which its Go type has no value: allow no null", []string{respond(twoEvents("a", "b"))}},
		{respondAll("'200': { description: d, " + twoEvents("a", "b") + " }, '202': { description: d, " + strings.Replace(twoEvents("a", "c"), "itemSchema", "§itemSchema", 1) + " }"), "the data of events has the Go name A@Data, as has that of other events: write both as one schema", []string{
			respondAll("'200': { description: d, " + twoEvents("a", "b") + " }, '202': { description: d, " + twoEvents("a", "b") + " }"),
		}},
		{schemas("foo_bar@: { type: string }", "§FooBar@: { type: integer }"), "the schema FooBar@ has the Go name FooBar@, as has the schema foo_bar@ in line 7: choose another with x-go-name", []string{schemas("foo_bar@: { type: string }", "FooBar@: { type: integer, x-go-name: Other@ }"), param(inQuery+"schema: { $ref: '#/components/schemas/a_b@' }") + "\ncomponents:\n  schemas:\n    a_b@: { type: integer, x-go-name: Other@ }\n    C@: { properties: { a: { $ref: '#/components/schemas/a_b@' }, b: { allOf: [ { $ref: '#/components/schemas/a_b@' } ] } } }"}},
		{schemas("§Nullable: { type: object }"), "the code for the schema Nullable does not compile (Nullable redeclared in this block, other declaration of Nullable in gen/api.gen.go): choose another with x-go-name", []string{schemas("Nullable: { type: object, x-go-name: Void }")}},
		{schemas("A@: { type: object, properties: { §b: { enum: [c] } } }", "A@B: { type: integer }"), "a schema in A@ has the Go name A@B, as has the schema A@B in line 8: choose another with x-go-type-name", []string{
			schemas("A@: { type: object, properties: { b: { enum: [c], x-go-type-name: Kind@ } } }", "A@B: { type: integer }"),
			schemas("A@: { type: object, properties: { b: { properties: { c: { type: string } }, x-go-type-name: Kind@ } } }", "A@B: { type: integer }"),
		}},
		{get("a@", "a@", "") + "components:\n  schemas:\n    §A@204Response: { type: string }", "the code for the schema A@204Response does not compile (A@204Response redeclared in this block, other declaration of A@204Response in gen/api.gen.go; see also the operation a@ in line 4): choose another with x-go-name", []string{get("a@", "a@", "") + "components:\n  schemas:\n    A@204Response: { type: string, x-go-name: Empty@ }"}},
		{schemas("A@: { type: object, properties: { foo_bar: { type: string }, §fooBar: { type: string } } }"), `the property "fooBar" has the Go name FooBar, as has the property "foo_bar" in line 7: choose another with x-go-name`, []string{schemas("A@: { type: object, properties: { foo_bar: { type: string }, fooBar: { type: string, x-go-name: Other } } }")}},
		{schemas("A@: { type: object, properties: { a_b: { type: string } }, allOf: [ { type: object, properties: { §aB: { type: string } } } ] }"), `the property "aB" has the Go name AB, as has the property "a_b" in line 7: choose another with x-go-name`, []string{schemas("A@: { type: object, properties: { a_b: { type: string } }, allOf: [ { type: object, properties: { aB: { type: string, x-go-name: Other } } } ] }")}},
		{schemas("A@: { type: object, properties: { §'[]': { type: string } } }"), `the property "[]" has the Go name "", which is not exported: choose another with x-go-name`, []string{schemas("A@: { type: object, properties: { '[]': { type: string, x-go-name: List } } }")}},
		{schemas("A@: { type: object, properties: { §additional-properties: { type: string } }, additionalProperties: true }"), `the code for the property "additional-properties" does not compile (AdditionalProperties redeclared, other declaration of AdditionalProperties in gen/api.gen.go): choose another with x-go-name`, []string{schemas("A@: { type: object, properties: { additional-properties: { type: string, x-go-name: More } }, additionalProperties: true }")}},
		{schemas("§A@: { type: object, x-go-name: error }"), `the schema A@ has the Go name "error", which is not exported: choose another with x-go-name`, []string{schemas("A@: { type: object, x-go-name: Fault@ }")}},
		{get("a@", "get-it@", "") + "  /b@: { §get: { operationId: getIt@, responses: { '204': { description: d } } } }", "the operation getIt@ has the Go name GetIt@, as has the operation get-it@ in line 4: choose another operationId", []string{get("a@", "get-it@", "") + get("b@", "get-them@", "")}},
		{"  /b@: { §get: { operationId: waitAvatar, responses: { '204': { description: d } } } }", "the code for the operation waitAvatar does not compile (method Client.WaitAvatar already declared at client/wait.go): choose another operationId", []string{get("b@", "waitForAvatar", "")}},
		{get("a@", "a@", ", parameters: [ { name: a_b, in: query, schema: { type: string } }, { §name: aB, in: header, schema: { type: string } } ]"), `the parameter "aB" has the Go name AB, as has the parameter "a_b" in line 4: choose another with x-go-name`, []string{get("a@", "a@", ", parameters: [ { name: a_b, in: query, schema: { type: string } }, { name: aB, in: header, x-go-name: Other, schema: { type: string } } ]")}},
		{respond("headers: { X-A: { schema: { type: string } }, §x_a: { schema: { type: string } } }"), `the header "x_a" has the Go name XA, as has the header "X-A" in line 4: rename it`, []string{respond("headers: { X-A: { schema: { type: string } }, X-B: { schema: { type: string } } }")}},
		{schemas("A@: { type: object, properties: { §'a,b': { type: string } } }"), `the property "a,b" cannot be written in the tag of a Go struct: rename it`, []string{schemas("A@: { type: object, properties: { a.b: { type: string } } }")}},
		{schemas("A@: { type: object, required: ['-'], properties: { §'-': { type: string } } }"), `the property "-" cannot be written in the tag of a Go struct: rename it`, []string{schemas("A@: { type: object, required: [a-], properties: { a-: { type: string } } }")}},
		{schemas("A@: { type: object, properties: { §नाम: { type: string } } }"), `the property "नाम" cannot be written in the tag of a Go struct: rename it`, []string{schemas("A@: { type: object, properties: { 名前: { type: string } } }")}},
		{schemas("A@: { enum: [a, §'!'] }"), `the value "!" has no Go name: choose others with x-enum-varnames`, []string{schemas("A@: { enum: [a, '!'], x-enum-varnames: [A, Bang] }")}},
		{schemas("A@: { type: integer, enum: [1, §a] }"), `the value "a" has another type than the schema: remove it`, []string{schemas("A@: { type: integer, enum: [1] }")}},
		{schemas("§A@: { type: integer, enum: [18446744073709551616] }"), `the code for the value "18446744073709551616" of the schema A@ does not compile (cannot use 18446744073709551616 (untyped int constant) as A@ value in constant declaration (overflows)): remove it, or choose another format`, []string{schemas("A@: { type: integer, enum: [1] }")}},
		{schemas("A@: { type: string, enum: ['7', §8] }"), `the value "8" has another type than the schema: write it in quotes`, []string{schemas("A@: { type: string, enum: ['7', '8'] }")}},
		{schemas("A@: { type: string, enum: [off, §true] }"), `the value "true" has another type than the schema: write it in quotes`, []string{schemas("A@: { type: string, enum: [off, 'true'] }")}},
		{schemas("A@: { enum: [7, §017] }"), "017 is no number in JSON: write it as one, or in quotes", []string{schemas("A@: { enum: [7, 17] }"), schemas("A@: { enum: [7, '017'] }")}},
		{schemas("A@: { enum: [a, §'b\"'] }"), `the value "b\"" cannot be a constant in Go: remove the enum, or quotes and control characters in it`, []string{schemas("A@: { type: string }"), schemas("A@: { enum: [a, b] }")}},
		{schemas("A@: { enum: [§\"\\t\", ','] }"), `the value "\t" cannot be a constant in Go: remove the enum, or quotes and control characters in it`, []string{schemas("A@: { propertyNames: { enum: [\"\\t\", ','] } }")}},
		{schemas("§A@: { type: integer, const: 9007199254740993 }"), "the digits of the const are not known: write it as an enum with one value", []string{schemas("A@: { type: integer, enum: [9007199254740993] }")}},
		{respondAll("'200': { description: d, content: { text/plain: { schema: { type: string } } } }, '202': { description: d, content: { application/json: {} } }"), "the operation a@ has no client method: the response 200 is text, and 202 is JSON: give them the same", []string{respondAll("'200': { description: d, content: { application/json: {} } }, '202': { description: d, content: { application/json: {} } }")}},
		{respondAll("'200': { description: d, content: { application/jsonl: { itemSchema: { type: object, properties: { a: {} } } } } }, '202': { description: d, content: { application/jsonl: { itemSchema: { type: object, properties: { b: {} }, x-go-type-name: B@ } } } }"), "the operation a@ has no client method: the response 200 is a stream of gen.A@Item, and 202 is a stream of gen.B@: give them the same", []string{respondAll("'200': { description: d, content: { application/jsonl: { itemSchema: { type: object, properties: { a: {} } } } } }, '202': { description: d, content: { application/jsonl: { itemSchema: { type: object, properties: { a: {} } } } } }")}},

		{ofEvents(webhook("a", good), "{ enum: [a] }", "    N: "+event+"\n    Event: { x-go-type: E, "+refs("EventType")+" }"+envelope), "the webhook a is missing in oneOf of the schema Event in line 11: add #/components/schemas/N", []string{ofEvents(webhook("a", good), "{ enum: [a] }", "    N: "+event+"\n    Event: { x-go-type: E, "+refs("EventType", "N")+" }"+envelope)}},
		{ofEvents(webhook("a", good), "{ enum: [a] }", "    N: "+event+"\n    Event: { x-go-type: E, "+refs("N")+", discriminator: { propertyName: event_type, mapping: { b: '#/components/schemas/N' } } }"+envelope), "the webhook a is missing in the mapping of the schema Event in line 11: add a: #/components/schemas/N", []string{ofEvents(webhook("a", good), "{ enum: [a] }", "    N: "+event+"\n    Event: { x-go-type: E, "+refs("N")+", discriminator: { propertyName: event_type, mapping: { a: '#/components/schemas/N' } } }"+envelope)}},
		{ofEvents(webhook("a", good), "{ enum: [a] }", "    N: "+event+"\n    Event: { "+refs("N")+" }"), "the schema Event, or a component that its x-go-type names, must have the properties event_type, a reference to EventType, and data, of any type", []string{ofEvents(webhook("a", good), "{ enum: [a] }", "    N: "+event+"\n    Event: { x-go-type: E, "+refs("N")+" }"+envelope)}},
		{ofEvents(webhook("a", notified("{ type: object }")), "{ enum: [a] }", ""), "the webhook a must have a body whose schema is a reference to a component", []string{fine}},
		{ofEvents(webhook("a", "put: { operationId: n, responses: { 2XX: { description: d } } }"), "{ enum: [a] }", ""), "the webhook a must be a POST with a JSON body", []string{fine}},
		{ofEvents(webhook("a", notified("{ $ref: '#/components/schemas/N' }")), "{ enum: [a] }", "    N: { type: object }"), "the webhook a must have a body with the properties event_type, a constant with the name of the webhook, and data", []string{fine}},
		{ofEvents(webhook("a", good), "{ type: string }", "    N: "+event), "the webhook a is missing in the schema EventType: add it to the enum", []string{fine}},
		{ofEvents(webhook("a", good), "{ enum: [a, b] }", "    N: "+event), `the schema EventType lists "b", which is no webhook: remove it, or add the webhook`, []string{fine}},
		{ofEvents(webhook("a", good), "{ enum: [a] }", "    N: "+twoIDs), "the webhook a has several required ids in its data, of which one must be that of the subject: make the others optional", []string{ofEvents(webhook("a", good), "{ enum: [a] }", "    N: "+strings.Replace(twoIDs, "[b_id, c_id]", "[b_id]", 1))}},
	}...)
}

// whole returns a document with a part that has a number.
func whole(part string, number int) string {
	paths, components, _ := strings.Cut(strings.ReplaceAll(part, "@", strconv.Itoa(number)), "\ncomponents:\n  schemas:\n")
	text := "openapi: 3.2.0\ninfo: {title: t, version: '1'}\npaths:\n" + paths + "\ncomponents:\n  schemas:\n" + components
	for name, schema := range map[string]string{
		"EventType": "{ type: string }", "Event": "{ type: object, required: [event_type, data], properties: { event_type: { $ref: '#/components/schemas/EventType' }, data: {} } }",
	} {
		if !strings.Contains(components, "    "+name+":") {
			text += "\n    " + name + ": " + schema
		}
	}
	return text + "\n"
}

// What has no code is refused in one line, with the place and the way out.
func TestRefusals_showThePlace(t *testing.T) {
	t.Parallel()
	for i, r := range refusals() {
		if testing.Short() && i%4 != 0 {
			continue // others show it
		}
		text := whole(r.part, i)
		line, column := 0, 0
		if before, after, marked := strings.Cut(text, "§"); marked {
			text = before + after
			line, column = strings.Count(before, "\n")+1, len([]rune(before[strings.LastIndex(before, "\n")+1:]))+1
		}
		_, err := generatedFrom(t, text)
		want := strings.ReplaceAll(r.want, "@", strconv.Itoa(i))
		if err == nil {
			t.Errorf("%s is not refused", r.part)
			continue
		}
		got := err.Error()[strings.Index(err.Error(), "openapi.yaml:"):]
		got = regexp.MustCompile(`(\.go):\d+:\d+`).ReplaceAllString(got, "$1") // which edits of the file change
		place := fmt.Sprintf("openapi.yaml:%d:%d: ", line, column)
		if line == 0 {
			place = regexp.MustCompile(`^openapi.yaml:\d+:\d+: `).FindString(got)
		}
		if place == "" || got != place+want {
			t.Errorf("%s:\ngot  %s\nwant %s", r.part, got, place+want)
		}
	}
}

// A document in which the advice of an error is followed is accepted. Those that have no events are one document.
func TestRefusals_adviseWhatIsAccepted(t *testing.T) {
	t.Parallel()
	harness.SkipShort(t, "it generates many documents")
	paths, components, number := "", "", 0
	for _, r := range refusals() {
		for _, after := range r.after {
			number++
			if strings.Contains(after, "webhooks:") {
				if _, err := generatedFrom(t, whole(after, number)); err != nil {
					t.Errorf("%s\nis advised by %q, and refused: %v", after, r.want, err)
				}
				continue
			}
			path, component, _ := strings.Cut(strings.ReplaceAll(after, "@", strconv.Itoa(number)), "\ncomponents:\n  schemas:\n")
			paths += strings.TrimPrefix(strings.TrimSuffix(path, "\n")+"\n", "  {}\n")
			components += component + "\n"
		}
	}
	if _, err := generatedFrom(t, whole(paths+"\ncomponents:\n  schemas:\n"+components, 0)); err != nil {
		t.Error(err)
	}
}

// Each error of the generator about a document is one of those above.
func TestRefusals_areAll(t *testing.T) {
	t.Parallel()
	var said []string
	for _, r := range refusals() {
		said = append(said, r.want)
	}
	all := strings.Join(said, "\n")
	names := harness.Try(filepath.Glob("api/tools/generate/*.go"))(t)
	found := 0
	for _, name := range names {
		if strings.HasSuffix(name, "_test.go") {
			continue
		}
		text := harness.Try(os.ReadFile(name))(t)
		for _, message := range regexp.MustCompile(`\b(?:refuse|fail)\([^"\n]*("(?:[^"\\]|\\.)*")`).FindAllStringSubmatch(string(text), -1) {
			format := harness.Try(strconv.Unquote(message[1]))(t)
			if found++; strings.Contains(format, "a fault of the generator") {
				continue
			}
			pattern := regexp.MustCompile(`%[a-z]`).ReplaceAllString(regexp.QuoteMeta(format), ".*")
			if !regexp.MustCompile(pattern).MatchString(all) {
				t.Errorf("%s: no test has an error such as %q", name, format)
			}
		}
	}
	if found < 30 {
		t.Errorf("%d errors are found", found)
	}
}
