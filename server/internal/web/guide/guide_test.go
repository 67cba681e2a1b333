package guide_test

import (
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/avatarstudio/avatarstudio/api/tools/harness"
	"github.com/avatarstudio/avatarstudio/server/internal/web/guide"
)

// Each relative link of the guide, the README and the page for contributors leads to a file.
func TestLinks_resolve(t *testing.T) {
	t.Parallel()
	files := harness.Try(filepath.Glob("*.md"))(t)
	links := 0
	for _, file := range append(files, "../../../../README.md", "../../../../.github/CONTRIBUTING.md") {
		content := harness.Try(os.ReadFile(file))(t)
		prose := regexp.MustCompile("(?ms)^```.*?^```").ReplaceAllString(string(content), "")
		for _, link := range regexp.MustCompile(`\]\(([^)#]+)[^)]*\)`).FindAllStringSubmatch(prose, -1) {
			if strings.HasPrefix(link[1], "https:") {
				continue
			}
			links++
			if _, err := os.Stat(filepath.Join(filepath.Dir(file), link[1])); err != nil {
				t.Errorf("%s links to %s, which does not exist", file, link[1])
			}
		}
	}
	if links < 20 {
		t.Errorf("there are %d links", links)
	}
}

// The index lists each page. The pages have one title, are served with headings that have ids, and link to each other
// without the extension of the files.
func TestHandler_servesPages(t *testing.T) {
	t.Parallel()
	handler := harness.Try(guide.New())(t)
	get := func(method, path string) *httptest.ResponseRecorder {
		response := httptest.NewRecorder()
		http.StripPrefix("/help", handler).ServeHTTP(response, httptest.NewRequestWithContext(t.Context(), method, "/help"+path, nil))
		return response
	}
	paths := map[string]string{guide.Path + "/": "<h1 id=\"guide\">"}
	for _, page := range guide.Pages() {
		if paths[guide.Path+"/"+page.Name] = ">" + page.Title + "</h1>"; page.Title == "" || page.Summary == "" {
			t.Errorf("%s has the title %q and the summary %q", page.Name, page.Title, page.Summary)
		}
	}
	files, err := filepath.Glob("*.md")
	if harness.Check(t, err); len(paths) != len(files) {
		t.Errorf("%d pages are served, and there are the files %q", len(paths), files)
	}
	links := regexp.MustCompile(`href="([^"#:,]+)(?:#([^"]*))?"`)
	for path, title := range paths {
		response := get(http.MethodGet, path)
		text := response.Body.String()
		if response.Code != http.StatusOK || strings.Count(text, "<h1 ") != 1 || !strings.Contains(text, title) || strings.Contains(text, ".md") {
			t.Errorf("%s: status %d, %s", path, response.Code, text)
		}
		if policy := response.Header().Get("Content-Security-Policy"); !strings.HasPrefix(policy, "default-src 'none'; ") {
			t.Errorf("%s: Content-Security-Policy %q", path, policy)
		}
		for _, link := range links.FindAllStringSubmatch(text, -1) {
			if link[1] == "../../docs" {
				continue
			}
			target := get(http.MethodGet, guide.Path+"/"+strings.TrimPrefix(link[1], "./"))
			if target.Code != http.StatusOK || link[2] != "" && !strings.Contains(target.Body.String(), ` id="`+link[2]+`"`) {
				t.Errorf("%s links to %s, status %d", path, link[0], target.Code)
			}
		}
	}
	if response := get(http.MethodGet, guide.Path); response.Code != http.StatusPermanentRedirect || response.Header().Get("Location") != "guide/" {
		t.Errorf("status %d and Location %q without the slash", response.Code, response.Header().Get("Location"))
	}
	if get(http.MethodGet, guide.Path+"/operation.md").Code != http.StatusNotFound || get(http.MethodPost, guide.Path+"/operation").Code != http.StatusMethodNotAllowed {
		t.Error("other paths or methods are served")
	}
}
