package api_test

import (
	"fmt"
	"maps"
	"slices"
	"strings"
	"testing"
)

// constraints returns the constraints of the document other than types, formats, values and required members. The
// interface does not state them; they are decisions of this project. Other elements must accept any value of their type.
func constraints() map[string]string {
	const (
		id      = "maxLength=128 minLength=1"
		members = "maxProperties=1000"
	)
	return map[string]string{
		"parameters/AvatarID":       id,
		"parameters/InferenceID":    id,
		"parameters/LipsyncID":      id,
		"parameters/WorkspaceID":    "minLength=1",
		"parameters/IdempotencyKey": "maxLength=255 minLength=1 pattern=^[!-~]+$",
		"parameters/EventTimestamp": "pattern=^[0-9]{1,19}$",
		"parameters/EventSequence":  "minimum=1",
		"parameters/AvatarFilter":   id,
		"parameters/PageCursor":     "maxLength=512 minLength=1",
		"parameters/PageLimit":      "default=20 maximum=100 minimum=1",
		"parameters/RequestID":      "pattern=^[A-Za-z0-9._~+/=:@-]{1,128}$",
		"headers/RequestID":         "pattern=^[A-Za-z0-9._~+/=:@-]{1,128}$",
		"headers/RetryAfter":        "minimum=1",

		"WebhookData":            members,
		"WebhookSwitch":          members,
		"CreateAvatarRequest":    members,
		"CreateVideoRequest":     members,
		"CreateLipsyncRequest":   members,
		"ConsentRequest":         members,
		"DeleteAvatarRequest":    members,
		"DeleteInferenceRequest": members,
		"WebhookTestRequest":     members,

		"SyncMode":                            "enum=[bounce loop cut_off silence remap]",
		"InferenceStatus":                     "enum=[processing succeeded failed]",
		"RefreshRequest refresh_token":        "minLength=1",
		"CreateVideoRequest avatar_id":        id,
		"ConsentRequest avatar_id":            id,
		"DeleteAvatarRequest avatar_id":       id,
		"DeleteInferenceRequest inference_id": id,
		"Avatar progress":                     "maximum=100 minimum=0",
		"Video progress":                      "maximum=100 minimum=0",
		"Lipsync progress":                    "maximum=100 minimum=0",
		"EventData":                           "additionalProperties=true",
		"Media size":                          "minimum=0",
		"WebhookAttempt duration_ms":          "minimum=0",
		"Problem status":                      "maximum=599 minimum=400",
		"Problem errors":                      "maxItems=32",
	}
}

// free contains the keywords that are no constraints, and those that other tests check, except for the values that the
// interface does not show.
var free = map[string]bool{
	"$ref": true, "type": true, "format": true, "enum": true, "const": true, "required": true, "properties": true,
	"items": true, "oneOf": true, "allOf": true, "discriminator": true, "title": true, "description": true,
	"examples": true, "example": true,
}

func TestDocument_hasOnlyTheListedConstraints(t *testing.T) {
	t.Parallel()
	want := constraints()
	loadObject(t).eachSchema(func(name string, schema object) {
		var found []string
		for _, keyword := range slices.Sorted(maps.Keys(schema)) {
			_, isObject := schema[keyword].(map[string]any)
			decided := keyword == "enum" && schema["x-interface"] == "extension"
			if free[keyword] && !decided || strings.HasPrefix(keyword, "x-") || keyword == "additionalProperties" && isObject {
				continue // eachSchema visits it separately
			}
			found = append(found, fmt.Sprintf("%s=%v", keyword, schema[keyword]))
		}
		if !slices.ContainsFunc([]string{"type", "$ref", "oneOf", "allOf"}, func(keyword string) bool { return schema[keyword] != nil }) &&
			!strings.HasSuffix(name, " additionalProperties") {
			t.Errorf("%s has no type", name)
		}
		if got := strings.Join(found, " "); got != want[name] {
			t.Errorf("%s has the constraints %q, want %q", name, got, want[name])
		}
		delete(want, name)
	})
	for name := range want {
		t.Errorf("%s does not exist", name)
	}
}

func TestDocument_requiredMembersAreNotNullable(t *testing.T) {
	t.Parallel()
	document := loadObject(t)
	document.eachSchema(func(name string, schema object) {
		required, _ := schema["required"].([]any)
		for _, member := range required {
			if nullable(document, schema.at("properties", fmt.Sprint(member))) {
				t.Errorf("%s %s is required and nullable", name, member)
			}
		}
	})
	for name, parameter := range document.at("components", "parameters") {
		if nullable(document, asObject(parameter).at("schema")) {
			t.Errorf("parameter %s is nullable", name)
		}
	}
}

func nullable(document, schema object) bool {
	schema = document.resolve(schema)
	if types, ok := schema["type"].([]any); ok && slices.Contains(types, any("null")) {
		return true
	}
	for _, keyword := range []string{"oneOf", "anyOf"} {
		for _, branch := range schema.list(keyword) {
			if branch["type"] == "null" || nullable(document, branch) {
				return true
			}
		}
	}
	return false
}

// Every element that the interface could document has x-interface, also if it is nested.
func TestDocument_nestedElementsCiteTheInterface(t *testing.T) {
	t.Parallel()
	document := loadObject(t)
	cites := func(name string, element object) {
		if section, _ := element["x-interface"].(string); section == "" {
			t.Errorf("%s has no x-interface", name)
		}
	}
	document.eachSchema(func(name string, schema object) {
		if last := name[strings.LastIndexByte(name, ' ')+1:]; last == "additionalProperties" || !strings.Contains(name, " ") && !strings.Contains(name, "/") {
			cites(name, schema)
		}
		for property := range schema.at("properties") {
			cites(name+" "+property, schema.at("properties", property))
		}
	})
	for _, group := range []string{"parameters", "headers", "securitySchemes"} {
		for name := range document.at("components", group) {
			cites(group+"/"+name, document.at("components", group, name))
		}
	}
	for _, group := range []string{"paths", "webhooks"} {
		for path := range document.at(group) {
			if item := document.at(group, path); item["parameters"] != nil || item["$ref"] != nil {
				t.Errorf("%s has parameters or $ref, which belong to its operations", path)
			}
		}
	}
	document.eachOperation(func(name string, operation object) {
		cites(name, operation)
		for _, parameter := range operation.list("parameters") {
			if parameter["$ref"] == nil {
				t.Errorf("%s has a parameter that is not a component", name)
			}
		}
	})
}
