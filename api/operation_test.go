package api_test

import (
	"fmt"
	"maps"
	"slices"
	"strings"
	"testing"
)

// exception contains the parameters and statuses of an operation that do not follow from the rules in expected.
type exception struct {
	parameters []string
	success    string // default 200
	statuses   []string
	idempotent bool // whether clients retry the request although it is a POST
}

func exceptions() map[string]exception {
	const key = "Idempotency-Key in header"
	page := []string{"limit in query", "cursor in query", "status in query"}
	return map[string]exception{
		"login":         {statuses: []string{"401", "429"}, idempotent: true},
		"refreshTokens": {statuses: []string{"401"}},
		"listProjects":  {parameters: []string{"x-workspace-id in header, required"}, statuses: []string{"403"}},
		"createAvatar":  {parameters: []string{key}},
		"createVideo":   {parameters: []string{key}, statuses: []string{"404"}},
		"submitConsent": {statuses: []string{"404", "409"}},
		"getAvatar":     {parameters: []string{"avatar_id in query, required"}, statuses: []string{"404"}},
		"getVideo":      {parameters: []string{"inference_id in query, required"}, statuses: []string{"404"}},
		"createLipsync": {parameters: []string{key}},
		"listAvatars":   {parameters: page},
		"listVideos":    {parameters: append([]string{"avatar_id in query"}, page...)},
		"listLipsyncs":  {parameters: page},
		"deleteAvatar":  {success: "204", statuses: []string{"404"}, idempotent: true},
		"deleteVideo":   {success: "204", statuses: []string{"404"}, idempotent: true},
		"deleteLipsync": {success: "204", statuses: []string{"404"}, idempotent: true},
		"testWebhook":   {statuses: []string{"422"}},
		"uploadMedia":   {success: "201"},
		"getLipsync":    {parameters: []string{"inference_id in query, required"}, statuses: []string{"404"}},
	}
}

func TestDocument_operationsHaveTheExpectedParametersAndResponses(t *testing.T) {
	t.Parallel()
	document := loadObject(t)
	left := exceptions()
	document.eachOperation(func(name string, operation object) {
		id := fmt.Sprint(operation["operationId"])
		var parameters []string
		for _, reference := range operation.list("parameters") {
			parameter := document.resolve(reference)
			text := fmt.Sprintf("%s in %s", parameter["name"], parameter["in"])
			if parameter["required"] == true {
				text += ", required"
			}
			parameters = append(parameters, text)
		}
		statuses := slices.Sorted(maps.Keys(operation.at("responses")))
		if event, ok := strings.CutPrefix(name, "webhook "); ok {
			wantSame(t, name, parameters, []string{
				"webhook-id in header", "webhook-sequence in header", "webhook-signature in header", "webhook-timestamp in header",
				"traceparent in header",
			})
			for i, status := range statuses {
				statuses[i] += " " + strings.TrimPrefix(fmt.Sprint(operation.at("responses", status)["$ref"]), "#/components/responses/")
			}
			wantSame(t, name, statuses, []string{"2XX EventAccepted", "410 EventGone", "4XX EventRejected", "default EventFailed"})
			if !strings.EqualFold(id, "notify"+strings.ReplaceAll(event, "_", "")) {
				t.Errorf("%s has the operationId %s", name, id)
			}
			return
		}
		special := left[id]
		delete(left, id)
		wantSame(t, name, parameters, append([]string{"X-Request-Id in header"}, special.parameters...))
		wantSame(t, name, statuses, append(expected(operation, parameters, special), special.statuses...))
		if idempotent := operation["x-idempotent"] == true; idempotent != special.idempotent {
			t.Errorf("%s has x-idempotent: %v", name, idempotent)
		}
	})
	for id := range left {
		t.Errorf("operation %s does not exist", id)
	}
}

// tagOf returns the tag of an operation: that of the records that it is about, or Extensions.
func tagOf(name string, operation object) string {
	if operation["x-interface"] == "extension" {
		return "Extensions"
	}
	for part, tag := range map[string]string{"users": "Users", "projects": "Projects", "avatar": "Avatars", "lipsync": "Lipsync"} {
		if strings.Contains(name, part) {
			return tag
		}
	}
	return ""
}

// All operations follow the same rules: one tag, a token or nothing, a required body, bodies with a schema, and
// callbacks for the events of a registration.
func TestDocument_operationsFollowTheSameRules(t *testing.T) {
	t.Parallel()
	document := loadObject(t)
	webhooks, tags := make(map[string][]string), make(map[string]bool)
	document.eachOperation(func(name string, operation object) {
		tag := tagOf(name, operation)
		tags[tag] = true
		if got := fmt.Sprint(operation["tags"]); got != "["+tag+"]" {
			t.Errorf("%s has the tags %s, want [%s]", name, got, tag)
		}
		if webhook, ok := strings.CutPrefix(name, "webhook "); ok {
			webhooks[tag] = append(webhooks[tag], "#/webhooks/"+webhook)
		}
		if got := fmt.Sprint(operation["security"]); got != "[]" && got != "[map[bearerAuth:[]]]" {
			t.Errorf("%s has the security %s", name, got)
		}
		body := operation.at("requestBody")
		if body != nil && body["required"] != true {
			t.Errorf("the request body of %s is not required", name)
		}
		wantSchemas(t, name, body, body != nil)
		for status, response := range operation.at("responses") {
			resolved := document.resolve(asObject(response))
			if reference := resolved.at("headers", "X-Request-Id")["$ref"]; reference != "#/components/headers/RequestID" && !strings.HasPrefix(name, "webhook ") {
				t.Errorf("%s %s has the X-Request-Id %v", name, status, reference)
			}
			wantSchemas(t, name+" "+status, resolved, status != "204" && !strings.HasPrefix(name, "webhook "))
		}
	})
	document.eachOperation(func(name string, operation object) {
		schema := document.resolve(operation.at("requestBody", "content", "application/json", "schema"))
		if schema.at("properties", "webhook_data") == nil {
			return
		}
		var got []string
		for callback := range operation.at("callbacks") {
			got = append(got, fmt.Sprint(operation.at("callbacks", callback, "{$request.body#/webhook_data/webhook_url}")["$ref"]))
		}
		wantSame(t, "callbacks of "+name, got, webhooks[tagOf(name, operation)])
	})
	var listed []string
	for _, tag := range document.list("tags") {
		listed = append(listed, fmt.Sprint(tag["name"]))
	}
	wantSame(t, "tags", listed, slices.Collect(maps.Keys(tags)))
}

// wantSchemas checks that each media type of a body is a component, and that there is one if the body must exist.
func wantSchemas(t *testing.T, name string, body object, exists bool) {
	t.Helper()
	content := body.at("content")
	if exists != (len(content) > 0) {
		t.Errorf("%s has %d media types", name, len(content))
	}
	for media := range content {
		if reference, _ := content.at(media, "schema")["$ref"].(string); reference == "" && !strings.HasSuffix(media, "/*") {
			t.Errorf("%s %s has no schema", name, media)
		}
	}
}

// expected returns the statuses that an operation must declare.
func expected(operation object, parameters []string, special exception) []string {
	statuses := []string{"400", "500", "501", "503"}
	if special.success == "" {
		special.success = "200"
	}
	statuses = append(statuses, special.success)
	if security, _ := operation["security"].([]any); len(security) > 0 {
		statuses = append(statuses, "401", "429")
	}
	if operation["requestBody"] != nil {
		statuses = append(statuses, "413", "415")
	}
	if slices.Contains(parameters, "Idempotency-Key in header") {
		statuses = append(statuses, "409", "422")
	}
	return statuses
}

func wantSame(t *testing.T, name string, got, want []string) {
	t.Helper()
	got, want = slices.Sorted(slices.Values(got)), slices.Sorted(slices.Values(want))
	if !slices.Equal(got, want) {
		t.Errorf("%s has %v, want %v", name, got, want)
	}
}

// A response has exactly the headers that its status requires.
func TestDocument_responsesHaveTheExpectedHeaders(t *testing.T) {
	t.Parallel()
	document := loadObject(t)
	headers := map[string]string{"401": "WWW-Authenticate", "429": "Retry-After", "503": "Retry-After"}
	document.eachOperation(func(name string, operation object) {
		if strings.HasPrefix(name, "webhook ") {
			return
		}
		for status := range operation.at("responses") {
			want := []string{"X-Request-Id"}
			if header := headers[status]; header != "" {
				want = append(want, header)
			}
			if status == "429" && fmt.Sprint(operation["operationId"]) != "login" { // login has no authenticated user
				want = append(want, "RateLimit", "RateLimit-Policy")
			}
			response := document.resolve(operation.at("responses", status))
			wantSame(t, name+" "+status, slices.Collect(maps.Keys(response.at("headers"))), want)
		}
	})
}

// An example of a problem has the status of its response. It mentions only parameters and members of its operation.
func TestDocument_problemExamplesMatchTheirOperation(t *testing.T) {
	t.Parallel()
	document := loadObject(t)
	document.eachOperation(func(name string, operation object) {
		for status := range operation.at("responses") {
			response := document.resolve(operation.at("responses", status))
			for example := range response.at("content", "application/problem+json", "examples") {
				problem := response.at("content", "application/problem+json", "examples", example, "value")
				if got := fmt.Sprint(problem["status"]); got != status {
					t.Errorf("%s %s example %s has the status %s", name, status, example, got)
				}
				for _, violation := range problem.list("errors") {
					if pointer := fmt.Sprint(violation["pointer"]); !document.accepts(operation, pointer) {
						t.Errorf("%s %s example %s has the unknown pointer %s", name, status, example, pointer)
					}
				}
			}
		}
	})
}

// accepts reports whether an operation has the parameter or the member that a pointer refers to.
func (d object) accepts(operation object, pointer string) bool {
	if in, name, ok := strings.Cut(pointer, ":"); ok {
		return slices.ContainsFunc(operation.list("parameters"), func(reference object) bool {
			parameter := d.resolve(reference)
			return parameter["in"] == in && parameter["name"] == name
		})
	}
	schema := d.resolve(operation.at("requestBody", "content", "application/json", "schema"))
	for member := range strings.SplitSeq(strings.TrimPrefix(pointer, "/"), "/") {
		schema = d.resolve(schema.at("properties", member))
		if union := schema.list("oneOf"); len(union) > 0 {
			schema = d.resolve(union[0])
		}
	}
	return schema != nil
}
