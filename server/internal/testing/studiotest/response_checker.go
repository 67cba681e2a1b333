package studiotest

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"

	"github.com/oasdiff/yaml"

	"github.com/avatarstudio/avatarstudio/api"
	"github.com/avatarstudio/avatarstudio/api/tools/harness"
	"github.com/avatarstudio/avatarstudio/server/validate"
)

// ResponseChecker checks responses against the document, more strictly than clients and servers do. A member, header or
// status that the document does not name is an error. It is safe for concurrent use.
type ResponseChecker struct {
	document  map[string]any
	validator *validate.Validator
}

// commonHeaders are allowed on every response.
var commonHeaders = []string{
	"Allow", "Cache-Control", "Connection", "Content-Length", "Content-Type", "Date", "Transfer-Encoding",
	"X-Content-Type-Options", "X-Request-Id",
}

// NewResponseChecker returns a checker of the embedded document. The document is parsed once per process.
func NewResponseChecker(t testing.TB) *ResponseChecker {
	t.Helper()
	return harness.Try(readResponseChecker())(t)
}

var readResponseChecker = sync.OnceValues(func() (*ResponseChecker, error) {
	c := new(ResponseChecker)
	document, err := yaml.YAMLToJSON(api.Spec)
	if err == nil {
		err = json.Unmarshal(document, &c.document)
	}
	if err != nil {
		return nil, err
	}
	for name, schema := range at(c.document, "components", "schemas") {
		if name != "Project" { // imported projects keep members that the document does not name
			closeObjects(schema)
		}
	}
	if document, err = json.Marshal(c.document); err != nil {
		return nil, err
	}
	c.validator, err = validate.Load(document, validate.Config{})
	return c, err
})

// Check fails the test if a response is not as documented.
func (c *ResponseChecker) Check(t testing.TB, method, path string, status int, header http.Header, body []byte) {
	t.Helper()
	if err := c.check(method, path, status, header, body); err != nil {
		t.Errorf("%s %s: response %d does not match the document: %v", method, path, status, err)
	}
}

func (c *ResponseChecker) check(method, path string, status int, header http.Header, body []byte) error {
	operation, ok := c.validator.Operation(method, path)
	if !ok {
		return nil // the response, a 404 or 405, belongs to no operation
	}
	response := at(c.document, "paths", path, strings.ToLower(method), "responses", strconv.Itoa(status))
	if ref, ok := response["$ref"].(string); ok {
		response = at(c.document, strings.Split(strings.TrimPrefix(ref, "#/"), "/")...)
	}
	allowed := slices.Clone(commonHeaders)
	for name := range at(response, "headers") {
		allowed = append(allowed, http.CanonicalHeaderKey(name))
		if header.Get(name) == "" && !strings.HasPrefix(name, "RateLimit") { // only some rate limits have these headers
			return fmt.Errorf("header %s is missing", name)
		}
	}
	for name := range header {
		if !slices.Contains(allowed, name) {
			return fmt.Errorf("header %s is not documented", name)
		}
	}
	return operation.Response(status, header, body)
}

// Transport returns a RoundTripper that checks every response of next, except streams, which it must not wait for.
func (c *ResponseChecker) Transport(t testing.TB, next http.RoundTripper) http.RoundTripper {
	return checkingTransport{t, c, next}
}

type checkingTransport struct {
	t       testing.TB
	checker *ResponseChecker
	next    http.RoundTripper
}

func (c checkingTransport) RoundTrip(r *http.Request) (*http.Response, error) {
	response, err := c.next.RoundTrip(r)
	if err != nil || response.Header.Get("Content-Type") == "text/event-stream" {
		return response, err
	}
	body, err := io.ReadAll(response.Body)
	_ = response.Body.Close()
	if err != nil {
		return nil, err
	}
	response.Body = io.NopCloser(bytes.NewReader(body))
	c.checker.Check(c.t, r.Method, r.URL.Path, response.StatusCode, response.Header, body)
	return response, nil
}

// closeObjects makes every schema with properties reject other members.
func closeObjects(value any) {
	switch value := value.(type) {
	case map[string]any:
		if value["properties"] != nil && value["additionalProperties"] == nil {
			value["additionalProperties"] = false
		}
		for keyword, inner := range value {
			if keyword != "const" && keyword != "enum" && keyword != "example" && keyword != "examples" {
				closeObjects(inner)
			}
		}
	case []any:
		for _, inner := range value {
			closeObjects(inner)
		}
	}
}

// at returns the object at a path of names, or nil if there is none.
func at(value any, names ...string) map[string]any {
	object, _ := value.(map[string]any)
	for _, name := range names {
		object, _ = object[name].(map[string]any)
	}
	return object
}
