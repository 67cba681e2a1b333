package validate_test

import (
	"errors"
	"maps"
	"strings"
	"testing"

	"github.com/avatarstudio/avatarstudio/api"
	"github.com/avatarstudio/avatarstudio/api/tools/harness"
	"github.com/avatarstudio/avatarstudio/server/validate"
)

// places returns the document errors that an error of Load wraps.
func places(tb testing.TB, err error) []*validate.DocumentError {
	tb.Helper()
	var all []*validate.DocumentError
	if joined, ok := errors.Unwrap(err).(interface{ Unwrap() []error }); ok {
		for _, one := range joined.Unwrap() {
			place, _ := errors.AsType[*validate.DocumentError](one)
			all = append(all, place)
		}
	}
	return all
}

const (
	head   = "openapi: 3.1.0\ninfo: {title: t, version: '1'}\n"
	head32 = "openapi: 3.2.0\ninfo: {title: t, version: '1'}\n"
)

// All errors of a document have their location, in YAML and in JSON.
func TestLoad_locatesErrors(t *testing.T) {
	t.Parallel()
	for text, want := range map[string]string{
		"":                                    "1:1: is empty",
		"a: [":                                "1:1: is not valid YAML: did not find expected node content",
		"a: b\nc: {d: e: f}":                  "2:1: is not valid YAML: ",
		"{\"a\": 1,\n \"a\": 2}":              "2:2: occurs more than once in its object: a",
		"{\"a\": {\"b\": [1,\n{\"c\": \"}]}}": "2:12: is not valid JSON",
		"{\"a\": 1} x":                        "1:9: has text after its end",
		"a: 1\nb: 2\na: 3":                    "3:1: occurs more than once in its object: a",
		"a: 1\n---\nb: 2":                     "2:1: is a second document in one file",
		"a: &x [*x]":                          "1:8: is an alias within what it stands for",
		"a: !!binary aGk=":                    "1:4: has a tag that JSON has no equal for: !!binary",
		"a: {b: 1, <<: {c: 1}}":               "1:11: merges an object, which YAML 1.2 does not",
		"a: -.inf":                            "1:4: is a number that JSON does not have: -.inf",
		"a: !!int 1_0":                        "1:4: has a tag for another text: !!int",
		"a: {[b]: c}":                         "1:5: is no name of a member",
		"openapi: 3.0.3":                      "1:10: /openapi: must be OpenAPI 3.1 or 3.2",
		"openapi: 3.20.0":                     "1:10: /openapi: must be OpenAPI 3.1 or 3.2",
		"info: {}":                            "1:1: must be OpenAPI 3.1 or 3.2",
		head + "paths: {}\nmore: 1":           "4:1: /more: is not known",
		head + "paths: []":                    "3:8: /paths: must be an object",
		head:                                  "1:1: must have paths, components or webhooks",
		head + "jsonSchemaDialect: https://a.example/\npaths: {}":            "3:20: /jsonSchemaDialect: must be the dialect",
		head + "paths:\n  a: {}":                                             "4:3: /paths/a: must begin with a slash",
		head + "paths:\n  /a?b=c: {}":                                        "4:3: /paths/~1a?b=c: must have no query and no fragment",
		head + "paths:\n  /a:\n    get: {responses: {200: {}}}":              "5:28: /paths/~1a/get/responses/200: must have the member description",
		head + "paths:\n  /a:\n    get: {responses: {20: {description: d}}}": "5:23: /paths/~1a/get/responses/20: is no status",
		head + "paths:\n  /a:\n    get: {tags: [1]}":                         "5:18: /paths/~1a/get/tags/0: must be a string",
		head + "paths:\n  /a: {$ref: '#/components/pathItems/none'}":         "4:14: /paths/~1a/$ref: leads nowhere",
		head + "paths:\n  /a/{b}: {get: {}}":                                 "4:17: /paths/~1a~1{b}/get: must declare the path parameter b",
		head + "paths:\n  /a: {parameters: [{name: X-A, in: header, schema: {}}, {name: x-a, in: header, schema: {}}], get: {}, put: {parameters: [{name: x-a, in: header, schema: {}}]}}": "4:58: /paths/~1a/parameters/1: occurs more than once in its list: x-a",
		head + "paths:\n  /a: {get: {operationId: x}, put: {operationId: x}}":                  "4:50: /paths/~1a/put/operationId: is not unique",
		head + "paths:\n  /a: {get: {operationId: x}}\nwebhooks: {w: {get: {operationId: x}}}": "5:35: /webhooks/w/get/operationId: is not unique",
		head + "paths: {'/a/{b}': {}, '/a/{c}': {}}":                                           "3:23: /paths/~1a~1{c}: differs from /a/{b} in the names of its parameters only",
		head + "paths: {'/a/{b}{c}': {}}":                                                      "3:9: /paths/~1a~1{b}{c}: has two parameters without a text between",
		head + "components:\n  examples: {é: {$ref: '#/components/examples/é'}}":               "4:24: /components/examples/é/$ref: leads to itself",
		head + "components:\n  schemas:\n    A: {type: string, minLength: '1'}":                "5:34: /components/schemas/A/minLength: must be an integer that is not negative",

		head + "$self: /a\npaths: {}": "3:1: /$self: is a part of OpenAPI 3.2 that is not supported",
		head32 + "paths: {/a: {get: {responses: {200: {content: {multipart/mixed: {itemSchema: {}}}}}}}}":          "3:78: /paths/~1a/get/responses/200/content/multipart~1mixed/itemSchema: is for sequences",
		head32 + "paths: {/a: {get: {responses: {200: {content: {application/jsonl: {schema: {type: array}}}}}}}}": "3:76: /paths/~1a/get/responses/200/content/application~1jsonl/schema: says more than the length",
		head + "paths: {/a: {query: {}}}": "3:14: /paths/~1a/query: needs OpenAPI 3.2",
		head + "components: {responses: {a: {description: d, content: {a/b: {$ref: '#/x'}}}}}":                                                         "3:62: /components/responses/a/content/a~1b/$ref: needs OpenAPI 3.2",
		head + "components: {responses: {a: {summary: s}}}":                                                                                            "3:29: /components/responses/a: must have the member description",
		head + "paths: {/a: {get: {responses: {200: {description: d, content: {application/json: {schema: {}, x-itemSchema: {}}}}}}}}":                 "3:109: /paths/~1a/get/responses/200/content/application~1json/x-itemSchema: is for sequences",
		head + "paths: {/a: {get: {responses: {200: {description: d, content: {application/jsonl: {x-itemSchema: 1}}}}}}}":                             "3:98: /paths/~1a/get/responses/200/content/application~1jsonl/x-itemSchema: must be a schema",
		head32 + "paths: {/a: {get: {responses: {200: {content: {application/jsonl: {x-itemSchema: {$ref: '#/x'}}}}}}}}":                               "3:89: /paths/~1a/get/responses/200/content/application~1jsonl/x-itemSchema/$ref: leads nowhere",
		head + "jsonSchemaDialect: https://spec.openapis.org/oas/3.2/dialect/2025-09-17\npaths: {}":                                                    "3:20: /jsonSchemaDialect: needs OpenAPI 3.2",
		head32 + "paths: {/a: {additionalOperations: {POST: {}}}}":                                                                                     "3:37: /paths/~1a/additionalOperations/POST: is the method of the member post",
		head32 + "paths: {/a: {additionalOperations: {COPY: {}, 'A B': {}}}}":                                                                          "3:47: /paths/~1a/additionalOperations/A B: is no HTTP method",
		head32 + "components: {mediaTypes: {a: {$ref: '#/info'}}}":                                                                                     "2:8: /info/title: is not known",
		head32 + "paths: {/a: {get: {responses: {200: {content: {application/json: {itemSchema: {}}}}}}}}":                                             "3:79: /paths/~1a/get/responses/200/content/application~1json/itemSchema: is for sequences",
		head32 + "paths: {/a: {get: {responses: {200: {content: {application/jsonl: {schema: {}, itemSchema: {}}}}}}}}":                                "3:76: /paths/~1a/get/responses/200/content/application~1jsonl/schema: is beside itemSchema",
		head32 + "paths: {/a: {get: {responses: {200: {content: {text/event-stream: {itemSchema: {contentSchema: {}}}}}}}}}":                           "3:96: /paths/~1a/get/responses/200/content/text~1event-stream/itemSchema/contentSchema: needs the contentMediaType",
		head32 + "paths: {/a: {get: {responses: {200: {content: {application/x-ndjson: {itemSchema: {properties: {a: 1}}}}}}}}}":                       "3:100: /paths/~1a/get/responses/200/content/application~1x-ndjson/itemSchema/properties/a: must be a schema",
		head + "paths: {/a: {get: {parameters: [{name: q, in: querystring, content: {text/plain: {}}}], responses: {200: {description: d}}}}}":         "3:47: /paths/~1a/get/parameters/0/in: is a part of OpenAPI 3.2 that is not supported",
		head + "paths: {/a: {get: {responses: {}}}}":                                                                                                   "3:31: /paths/~1a/get/responses: must have a response",
		head32 + "components: {schemas: {A: {}, S: {oneOf: [{$ref: '#/components/schemas/A'}], discriminator: {propertyName: k, defaultMapping: C}}}}": "3:127: /components/schemas/S/discriminator/defaultMapping: leads nowhere",
		head + "components: {schemas: {S: {discriminator: {propertyName: k, defaultMapping: S}}}}":                                                     "3:61: /components/schemas/S/discriminator/defaultMapping: needs OpenAPI 3.2",
		head32 + "paths: {/a: {get: {responses: {200: {description: d}}}}}\nsecurity: [{'none': []}]":                                                  "4:21: /security/0/none: is no security scheme of the document",
	} {
		_, err := validate.Load([]byte(text), validate.Config{Name: "dir/a.yaml"})
		if err == nil || !strings.Contains(err.Error(), "dir/a.yaml:"+want) || len(places(t, err)) == 0 {
			t.Errorf("%q: got %v, want %s, with its place", text, err, want)
		}
	}
}

// References may point to the given documents and to nothing else.
func TestLoad_resolvesReferencesToOtherDocuments(t *testing.T) {
	t.Parallel()
	const main = head + `
paths:
  /a:
    get: {parameters: [{$ref: 'shared/parts.yaml#/limit'}], responses: {200: {description: d}}}
components:
  schemas:
    S: {items: {$ref: '#/components/schemas/S/$defs/%6E'}, $defs: {n: {$ref: 'https://schemas.example/name'}}}
`
	documents := map[string][]byte{
		"api/shared/parts.yaml":        []byte("limit: {name: limit, in: query, schema: {$ref: '#/count'}}\ncount: {type: integer, maximum: 3}\n"),
		"https://schemas.example/name": []byte(`{"$ref": "#letters", "$defs": {"x": {"$anchor": "letters", "pattern": "^[a-z]+$"}}}`),
	}
	v, err := validate.Load([]byte(main), validate.Config{Name: "../api/openapi.yaml", Documents: documents})
	harness.Check(t, err)
	o, _ := v.Operation("GET", "/a")
	if got := violations(serve(t, o, jsonRequest("GET", "/a?limit=4", "")).err); got != "query:limit maximum" {
		t.Errorf("got %s", got)
	}
	s, _ := v.Schema("S")
	checkBodies(t, s, map[string]string{`["a", "B"]`: "/1 pattern"})
	documents["api/shared/parts.yaml"] = []byte("limit:\n  name: limit\n  in: [query]\n")
	_, err = validate.Load([]byte(main), validate.Config{Name: "../api/openapi.yaml", Documents: documents})
	if err == nil || !strings.Contains(err.Error(), "api/shared/parts.yaml:3:7: /limit/in: must be a string") {
		t.Errorf("got %v", err)
	}
	if _, err = validate.Load([]byte(main), validate.Config{Name: "openapi.yaml", Documents: documents}); err == nil {
		t.Error("a reference from another place leads there, too")
	}
}

// FuzzLoad checks that no document causes a panic, that each error has a location, and that lenient mode finds
// the same errors.
func FuzzLoad(f *testing.F) {
	f.Add(api.Spec)
	f.Add(document(f, takesEverything))
	f.Add([]byte(head + "paths: {'/a/{b}': {$ref: '#/x-i'}}\nx-i: {get: {callbacks: {c: {u: {$ref: '#/x-i'}}}, security: [{a: []}]}}"))
	f.Fuzz(func(t *testing.T, text []byte) {
		found := make(map[bool]map[string]bool)
		for _, lenient := range []bool{false, true} {
			reported := make(map[string]bool)
			cfg := validate.Config{}
			if lenient {
				cfg.Lenient = func(e *validate.DocumentError) { reported[e.Error()] = true }
			}
			_, err := validate.Load(text, cfg)
			all := places(t, err)
			if err != nil && len(all) == 0 {
				t.Errorf("%q: no place: %v", text, err)
			}
			for _, e := range all {
				if e.Line < 1 || e.Column < 1 || e.File != "openapi.yaml" {
					t.Errorf("%q: no place: %v", text, e)
				}
				reported[e.Error()] = true
			}
			found[lenient] = reported
		}
		if !maps.Equal(found[false], found[true]) {
			t.Errorf("%q: got %v, and in lenient mode %v", text, found[false], found[true])
		}
	})
}
