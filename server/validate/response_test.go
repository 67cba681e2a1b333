package validate_test

import (
	"net/http"
	"testing"

	"github.com/avatarstudio/avatarstudio/server/validate"
)

func TestOperation_Response(t *testing.T) {
	t.Parallel()
	content := func(media string) string {
		return `"content": {"` + media + `": {"schema": {"$ref": "#/components/schemas/S"}}}`
	}
	o := operationOf(t, "GET", `{"responses": {
		"200": {"description": "d", `+content("application/json")+`},
		"201": {"description": "d", "content": {"application/json": {}},
			"headers": {"Location": {"required": true, "schema": {"type": "string", "format": "uri"}}, "Content-Type": {"schema": {"type": "object"}}}},
		"204": {"description": "d"},
		"4XX": {"description": "d", `+content("application/problem+json")+`, "headers": {"Retry-After": {"schema": {"type": "integer"}}}}}}`,
		`{"type": "object", "required": ["a"]}`, validate.Config{})
	withDefault := operationOf(t, "GET", `{"responses": {"default": {"description": "d", `+content("application/json")+`}}}`,
		anyObject, validate.Config{})
	const (
		isJSON    = "application/json"
		isProblem = "application/problem+json"
	)
	for _, c := range []struct {
		name      string
		o         *validate.Operation
		status    int
		mediaType string
		header    http.Header
		body      string
		want      string
	}{
		{"valid", o, 200, isJSON, nil, `{"a": 1}`, "ok"},
		{"charset", o, 200, isJSON + "; charset=utf-8", nil, `{"a": 1}`, "ok"},
		{"invalid", o, 200, isJSON, nil, `{}`, "/a required"},
		{"malformed", o, 200, isJSON, nil, `{`, malformed},
		{"empty", o, 200, isJSON, nil, ``, " required"},
		{"other content type", o, 200, isProblem, nil, `{"a": 1}`, "The document does not declare this content type for the status 200."},
		{"no content type", o, 200, "", nil, `{"a": 1}`, "The document does not declare this content type for the status 200."},
		{"undeclared status", o, 500, isJSON, nil, `{"a": 1}`, "The document does not declare the status 500."},
		{"no status", o, 0, "", nil, ``, "The document does not declare the status 0."},
		{"status out of range", o, 999, "", nil, ``, "The document does not declare the status 999."},
		{"no schema", o, 201, isJSON, http.Header{"Location": {"http://a"}}, `[1]`, "ok"},
		{"header missing", o, 201, isJSON, nil, `[1]`, "header:Location required"},
		{"header invalid", o, 201, isJSON, http.Header{"Location": {"a"}}, `[1]`, "header:Location format"},
		{"no content", o, 204, "", nil, ``, "ok"},
		{"content where none is declared", o, 204, isJSON, nil, `{}`, "The document declares no body for the status 204."},
		{"range", o, 418, isProblem, nil, `{"a": 1}`, "ok"},
		{"range, header", o, 429, isProblem, http.Header{"Retry-After": {"soon"}}, `{}`, "header:Retry-After type, /a required"},
		{"default", withDefault, 599, isJSON, nil, `{}`, "ok"},
		{"default, invalid", withDefault, 200, isJSON, nil, `[]`, " type"},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			header := c.header.Clone()
			if header == nil {
				header = make(http.Header)
			}
			if c.mediaType != "" {
				header.Set("Content-Type", c.mediaType)
			}
			err := failure(t, c.o.Response(c.status, header, []byte(c.body)))
			if got := violations(err); got != c.want {
				t.Errorf("got %q, want %q", got, c.want)
			}
			if err != nil && err.Status != 500 {
				t.Errorf("status %d", err.Status)
			}
		})
	}
}
