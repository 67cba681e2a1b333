package api_test

import (
	"fmt"
	"maps"
	"slices"
	"strings"
	"testing"
)

// exceptions are what an operation takes and answers besides what follows from its shape.
type exception struct {
	parameters []string
	success    string // default 200
	statuses   []string
}

func exceptions() map[string]exception {
	const key = "Idempotency-Key in header"
	page := []string{"limit in query", "cursor in query", "status in query"}
	return map[string]exception{
		"login":               {statuses: []string{"401", "429"}},
		"refreshTokens":       {statuses: []string{"401"}},
		"listProjects":        {parameters: []string{"x-workspace-id in header, required"}, statuses: []string{"403"}},
		"createAvatar":        {parameters: []string{key}},
		"createVideo":         {parameters: []string{key}, statuses: []string{"404"}},
		"submitConsent":       {statuses: []string{"404", "409"}},
		"getAvatar":           {parameters: []string{"avatar_id in query, required"}, statuses: []string{"404"}},
		"getVideo":            {parameters: []string{"inference_id in query, required"}, statuses: []string{"404"}},
		"createLipsync":       {parameters: []string{key}},
		"listAvatars":         {parameters: page},
		"listVideos":          {parameters: append([]string{"avatar_id in query"}, page...)},
		"listLipsyncs":        {parameters: page},
		"deleteAvatar":        {success: "204", statuses: []string{"404"}},
		"deleteVideo":         {success: "204", statuses: []string{"404"}},
		"deleteLipsync":       {success: "204", statuses: []string{"404"}},
		"rotateWebhookSecret": {statuses: []string{"429"}},
		"testWebhook":         {statuses: []string{"422", "429"}},
		"getLipsync":          {parameters: []string{"inference_id in query, required"}, statuses: []string{"404"}},
	}
}

// An operation has the parameters and the answers that its shape asks for and the exceptions list,
// and no others.
func TestDocument_operationsTakeAndAnswerWhatTheirShapeSays(t *testing.T) {
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
		if strings.HasPrefix(name, "webhook ") {
			wantSame(t, name, parameters, []string{
				"webhook-id in header", "webhook-sequence in header", "webhook-signature in header", "webhook-timestamp in header",
			})
			wantSame(t, name, statuses, []string{"2XX", "410", "4XX", "default"})
			return
		}
		special := left[id]
		delete(left, id)
		wantSame(t, name, parameters, append([]string{"X-Request-Id in header"}, special.parameters...))
		wantSame(t, name, statuses, append(expected(operation, parameters, special), special.statuses...))
	})
	for id := range left {
		t.Errorf("there is no operation %s", id)
	}
}

// expected returns the statuses that follow from the shape of an operation.
func expected(operation object, parameters []string, special exception) []string {
	statuses := []string{"400", "500", "501", "503"}
	if special.success == "" {
		special.success = "200"
	}
	statuses = append(statuses, special.success)
	if security, _ := operation["security"].([]any); len(security) > 0 {
		statuses = append(statuses, "401")
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

// Answers carry the headers that their status asks for.
func TestDocument_answersHaveTheirHeaders(t *testing.T) {
	t.Parallel()
	document := loadObject(t)
	for _, test := range []struct {
		response string
		headers  []string
	}{
		{"Unauthorized", []string{"WWW-Authenticate"}},
		{"TooManyRequests", []string{"Retry-After"}},
		{"ServiceUnavailable", []string{"Retry-After"}},
	} {
		headers := document.at("components", "responses", test.response, "headers")
		for _, name := range test.headers {
			if document.resolve(headers.at(name)) == nil {
				t.Errorf("%s has no header %s", test.response, name)
			}
		}
	}
	document.eachOperation(func(name string, operation object) {
		for status, component := range map[string]string{"401": "Unauthorized", "429": "TooManyRequests", "503": "ServiceUnavailable"} {
			if response := operation.at("responses", status); response != nil && response["$ref"] != "#/components/responses/"+component {
				t.Errorf("%s %s is not %s", name, status, component)
			}
		}
	})
}
