package main

import (
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

const document = `openapi: 3.2.0
info: { title: T, version: 1.0.0 }
security: [ bearer: [] ]
paths:
  /users/login:
    post:
      security: []
      parameters: [ { name: limit, in: query, schema: { type: integer, default: 1 } } ]
      requestBody:
        content:
          application/json:
            schema:
              type: object
              required: [email]
              properties:
                email: { type: string }
                device: { type: object, properties: { kind: { type: string, default: phone } } }
                labels: { type: object, additionalProperties: { type: string } }
                notes: { type: object, additionalProperties: { x-go-type: any } }
      responses:
        '200':
          description: Tokens.
          headers: { X-Id: { schema: { type: string } } }
          content:
            application/json:
              schema:
                type: object
                required: [token]
                properties:
                  token: { type: string }
                  kind: { type: string, default: bearer }
                  scopes: { type: object, additionalProperties: false }
  /users/refresh:
    post:
      responses: { '204': { description: Done. } }
      callbacks:
        event: { '{$request.body#/url}': { $ref: '#/webhooks/avatar_event' } }
        done:
          '{$request.body#/url}':
            parameters: [ { name: X-Sent, in: header, schema: { type: string } } ]
            post:
              parameters: [ { name: part, in: query, schema: { type: string, enum: [all, last] } } ]
              requestBody: { content: { 'application/json': { schema: { type: object, required: [took], properties: { took: { type: integer } } } } } }
              responses: { '204': { description: Taken. }, '404': { description: Unknown. } }
  /users/logout:
    post:
      security: [ key: [] ]
      x-idempotent: true
      responses: { '204': { description: Done. } }
  /logs:
    get:
      security: []
      responses:
        '200':
          content:
            text/event-stream:
              schema: { type: string }
              x-itemSchema:
                type: object
                required: [event, data]
                properties: { event: { type: string }, data: { type: string, contentMediaType: application/json, contentSchema: { type: object, required: [done], properties: { done: { type: boolean } } } } }
  /lines:
    get:
      security: []
      responses: { '200': { content: { application/jsonl: { itemSchema: { type: object, required: [level], properties: { level: { type: integer }, text: { type: string } } } } } } }
components: { securitySchemes: { bearer: { type: http, scheme: bearer }, key: { type: apiKey, in: header, name: X-Key } } }
webhooks:
  avatar_event:
    post:
      parameters:
        - { name: webhook-id, in: header, schema: { type: string } }
        - { name: round, in: query, explode: false, schema: { type: array, items: { type: integer } } }
      requestBody:
        content:
          application/json:
            schema:
              type: object
              required: [avatar_id, status]
              additionalProperties: false
              properties:
                avatar_id: { type: string }
                status: { type: string, enum: [published, failed] }
                attempt: { type: integer, default: 1 }
      responses:
        2XX: { description: Taken., content: { application/json: { schema: { type: object } } } }
        '410': { description: Gone. }
  lipsync event:
    post:
      responses:
        2XX: { description: Taken. }
`

func TestCompare_findsBrokenOperations(t *testing.T) {
	t.Parallel()
	const (
		login   = "POST /users/login"
		refresh = "POST /users/refresh"
		event   = "webhook avatar_event"
		json    = "application/json:\n"
	)
	for name, test := range map[string]struct {
		old, new string
		want     string // the operation that is broken
	}{
		"an operation is new":     {"  /users/refresh:\n", "  /users/renew: { get: { responses: { '204': { description: D } } } }\n  /users/refresh:\n", ""},
		"an operation is removed": {"  /users/refresh:\n", "  /users/renew:\n", refresh},
		"a webhook is removed":    {"  lipsync event:\n", "  another event:\n", "webhook lipsync event"},
		"a webhook is no POST":    {"  lipsync event:\n    post:", "  lipsync event:\n    put:", "webhook lipsync event"},
		"a POST is not repeated":  {"      x-idempotent: true\n", "", "POST /users/logout"},
		"a GET is not repeated":   {"  /lines:\n    get:\n", "  /lines:\n    get:\n      x-idempotent: false\n", "GET /lines"},
		"a POST never was":        {"  /users/refresh:\n    post:\n", "  /users/refresh:\n    post:\n      x-idempotent: false\n", ""},

		"an operation needs a token":              {"      security: []\n", "", login},
		"an operation needs no token":             {"security: [ bearer: [] ]\n", "", ""},
		"an operation no longer needs a key":      {"[ key: [] ]", "[]", ""},
		"an operation accepts another credential": {"[ bearer: [] ]", "[ bearer: [], key: [] ]", ""},
		"an operation needs another credential":   {"[ bearer: [] ]", "[ key: [] ]", refresh},
		"an operation needs both credentials":     {"[ bearer: [] ]", "[ { bearer: [], key: [] } ]", refresh},
		"an operation needs a scope":              {"[ bearer: [] ]", "[ bearer: [ write ] ]", refresh},
		"a credential is sent in another way":     {"scheme: bearer", "scheme: basic", refresh},

		"other members of a request have a type":   {"device: { type: object,", "device: { type: object, additionalProperties: { type: string },", login},
		"a request loses typed other members":      {"{ type: object, additionalProperties: { type: string } }", "{ type: object, additionalProperties: false }", login},
		"a request loses untyped other members":    {"{ x-go-type: any }", "false", login},
		"other members of a request are described": {"device: { type: object,", "device: { type: object, additionalProperties: { x-go-type: any },", ""},
		"a request has another media type":         {json, "application/problem+json:\n", login},
		"a media type is written otherwise":        {json, "Application/JSON; charset=utf-8:\n", ""},
		"a request accepts another media type":     {"          " + json, "          text/plain: {}\n          " + json, ""},
		"a default of a request is removed":        {", default: phone", "", login},

		"a response loses an optional header":    {"          headers: { X-Id: { schema: { type: string } } }\n", "", login},
		"a response has another media type":      {"  " + json, "  application/problem+json:\n", login},
		"a response may have another media type": {"            " + json + "              schema", "            text/plain: {}\n            " + json + "              schema", login},

		"an item no longer requires a member":         {"required: [level]", "required: []", "GET /lines"},
		"the data of an event no longer requires one": {"required: [done]", "required: []", "GET /logs"},
		"a stream has another media type":             {"text/event-stream", "application/x-ndjson", "GET /logs"},
		"a stream is described by OpenAPI 3.2":        {"schema: { type: string }\n              x-itemSchema:", "itemSchema:", ""},
		"a stream becomes one value":                  {"jsonl: { itemSchema:", "jsonl: { schema:", "GET /lines"},

		"an event has another media type":      {"      requestBody:\n        content:\n          " + json + "            schema:\n              type: object\n              required: [a", "      requestBody:\n        content:\n          application/a+json:\n            schema:\n              type: object\n              required: [a", event},
		"an event may have another media type": {"          " + json + "            schema:\n              type: object\n              required: [a", "          text/plain: {}\n          " + json + "            schema:\n              type: object\n              required: [a", event},
		"a notification loses a header":        {"        - { name: webhook-id, in: header, schema: { type: string } }\n", "", event},
		"a notification loses a query":         {"        - { name: round, in: query, explode: false, schema: { type: array, items: { type: integer } } }\n", "", event},
		"a notification writes its query anew": {"explode: false, schema: { type: array, items: { type: integer", "explode: true, schema: { type: array, items: { type: integer", event},
		"a query of it has other values":       {"explode: false, schema: { type: array, items: { type: integer", "explode: false, schema: { type: array, items: { type: string", event},
		"a notification has another header":    {"        - { name: webhook-id", "        - { name: webhook-at, in: header, schema: { type: string } }\n        - { name: webhook-id", ""},

		"a callback loses a member":              {"required: [took], properties: { took: { type: integer } }", "properties: {}", refresh},
		"a callback has another member":          {"properties: { took:", "properties: { at: { type: string }, took:", ""},
		"a callback loses a header":              {"            parameters: [ { name: X-Sent, in: header, schema: { type: string } } ]\n", "", refresh},
		"a callback has another URL":             {"'{$request.body#/url}':\n", "'{$request.body#/callback}':\n", refresh},
		"a callback is removed":                  {"        done:\n", "        ended:\n", refresh},
		"a callback refers to what is new":       {"{ $ref: '#/webhooks/avatar_event' } }", "{ $ref: '#/webhooks/avatar_event' } }\n        more: { '{$url}': { $ref: '#/webhooks/avatar_event' } }", ""},
		"a receiver of a callback must know":     {", '404': { description: Unknown. }", "", refresh},
		"a receiver may respond with less":       {"2XX: { description: Taken., ", "'200': { description: Taken., ", event},
		"a receiver must not respond with 410":   {"        '410': { description: Gone. }\n", "", event},
		"a receiver may respond with more":       {"'410': {", "4XX: {", ""},
		"a receiver must not add members":        {"{ schema: { type: object } } } }", "{ schema: { type: object, additionalProperties: false } } } }", event},
		"a receiver must respond with a body":    {"description: Gone. }", "description: Gone., content: { text/plain: {} } }", event},
		"a receiver must use another media type": {"content: { application/json: {", "content: { text/plain: {", event},
	} {
		edited := strings.Replace(document, test.old, test.new, 1)
		if edited == document {
			t.Fatalf("%s: the document does not contain %q", name, test.old)
		}
		breaks, err := compare([]byte(document), []byte(edited))
		if err != nil {
			t.Fatalf("%s: %v", name, err)
		}
		for i, b := range breaks {
			if b.operation != test.want || slices.Contains(breaks[:i], b) { // or is reported twice
				t.Errorf("%s: %s: %s", name, b.operation, b.text)
			}
		}
		if test.want != "" && len(breaks) == 0 {
			t.Errorf("%s: %s has no breaking change", name, test.want)
		}
	}
}

func TestReport_requiresNewLine(t *testing.T) {
	t.Parallel()
	breaks := []finding{{operation: "POST /users/login", rule: "rule", text: "text"}}
	const line = "- `POST /users/login` needs a code.\n"
	for _, test := range []struct {
		name          string
		before, after string
		want          error
	}{
		{"a new line", "# Changes\n", "# Changes\n" + line, nil},
		{"an old line", line, line, errUnlisted},
		{"a line for another operation", "", "- `POST /users/refresh` needs a code.\n", errUnlisted},
	} {
		var out strings.Builder
		err := report(&out, breaks, newLines(test.before, test.after))
		if !errors.Is(err, test.want) || !strings.Contains(out.String(), "POST /users/login") {
			t.Errorf("%s: error %v, printed: %s", test.name, err, &out)
		}
	}
}

// A login that now needs a token is found before anything is generated, in JSON with all its escapes.
func TestRun_readsTheDocumentItself(t *testing.T) {
	t.Parallel()
	const text = `{"openapi": "3.1.0", "info": {"title": "\ud83d\ude00 \/", "version": "1"}, "components": {"securitySchemes": {"bearer": {"type": "http", "scheme": "bearer"}}},
		"paths": {"/users/login": {"post": {"security": [], "responses": {"204": {"description": "d"}}}}}}`
	dir := t.TempDir()
	write := func(name, text string) {
		if err := os.WriteFile(filepath.Join(dir, name), []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	write("CHANGES.md", "")
	write("openapi.yaml", text)
	for _, words := range [][]string{{"init", "--quiet"}, {"add", "."}, {"commit", "--quiet", "--message=first"}} {
		words = append([]string{"-C", dir, "-c", "user.name=a", "-c", "user.email=a@example.com"}, words...)
		if said, err := exec.Command("git", words...).CombinedOutput(); err != nil {
			t.Fatalf("git %q: %s", words, said)
		}
	}
	var out strings.Builder
	if err := run(dir, "HEAD", &out); err != nil {
		t.Errorf("without a change: %v", err)
	}
	write("openapi.yaml", strings.Replace(text, `"security": []`, `"security": [{"bearer": []}]`, 1))
	if err := run(dir, "HEAD", &out); !errors.Is(err, errUnlisted) || !strings.Contains(out.String(), "NOT LISTED  `POST /users/login`") {
		t.Errorf("%v, %s", err, out.String())
	}
	for _, base := range []string{"", "--output=x"} {
		if err := run(dir, base, &out); err == nil || errors.Is(err, errUnlisted) {
			t.Errorf("%q is accepted as a commit: %v", base, err)
		}
	}
}

func TestCompare_readsDocumentsWithoutPaths(t *testing.T) {
	t.Parallel()
	const head = "openapi: 3.1.0\ninfo: {title: t, version: '1'}\n"
	breaks, err := compare([]byte(head+"webhooks: {w: {post: {responses: {200: {description: d}}}}}"), []byte(head+"components: {}"))
	if err != nil || len(breaks) == 0 || breaks[0].operation != "webhook w" {
		t.Errorf("got %v, %v", breaks, err)
	}
}
