package server_test

import (
	"fmt"
	"strings"
	"testing"

	"github.com/getkin/kin-openapi/openapi3"

	"github.com/avatarstudio/avatarstudio/api"
	"github.com/avatarstudio/avatarstudio/server"
)

const canary = "c4n4ry"

// No response and no log line contains a value that the caller sent, wherever the caller puts it and whether
// or not it is valid. All operations are unimplemented, because an implementation may return such values. The test of
// package validate has the values of parameters and bodies.
func TestHandler_echoesNoSubmittedValue(t *testing.T) {
	t.Parallel()
	document := try(openapi3.NewLoader().LoadFromData(api.Spec))(t)
	handler, log := setup(t, server.Unimplemented{})
	sent := 0
	for path, item := range document.Paths.Map() {
		for method, operation := range item.Operations() {
			send := func(target, body string, header ...string) {
				sent++
				response := do(handler, method, target, body, append([]string{"Authorization", "Bearer good", "Content-Type", "application/json"}, header...)...)
				if answer := fmt.Sprint(response.Code, response.Header(), response.Body); strings.Contains(strings.ToLower(answer), canary) {
					t.Errorf("%s %s %s with the headers %q answers %s", method, target, body, header, answer)
				}
			}
			sendEverywhere(operation, path, send)
		}
	}
	if strings.Contains(strings.ToLower(log.String()), canary) {
		t.Errorf("the log shows the value: %s", log)
	}
	if sent < 100 {
		t.Errorf("only %d requests", sent)
	}
}

// sendEverywhere sends requests that have the canary in one place of the operation each.
func sendEverywhere(operation *openapi3.Operation, path string, send func(target, body string, header ...string)) {
	for _, name := range []string{"Content-Type", "Content-Encoding", "Cookie", "X-" + canary} {
		send(path, `{}`, name, canary)
	}
	send(path, `{}`, "Authorization", "Bearer "+canary)
	send(path, `{}`, "X-Request-Id", canary+" ")
	send(path+"?"+canary+"="+canary, `{}`)
	for _, parameter := range operation.Parameters {
		switch name := parameter.Value.Name; {
		case name == "X-Request-Id": // a valid request id is echoed
		case parameter.Value.In == openapi3.ParameterInHeader:
			send(path, `{}`, name, strings.Repeat(canary, 100))
		default:
			send(path+"?"+name+"="+strings.Repeat(canary, 100), `{}`)
		}
	}
	if operation.RequestBody == nil {
		return
	}
	for _, body := range []string{canary, `["` + canary + `"]`, `{"` + canary + `":"` + canary + `","` + canary + `":1}`, `{} ` + canary} {
		send(path, body)
	}
	for documented, media := range operation.RequestBody.Value.Content {
		send(path, canary, "Content-Type", strings.ReplaceAll(documented, "*", canary)+"; "+canary+"="+canary)
		for name := range media.Schema.Value.Properties {
			send(path, `{"`+name+`":"`+canary+`"}`)
		}
	}
}
