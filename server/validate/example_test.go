package validate_test

import (
	"context"
	"errors"
	"fmt"
	"log"
	"net/http"
	"net/http/httptest"
	"strings"

	"github.com/avatarstudio/avatarstudio/server/validate"
)

// spec has two paths of which http.ServeMux could serve only one.
var spec = []byte(`openapi: 3.1.0
info: {title: Files, version: 1.0.0}
security: [{key: []}]
paths:
  /files/{id}:
    parameters: [{$ref: '#/components/parameters/id'}]
    get: {operationId: getFile, responses: {'200': {description: The file.}}}
  /files/{id}:check:
    parameters: [{$ref: '#/components/parameters/id'}]
    post:
      operationId: checkFile
      requestBody:
        required: true
        content: {application/json: {schema: {type: object, required: [sum], properties: {sum: {type: string}}}}}
      responses: {'200': {description: Whether it has this sum.}}
components:
  parameters: {id: {name: id, in: path, required: true, schema: {type: string, maxLength: 20}}}
  securitySchemes: {key: {type: apiKey, in: header, name: X-Key}}
`)

func getFile(w http.ResponseWriter, r *http.Request) { fmt.Fprintln(w, "file", r.PathValue("id")) }

func checkFile(w http.ResponseWriter, r *http.Request) { fmt.Fprintln(w, "check", r.PathValue("id")) }

// A document in front of handlers of your own.
func Example() {
	authenticate := func(r *http.Request, _ *validate.Operation) (context.Context, error) {
		if r.Header.Get("X-Key") != "secret" { // or leave this to others with validate.NoSecurity
			return nil, errors.New("wrong key")
		}
		return r.Context(), nil
	}
	validator, err := validate.Load(spec, validate.Config{Security: authenticate})
	if err != nil {
		log.Fatal(err)
	}
	handlers := map[string]http.HandlerFunc{"getFile": getFile, "checkFile": checkFile} // by operationId
	handler := validator.Middleware(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		operation, _ := validate.OperationFrom(r.Context())
		handlers[operation.ID()](w, r) // r matches the document
	}))

	request := func(method, target, key, body string) {
		r := httptest.NewRequest(method, target, strings.NewReader(body))
		r.Header.Set("X-Key", key)
		r.Header.Set("Content-Type", "application/json")
		answer := httptest.NewRecorder()
		handler.ServeHTTP(answer, r)
		fmt.Println(answer.Code, answer.Header().Get("Allow"), strings.TrimSpace(answer.Body.String()))
	}
	request("GET", "/files/report", "secret", "")
	request("POST", "/files/report:check", "secret", `{"sum":"a9"}`)
	request("POST", "/files/report:check", "secret", `{"sum":9}`)
	request("POST", "/files/report:check", "", `{"sum":"a9"}`)
	request("PUT", "/files/report", "secret", "")
	// Output:
	// 200  file report
	// 200  check report
	// 400  {"title":"Bad Request","status":400,"detail":"The request does not match the interface.","errors":[{"pointer":"/sum","keyword":"type","detail":"must be a string"}]}
	// 401  {"title":"Unauthorized","status":401,"detail":"The credentials are missing or not valid."}
	// 405 GET, HEAD {"title":"Method Not Allowed","status":405,"detail":"This path does not support this method."}
}
