package validate_test

import (
	"strings"
	"testing"

	"github.com/getkin/kin-openapi/openapi3"

	"github.com/avatarstudio/avatarstudio/server/validate"
)

// What is not known stops the start-up, and the error names the place.
func TestNew_refusesSchema(t *testing.T) {
	t.Parallel()
	for schema, place := range map[string]string{
		`{"multipleOf": 2}`:                         "/multipleOf",
		`{"not": {}}`:                               "/not",
		`{"uniqueItems": true}`:                     "/uniqueItems",
		`{"nullable": true}`:                        "/nullable",
		`{"readOnly": true}`:                        "/readOnly",
		`{"writeOnly": true}`:                       "/writeOnly",
		`{"allowEmptyValue": true}`:                 "/allowEmptyValue",
		`{"xml": {"name": "x"}}`:                    "/xml",
		`{"prefixItems": [{}]}`:                     "/prefixItems",
		`{"contains": {}}`:                          "/contains",
		`{"minContains": 1}`:                        "/minContains",
		`{"maxContains": 1}`:                        "/maxContains",
		`{"patternProperties": {"a": {}}}`:          "/patternProperties",
		`{"dependentSchemas": {"a": {}}}`:           "/dependentSchemas",
		`{"dependentRequired": {"a": ["b"]}}`:       "/dependentRequired",
		`{"propertyNames": {}}`:                     "/propertyNames",
		`{"unevaluatedItems": false}`:               "/unevaluatedItems",
		`{"unevaluatedProperties": false}`:          "/unevaluatedProperties",
		`{"if": {}}`:                                "/if",
		`{"then": {}}`:                              "/then",
		`{"else": {}}`:                              "/else",
		`{"$defs": {"a": {}}}`:                      "/$defs",
		`{"$schema": "x"}`:                          "/$schema",
		`{"$id": "x"}`:                              "/$id",
		`{"$anchor": "x"}`:                          "/$anchor",
		`{"$dynamicRef": "x"}`:                      "/$dynamicRef",
		`{"$dynamicAnchor": "x"}`:                   "/$dynamicAnchor",
		`{"contentMediaType": "x"}`:                 "/contentMediaType",
		`{"contentEncoding": "x"}`:                  "/contentEncoding",
		`{"contentSchema": {}}`:                     "/contentSchema",
		`{"maxLenght": 3}`:                          "/maxLenght",
		`{"a/b": 3}`:                                "/a~1b",
		`{"minimum": 1, "exclusiveMinimum": true}`:  "/exclusiveMinimum",
		`{"maximum": 1, "exclusiveMaximum": false}`: "/exclusiveMaximum",
		`true`:                         ": is a boolean",
		`{"type": "strnig"}`:           "/type",
		`{"type": ["string", "file"]}`: "/type",
		`{"type": []}`:                 "/type",
		`{"type": "string", "format": "hostname"}`:                     "/format",
		`{"type": "integer", "format": "uuid"}`:                        "/format",
		`{"type": "string", "format": "int32"}`:                        "/format",
		`{"format": "int32"}`:                                          "/format",
		`{"pattern": "(?=a)"}`:                                         "/pattern",
		`{"pattern": "("}`:                                             "/pattern",
		`{"enum": []}`:                                                 "/enum",
		`{"enum": [1], "const": 1}`:                                    "/const",
		`{"enum": [9007199254740993]}`:                                 "/enum",
		`{"enum": [{"a": [9007199254740993]}]}`:                        "/enum",
		`{"const": 1e30}`:                                              "/const",
		`{"maximum": 9223372036854775807}`:                             "/maximum",
		`{"oneOf": []}`:                                                "/oneOf",
		`{"oneOf": [{"type": "null"}]}`:                                "/oneOf",
		`{"oneOf": [{"type": "null"}, {"type": "null"}]}`:              "/oneOf",
		`{"oneOf": [{"type": ["string", "null"]}, {"type": "null"}]}`:  "/oneOf",
		`{"oneOf": [{}, {"type": "null"}]}`:                            "/oneOf",
		`{"oneOf": [{"type": "string"}, {"type": "integer"}]}`:         "/oneOf",
		`{"anyOf": [{"type": "object"}, {"type": "object"}]}`:          "/anyOf",
		`{"oneOf": [` + tagged("a", "") + `,` + tagged("a", "") + `]}`: "/oneOf",
		`{"oneOf": [` + tagged("a", "") + `,{"type": "object", "properties": {"k": {"const": "b"}}}]}`:                   "/oneOf",
		`{"oneOf": [` + tagged("a", "") + `,{"required": ["k"], "properties": {"k": {"const": "b"}}}]}`:                  "/oneOf",
		`{"oneOf": [` + tagged("a", "") + `,` + tagged("b", "") + `], "discriminator": {"propertyName": "k"}}`:           "/oneOf",
		`{"discriminator": {"propertyName": "k"}}`:                                                                       "/discriminator",
		`{"oneOf": [{"$ref": "#/components/schemas/T"}], "discriminator": {"propertyName": "x"}}`:                        "/oneOf",
		`{"oneOf": [{"$ref": "#/components/schemas/T"}], "discriminator": {"propertyName": "k", "mapping": {"a": "U"}}}`: "/oneOf",
		`{"oneOf": [{"$ref": "#/components/schemas/T"}], "discriminator": {"propertyName": "k", "more": 1}}`:             "/discriminator/more",
		`{"allOf": [{"$ref": "#/components/schemas/S"}]}`:                                                                ": contains itself",
		`{"oneOf": [{"allOf": [{"$ref": "#/components/schemas/S"}]}]}`:                                                   ": contains itself",
		`{"properties": {"a~/b": {"not": {}}}}`:                                                                          "/properties/a~0~1b/not",
		`{"additionalProperties": {"not": {}}}`:                                                                          "/additionalProperties/not",
		`{"items": {"items": {"not": {}}}}`:                                                                              "/items/items/not",
		`{"allOf": [{}, {"not": {}}]}`:                                                                                   "/allOf/1/not",
		`{"anyOf": [{"not": {}}, {"type": "null"}]}`:                                                                     "/anyOf/0/not",
		`{"items": {"$ref": "#/components/schemas/T", "not": {"type": "string"}}}`:                                       "/items/not",
		`{"items": {"$ref": "#/components/schemas/T", "maxLenght": 3}}`:                                                  "/items/maxLenght",
		`{"items": {"$ref": "#/components/schemas/T", "const": null}}`:                                                   "/items/const",
		`{"items": {"$ref": "#/components/schemas/T", "default": null, "maxItems": null}}`:                               "/items/maxItems",
		`{"items": {"$ref": "#/components/schemas/T", "format": "x", "type": "string"}}`:                                 "/items/format",
	} {
		_, err := validate.New(load(t, `{"components": {"schemas": {"S": `+schema+`, "T": `+tagged("t", "")+`}}}`), validate.Config{})
		if err == nil || !strings.Contains(err.Error(), "/components/schemas/S"+place) {
			t.Errorf("%s: got %v", schema, err)
		}
	}
}

// tagged is an object with a constant member k.
func tagged(value, more string) string {
	return `{"type": "object", "required": ["k"], "properties": {"k": {"const": "` + value + `"}` + more + `}}`
}

// The loader takes a keyword that is null for absent, unless it keeps where things are.
func TestNew_refusesNull(t *testing.T) {
	t.Parallel()
	for _, keyword := range []string{
		"const", "enum", "type", "maxLength", "maximum", "properties", "required", "items", "allOf", "oneOf",
		"additionalProperties", "exclusiveMinimum", "pattern", "format", "discriminator", "unevaluatedProperties",
	} {
		loader := openapi3.NewLoader()
		loader.IncludeOrigin = true
		doc, err := loader.LoadFromData([]byte("openapi: 3.1.0\ninfo: {title: t, version: '1'}\npaths: {}\n" +
			"components:\n  schemas:\n    S:\n      default: null\n      example: null\n      " + keyword + ":\n"))
		if err != nil {
			t.Logf("%s: refused by the loader", keyword)
			continue
		}
		_, err = validate.New(doc, validate.Config{})
		if err == nil || err.Error() != "validate: /components/schemas/S/"+keyword+": must not be null" {
			t.Errorf("%s: got %v", keyword, err)
		}
	}
}

func TestNew_acceptsAnnotations(t *testing.T) {
	t.Parallel()
	compileSchemas(t, `{"S": {"title": "t", "description": "d", "$comment": "c", "default": 1, "example": 1, "examples": [1],
		"deprecated": true, "readOnly": false, "writeOnly": false, "externalDocs": {"url": "http://a"}, "x-go-type": "y",
		"properties": {"a": {"$ref": "#/components/schemas/T", "description": "d", "x-y": 1, "deprecated": true}}}, "T": {"type": "string"}}`)
}

func TestNew_refusesOperation(t *testing.T) {
	t.Parallel()
	const ok = `"responses": {"200": {"description": "d"}}`
	for operation, place := range map[string]string{
		`{"parameter": [], ` + ok + `}`: "/parameter",
		`{"parameters": [{"name": "a", "in": "path", "required": true, "schema": {"type": "string"}}], ` + ok + `}`:                                                                                                                       "",
		`{"parameters": [{"name": "b", "in": "path", "schema": {"type": "string"}}], ` + ok + `}`:                                                                                                                                         "/parameters/0/required",
		`{"parameters": [{"name": "a", "in": "body", "schema": {"type": "string"}}], ` + ok + `}`:                                                                                                                                         "/parameters/0/in",
		`{"parameters": [{"in": "query", "schema": {"type": "string"}}], ` + ok + `}`:                                                                                                                                                     "/parameters/0/name",
		`{"parameters": [{"name": "a", "in": "query", "schema": {"type": "string", "not": {}}}], ` + ok + `}`:                                                                                                                             "/parameters/0/schema/not",
		`{"parameters": [{"name": "a", "in": "query"}], ` + ok + `}`:                                                                                                                                                                      "/parameters/0/schema",
		`{"parameters": [{"name": "a", "in": "query", "content": {}}], ` + ok + `}`:                                                                                                                                                       "/parameters/0/schema",
		`{"parameters": [{"name": "a", "in": "query", "content": {"text/html": {}}}], ` + ok + `}`:                                                                                                                                        "/parameters/0/content/text~1html",
		`{"parameters": [{"name": "a", "in": "query", "content": {"application/json": {"schema": {"not": {}}}}}], ` + ok + `}`:                                                                                                            "/parameters/0/content/application~1json/schema/not",
		`{"parameters": [{"name": "a", "in": "query", "style": "form", "content": {"application/json": {}}}], ` + ok + `}`:                                                                                                                "/parameters/0/content/application~1json",
		`{"parameters": [{"name": "a", "in": "query", "style": "deepObject", "schema": {"type": "string"}}], ` + ok + `}`:                                                                                                                 "/parameters/0/style",
		`{"parameters": [{"name": "a", "in": "query", "style": "deepObject", "schema": {"type": "array"}}], ` + ok + `}`:                                                                                                                  "/parameters/0/style",
		`{"parameters": [{"name": "a", "in": "query", "style": "spaceDelimited", "schema": {"type": "string"}}], ` + ok + `}`:                                                                                                             "/parameters/0/style",
		`{"parameters": [{"name": "a", "in": "query", "style": "pipeDelimited", "schema": {"type": "integer"}}], ` + ok + `}`:                                                                                                             "/parameters/0/style",
		`{"parameters": [{"name": "a", "in": "query", "style": "simple", "schema": {"type": "string"}}], ` + ok + `}`:                                                                                                                     "/parameters/0/style",
		`{"parameters": [{"name": "a", "in": "header", "style": "form", "schema": {"type": "string"}}], ` + ok + `}`:                                                                                                                      "/parameters/0/style",
		`{"parameters": [{"name": "a", "in": "cookie", "style": "simple", "schema": {"type": "string"}}], ` + ok + `}`:                                                                                                                    "/parameters/0/style",
		`{"parameters": [{"name": "a", "in": "header", "allowEmptyValue": true, "schema": {"type": "string"}}], ` + ok + `}`:                                                                                                              "/parameters/0/allowEmptyValue",
		`{"parameters": [{"name": "a", "in": "cookie", "allowReserved": true, "schema": {"type": "string"}}], ` + ok + `}`:                                                                                                                "/parameters/0/allowReserved",
		`{"parameters": [{"name": "authorization", "in": "header", "schema": {"type": "string"}}], ` + ok + `}`:                                                                                                                           "/parameters/0/name",
		`{"parameters": [{"$ref": "#/components/parameters/P"}], ` + ok + `}`:                                                                                                                                                             "/components/parameters/P/schema/not",
		`{"requestBody": {"content": {}}, ` + ok + `}`:                                                                                                                                                                                    "/requestBody/content",
		`{"requestBody": {"content": {"json": {}}}, ` + ok + `}`:                                                                                                                                                                          "/requestBody/content/json",
		`{"requestBody": {"content": {"*/json": {}}}, ` + ok + `}`:                                                                                                                                                                        "/requestBody/content/*~1json",
		`{"requestBody": {"content": {"text/*; q=1": {}}}, ` + ok + `}`:                                                                                                                                                                   "/requestBody/content/text~1*; q=1",
		`{"requestBody": {"content": {"application/json; charset=latin1": {}}}, ` + ok + `}`:                                                                                                                                              "/requestBody/content/application~1json; charset=latin1",
		`{"requestBody": {"content": {"application/json": {"schema": {"not": {}}}}}, ` + ok + `}`:                                                                                                                                         "/requestBody/content/application~1json/schema/not",
		`{"requestBody": {"content": {"application/json": {"encoding": {"a": {}}}}}, ` + ok + `}`:                                                                                                                                         "/requestBody/content/application~1json/encoding",
		`{"requestBody": {"content": {"text/plain": {"schema": {"type": "object"}}}}, ` + ok + `}`:                                                                                                                                        "/requestBody/content/text~1plain/schema",
		`{"requestBody": {"content": {"video/*": {"schema": {"type": "object"}}}}, ` + ok + `}`:                                                                                                                                           "/requestBody/content/video~1*/schema",
		`{"requestBody": {"content": {"application/octet-stream": {"schema": {"type": "string", "pattern": "a"}}}}, ` + ok + `}`:                                                                                                          "/requestBody/content/application~1octet-stream/schema",
		`{"requestBody": {"content": {"application/x-www-form-urlencoded": {"schema": {"type": "array"}}}}, ` + ok + `}`:                                                                                                                  "/requestBody/content/application~1x-www-form-urlencoded/schema",
		`{"requestBody": {"content": {"application/x-www-form-urlencoded": {"schema": {"type": "object", "properties": {"a": {"type": "string"}}}, "encoding": {"b": {}}}}}, ` + ok + `}`:                                                 "/requestBody/content/application~1x-www-form-urlencoded/encoding/b",
		`{"requestBody": {"content": {"application/x-www-form-urlencoded": {"schema": {"type": "object", "properties": {"a": {"type": "string"}}}, "encoding": {"a": {"contentType": "text/html"}}}}}, ` + ok + `}`:                       "/requestBody/content/application~1x-www-form-urlencoded/encoding/a/contentType",
		`{"requestBody": {"content": {"application/x-www-form-urlencoded": {"schema": {"type": "object", "properties": {"a": {"type": "string"}}}, "encoding": {"a": {"style": "label"}}}}}, ` + ok + `}`:                                 "/requestBody/content/application~1x-www-form-urlencoded/encoding/a/style",
		`{"requestBody": {"content": {"application/x-www-form-urlencoded": {"schema": {"type": "object", "properties": {"a": {"type": "string"}}}, "encoding": {"a": {"headers": {"B": {"schema": {"type": "string"}}}}}}}}, ` + ok + `}`: "/requestBody/content/application~1x-www-form-urlencoded/encoding/a/headers",
		`{"requestBody": {"content": {"multipart/form-data": {"schema": {"type": "string"}}}}, ` + ok + `}`:                                                                                                                               "/requestBody/content/multipart~1form-data/schema",
		`{"requestBody": {"content": {"multipart/form-data": {"schema": {"type": "object", "properties": {"a": {"type": "string"}}}, "encoding": {"b": {}}}}}, ` + ok + `}`:                                                               "/requestBody/content/multipart~1form-data/encoding/b",
		`{"requestBody": {"content": {"multipart/form-data": {"schema": {"type": "object", "properties": {"a": {"type": "string"}}}, "encoding": {"a": {"style": "form"}}}}}, ` + ok + `}`:                                                "/requestBody/content/multipart~1form-data/encoding/a",
		`{"requestBody": {"content": {"multipart/form-data": {"schema": {"type": "object", "properties": {"a": {"type": "string"}}}, "encoding": {"a": {"unknown": 1}}}}}, ` + ok + `}`:                                                   "/requestBody/content/multipart~1form-data/encoding/a/unknown",
		`{"requestBody": {"content": {"multipart/form-data": {"schema": {"type": "object", "properties": {"a": {"format": "binary", "type": "string", "pattern": "a"}}}}}}, ` + ok + `}`:                                                  "/requestBody/content/multipart~1form-data/schema/properties/a",
		`{"responses": {"200": {"description": "d", "content": {"html": {}}}}}`:                                                                                                                                                           "/responses/200/content/html",
		`{"responses": {"204": {"description": "d", "content": {"application/json": {}}}}}`:                                                                                                                                               "/responses/204/content",
		`{"responses": {"20X": {"description": "d"}}}`:                                                                                                                                                                                    "/responses/20X",
		`{"responses": {"6XX": {"description": "d"}}}`:                                                                                                                                                                                    "/responses/6XX",
		`{"responses": {"200": {"description": "d", "header": {}}}}`:                                                                                                                                                                      "/responses/200/header",
		`{"responses": {"200": {"description": "d", "headers": {"A": {"style": "form", "schema": {}}}}}}`:                                                                                                                                 "/responses/200/headers/A/style",
		`{"callbacks": {"c": {"{$request.body#/u}": {"post": {"parameters": [{"name": "a", "in": "b", "schema": {}}], ` + ok + `}}}}, ` + ok + `}`:                                                                                        "/callbacks/c/{$request.body#~1u}/post/parameters/0/in",
	} {
		_, err := validate.New(load(t, `{"paths": {"/a": {"post": `+operation+`}}, "components": {
			"parameters": {"P": {"name": "a", "in": "query", "schema": {"type": "string", "not": {}}}}}}`), validate.Config{})
		if !strings.HasPrefix(place, "/components") {
			place = "/paths/~1a/post" + place
		}
		if err == nil || !strings.Contains(err.Error(), place+": ") {
			t.Errorf("%s: got %v, want %s", operation, err, place)
		}
	}
}

// A path and its parameters are the same.
func TestNew_refusesPath(t *testing.T) {
	t.Parallel()
	for path, want := range map[string]string{
		"/a/{b}":      "does not describe the path parameter b",
		"/a/{a}/{a}":  "has the path parameter a twice",
		"/a":          "has a path without its parameter a",
		"/a/{a}.json": "has a path with a parameter that is not a whole segment",
		"/a/x{a}":     "has a path with a parameter that is not a whole segment",
		"/a/{a}{b}":   "has a path with a parameter that is not a whole segment",
	} {
		_, err := validate.New(load(t, `{"paths": {"`+path+`": {"get": {
			"parameters": [{"name": "a", "in": "path", "required": true, "schema": {"type": "string"}}],
			"responses": {"200": {"description": "d"}}}}}}`), validate.Config{})
		if err == nil || !strings.Contains(err.Error(), "/get: "+want) {
			t.Errorf("%s: got %v", path, err)
		}
	}
}

func TestNew_refusesSamePath(t *testing.T) {
	t.Parallel()
	item := func(name string) string {
		return `"/a/{` + name + `}": {"get": {"parameters": [{"name": "` + name + `", "in": "path", "required": true, "schema": {}}],
			"responses": {"200": {"description": "d"}}}}`
	}
	_, err := validate.New(load(t, `{"paths": {`+item("b")+`, `+item("c")+`}}`), validate.Config{})
	if err == nil || !strings.Contains(err.Error(), "/paths/~1a~1{c}: ") {
		t.Errorf("got %v", err)
	}
}

func TestNew_refusesLimits(t *testing.T) {
	t.Parallel()
	for name, cfg := range map[string]validate.Config{
		"body":        {MaxBodyBytes: -1},
		"parts":       {MaxParts: -1},
		"part":        {MaxPartBytes: -1},
		"part header": {MaxPartHeaderBytes: -1},
		"operation":   {OperationBodyBytes: map[string]int64{"missing": 1}},
		"zero":        {OperationBodyBytes: map[string]int64{"known": 0}},
	} {
		_, err := validate.New(load(t, `{"paths": {"/a": {"get": {"operationId": "known", "responses": {"200": {"description": "d"}}}}}}`), cfg)
		if err == nil {
			t.Errorf("%s is accepted", name)
		}
	}
}

// A place that several operations share is reported once.
func TestNew_reportsOnce(t *testing.T) {
	t.Parallel()
	const op = `{"parameters": [{"$ref": "#/components/parameters/P"}], "responses": {"200": {"$ref": "#/components/responses/R"}}}`
	_, err := validate.New(load(t, `{"security": [{"none": []}], "paths": {"/a": {"get": `+op+`, "put": `+op+`}}, "components": {
		"parameters": {"P": {"name": "a", "in": "query", "unknown": 1, "schema": {"type": "string"}}},
		"responses": {"R": {"description": "d", "content": {"html": {}}}}}}`), validate.Config{})
	want := "validate: /security/0/none: is no security scheme of the document\n" +
		"/components/parameters/P/unknown: is not known\n" +
		"/components/responses/R/content/html: is no media type that can be checked"
	if err == nil || err.Error() != want {
		t.Errorf("got %v", err)
	}
}

// A document may have nothing but webhooks.
func TestNew_withoutPaths(t *testing.T) {
	t.Parallel()
	if _, err := validate.New(&openapi3.T{OpenAPI: "3.1.0"}, validate.Config{}); err != nil {
		t.Error(err)
	}
}

func TestNew_refusesDocument(t *testing.T) {
	t.Parallel()
	const op = `{"operationId": "same", "responses": {"200": {"description": "d"}}}`
	for document, want := range map[string]string{
		`{"openapi": "3.0.3"}`: "/openapi",
		`{"openapi": "3.2.0"}`: "/openapi",
		`{"paths": {"/a": {"get": ` + op + `}}, "webhooks": {"w": {"post": ` + op + `}}}`: "/webhooks/w/post/operationId",
		`{"webhooks": {"w": {"post": ` + op + `, "get": {"responses": {}}}}}`:             "/webhooks/w",
		`{"webhooks": {"w": null}}`:                                                              "/webhooks/w",
		`{"webhooks": {"w": {}}}`:                                                                "/webhooks/w",
		`{"paths": {"/a": {"get": ` + op + `, "unknown": {}}}}`:                                  "/paths/~1a/unknown",
		`{"paths": {"/a": {"get": {"responses": {}}}}, "security": [{"none": []}]}`:              "/security/0/none",
		`{"components": {"schemas": {"A": {"not": {}}, "B": {"items": {"uniqueItems": true}}}}}`: "/components/schemas/B/items/uniqueItems",
	} {
		if _, err := validate.New(load(t, document), validate.Config{}); err == nil || !strings.Contains(err.Error(), want+": ") {
			t.Errorf("%s: got %v", document, err)
		}
	}
}
