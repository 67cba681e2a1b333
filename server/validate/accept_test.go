package validate_test

import (
	"net/http"
	"slices"
	"strings"
	"testing"

	"github.com/avatarstudio/avatarstudio/api/tools/harness"
	"github.com/avatarstudio/avatarstudio/server/validate"
)

const okResponses = `responses: {200: {description: d}}`

// Load accepts what OpenAPI and YAML 1.2 allow, although it is unusual, and what is new in OpenAPI 3.2.
func TestLoad_acceptsUnusualDocuments(t *testing.T) {
	t.Parallel()
	content := func(media string) string {
		return "paths: {/a: {get: {responses: {200: {content: {" + media + "}}}}}}"
	}
	for name, text := range map[string]string{
		"JSON, with a byte order mark":  "\ufeff" + `{"openapi": "3.1.0", "info": {"title": "t", "version": "1"}, "paths": {}}`,
		"a number with a leading zero":  head + "components: {examples: {a: {value: 02894}}}",
		"other notations of numbers":    head + "components: {examples: {a: {value: [+1, -007, .5, 1., -.5e1, 0x1F, 0o17, 1e3]}}}",
		"a text that YAML 1.1 reads":    head + "components: {examples: {a: {value: [1_000, 0b11, yes, 12:30:45, 2001-12-14]}}}",
		"a webhook with two operations": head + "webhooks: {w: {post: {" + okResponses + "}, get: {" + okResponses + "}}}",
		"headers that OpenAPI ignores":  head + "paths: {/a: {get: {parameters: [{name: accept, in: header, schema: {enum: [text/html]}}, {name: Authorization, in: header, schema: {}}], " + okResponses + "}}}",
		"a header Host":                 head + "paths: {/a: {get: {parameters: [{name: Host, in: header, schema: {type: string}}], " + okResponses + "}}}",
		"text beside a path parameter":  head + "paths: {'/a/{b}:cancel/v{c}.{d}': {parameters: [{$ref: '#/x-p'}, {name: c, in: path, required: true, schema: {}}, {name: d, in: path, required: true, schema: {}}], get: {" + okResponses + "}}}\nx-p: {name: b, in: path, required: true, schema: {type: string}}",
		"a range with a schema":         head + "paths: {/a: {post: {requestBody: {content: {'*/*': {schema: {type: object}}}}, " + okResponses + "}}}",
		"formats of the registry":       head + "components: {schemas: {A: {properties: {a: {format: uint64}, b: {format: decimal}, c: {format: http-date}, d: {format: unixtime}, e: {format: html}, f: {format: base64url}}}}}",
		"a format of another type":      head + "components: {schemas: {A: {type: string, format: int64}, B: {type: number, format: int32}, C: {type: integer, format: uuid}, D: {format: int8}}}",
		"annotations":                   head + "components: {schemas: {A: {title: t, description: d, $comment: c, default: 1, example: 1, examples: [1], deprecated: true, readOnly: false, writeOnly: false, externalDocs: {url: u}, x-y: z}, B: {$ref: '#/components/schemas/A', description: d}}}",
		"servers at all levels":         head + "servers: [{url: '{a}', variables: {a: {default: b}}}]\npaths: {/a: {servers: [{url: /x}], get: {servers: [{url: /y}], " + okResponses + "}}}",
		"definitions":                   head + "components: {schemas: {A: {$ref: '#/components/schemas/B/definitions/C'}, B: {definitions: {C: {type: string}}}}}",
		"events in 3.1":                 head + "paths: {/a: {get: {responses: {200: {description: d, content: {text/event-stream: {schema: {type: string, contentMediaType: application/json, contentSchema: {type: object}}}}}}}}}",
		"a callback that has itself":    head + "paths: {/a: {$ref: '#/x-i'}}\nx-i: {get: {callbacks: {c: {u: {$ref: '#/x-i'}}}}}",

		"a dialect":               head32 + "jsonSchemaDialect: https://spec.openapis.org/oas/3.2/dialect/2025-09-17\npaths: {}",
		"the dialect of 3.1":      head32 + "jsonSchemaDialect: https://spec.openapis.org/oas/3.1/dialect/base\npaths: {}",
		"a tree of tags":          head32 + "paths: {}\ntags: [{name: updates, summary: Updates, kind: nav}, {name: partner, parent: external, kind: audience}, {name: external}]",
		"kinds of XML nodes":      head32 + "components: {schemas: {A: {type: array, xml: {nodeType: element, name: all}, items: {xml: {nodeType: cdata}}}, B: {xml: {attribute: true}}}}",
		"examples":                head32 + "components: {examples: {A: {dataValue: {a: 1}, serializedValue: a=1}, B: {dataValue: 1, externalValue: b.txt}, C: {value: 1}}}",
		"no property is needed":   head32 + "components: {schemas: {A: {oneOf: [{$ref: '#/components/schemas/B'}], discriminator: {propertyName: k, defaultMapping: '#/components/schemas/B'}}, B: {}}}",
		"an unused media type":    head32 + "components: {mediaTypes: {A: {itemSchema: {}}}}",
		"two media types":         head32 + content("application/json: {schema: {type: array}}, application/jsonl: {itemSchema: {type: object}}, text/event-stream: {itemSchema: {}}"),
		"a recursive event":       head32 + content("text/event-stream: {itemSchema: {$ref: '#/components/schemas/E'}}") + "\ncomponents: {schemas: {E: {properties: {data: {contentMediaType: application/json, contentSchema: {properties: {next: {$ref: '#/components/schemas/E'}}}}}}}}",
		"another method":          head32 + "paths: {/a: {query: {" + okResponses + "}, additionalOperations: {LINK: {" + okResponses + "}}}}\nwebhooks: {w: {additionalOperations: {NOTIFY: {" + okResponses + "}}}}",
		"an optional device flow": head32 + "components: {securitySchemes: {a: {type: oauth2, deprecated: true, flows: {deviceAuthorization: {deviceAuthorizationUrl: u, tokenUrl: t, scopes: {}}}}}}",
	} {
		if _, err := validate.Load([]byte(text), validate.Config{}); err != nil {
			t.Errorf("%s: %v", name, err)
		}
	}
}

// Load accepts what OpenAPI allows and this package does not support only in lenient mode, which reports it.
func TestLoad_lenientModeAcceptsWhatOpenAPIAllows(t *testing.T) {
	t.Parallel()
	response := func(content string) string {
		return "paths: {/a: {get: {responses: {204: {description: d}, 200: {description: d, content: " + content + "}}}}}"
	}
	for text, want := range map[string]string{
		"components: {schemas: {A: {type: string, nullable: true}}}":                                                                       "/components/schemas/A/nullable: is not known since OpenAPI 3.1, which has the type null",
		"components: {schemas: {A: {any-name: 1}}}":                                                                                        "/components/schemas/A/any-name: is not known",
		"components: {schemas: {A: {format: url}}}":                                                                                        "/components/schemas/A/format: is a format that is not known: url",
		"components: {schemas: {A: {pattern: '^(?!a)'}}}":                                                                                  "/components/schemas/A/pattern: has a look-ahead or look-behind, which RE2 does not support",
		"components: {schemas: {A: {pattern: '(a)\\1'}}}":                                                                                  "/components/schemas/A/pattern: has a back-reference, which RE2 does not support",
		"components: {schemas: {A: {pattern: 'a{0,1001}'}}}":                                                                               "/components/schemas/A/pattern: has a repetition that RE2 does not support, such as one over 1000",
		"components: {schemas: {A: {pattern: '(?i)a'}}}":                                                                                   "/components/schemas/A/pattern: has a group that is not (…), (?:…) or (?<name>…)",
		"components: {schemas: {A: {pattern: '(a'}}}":                                                                                      "/components/schemas/A/pattern: is no regular expression: missing closing )",
		"paths: {/a: {get: {responses: {204: {description: d, content: {application/json: {}}}}}}}":                                        "/paths/~1a/get/responses/204: has content, which this status does not have",
		"paths: {/a: {$ref: '#/x-i', parameters: []}}\nx-i: {}":                                                                            "/paths/~1a/parameters: is beside $ref, which replaces it",
		response("{application/xml: {schema: {type: object}}}"):                                                                            "/paths/~1a/get/responses/200/content/application~1xml/schema: says more than the length of a body that is not looked into",
		response("{'application/json; charset=latin1': {}}"):                                                                               "/paths/~1a/get/responses/200/content/application~1json; charset=latin1: is no media type that can be checked",
		"components: {securitySchemes: {d: {type: http, scheme: digest}}}\nsecurity: [{d: []}]\npaths: {/a: {get: {" + okResponses + "}}}": "/components/securitySchemes/d/scheme: is not bearer or basic",
	} {
		var reported []string
		if _, err := validate.Load([]byte(head+text), validate.Config{Lenient: func(e *validate.DocumentError) {
			reported = append(reported, e.Pointer+": "+e.Detail)
		}}); err != nil {
			t.Errorf("%s: %v", text, err)
		}
		if !slices.Equal(reported, []string{want}) {
			t.Errorf("%s: reported %q", text, reported)
		}
		if _, err := validate.Load([]byte(head+text), validate.Config{}); err == nil || !strings.HasSuffix(err.Error(), want) {
			t.Errorf("%s: got %v", text, err)
		}
	}
}

// Load reports all errors of all documents at once, and none that follows from another or twice. Lenient mode divides
// the same ones into those that it ignores and those that it returns.
func TestLoad_reportsAllErrors(t *testing.T) {
	t.Parallel()
	text := head + `more: 1
paths:
  b: {get: {` + okResponses + `}}
  /a/{id}:
    get:
      parameters: [{name: id, in: [path]}, 1, {$ref: '#/none'}, {$ref: 'broken.yaml#/a'}, {$ref: 'broken.yaml#/b'}]
      requestBody: {content: 1}
      responses: {999: {description: d}, 200: {}}
      security: [{none: []}]
  /c: {get: {parameters: [{$ref: '#/components/parameters/P'}]}, put: {parameters: [{$ref: '#/components/parameters/P'}]}}
components:
  schemas:
    A: {type: [strin, strin], maxLength: -1, nullable: true, pattern: '(?=a)', format: other, format: twice}
    B: {oneOf: [], discriminator: {}, enum: 1, properties: {a: {$ref: '#/components/schemas/A', no: 1}}}
    C: {allOf: [{$ref: '#/components/schemas/C'}], const: !!binary aGk=}
  securitySchemes: {s: {type: apiKey}, t: {}}
  parameters: {P: {name: a, in: query, style: label, schema: {}}}
security: [{s: [], none: []}]
`
	documents := map[string][]byte{"broken.yaml": []byte("a: [")}
	want := []string{
		"broken.yaml:1:1: is not valid YAML: did not find expected node content",
		"openapi.yaml:3:1: /more: is not known",
		"openapi.yaml:5:3: /paths/b: must begin with a slash",
		"openapi.yaml:8:35: /paths/~1a~1{id}/get/parameters/0/in: must be a string",
		"openapi.yaml:8:44: /paths/~1a~1{id}/get/parameters/1: must be an object",
		"openapi.yaml:8:54: /paths/~1a~1{id}/get/parameters/2/$ref: leads nowhere",
		"openapi.yaml:9:30: /paths/~1a~1{id}/get/requestBody/content: must be an object",
		"openapi.yaml:10:19: /paths/~1a~1{id}/get/responses/999: is no status, which has three digits, or one and XX, or is default",
		"openapi.yaml:10:47: /paths/~1a~1{id}/get/responses/200: must have the member description",
		"openapi.yaml:11:25: /paths/~1a~1{id}/get/security/0/none: is no security scheme of the document",
		"openapi.yaml:15:16: /components/schemas/A/type/0: must be array, boolean, integer, null, number, object or string, and occur once",
		"openapi.yaml:15:23: /components/schemas/A/type/1: must be array, boolean, integer, null, number, object or string, and occur once",
		"openapi.yaml:15:42: /components/schemas/A/maxLength: must be an integer that is not negative",
		"openapi.yaml:15:46: /components/schemas/A/nullable: is not known since OpenAPI 3.1, which has the type null",
		"openapi.yaml:15:71: /components/schemas/A/pattern: has a look-ahead or look-behind, which RE2 does not support",
		"openapi.yaml:15:88: /components/schemas/A/format: is a format that is not known: other",
		"openapi.yaml:15:95: occurs more than once in its object: format",
		"openapi.yaml:16:16: /components/schemas/B/oneOf: must have a schema",
		"openapi.yaml:16:35: /components/schemas/B/discriminator: must have the member propertyName",
		"openapi.yaml:16:45: /components/schemas/B/enum: must be an array",
		"openapi.yaml:16:97: /components/schemas/B/properties/a/no: is not known",
		"openapi.yaml:17:8: /components/schemas/C: contains itself without a member or an element between",
		"openapi.yaml:17:59: has a tag that JSON has no equal for: !!binary",
		"openapi.yaml:18:24: /components/securitySchemes/s: must have the member in",
		"openapi.yaml:18:24: /components/securitySchemes/s: must have the member name",
		"openapi.yaml:18:43: /components/securitySchemes/t: must have the member type",
		"openapi.yaml:19:47: /components/parameters/P/style: is not form, spaceDelimited, pipeDelimited or deepObject",
		"openapi.yaml:20:26: /security/0/none: is no security scheme of the document",
	}
	_, err := validate.Load([]byte(text), validate.Config{Documents: documents})
	var got []string
	for _, e := range places(t, err) {
		got = append(got, e.Error())
	}
	if !slices.Equal(got, want) {
		t.Errorf("got:\n%s", strings.Join(got, "\n"))
	}
	var ignored []string
	_, err = validate.Load([]byte(text), validate.Config{Documents: documents, Lenient: func(e *validate.DocumentError) { ignored = append(ignored, e.Error()) }})
	for _, e := range places(t, err) {
		if slices.Contains(ignored, e.Error()) {
			t.Errorf("%v is ignored and returned", e)
		}
		ignored = append(ignored, e.Error())
	}
	slices.Sort(ignored)
	slices.Sort(want)
	if !slices.Equal(ignored, want) {
		t.Errorf("lenient mode ignores and returns:\n%s", strings.Join(ignored, "\n"))
	}
}

// Numbers have the values of YAML 1.2.
func TestLoad_readsNumbersOfYAML(t *testing.T) {
	t.Parallel()
	v, err := validate.Load([]byte(head+`components:
  schemas:
    S: {maxLength: 010, minLength: +3, title: &t text}
    T: {title: *t}
    N: {enum: [007, .5, 1_0]}
`), validate.Config{})
	harness.Check(t, err)
	limits, _ := v.Schema("S")
	checkBodies(t, limits, map[string]string{`"abc"`: "ok", `"abcdefghij"`: "ok", `"abcdefghijk"`: " maxLength", `"ab"`: " minLength"})
	numbers, _ := v.Schema("N")
	checkBodies(t, numbers, map[string]string{`7`: "ok", `0.5`: "ok", `"1_0"`: "ok", `10`: " enum", `"007"`: " enum"})
}

// Parts of a document that are unusual are enforced like all others.
func TestHandler_enforcesUnusualParts(t *testing.T) {
	t.Parallel()
	v, err := validate.Load([]byte(head+`paths:
  /a/{id}:cancel/v{major}.{minor}:
    parameters:
      - {name: id, in: path, required: true, schema: {type: string, maxLength: 3}}
      - {name: major, in: path, required: true, schema: {type: integer}}
      - {name: minor, in: path, required: true, schema: {type: integer}}
      - {name: Host, in: header, required: true, schema: {const: a.example}}
      - {name: Accept, in: header, required: true, schema: {const: text/html}}
    post:
      requestBody: {required: true, content: {'*/*': {schema: {type: object}}}}
      responses: {204: {description: d, content: {application/json: {}}}}
webhooks:
  w: {post: {`+okResponses+`}, put: {`+okResponses+`}}
`), validate.Config{Lenient: func(*validate.DocumentError) {}})
	harness.Check(t, err)
	o, ok := v.Operation("POST", "/a/{x}:cancel/v{y}.{z}")
	if !ok {
		t.Fatal("the operation is not found")
	}
	for _, test := range []struct{ path, host, media, body, want string }{
		{"/a/b/7%2F8:cancel/v1.2", "a.example", "application/json", "{}", "ok"},
		{"/a/7/8:cancel/v1.2", "a.example", "text/xml", "<a/>", "ok"},
		{"/a/1234:cancel/v1.x", "a.example", "application/json", "{}", "path:id maxLength, path:minor type"},
		{"/a/7:cancel/v1.2", "b.example", "application/vnd.a+json", "[]", "header:Host const,  type"},
		{"/a/7/v1.2", "a.example", "application/json", "{}", "path:id required"},
	} {
		r := jsonRequest("POST", "http://"+test.host+test.path, test.body)
		r.Header.Set("Content-Type", test.media)
		if got := violations(serve(t, o, r).err); got != test.want {
			t.Errorf("%s: got %s, want %s", test.path, got, test.want)
		}
	}
	harness.Check(t, o.Response(204, http.Header{}, nil))
}
