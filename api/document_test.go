package api_test

import (
	"errors"
	"fmt"
	"io"
	"net/http"
	"strings"
	"testing"

	"github.com/santhosh-tekuri/jsonschema/v6"

	"github.com/avatarstudio/avatarstudio/api"
	"github.com/avatarstudio/avatarstudio/api/runtime/stream"
	"github.com/avatarstudio/avatarstudio/api/tools/harness"
	"github.com/avatarstudio/avatarstudio/server/validate"
)

// Every request, response and event has an example, and all examples are valid. An optional parameter of an operation
// has none, because Swagger UI would send it.
func TestDocument_examplesMatchTheirSchemas(t *testing.T) {
	t.Parallel()
	document := loadObject(t)
	compiler := jsonschema.NewCompiler()
	compiler.AssertFormat()
	harness.Check(t, compiler.AddResource("openapi.json", map[string]any(document)))
	validator := harness.Try(validate.Load(api.Spec, validate.Config{}))(t)
	checkStream := func(where, media string, body object) {
		method, path, _ := strings.Cut(strings.TrimSuffix(where, " 200"), " ")
		operation, ok := validator.Operation(method, path)
		if !ok {
			t.Fatal(where)
		}
		for name := range body.at("content", media, "examples") {
			text, _ := document.resolve(body.at("content", media, "examples", name))["value"].(string)
			reader := harness.Try(stream.NewReader(strings.NewReader(text), media, 1<<20))(t)
			_, items, err := operation.ResponseHeader(http.StatusOK, http.Header{"Content-Type": {media}, "X-Request-Id": {"id"}})
			harness.Check(t, err)
			frame, err := reader.Next()
			for ; err == nil; frame, err = reader.Next() {
				if err := items.Check(frame); err != nil {
					t.Errorf("api/openapi.yaml: %s example %s: %v", where, name, err)
				}
			}
			if !errors.Is(err, io.EOF) || len(frame.Data) > 0 {
				t.Errorf("api/openapi.yaml: %s example %s: %v", where, name, err)
			}
		}
	}
	check := func(where string, body object) {
		for media := range body.at("content") {
			if body.at("content", media, "x-itemSchema") != nil {
				checkStream(where, media, body)
				continue
			}
			schema, err := compiler.Compile(fmt.Sprint("openapi.json", body.at("content", media, "schema")["$ref"]))
			if err != nil {
				t.Errorf("api/openapi.yaml: %s: %v", where, err)
				continue
			}
			examples := body.at("content", media, "examples")
			if len(examples) == 0 && !strings.HasSuffix(media, "/*") { // an example of a file would show nothing
				t.Errorf("api/openapi.yaml: %s %s has no example", where, media)
			}
			for name := range examples {
				if err := schema.Validate(document.resolve(examples.at(name))["value"]); err != nil {
					t.Errorf("api/openapi.yaml: %s example %s: %v", where, name, err)
				}
			}
		}
	}
	document.eachOperation(func(name string, operation object) {
		check(name+" request", operation.at("requestBody"))
		for status := range operation.at("responses") {
			check(name+" "+status, document.resolve(operation.at("responses", status)))
		}
		for _, reference := range operation.list("parameters") {
			p := document.resolve(reference)
			wanted := p["required"] == true || strings.HasPrefix(name, "webhook ")
			if wanted != (p["example"] != nil) || p["examples"] != nil {
				t.Errorf("api/openapi.yaml: %s: parameter %s is required (%v), and its example is %v", name, p["name"], p["required"], p["example"])
			}
		}
	})
}
