package validate_test

import (
	"errors"
	"strings"
	"testing"

	"github.com/avatarstudio/avatarstudio/server/validate"
)

// Unknown parts of a schema are errors of Load with their location.
func TestLoad_rejectsInvalidSchemas(t *testing.T) {
	t.Parallel()
	for schema, want := range map[string]string{
		`{"maxLenght": 3}`:                     "/maxLenght: is not known",
		`{"a/b": 3}`:                           "/a~1b: is not known",
		`{"definitions": {"a": {"no": 1}}}`:    "/definitions/a/no: is not known",
		`{"externalDocs": {}}`:                 "/externalDocs: must have the member url",
		`{"exclusiveMinimum": true}`:           "/exclusiveMinimum: must be a number",
		`{"minLength": 1.5}`:                   "/minLength: must be an integer that is not negative",
		`{"maxItems": "1"}`:                    "/maxItems: must be an integer that is not negative",
		`{"uniqueItems": 1}`:                   "/uniqueItems: must be a boolean",
		`{"required": [1]}`:                    "/required/0: must be a string",
		`{"required": ["a", "a"]}`:             "/required/1: occurs more than once",
		`{"properties": []}`:                   "/properties: must be an object",
		`{"items": [{}]}`:                      "/items: must be a schema: an object or a boolean",
		`{"multipleOf": 0}`:                    "/multipleOf: must be greater than 0",
		`{"multipleOf": 1234567890123456789}`:  "/multipleOf: must have at most 18 digits",
		`{"type": "strnig"}`:                   "/type: must be array, ",
		`{"type": ["string", "string"]}`:       "/type/1: must be array, ",
		`{"type": []}`:                         "/type: must be the name of a type, or several",
		`{"type": {}}`:                         "/type: must be the name of a type, or several",
		`{"format": "no-such"}`:                "/format: is a format that is not known: no-such",
		`{"patternProperties": {"(?=a)": {}}}`: "/patternProperties/(?=a): ",
		`{"oneOf": []}`:                        "/oneOf: must have a schema",
		`{"allOf": []}`:                        "/allOf: must have a schema",
		`{"prefixItems": []}`:                  "/prefixItems: must have a schema",
		`{"$schema": "http://json-schema.org/draft-07/schema#"}`: "/$schema: must be the dialect",
		`{"$id": "a#b"}`:                                                  "/$id: must be a URI reference without a fragment",
		`{"$anchor": "1"}`:                                                "/$anchor: must begin with a letter",
		`{"$ref": "#/components/schemas/U"}`:                              "/$ref: leads nowhere",
		`{"$ref": "other.yaml"}`:                                          "/$ref: leads nowhere",
		`{"$dynamicRef": "#nowhere"}`:                                     "/$dynamicRef: leads nowhere",
		`{"$ref": "#/components/schemas/S"}`:                              ": contains itself",
		`{"allOf": [{"$anchor": "a"}, {"$anchor": "a"}]}`:                 "/allOf/1/$anchor: is not unique",
		`{"allOf": [{"$id": "a"}, {"$id": "a"}]}`:                         "/allOf/1/$id: is not unique",
		`{"discriminator": {}}`:                                           "/discriminator: must have the member propertyName",
		`{"discriminator": {"propertyName": "k", "mapping": {"a": "U"}}}`: "/discriminator/mapping/a: leads nowhere",
		`{"allOf": [{"$ref": "#/components/schemas/S"}]}`:                 ": contains itself",
		`{"oneOf": [{"allOf": [{"$ref": "#/components/schemas/S"}]}]}`:    ": contains itself",
		`{"not": {"$ref": "#/components/schemas/S"}}`:                     ": contains itself",
		`{"if": true, "then": {"$ref": "#/components/schemas/S"}}`:        ": contains itself",
		`{"dependentSchemas": {"a": {"$ref": "#/components/schemas/S"}}}`: ": contains itself",
		`{"properties": {"a~/b": {"no": {}}}}`:                            "/properties/a~0~1b/no: is not known",
	} {
		_, err := validate.Load(document(t, `{"components": {"schemas": {"S": `+schema+`, "T": `+tagged("t", "")+`}}}`), validate.Config{})
		refused := (*validate.DocumentError)(nil)
		if !errors.As(err, &refused) || !strings.Contains(refused.Error(), "/components/schemas/S"+want) {
			t.Errorf("%s: got %v", schema, err)
		}
		if refused != nil && (refused.File != "openapi.yaml" || refused.Line != 1 || refused.Column < 20) {
			t.Errorf("%s: got the place %s:%d:%d", schema, refused.File, refused.Line, refused.Column)
		}
	}
}

// tagged returns an object schema with a constant member k.
func tagged(value, more string) string {
	return `{"type": "object", "required": ["k"], "properties": {"k": {"const": "` + value + `"}` + more + `}}`
}

func TestLoad_rejectsInvalidOperations(t *testing.T) {
	t.Parallel()
	const ok = `"responses": {"200": {"description": "d"}}`
	for operation, place := range map[string]string{
		`{"parameter": [], ` + ok + `}`: "/parameter",
		`{"parameters": [{"name": "a", "in": "path", "required": true, "schema": {"type": "string"}}], ` + ok + `}`:                                                                                                                       "/parameters/0",
		`{"parameters": [{"name": "b", "in": "path", "schema": {"type": "string"}}], ` + ok + `}`:                                                                                                                                         "/parameters/0",
		`{"parameters": [{"name": "a", "in": "body", "schema": {"type": "string"}}], ` + ok + `}`:                                                                                                                                         "/parameters/0/in",
		`{"parameters": [{"in": "query", "schema": {"type": "string"}}], ` + ok + `}`:                                                                                                                                                     "/parameters/0",
		`{"parameters": [{"name": "a b", "in": "header", "schema": {}}], ` + ok + `}`:                                                                                                                                                     "/parameters/0",
		`{"responses": {"200": {"description": "d", "headers": {"a b": {"schema": {}}}}}}`:                                                                                                                                                "/responses/200/headers/a b",
		`{"parameters": [{"name": "a", "in": "query"}], ` + ok + `}`:                                                                                                                                                                      "/parameters/0",
		`{"parameters": [{"name": "a", "in": "query", "content": {}}], ` + ok + `}`:                                                                                                                                                       "/parameters/0/content",
		`{"parameters": [{"name": "a", "in": "query", "content": {"text/html": {}}}], ` + ok + `}`:                                                                                                                                        "/parameters/0/content/text~1html",
		`{"parameters": [{"name": "a", "in": "query", "style": "form", "content": {"application/json": {}}}], ` + ok + `}`:                                                                                                                "/parameters/0/style",
		`{"parameters": [{"name": "a", "in": "query", "style": "deepObject", "schema": {"type": "string"}}], ` + ok + `}`:                                                                                                                 "/parameters/0/style",
		`{"parameters": [{"name": "a", "in": "query", "style": "spaceDelimited", "schema": {"type": "string"}}], ` + ok + `}`:                                                                                                             "/parameters/0/style",
		`{"parameters": [{"name": "a", "in": "query", "style": "simple", "schema": {"type": "string"}}], ` + ok + `}`:                                                                                                                     "/parameters/0/style",
		`{"parameters": [{"name": "a", "in": "header", "style": "form", "schema": {"type": "string"}}], ` + ok + `}`:                                                                                                                      "/parameters/0/style",
		`{"parameters": [{"name": "a", "in": "header", "allowEmptyValue": true, "schema": {"type": "string"}}], ` + ok + `}`:                                                                                                              "/parameters/0/allowEmptyValue",
		`{"parameters": [{"name": "a", "in": "cookie", "allowReserved": true, "schema": {"type": "string"}}], ` + ok + `}`:                                                                                                                "/parameters/0/allowReserved",
		`{"parameters": [{"$ref": "#/components/parameters/P"}], ` + ok + `}`:                                                                                                                                                             "/components/parameters/P/style",
		`{"requestBody": {"content": {}}, ` + ok + `}`:                                                                                                                                                                                    "/requestBody/content",
		`{"requestBody": {"content": {"json": {}}}, ` + ok + `}`:                                                                                                                                                                          "/requestBody/content/json",
		`{"requestBody": {"content": {"*/json": {}}}, ` + ok + `}`:                                                                                                                                                                        "/requestBody/content/*~1json",
		`{"requestBody": {"content": {"text/*; q=1": {}}}, ` + ok + `}`:                                                                                                                                                                   "/requestBody/content/text~1*; q=1",
		`{"requestBody": {"content": {"application/json; charset=latin1": {}}}, ` + ok + `}`:                                                                                                                                              "/requestBody/content/application~1json; charset=latin1",
		`{"requestBody": {"content": {"application/json": {}, "Application/JSON; charset=utf-8": {}}}, ` + ok + `}`:                                                                                                                       "/requestBody/content/application~1json",
		`{"requestBody": {"content": {"application/json": {"schema": {"no": {}}}}}, ` + ok + `}`:                                                                                                                                          "/requestBody/content/application~1json/schema/no",
		`{"requestBody": {"content": {"application/json": {"encoding": {"a": {}}}}}, ` + ok + `}`:                                                                                                                                         "/requestBody/content/application~1json/encoding",
		`{"requestBody": {"content": {"text/plain": {"schema": {"type": "object"}}}}, ` + ok + `}`:                                                                                                                                        "/requestBody/content/text~1plain/schema",
		`{"requestBody": {"content": {"video/*": {"schema": {"type": "object"}}}}, ` + ok + `}`:                                                                                                                                           "/requestBody/content/video~1*/schema",
		`{"requestBody": {"content": {"application/octet-stream": {"schema": {"type": "string", "pattern": "a"}}}}, ` + ok + `}`:                                                                                                          "/requestBody/content/application~1octet-stream/schema",
		`{"requestBody": {"content": {"multipart/form-data": {"schema": {"oneOf": [{"type": "object", "properties": {"a": {"type": "string", "format": "binary", "minLength": 1}}}]}}}}, ` + ok + `}`:                                     "/requestBody/content/multipart~1form-data",
		`{"requestBody": {"content": {"multipart/form-data": {"schema": {"type": "object", "properties": {"a": {"format": "binary", "minLength": 1}}, "patternProperties": {"a": {"maxLength": 9}}}}}}, ` + ok + `}`:                      "/requestBody/content/multipart~1form-data/schema/properties/a",
		`{"requestBody": {"content": {"application/x-www-form-urlencoded": {"schema": {"type": "array"}}}}, ` + ok + `}`:                                                                                                                  "/requestBody/content/application~1x-www-form-urlencoded/schema",
		`{"requestBody": {"content": {"application/x-www-form-urlencoded": {"schema": {"type": "object", "properties": {"a": {"type": "string"}}}, "encoding": {"b": {}}}}}, ` + ok + `}`:                                                 "/requestBody/content/application~1x-www-form-urlencoded/encoding/b",
		`{"requestBody": {"content": {"application/x-www-form-urlencoded": {"schema": {"type": "object", "properties": {"a": {"type": "string"}}}, "encoding": {"a": {"contentType": "text/html"}}}}}, ` + ok + `}`:                       "/requestBody/content/application~1x-www-form-urlencoded/encoding/a/contentType",
		`{"requestBody": {"content": {"application/x-www-form-urlencoded": {"schema": {"type": "object", "properties": {"a": {"type": "string"}}}, "encoding": {"a": {"style": "label"}}}}}, ` + ok + `}`:                                 "/requestBody/content/application~1x-www-form-urlencoded/encoding/a/style",
		`{"requestBody": {"content": {"application/x-www-form-urlencoded": {"schema": {"type": "object", "properties": {"a": {"type": "string"}}}, "encoding": {"a": {"headers": {"B": {"schema": {"type": "string"}}}}}}}}, ` + ok + `}`: "/requestBody/content/application~1x-www-form-urlencoded/encoding/a/headers",
		`{"requestBody": {"content": {"multipart/form-data": {"schema": {"type": "object", "properties": {"a": {"type": "string"}}}, "encoding": {"a": {"style": "form"}}}}}, ` + ok + `}`:                                                "/requestBody/content/multipart~1form-data/encoding/a/style",
		`{"requestBody": {"content": {"multipart/form-data": {"schema": {"type": "object", "properties": {"a": {"type": "string"}}}, "encoding": {"b": {}}}}}, ` + ok + `}`:                                                               "/requestBody/content/multipart~1form-data/encoding/b",
		`{"requestBody": {"content": {"multipart/form-data": {"schema": {"type": "object", "properties": {"a": {"format": "binary", "type": "string", "pattern": "a"}}}}}}, ` + ok + `}`:                                                  "/requestBody/content/multipart~1form-data/schema/properties/a",
		`{"responses": {"20X": {"description": "d"}}}`:                                                                                                                                                                                    "/responses/20X",
		`{"responses": {"200": {"description": "d", "header": {}}}}`:                                                                                                                                                                      "/responses/200/header",
		`{"responses": {"200": {"description": "d", "headers": {"A": {"style": "form", "schema": {}}}}}}`:                                                                                                                                 "/responses/200/headers/A/style",
		`{"callbacks": {"c": {"{$request.body#/u}": {"post": {"parameters": [{"name": "a", "in": "b", "schema": {}}], ` + ok + `}}}}, ` + ok + `}`:                                                                                        "/callbacks/c/{$request.body#~1u}/post/parameters/0/in",
	} {
		_, err := validate.Load(document(t, `{"paths": {"/a": {"post": `+operation+`}}, "components": {
			"parameters": {"P": {"name": "a", "in": "query", "style": "label", "schema": {"type": "string"}}}}}`), validate.Config{})
		if !strings.HasPrefix(place, "/components") {
			place = "/paths/~1a/post" + place
		}
		if err == nil || !strings.Contains(err.Error(), place+": ") {
			t.Errorf("%s: got %v, want %s", operation, err, place)
		}
	}
}

func TestLoad_rejectsInvalidLimits(t *testing.T) {
	t.Parallel()
	for name, cfg := range map[string]validate.Config{
		"body":      {MaxBodyBytes: -1},
		"operation": {OperationBodyBytes: map[string]int64{"missing": 1}},
		"zero":      {OperationBodyBytes: map[string]int64{"known": 0}},
	} {
		_, err := validate.Load(document(t, `{"paths": {"/a": {"get": {"operationId": "known", "responses": {"200": {"description": "d"}}}}}}`), cfg)
		if err == nil {
			t.Errorf("%s is accepted", name)
		}
	}
}
