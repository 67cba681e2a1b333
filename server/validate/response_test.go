package validate_test

import (
	"maps"
	"net/http"
	"testing"

	"github.com/avatarstudio/avatarstudio/server/validate"
)

func TestOperation_Response_checksStatusHeadersAndBody(t *testing.T) {
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
	others := operationOf(t, "GET", `{"responses": {
		"200": {"description": "d", "content": {
			"text/plain": {"schema": {"type": "integer"}},
			"application/x-www-form-urlencoded": {"schema": {"type": "object", "properties": {"a": {"type": "integer"}}}},
			`+partsContent+`,
			"video/*": {"schema": {"type": "string", "format": "binary", "maxLength": 3}}}},
		"202": {"description": "d", "headers": {"Location": {"required": true, "schema": {"type": "string"}},
			"X-List": {"schema": {"type": "array", "items": {"type": "integer"}}}, "X-Json": {"content": {"application/json": {"schema": {"type": "object"}}}}}},
		"304": {"description": "d", "headers": {"ETag": {"required": true, "schema": {"type": "string"}}}},
		"2XX": {"description": "d", "content": {"*/*": {}}}}}`, anyObject, validate.Config{})
	head := operationOf(t, "HEAD", `{"responses": {"200": {"description": "d", "content": {"video/mp4": {}}, "headers": {"X-A": {"required": true, "schema": {"type": "string"}}}}}}`,
		anyObject, validate.Config{})
	multipartType, parts := partsOf(t, sentPart{name: "title", text: "Ada"}, sentPart{name: "file", file: "f"})
	wrongType, wrong := partsOf(t, sentPart{name: "title", text: "A"})
	const (
		isJSON    = "application/json"
		isProblem = "application/problem+json"
	)
	for _, c := range []struct {
		name       string
		o          *validate.Operation
		status     int
		mediaType  string
		header     http.Header
		body, want string
	}{
		{"valid", o, 200, isJSON, nil, `{"a": 1}`, "ok"},
		{"charset", o, 200, isJSON + "; charset=utf-8", nil, `{"a": 1}`, "ok"},
		{"invalid", o, 200, isJSON, nil, `{}`, "/a required"},
		{"malformed", o, 200, isJSON, nil, `{`, malformed},
		{"empty", o, 200, isJSON, nil, ``, " required"},
		{"no content type", o, 200, "", nil, `{"a": 1}`, "The document does not declare this content type for the status 200."},
		{"undeclared status", o, 500, isJSON, nil, `{"a": 1}`, "The document does not declare the status 500."},
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

		// Responses of other media types are checked for size only, and multipart responses by part.
		{"text", others, 200, "text/plain; charset=utf-8", nil, "5", "ok"},
		{"wrong text", others, 200, "text/plain", nil, "x", " type"},
		{"form", others, 200, "application/x-www-form-urlencoded", nil, "a=1", "ok"},
		{"wrong form", others, 200, "application/x-www-form-urlencoded", nil, "a=x", "/a type"},
		{"parts", others, 200, multipartType, nil, string(parts), "ok"},
		{"wrong part", others, 200, wrongType, nil, string(wrong), "/title minLength"},
		{"no parts", others, 200, multipartType, nil, "x", "The body is not valid multipart/form-data."},
		{"stream", others, 200, "video/mp4", nil, "\xff", "ok"},
		{"long stream", others, 200, "video/mp4", nil, "abcd", " maxLength"},
		{"headers", others, 202, "", http.Header{"Location": {"/a"}, "X-List": {"1, 2"}, "X-Json": {"{}"}}, "", "ok"},
		{"wrong headers", others, 202, "", http.Header{"X-List": {"1,x"}, "X-Json": {"["}}, "", "header:Location required, header:X-Json content, header:X-List/1 type"},
		{"body of a 202", others, 202, "text/plain", http.Header{"Location": {"/a"}}, "a", "The document declares no body for the status 202."},
		{"304", others, 304, "text/plain", http.Header{"Etag": {"a"}}, "", "ok"},
		{"304 without header", others, 304, "", nil, "", "header:ETag required"},
		{"HEAD", head, 200, "", http.Header{"X-A": {"a"}}, "", "ok"},
	} {
		header := http.Header{}
		maps.Copy(header, c.header)
		if c.mediaType != "" {
			header.Set("Content-Type", c.mediaType)
		}
		err := failure(t, c.o.Response(c.status, header, []byte(c.body)))
		if got := violations(err); got != c.want || err != nil && err.Status != 500 {
			t.Errorf("%s: got %v, want %q", c.name, err, c.want)
		}
	}
}

// ResponseHeader checks the header of a response before its body exists, and reports whether the body is
// streamed and has items.
func TestOperation_ResponseHeader_reportsStreams(t *testing.T) {
	t.Parallel()
	o := operationOf(t, "GET", `{"responses": {"200": {"description": "d", "content": {"application/json": {}, "video/*": {}, "application/jsonl": {"itemSchema": {}}},
		"headers": {"X-A": {"schema": {"type": "integer"}}}}, "204": {"description": "d"}}}`, anyObject, validate.Config{})
	for _, c := range []struct {
		status        int
		mediaType, xA string
		stream, items bool
		want          string
	}{
		{200, "video/mp4", "1", true, false, "ok"},
		{200, "application/jsonl", "1", true, true, "ok"},
		{200, "application/jsonl", "x", true, false, "header:X-A type"},
		{200, "video/mp4", "x", true, false, "header:X-A type"},
		{200, "application/json", "1", false, false, "ok"},
		{204, "", "", false, false, "ok"},
		{200, "text/plain", "1", false, false, "The document does not declare this content type for the status 200."},
		{404, "text/plain", "1", false, false, "The document does not declare the status 404."},
	} {
		stream, items, err := o.ResponseHeader(c.status, http.Header{"Content-Type": {c.mediaType}, "X-A": {c.xA}})
		if got := violations(failure(t, err)); got != c.want || stream != c.stream || (items != nil) != c.items {
			t.Errorf("%v: got %q, stream %v, items %v", c, got, stream, items)
		}
	}
}
