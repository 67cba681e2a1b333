package docs_test

import (
	"compress/gzip"
	"encoding/json"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"testing/fstest"

	"github.com/google/go-cmp/cmp"

	"github.com/avatarstudio/avatarstudio/api/tools/harness"
	"github.com/avatarstudio/avatarstudio/server/docs"
)

// pets is a foreign JSON document with other servers and hostile texts.
const pets = `{
	"openapi": "3.0.3",
	"x-limit": 9223372036854775807,
	"x-escaped": "\ud83d\ude00 \/",
	"info": {"title": "Pets </title><script>alert(1)</script>", "version": "2", "description": "<script>document.title = 'taken'</script>All of them."},
	"servers": [{"url": "https://api.example.com/v2"}],
	"paths": {"/pets": {
		"get": {"operationId": "listPets", "responses": {"200": {"description": "The pets."}}, "x-codeSamples": [
			{"lang": "<b>Perl</b>", "source": "<script>document.title = 'taken'</script>"}, {"lang": "Ada"}, null, 5]},
		"post": {"operationId": "addPet", "responses": {"200": {"description": "A pet."}}, "x-codeSamples": "none"}}}
}`

func handler(t *testing.T, document string, cfg docs.Config) http.Handler {
	t.Helper()
	return harness.Try(docs.New([]byte(document), cfg))(t)
}

func request(t *testing.T, h http.Handler, method, path string, header ...string) *http.Response {
	t.Helper()
	r := httptest.NewRequest(method, path, nil)
	for i := 0; i < len(header); i += 2 {
		r.Header.Add(header[i], header[i+1])
	}
	w := httptest.NewRecorder()
	h.ServeHTTP(w, r)
	return w.Result()
}

func body(t *testing.T, response *http.Response) string {
	t.Helper()
	content := harness.Try(io.ReadAll(response.Body))(t)
	return string(content)
}

func TestNew_servesTheDocumentUnchanged(t *testing.T) {
	t.Parallel()
	h := handler(t, pets, docs.Config{})
	if got := body(t, request(t, h, "GET", "/openapi.yaml")); got != pets {
		t.Errorf("the YAML is another: %s", got)
	}
	var got, want any
	asJSON := body(t, request(t, h, "GET", "/openapi.json"))
	harness.Check(t, json.Unmarshal([]byte(asJSON), &got))
	harness.Check(t, json.Unmarshal([]byte(pets), &want))
	if difference := cmp.Diff(want, got); difference != "" {
		t.Error(difference)
	}
	if !strings.Contains(asJSON, ":9223372036854775807}") {
		t.Errorf("a number is another: %s", asJSON)
	}
	h = handler(t, "openapi: 3.1.0\nx-date: 2026-01-02", docs.Config{})
	if got := body(t, request(t, h, "GET", "/openapi.json")); got != `{"openapi":"3.1.0","x-date":"2026-01-02"}` {
		t.Errorf("a date is another: %s", got)
	}
}

// Samples are in /openapi.json and on the page in the order of the languages. An operation with x-codeSamples
// keeps its own.
func TestNew_addsSamples(t *testing.T) {
	t.Parallel()
	const document = `{"openapi": "3.1.1", "info": {"title": "Pets"}, "paths": {"/pets": {
		"parameters": [],
		"get": {"operationId": "listPets"},
		"post": {"operationId": "addPet", "x-codeSamples": [{"lang": "Perl", "source": "own"}]},
		"delete": {"operationId": "pets/remove"}}}}`
	h := handler(t, document, docs.Config{Samples: fstest.MapFS{
		"a/listPets.py": {Data: []byte("<python>")}, "listPets.sh": {Data: []byte("curl")}, "addPet.go": {Data: []byte("go")},
		"pets%2Fremove.sh": {Data: []byte("rm")},
	}})
	listed := []any{
		map[string]any{"lang": "Shell", "label": "curl", "source": "curl"},
		map[string]any{"lang": "Python", "label": "Python", "source": "<python>"},
	}
	var served struct {
		Paths map[string]map[string]any `json:"paths"`
	}
	harness.Check(t, json.Unmarshal([]byte(body(t, request(t, h, "GET", "/openapi.json"))), &served))
	want := map[string]any{
		"parameters": []any{},
		"get":        map[string]any{"operationId": "listPets", "x-codeSamples": listed},
		"post":       map[string]any{"operationId": "addPet", "x-codeSamples": []any{map[string]any{"lang": "Perl", "source": "own"}}},
		"delete":     map[string]any{"operationId": "pets/remove", "x-codeSamples": []any{map[string]any{"lang": "Shell", "label": "curl", "source": "rm"}}},
	}
	if diff := cmp.Diff(want, served.Paths["/pets"]); diff != "" {
		t.Error(diff)
	}
	var samples map[string]any
	harness.Check(t, json.Unmarshal([]byte(body(t, request(t, h, "GET", "/docs/samples.json"))), &samples))
	if diff := cmp.Diff(any(listed), samples["listPets"]); diff != "" {
		t.Error(diff)
	}
}

func TestNew_rejectsInvalidDocumentsAndSamples(t *testing.T) {
	t.Parallel()
	for _, document := range []string{"", "a: [", `{"swagger": "2.0"}`, `{"openapi": ""}`, "openapi: 3.1"} {
		if _, err := docs.New([]byte(document), docs.Config{}); err == nil {
			t.Errorf("%q is served", document)
		}
	}
	const want = "docs: Config.Samples: samples of the unknown operation findPets"
	if _, err := docs.New([]byte(pets), docs.Config{Samples: fstest.MapFS{"findPets.sh": {}}}); err == nil || err.Error() != want {
		t.Errorf("error %v, want %s", err, want)
	}
}

// Each file has its type and an ETag for each encoding, and is not sent to clients that have it.
func TestNew_supportsConditionalRequests(t *testing.T) {
	t.Parallel()
	h := handler(t, pets, docs.Config{})
	etags := make(map[string]bool)
	for path, contentType := range map[string]string{
		"/docs": "text/html", "/docs/docs.js": "text/javascript", "/docs/docs.css": "text/css",
		"/docs/examples.js": "text/javascript", "/docs/samples.js": "text/javascript", "/docs/samples.json": "application/json",
		"/docs/swagger-ui.css": "text/css", "/docs/swagger-ui-bundle.js": "text/javascript",
		"/docs/LICENSE": "text/plain", "/docs/NOTICE": "text/plain", "/docs/swagger-ui-bundle.js.LICENSE.txt": "text/plain",
		"/openapi.yaml": "application/yaml", "/openapi.json": "application/json",
	} {
		for coding, want := range map[string]string{"br, gzip;q=0.8": "gzip", "br": "", "*, gzip;q=0.000": ""} {
			response := request(t, h, "HEAD", path, "Accept-Encoding", coding)
			if got := response.Header; response.StatusCode != http.StatusOK || !strings.HasPrefix(got.Get("Content-Type"), contentType) || got.Get("Content-Encoding") != want {
				t.Errorf("%s, %s: %s %v", path, coding, response.Status, got)
			}
			etag := response.Header.Get("ETag")
			etags[etag] = true
			again := request(t, h, "GET", path, "Accept-Encoding", coding, "If-None-Match", `"another", `+etag)
			if again.StatusCode != http.StatusNotModified || body(t, again) != "" {
				t.Errorf("%s, %s: %s to who has it", path, coding, again.Status)
			}
		}
	}
	if len(etags) != 2*13 {
		t.Errorf("%d different ETags", len(etags))
	}
	unpacked := harness.Try(gzip.NewReader(request(t, h, "GET", "/docs/docs.js", "Accept-Encoding", "gzip").Body))(t)
	if text, err := io.ReadAll(unpacked); err != nil || string(text) != body(t, request(t, h, "GET", "/docs/docs.js")) {
		t.Errorf("what is compressed is something else: %v", err)
	}
	if post := request(t, h, "POST", "/docs"); post.StatusCode != http.StatusMethodNotAllowed || post.Header.Get("Allow") != "GET, HEAD" {
		t.Errorf("POST: %s, Allow %q", post.Status, post.Header.Get("Allow"))
	}
	if got := request(t, h, "GET", "/docs/swagger-ui/swagger-ui.css.gz").StatusCode; got != http.StatusNotFound {
		t.Errorf("an embedded file is served by its own name: %d", got)
	}
}

func TestNew_allowsNoForeignContent(t *testing.T) {
	t.Parallel()
	h := handler(t, pets, docs.Config{})
	page := request(t, h, "GET", "/docs")
	policy := page.Header.Get("Content-Security-Policy")
	if !strings.Contains(policy, "default-src 'none'") || strings.Contains(policy, "unsafe") || strings.Contains(policy, "http") {
		t.Errorf("Content-Security-Policy is %q", policy)
	}
	// A trailing slash redirects to the page, also below a prefix.
	redirect := request(t, http.StripPrefix("/help", h), "GET", "/help/docs/")
	if got := redirect.Header.Get("Location"); redirect.StatusCode != http.StatusPermanentRedirect || got != "../docs" {
		t.Errorf("%s to %q", redirect.Status, got)
	}
	if text := body(t, page); strings.Contains(text, "<script>") || !strings.Contains(text, "<title>Pets &lt;/title&gt;") {
		t.Errorf("the title is not text:\n%s", text)
	}
}
