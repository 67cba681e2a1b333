package pathtemplate_test

import (
	"net/http/httptest"
	"strings"
	"testing"

	"github.com/avatarstudio/avatarstudio/api/tools/harness"
	"github.com/avatarstudio/avatarstudio/server/internal/pathtemplate"
)

func TestTemplate_Match(t *testing.T) {
	t.Parallel()
	for _, test := range []struct{ template, path, want string }{
		{"/a", "a", "no"},
		{"/a b/é", "/a%20b/%c3%a9", ""},
		{"/a%20b", "/a%20b", ""},
		{"/a/{id}", "/a/x%2Fy", "x%2Fy"},
		{"/a/{id}", "/a/", "no"},
		{"/a/{id}", "/a/%2E%2e", "no"},
		{"/a/{id}", "/a/...", "..."},
		{"/a/{id}/b/{c}", "/a/1/c/2", "no"},
		{"/jobs/{id}:cancel", "/jobs/7:8:cancel", "7:8"},
		{"/jobs/{id}:cancel", "/jobs/:cancel", "no"},
		{"/jobs/{id}:cancel", "/jobs/cancel", "no"},
		{"/jobs/{id}:cancel", "/jobs/7:cancels", "no"},
		{"/files/{id}.json", "/files/..json", "no"},
		{"/files/é-{id}", "/files/%C3%A9-1", "1"},
		{"/files/%c3%a9-{id}", "/files/%c3%a9-1", "1"},
		{"/files('{id}')", "/files('1')", "1"},
		{"/files/%3A{id}[*]!", "/files/%3A1[*]!", "1"},
		{"/v{major}", "/v", "no"},
		{"/v{major}", "/w1", "no"},
		{"/{from}-{to}", "/1-2-3", "1 2-3"},
		{"/{from}-{to}", "/--2", "- 2"},
		{"/{from}-{to}", "/1-", "no"},
		{"/{from}-{to}", "/12", "no"},
		{"/x{a}.{b}y", "/x1.2y", "1 2"},
		{"/x{a}.{b}y", "/x1.y", "no"},
	} {
		template := harness.Try(pathtemplate.Parse(test.template))(t)
		values, ok := template.Match(test.path)
		got := strings.Join(values, " ")
		if !ok {
			got = "no"
		}
		if got != test.want {
			t.Errorf("%s and %s: got %q, want %q", test.template, test.path, got, test.want)
		}
	}
}

func TestParse_rejectsWhatIsNoParameter(t *testing.T) {
	t.Parallel()
	for _, path := range []string{"/{", "/}", "/{a", "/a}", "/{}", "/{{a}}", "/{a/b}", "/{a}/{a}", "/{a}{b}", "/x{a}-{a}"} {
		if _, err := pathtemplate.Parse(path); err == nil {
			t.Errorf("%s is accepted", path)
		}
	}
}

// The most specific route serves a request. The request gets the same pattern and path values as from http.ServeMux.
func TestRoutes_Find(t *testing.T) {
	t.Parallel()
	var routes pathtemplate.Routes[string]
	for _, pattern := range []string{
		"GET /", "GET /plain", "HEAD /plain", "GET /slash/", "GET /of/{id}", "DELETE /of/{id}",
		"PUT /of/me", "GET /of/{id}.json", "POST /of/{id}:cancel", "GET /of/{id}/{part}", "GET /{any}/me/{part}", "GET /a%20b",
	} {
		method, path, _ := strings.Cut(pattern, " ")
		harness.Check(t, routes.Add(method, path, pattern))
	}
	for request, want := range map[string]string{
		"GET /plain":           "GET /plain",
		"HEAD /plain":          "HEAD /plain",
		"GET /pl%61in":         "GET /plain",
		"POST /plain":          "405 GET, HEAD",
		"GET /plain/":          "404",
		"GET /":                "GET /",
		"GET /slash/":          "GET /slash/",
		"GET /slash/more":      "404",
		"HEAD /of/7":           "GET /of/{id} id=7",
		"DELETE /of/a%2Fb%20c": "DELETE /of/{id} id=a/b c",
		"GET /a%2520b":         "404",
		"PUT /of/me":           "PUT /of/me",
		"GET /of/me":           "GET /of/{id} id=me",
		"POST /of/me":          "405 DELETE, GET, HEAD, PUT",
		"GET /of/a.b.json":     "GET /of/{id}.json id=a.b",
		"GET /of/.json":        "GET /of/{id} id=.json",
		"POST /of/7:cancel":    "POST /of/{id}:cancel id=7",
		"GET /of/7:cancel":     "GET /of/{id} id=7:cancel",
		"POST /of/7%3Acancel":  "405 DELETE, GET, HEAD",
		"GET /of/..":           "404",
		"GET //7":              "404",
		"GET /by/me/1":         "GET /{any}/me/{part} part=1 any=by",
	} {
		method, target, _ := strings.Cut(request, " ")
		r := httptest.NewRequestWithContext(t.Context(), method, target, nil)
		got, allow, ok := routes.Find(r)
		switch {
		case !ok && allow == "":
			got = "404"
		case !ok:
			got = "405 " + allow
		case got != r.Pattern:
			t.Errorf("%s: the pattern is %s", request, r.Pattern)
		}
		for _, name := range []string{"id", "part", "any"} {
			if value := r.PathValue(name); value != "" {
				got += " " + name + "=" + value
			}
		}
		if got != want {
			t.Errorf("%s: got %s, want %s", request, got, want)
		}
	}
}
