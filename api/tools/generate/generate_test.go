package main

import (
	"maps"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/avatarstudio/avatarstudio/api/tools/harness"
)

func generatedFrom(t *testing.T, text string) (files, error) {
	t.Helper()
	path := filepath.Join(t.TempDir(), "openapi.yaml")
	harness.Check(t, os.WriteFile(path, []byte(text), 0o600))
	oneAtATime.Lock()
	defer oneAtATime.Unlock()
	return generate(path, t.Output())
}

// A document in JSON has places, too, and escapes and characters that YAML does not have. A document needs no events.
func TestGenerate_showsPlacesInJSON(t *testing.T) {
	t.Parallel()
	_, err := generatedFrom(t, `{"openapi": "3.1.1", "info": {"title": "t", "version": "1"}, "paths": {}, "components": {"schemas": {
		"EventType": {"enum": ["`+"b\u2028`\", \"a\u2028\ufffd\uffff"+`"]},
		"foo_bar": {"type": "string", "description": "\ud83d\uDE00 \/ \\ud83d `+"\u2028\u007f"+`"}, "FooBar": {"type": "integer"}}}}`)
	if err == nil || !regexp.MustCompile(`^\S+:2:26: the value "b\\u2028\x60" cannot be .*\n\S+:3:79: the schema FooBar has the Go name FooBar, as has the schema foo_bar in line 3: .*$`).MatchString(err.Error()) {
		t.Errorf("error %v", err)
	}
}

// A document needs no events but for webhooks, and without those the names of their schemas are names like others.
func TestGenerate_worksWithoutEvents(t *testing.T) {
	t.Parallel()
	const text = "openapi: 3.1.1\ninfo: {title: t, version: '1'}\npaths:\n  /a: { get: { operationId: a, responses: { '204': { description: d } } } }\n"
	_, err := generatedFrom(t, text)
	harness.Check(t, err)
	if _, err := generatedFrom(t, text+"webhooks: { b: { get: {} } }\n"); err == nil || !strings.Contains(err.Error(), "openapi.yaml:5:13: the schema Event, ") {
		t.Errorf("error %v", err)
	}
	f, err := generatedFrom(t, text+"components: { schemas: { EventType: { enum: [a] }, A: { properties: { event_type: { type: number } } } } }\n")
	harness.Check(t, err)
	if code := string(f["gen/api.gen.go"]); !strings.Contains(code, "EventType *float64 `") {
		t.Errorf("the types are\n%s", code)
	}
}

// The parameters and headers that OpenAPI ignores are no arguments of the client, and are not written by the server.
func TestGenerate_ignoresHeadersThatContentAndSecurityDescribe(t *testing.T) {
	t.Parallel()
	f, err := generated(t, `  /a:
    parameters: [ { name: accept, in: header, required: true, schema: { type: string } } ]
    get: { operationId: a, responses: { '204': { description: d, headers: { content-type: { schema: { type: string } } } } }, parameters: [
      { name: Authorization, in: header, required: true, schema: { type: string } },
      { name: Content-Type, in: header, required: true, schema: { type: string } },
      { name: accept, in: query, required: true, schema: { type: string } } ] }`, "    A: { type: string }")
	harness.Check(t, err)
	if code := string(f["client/operations.gen.go"]); !strings.Contains(code, "A(ctx context.Context, accept string, options ...CallOption) error") || strings.Contains(string(f["gen/headers.gen.go"]), "content-type") {
		t.Errorf("the client has\n%s\nand the server %s", code[strings.Index(code, "\nfunc (c *Client) A("):], f["gen/headers.gen.go"])
	}
}

// The client reads application/json where there are several kinds of JSON, HEAD accepts no internal name of a stream, a
// parameter may have items, and the literals in the data of events are exact.
func TestGenerate_readsAllMediaTypes(t *testing.T) {
	t.Parallel()
	f, err := generated(t, `  /a: { get: { operationId: a, responses: { '200': { description: d, content: {
      application/hal+json: { schema: { $ref: '#/components/schemas/Hal' } }, application/json: { schema: { $ref: '#/components/schemas/Plain' } } } } } } }
  /b: { head: { operationId: b, responses: { '200': { description: d, content: { text/event-stream: { itemSchema: { type: object } } } } } } }
  /c: { get: { operationId: c, responses: { '204': { description: d } }, parameters: [
      { name: q, in: query, content: { application/json: { itemSchema: { type: object } } } } ] } }
  /d: { get: { operationId: d, responses: { '200': { description: d, content: { text/event-stream: { itemSchema: { properties: {
      event: { const: x }, data: { type: string, contentMediaType: application/json, contentSchema: { type: object, properties: {
      n: { type: integer, enum: [9007199254740993, 1] }, m: { enum: [ab, cd, null] } } } } } } } } } } } }`,
		"    Hal: { type: object, properties: { h: { type: string } } }\n    Plain: { type: object, properties: { p: { type: string } } }")
	harness.Check(t, err)
	code, types := string(f["client/operations.gen.go"]), string(f["gen/api.gen.go"])
	if !strings.Contains(code, ") A(ctx context.Context, options ...CallOption) (*gen.Plain, error)") || strings.Contains(code, "stream.text") {
		t.Errorf("the client is\n%s", code)
	}
	for _, literal := range []string{"= 9007199254740993", `= "ab"`} {
		if !strings.Contains(types, literal) {
			t.Errorf("no constant %s in\n%s", literal, types)
		}
	}
}

// The client sends its token to the operations that take one, as the document says for all or for one. The id of an
// operation may have characters that no name of a file has.
func TestGenerate_knowsPublicOperations(t *testing.T) {
	t.Parallel()
	const rest = "responses: { '204': { description: d } } } }\n"
	f, err := generated(t, "  /a: { get: { operationId: repos/list all, "+rest+"  /b: { get: { operationId: public, security: [], "+rest+
		"  /c: { get: { operationId: optional, security: [ {}, { a: [] } ], "+rest+
		"security: [ { a: [] } ]\ncomponents:\n  securitySchemes: { a: { type: http, scheme: bearer } }", "    A: { type: string }")
	harness.Check(t, err)
	public := regexp.MustCompile(`(?m)^\t(\w+): operation\{[^{]*\{[^}]*\}, public: true,`).FindAllStringSubmatch(string(f["client/operations.gen.go"]), -1)
	if len(public) != 1 || public[0][1] != "Public" {
		t.Errorf("these are public: %q", public)
	}
	if f["api/_samples/repos%2Flist+all.go"] == nil {
		t.Errorf("the files are %q", slices.Sorted(maps.Keys(f)))
	}
}

// All operations that refer to a response of the components have one type for it.
func TestGenerate_sharesTheTypesOfResponses(t *testing.T) {
	t.Parallel()
	operation := func(id string) string {
		return "get: { operationId: " + id + ", responses: { '204': { description: d }, '404': { $ref: '#/components/responses/Gone' }," +
			" 5XX: { $ref: '#/components/responses/Failed' }, default: { $ref: '#/components/responses/Empty' } } }"
	}
	f, err := generated(t, "  /a: { "+operation("a")+" }\n  /b: { "+operation("b")+" }\ncomponents:\n"+
		"  responses:\n    Gone: { description: d, content: { application/json: { schema: { $ref: '#/components/schemas/A' } }, text/plain: { schema: { type: string } } } }\n"+
		"    Failed: { description: d, headers: { X-A: { schema: { type: string } } }, content: { application/json: { schema: { $ref: '#/components/schemas/A' } } } }\n"+
		"    Empty: { description: d, headers: { X-A: { schema: { type: string } } } }", "    A: { type: object, properties: { a: { type: string } } }")
	harness.Check(t, err)
	code := string(f["gen/api.gen.go"])
	for _, name := range []string{"Gone404JSONResponse", "Gone404TextResponse", "Failed5XXJSONResponse", "EmptydefaultResponse"} {
		visits := strings.Count(code, "\nfunc (response "+name+") Visit")
		if types := strings.Count(code, "\ntype "+name+" "); types != 1 || visits != 2 {
			t.Errorf("%s is declared %d times and has %d methods", name, types, visits)
		}
	}
}
