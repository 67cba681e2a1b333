package api_test

import (
	"maps"
	"slices"
	"strings"
	"testing"

	"github.com/getkin/kin-openapi/openapi3"
)

// Any project of the original service must decode, so no field is required and every field is nullable.
func TestContract_projectFieldsAreOptionalAndNullable(t *testing.T) {
	t.Parallel()
	project := load(t).Components.Schemas["Project"].Value
	if len(project.Properties) != 21 || len(project.Required) != 0 {
		t.Errorf("%d fields; required are %v", len(project.Properties), project.Required)
	}
	for name, ref := range project.Properties {
		union := ref.Value.OneOf
		nullable := ref.Value.Type.Includes("null") || len(union) == 2 && union[1].Value.Type.Is("null")
		if !nullable {
			t.Errorf("%s is not nullable", name)
		}
	}
}

func TestContract_creationsAcceptUnknownMembers(t *testing.T) {
	t.Parallel()
	document := load(t)
	for name, required := range map[string][]string{
		"CreateAvatarRequest": nil, "CreateLipsyncRequest": nil, "CreateVideoRequest": {"avatar_id"},
	} {
		schema := document.Components.Schemas[name].Value
		if !slices.Equal(schema.Required, required) {
			t.Errorf("%s requires %v, want %v", name, schema.Required, required)
		}
		if open := schema.AdditionalProperties.Schema; open == nil || open.Value.Type != nil {
			t.Errorf("%s does not keep unknown members", name)
		}
	}
}

// A notification has exactly these members: the type of the event, and the id and status of its subject.
func TestContract_notificationsHaveNoOtherMembers(t *testing.T) {
	t.Parallel()
	document := load(t)
	names := func(schema *openapi3.SchemaRef) []string { return slices.Sorted(maps.Keys(schema.Value.Properties)) }
	for webhook, data := range map[string][]string{
		"avatar_event":            {"avatar_id", "status"},
		"avatar_inference_event":  {"inference_id", "status"},
		"lipsync_inference_event": {"inference_id", "status"},
	} {
		item := document.Webhooks[webhook]
		schema := item.Post.RequestBody.Value.Content.Get("application/json").Schema
		if got := names(schema); !slices.Equal(got, []string{"data", "event_type"}) {
			t.Errorf("%s has the members %v", webhook, got)
		}
		if got := names(schema.Value.Properties["data"]); !slices.Equal(got, data) {
			t.Errorf("the data of %s has the members %v", webhook, got)
		}
		if got := item.Extensions["x-interface"]; got != "6.2" {
			t.Errorf("%s cites %v", webhook, got)
		}
	}
	if len(document.Webhooks) != 3 {
		t.Errorf("%d webhooks, want 3", len(document.Webhooks))
	}
}

func TestContract_responsesDeclareTheRequestID(t *testing.T) {
	t.Parallel()
	for path, item := range load(t).Paths.Map() {
		for method, operation := range item.Operations() {
			for status, response := range operation.Responses.Map() {
				if response.Value.Headers["X-Request-Id"] == nil {
					t.Errorf("%s of %s %s has no X-Request-Id", status, method, path)
				}
			}
		}
	}
}

// Every operation declares the errors that any operation can return.
func TestContract_operationsDeclareCommonErrors(t *testing.T) {
	t.Parallel()
	for path, item := range load(t).Paths.Map() {
		for method, operation := range item.Operations() {
			want := []string{"400", "500", "501", "503"}
			if len(*operation.Security) > 0 {
				want = append(want, "401", "429")
			}
			if operation.RequestBody != nil {
				want = append(want, "413", "415")
			}
			for _, status := range want {
				if operation.Responses.Value(status) == nil {
					t.Errorf("%s %s does not declare %s", method, path, status)
				}
			}
			tooMany := operation.Responses.Value("429")
			limited := tooMany != nil && tooMany.Ref != "#/components/responses/TooManyRequests" // every operation with a token is limited
			if limited != strings.Contains(operation.Description, "429") {
				t.Errorf("%s %s must declare 429 if and only if its description mentions it", method, path)
			}
		}
	}
}
