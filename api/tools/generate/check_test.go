package main

import (
	"strings"
	"testing"
)

func TestCheck_returnsLineNumbers(t *testing.T) {
	t.Parallel()
	for name, test := range map[string]struct{ paths, err, warning string }{
		"valid":      {"{}", "", ""},
		"wrong type": {"{/a: {get: {operationId: a, responses: 5}}}", ":3:47: /paths/~1a/get/responses: must be an object", ""},
		"null":       {"{/a: {get: {operationId: a, responses: {200: {description: d}}, security: null}}}", ":3:82: /paths/~1a/get/security: must be an array", ""},
		"no parameter": {
			"{'/a/{b}': {get: {operationId: a, responses: {200: {description: d}}}}}",
			":3:25: /paths/~1a~1{b}/get: must declare the path parameter b", "",
		},
		"line break": {
			`{"/a\nb": {get: {operationId: a, responses: 5}}}`, `:3:52: /paths/~1a\nb/get/responses: must be an object`, "",
		},
		"another file": {
			"{/a: {$ref: 'b.yaml#/paths/~1a'}}", ":3:20: /paths/~1a/$ref: leads nowhere: a document of several files must be bundled first", "",
		},
		"unknown member": {"{/a: {get: {operationId: a, responses: {200: {description: d}}, colour: a}}}", "", ":3:72: /paths/~1a/get/colour: is not known"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			text := "openapi: 3.1.1\ninfo: {title: t, version: '1'}\npaths: " + test.paths + "\n"
			var warnings strings.Builder
			_, err := check("api/a.yaml", []byte(text), &warnings)
			if test.err == "" && err != nil || test.err != "" && (err == nil || !strings.HasSuffix(err.Error(), "api/a.yaml"+test.err)) {
				t.Errorf("error %v", err)
			}
			if got := strings.TrimSpace(warnings.String()); test.warning == "" && got != "" || !strings.HasSuffix(got, test.warning) {
				t.Errorf("warning %q", got)
			}
		})
	}
}
