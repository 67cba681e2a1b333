package studiotest

import (
	"net/http"
	"strings"
	"testing"
)

// A response that is not fully documented is rejected, even if clients would accept it.
func TestAnswers_rejectUndocumentedParts(t *testing.T) {
	t.Parallel()
	checker := NewResponseChecker(t)
	const path, good = "/users/login", `{"access_token":"a","refresh_token":"b"}`
	problem := `{"type":"about:blank","title":"Unauthorized","status":401}`
	for _, test := range []struct {
		name   string
		status int
		body   string
		header string // "Name: value" in addition to the content type
		ok     bool
	}{
		{"as documented", 200, good, "", true},
		{"a header that any answer may have", 200, good, "Cache-Control: no-store", true},
		{"one more member", 200, `{"access_token":"a","refresh_token":"b","expires_in":1}`, "", false},
		{"one member less", 200, `{"access_token":"a"}`, "", false},
		{"one more header", 200, good, "X-Powered-By: go", false},
		{"another status", 202, good, "", false},
		{"not JSON", 200, "", "", false},
		{"an error with its header", 401, problem, "Www-Authenticate: Bearer", true},
		{"an error without its header", 401, problem, "", false},
		{"an error with one more member", 401, strings.Replace(problem, "{", `{"secret":1,`, 1), "Www-Authenticate: Bearer", false},
	} {
		header := http.Header{"Content-Type": {"application/json"}, "X-Request-Id": {"1"}}
		if test.status == http.StatusUnauthorized {
			header.Set("Content-Type", "application/problem+json")
		}
		if name, value, ok := strings.Cut(test.header, ": "); ok {
			header.Set(name, value)
		}
		if err := checker.check(http.MethodPost, path, test.status, header, []byte(test.body)); (err == nil) != test.ok {
			t.Errorf("%s: %v", test.name, err)
		}
	}
}
