package server_test

import (
	"encoding/json"
	"fmt"
	"maps"
	"net/http"
	"net/http/httptest"
	"net/url"
	"slices"
	"strings"
	"testing"

	"github.com/getkin/kin-openapi/openapi3"

	"github.com/avatarstudio/avatarstudio/api"
	"github.com/avatarstudio/avatarstudio/server"
)

const canary = "c4n4ry"

// No response and no log line contains a value that the caller sent, wherever the caller puts it and whether
// or not it is valid. All operations are unimplemented, because an implementation may return such values.
func TestHandler_echoesNoSubmittedValue(t *testing.T) {
	t.Parallel()
	document, err := openapi3.NewLoader().LoadFromData(api.Spec)
	check(t, err)
	handler, log := setup(t, server.Unimplemented{})
	sent := 0
	for path, item := range document.Paths.Map() {
		for method, operation := range item.Operations() {
			for place, request := range canaries(method, path, operation) {
				sent++
				response := httptest.NewRecorder()
				handler.ServeHTTP(response, request)
				answer := fmt.Sprint(response.Code, response.Header(), response.Body)
				if strings.Contains(strings.ToLower(answer), canary) {
					t.Errorf("%s %s with the value in %s answers %s", method, path, place, answer)
				}
			}
		}
	}
	if strings.Contains(strings.ToLower(log.String()), canary) {
		t.Errorf("the log shows the value: %s", log)
	}
	if sent < 100 {
		t.Errorf("only %d requests", sent)
	}
}

// canaries returns requests that have value in one place of the operation each, by place.
func canaries(method, path string, operation *openapi3.Operation) map[string]*http.Request {
	requests := make(map[string]*http.Request)
	send := func(place, target, body string, header ...string) {
		request := httptest.NewRequest(method, target, strings.NewReader(body))
		request.Header.Set("Authorization", "Bearer good")
		request.Header.Set("Content-Type", "application/json")
		for i := 0; i < len(header); i += 2 {
			request.Header.Set(header[i], header[i+1])
		}
		requests[place] = request
	}
	for _, name := range []string{
		"Authorization", "Content-Type", "Content-Encoding", "Cookie", "Referer", "User-Agent", "X-Forwarded-For", "X-" + canary,
	} {
		send("header "+name, path, `{}`, name, canary)
	}
	send("a bearer token", path, `{}`, "Authorization", "Bearer "+canary)
	send("a request id", path, `{}`, "X-Request-Id", canary+" ")
	send("an unknown query", path+"?"+canary+"="+canary, `{}`)
	for _, parameter := range operation.Parameters {
		if parameter.Value.Name == "X-Request-Id" {
			continue // a valid request id is echoed
		}
		for _, value := range []string{canary, strings.Repeat(canary, 100)} {
			place := fmt.Sprintf("%s of %d bytes", parameter.Value.Name, len(value))
			if parameter.Value.In == openapi3.ParameterInHeader {
				send(place, path, `{}`, parameter.Value.Name, value)
				continue
			}
			query := parameter.Value.Name + "=" + url.QueryEscape(value)
			send(place, path+"?"+query, `{}`)
			send(place+" twice", path+"?"+query+"&"+query, `{}`)
			send(place+" badly escaped", path+"?"+query+"%zz", `{}`)
		}
	}
	for _, body := range []string{
		canary, `"` + canary + `"`, `["` + canary + `"]`, `{"` + canary + `":"` + canary + `"}`, `{"` + canary + `":1,"` + canary + `":1}`,
		`{"a":"` + canary + "\xff" + `"}`, `{} ` + canary, strings.Repeat(`{"`+canary+`":`, 100),
	} {
		send("the body "+body, path, body)
	}
	if operation.RequestBody == nil {
		return requests
	}
	media := operation.RequestBody.Value.Content.Get("application/json")
	if media == nil {
		for documented := range operation.RequestBody.Value.Content {
			contentType := strings.ReplaceAll(documented, "*", canary)
			send("a body of "+documented, path, canary, "Content-Type", contentType)
			send("a parameter of "+documented, path, canary, "Content-Type", contentType+"; "+canary+"="+canary)
		}
		return requests
	}
	properties := media.Schema.Value.Properties
	for _, name := range slices.Sorted(maps.Keys(properties)) {
		for _, value := range []any{canary, []string{canary}, map[string]string{canary: canary}} {
			body, err := json.Marshal(map[string]any{name: value})
			if err != nil {
				panic(err)
			}
			send(fmt.Sprintf("%s as %T", name, value), path, string(body))
		}
		send(name+" in another case", path, `{"`+strings.ToUpper(name)+`":"`+canary+`"}`)
	}
	return requests
}
