package studiotest

import (
	"bytes"
	"fmt"
	"io"
	"mime"
	"net/http"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"

	"github.com/oasdiff/yaml"
	"github.com/santhosh-tekuri/jsonschema/v6"

	"github.com/avatarstudio/avatarstudio/api"
)

// ResponseChecker checks responses against the document, more strictly than clients do. A member, header or status
// that the document does not name is an error. It is safe for concurrent use.
type ResponseChecker struct {
	document map[string]any
	schemas  map[string]*jsonschema.Schema // by the JSON pointer of the schema
}

// commonHeaders are allowed on every response.
var commonHeaders = []string{
	"Allow", "Cache-Control", "Connection", "Content-Length", "Content-Type", "Date", "Transfer-Encoding",
	"X-Content-Type-Options", "X-Request-Id",
}

// NewResponseChecker returns a checker of the embedded document. The document is parsed once per process.
func NewResponseChecker(t testing.TB) *ResponseChecker {
	t.Helper()
	checker, err := readResponseChecker()
	if err != nil {
		t.Fatal(err)
	}
	return checker
}

var readResponseChecker = sync.OnceValues(func() (*ResponseChecker, error) {
	data, err := yaml.YAMLToJSON(api.Spec)
	if err != nil {
		return nil, err
	}
	document, err := jsonschema.UnmarshalJSON(bytes.NewReader(data))
	if err != nil {
		return nil, err
	}
	c := &ResponseChecker{document: document.(map[string]any), schemas: make(map[string]*jsonschema.Schema)} //nolint:forcetypeassert // a document is an object
	for name, schema := range at(c.document, "components", "schemas") {
		if name != "Project" { // imported projects keep members that the document does not name
			closeObjects(schema)
		}
	}
	compiler := jsonschema.NewCompiler()
	compiler.AssertFormat()
	if err := compiler.AddResource("openapi.json", document); err != nil {
		return nil, err
	}
	for path, item := range at(c.document, "paths") {
		for method, operation := range item.(map[string]any) { //nolint:forcetypeassert // as above
			for status := range at(operation, "responses") {
				response, pointer := c.response(path, method, status)
				for media := range at(response, "content") {
					place := pointer + "/content/" + escape(media) + "/schema"
					if c.schemas[place], err = compiler.Compile("openapi.json#" + place); err != nil {
						return nil, err
					}
				}
			}
		}
	}
	return c, nil
})

// Check fails the test if a response is not as documented.
func (c *ResponseChecker) Check(t testing.TB, method, path string, status int, header http.Header, body []byte) {
	t.Helper()
	if err := c.check(method, path, status, header, body); err != nil {
		t.Errorf("%s %s: response %d does not match the document: %v", method, path, status, err)
	}
}

func (c *ResponseChecker) check(method, path string, status int, header http.Header, body []byte) error {
	if at(c.document, "paths", path, strings.ToLower(method)) == nil {
		return nil // the response, a 404 or 405, belongs to no operation
	}
	response, pointer := c.response(path, strings.ToLower(method), strconv.Itoa(status))
	if response == nil {
		return fmt.Errorf("the operation has no such status")
	}
	documented := at(response, "headers")
	for name := range documented {
		if header.Get(name) == "" && !strings.HasPrefix(name, "RateLimit") { // only some rate limits have these headers
			return fmt.Errorf("header %s is missing", name)
		}
	}
	for name := range header {
		if !slices.Contains(commonHeaders, name) && !hasHeader(documented, name) {
			return fmt.Errorf("header %s is not documented", name)
		}
	}
	if at(response, "content") == nil {
		if len(body) > 0 {
			return fmt.Errorf("there must be no body")
		}
		return nil
	}
	media, _, err := mime.ParseMediaType(header.Get("Content-Type"))
	if err != nil {
		return err
	}
	schema := c.schemas[pointer+"/content/"+escape(media)+"/schema"]
	if schema == nil {
		return fmt.Errorf("content type %s is not documented", media)
	}
	value, err := jsonschema.UnmarshalJSON(bytes.NewReader(body))
	if err != nil {
		return err
	}
	return schema.Validate(value)
}

// response returns the documented response for a status, with its JSON pointer.
func (c *ResponseChecker) response(path, method, status string) (response map[string]any, pointer string) {
	pointer = "/paths/" + escape(path) + "/" + method + "/responses/" + status
	response = at(c.document, "paths", path, method, "responses", status)
	if ref, ok := response["$ref"].(string); ok {
		pointer = strings.TrimPrefix(ref, "#")
		response = at(c.document, strings.Split(strings.TrimPrefix(pointer, "/"), "/")...)
	}
	return response, pointer
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

func hasHeader(documented map[string]any, name string) bool {
	for header := range documented {
		if strings.EqualFold(header, name) {
			return true
		}
	}
	return false
}

// at returns the object at a path of names, or nil if there is none.
func at(value any, names ...string) map[string]any {
	object, _ := value.(map[string]any)
	for _, name := range names {
		object, _ = object[name].(map[string]any)
	}
	return object
}

func escape(name string) string {
	return strings.NewReplacer("~", "~0", "/", "~1").Replace(name)
}
