package docs_test

import (
	"compress/gzip"
	"encoding/json"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/avatarstudio/avatarstudio/api"
	"github.com/avatarstudio/avatarstudio/gen"
	"github.com/avatarstudio/avatarstudio/server/docs"
)

// pets is a document of somebody else, in JSON, whose servers are elsewhere and whose texts are hostile.
const pets = `{
	"openapi": "3.0.3",
	"info": {"title": "Pets </title><script>alert(1)</script>", "version": "2", "description": "<script>document.title = 'taken'</script>All of them."},
	"servers": [{"url": "https://api.example.com/v2"}],
	"paths": {"/pets": {"get": {"operationId": "listPets", "responses": {"200": {"description": "The pets."}}}}}
}`

func handler(t *testing.T, document string, cfg docs.Config) http.Handler {
	t.Helper()
	h, err := docs.New([]byte(document), cfg)
	if err != nil {
		t.Fatal(err)
	}
	return h
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
	content, err := io.ReadAll(response.Body)
	if err != nil {
		t.Fatal(err)
	}
	return string(content)
}

func TestNew_servesTheDocumentAsItIs(t *testing.T) {
	t.Parallel()
	h := handler(t, string(api.Spec), docs.Config{})

	if got := body(t, request(t, h, "GET", "/openapi.yaml")); got != string(api.Spec) {
		t.Errorf("the YAML is another, of %d bytes", len(got))
	}
	var got, want any
	if err := json.Unmarshal([]byte(body(t, request(t, h, "GET", "/openapi.json"))), &got); err != nil {
		t.Fatal(err)
	}
	if err := json.Unmarshal([]byte(gen.Document), &want); err != nil {
		t.Fatal(err)
	}
	if difference := cmp.Diff(want, got); difference != "" {
		t.Error(difference)
	}
}

func TestNew_refusesWhatIsNoDocument(t *testing.T) {
	t.Parallel()
	for _, document := range []string{"", "a: [", "openapi", `{"info": 1}`, `{"swagger": "2.0"}`} {
		if _, err := docs.New([]byte(document), docs.Config{}); err == nil {
			t.Errorf("%q is served", document)
		}
	}
}

// Each file has an ETag of its own for each encoding, and is not sent to who has it.
func TestNew_sendsNothingTwice(t *testing.T) {
	t.Parallel()
	h := handler(t, string(api.Spec), docs.Config{})
	etags := make(map[string]bool)
	for path, contentType := range map[string]string{
		"/docs": "text/html", "/docs/docs.js": "text/javascript", "/docs/docs.css": "text/css",
		"/docs/swagger-ui.css": "text/css", "/docs/swagger-ui-bundle.js": "text/javascript",
		"/docs/LICENSE": "text/plain", "/docs/NOTICE": "text/plain", "/docs/swagger-ui-bundle.js.LICENSE.txt": "text/plain",
		"/openapi.yaml": "application/yaml", "/openapi.json": "application/json",
	} {
		plain := request(t, h, "GET", path)
		if plain.StatusCode != http.StatusOK || !strings.HasPrefix(plain.Header.Get("Content-Type"), contentType) {
			t.Fatalf("%s: %s %s", path, plain.Status, plain.Header.Get("Content-Type"))
		}
		compressed := request(t, h, "GET", path, "Accept-Encoding", "br, gzip;q=0.8")
		if coding := compressed.Header.Get("Content-Encoding"); coding != "gzip" {
			t.Fatalf("%s: Content-Encoding is %q", path, coding)
		}
		unpacked, err := gzip.NewReader(compressed.Body)
		if err != nil {
			t.Fatal(err)
		}
		if compressed.Body = io.NopCloser(unpacked); body(t, compressed) != body(t, plain) {
			t.Errorf("%s: what is compressed is something else", path)
		}
		for header, response := range map[string]*http.Response{"identity": plain, "gzip": compressed} {
			etag := response.Header.Get("ETag")
			if etag == "" || etags[etag] {
				t.Errorf("%s: ETag %s is not its own", path, etag)
			}
			etags[etag] = true
			again := request(t, h, "GET", path, "Accept-Encoding", header, "If-None-Match", `"another", `+etag)
			if again.StatusCode != http.StatusNotModified || body(t, again) != "" {
				t.Errorf("%s, %s: %s to who has it", path, header, again.Status)
			}
		}
		for _, coding := range []string{"br", "gzip;q=0", "*, gzip;q=0.000", "gzip;q=much", "identity"} {
			if got := request(t, h, "GET", path, "Accept-Encoding", coding).Header.Get("Content-Encoding"); got != "" {
				t.Errorf("%s is %s to who accepts %s", path, got, coding)
			}
		}
		if head := request(t, h, "HEAD", path); head.StatusCode != http.StatusOK || head.Header.Get("ETag") == "" {
			t.Errorf("HEAD %s: %s", path, head.Status)
		}
		if post := request(t, h, "POST", path); post.StatusCode != http.StatusMethodNotAllowed || post.Header.Get("Allow") != "GET, HEAD" {
			t.Errorf("POST %s: %s, Allow %q", path, post.Status, post.Header.Get("Allow"))
		}
	}
	if got := request(t, h, "GET", "/docs/swagger-ui/swagger-ui.css.gz").StatusCode; got != http.StatusNotFound {
		t.Errorf("an embedded file is served by its own name: %d", got)
	}
}

func TestNew_allowsNothingOfOthers(t *testing.T) {
	t.Parallel()
	h := handler(t, pets, docs.Config{})
	page := request(t, h, "GET", "/docs")
	policy := page.Header.Get("Content-Security-Policy")
	if !strings.Contains(policy, "default-src 'none'") || strings.Contains(policy, "unsafe") || strings.Contains(policy, "http") {
		t.Errorf("Content-Security-Policy is %q", policy)
	}
	if text := body(t, page); strings.Contains(text, "<script>") || !strings.Contains(text, "<title>Pets &lt;/title&gt;") {
		t.Errorf("the title is not text:\n%s", text)
	}
}

// A trailing slash leads to the page, below a prefix too.
func TestNew_redirectsBelowAPrefix(t *testing.T) {
	t.Parallel()
	response := request(t, http.StripPrefix("/help", handler(t, pets, docs.Config{})), "GET", "/help/docs/")
	if got := response.Header.Get("Location"); response.StatusCode != http.StatusPermanentRedirect || got != "../docs" {
		t.Errorf("%s to %q", response.Status, got)
	}
}
