package docs_test

import (
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"github.com/chromedp/chromedp"
	"github.com/chromedp/chromedp/kb"

	"github.com/avatarstudio/avatarstudio/api"
	"github.com/avatarstudio/avatarstudio/api/tools/harness"
	"github.com/avatarstudio/avatarstudio/server/docs"
	"github.com/avatarstudio/avatarstudio/server/internal/testing/browsertest"
	"github.com/avatarstudio/avatarstudio/server/internal/web/guide"
)

func TestMain(m *testing.M) { browsertest.Main{M: m}.Run() }

// operation returns the selector for an operation on the page.
func operation(tag, id string) string { return "#operations-" + tag + "-" + id }

// execute sends the request and waits for the response.
func execute(operation string) chromedp.Action[chromedp.Void] {
	return chromedp.Steps(chromedp.Click(operation+" button.execute"), chromedp.WaitVisible(operation+" .live-responses-table .highlight-code"))
}

func serveStudio(t *testing.T) string {
	t.Helper()
	reference := handler(t, string(api.Spec), docs.Config{BasePath: "/studio", Samples: api.Samples, Guide: guide.Path + "/"})
	pages := harness.Try(guide.New())(t)
	mux := http.NewServeMux()
	mux.Handle("/", reference)
	mux.Handle(guide.Path+"/", pages)
	mux.HandleFunc("/studio/", func(w http.ResponseWriter, _ *http.Request) { http.Error(w, "who?", http.StatusUnauthorized) })
	s := httptest.NewServer(mux)
	t.Cleanup(s.Close)
	return s.URL
}

// The page shows operations and webhooks, folds errors, copies samples, and is accessible in windows of all sizes, in
// light and dark mode. All parts share one page, which takes the browser seconds of CPU time. That requests reach the
// origin with the token of who logged in, TestDocs_tryOperations of studiod holds.
func TestPage(t *testing.T) {
	t.Parallel()
	harness.SkipShort(t, "the browser takes seconds of CPU time for it")
	url := serveStudio(t)
	tab := browsertest.Open(t, url)
	create, webhook := operation("Avatars", "createAvatar"), operation("webhooks", "notifyAvatarEvent")
	tab.Do(chromedp.Navigate(url+"/docs"), chromedp.WaitVisible(create), chromedp.WaitVisible(operation("Projects", "listProjects")),
		chromedp.Click(webhook+" button.opblock-summary-control"), chromedp.WaitVisible(webhook+" .opblock-body"))
	if title := browsertest.Read(tab, chromedp.Title()); title != "Avatar and Video Project Service" {
		t.Errorf("the title is %q", title)
	}
	tab.Await(".webhooks > h2", "Events")
	text := browsertest.Read(tab, chromedp.Text(webhook))
	for _, part := range []string{
		"webhook-id", "webhook-timestamp", "webhook-signature", "webhook-sequence", `"event_type": "avatar_event"`, "410",
	} {
		if !strings.Contains(text, part) {
			t.Errorf("the webhook does not show %s:\n%s", part, text)
		}
	}
	testSamples(t, tab)
	testExtensions(t, tab)
	tab.Accepted = []string{"heading-order", "landmark-unique", "region"} // of Swagger UI
	tab.Do(chromedp.Click(create+" button.try-out__btn"), execute(create), chromedp.Click(create+" .error-control"), chromedp.Click(".models-control"))
	tab.Faults() // the 401, because no user is logged in
	tab.Inspect("docs")
	for _, scheme := range []string{"light", "dark"} {
		tab.Prefer(browsertest.ColorScheme, scheme)
		background := browsertest.Read(tab, chromedp.Evaluate[string](`new Promise(resolve =>
			requestAnimationFrame(() => requestAnimationFrame(() => resolve(getComputedStyle(document.body).backgroundColor))))`, chromedp.EvalAwaitPromise))
		if isDark := background != "rgb(255, 255, 255)"; isDark != (scheme == "dark") {
			t.Errorf("the background is %s where %s is preferred", background, scheme)
		}
	}
	tab.Visit(guide.Path+"/receivers", "main h1")
	tab.Accepted = nil
	tab.Inspect("guide")
}

// testSamples selects a language with the keyboard and copies the program. The selected language is kept for the next
// operation.
func testSamples(t *testing.T, tab *browsertest.Tab) {
	t.Helper()
	for _, language := range []struct{ tag, id, keys, extension, secure string }{
		{"Avatars", "createAvatar", "", "sh", ""},
		{"Lip-syncs", "createLipsync", kb.ArrowRight + kb.ArrowRight + kb.ArrowRight, "py", ""},
		// As over plain HTTP, where the clipboard is not available.
		{"Videos", "createVideo", "", "py", `Object.defineProperty(navigator, 'clipboard', {value: undefined, configurable: true})`},
	} {
		part := operation(language.tag, language.id)
		tab.Do(chromedp.Click(part+" button.opblock-summary-control"), chromedp.WaitVisible(part+" .code-sample"),
			chromedp.Focus(part+" .code-sample input:checked"), chromedp.KeyEvent(language.keys),
			chromedp.Evaluate[chromedp.Void](language.secure+";undefined"),
			chromedp.Focus(part+" .code-sample button"), chromedp.KeyEvent(kb.Enter))
		tab.Await(part+" .code-sample [role=status]", "Copied")
		tab.Do(chromedp.Evaluate[chromedp.Void](`delete navigator.clipboard && undefined`))
		want := harness.Try(api.Samples.ReadFile("_samples/" + language.id + "." + language.extension))(t)
		if copied := tab.Clipboard(); strings.TrimSpace(copied) != strings.TrimSpace(string(want)) {
			t.Errorf("%s: copied %q", language.id, copied)
		}
	}
}

// testExtensions checks that operations that the interface does not show have a badge, and that a reader opens an error
// to see more than its first sentence. The operations are open.
func testExtensions(t *testing.T, tab *browsertest.Tab) {
	t.Helper()
	create := operation("Videos", "createVideo")
	badges := func(operation string) int {
		return browsertest.Read(tab, chromedp.Evaluate[int](`document.querySelectorAll("`+operation+` .badge").length`))
	}
	if marked, shown := badges(create), badges(operation("Avatars", "createAvatar")); marked != 1 || shown != 0 {
		t.Errorf("an extension has %d badges, and another operation %d", marked, shown)
	}
	if height := browsertest.Read(tab, chromedp.Evaluate[int](`document.querySelector("`+create+`").offsetHeight`)); height > 3600 {
		t.Errorf("the operation is %d pixels high", height)
	}
	if text := browsertest.Read(tab, chromedp.Text(create)); !strings.Contains(text, "The caller has no such record.") || strings.Contains(text, "There is no such record.") {
		t.Errorf("the errors are not folded:\n%s", text)
	}
	tab.Do(chromedp.Focus(create+" .error:nth-of-type(5) .error-control"), chromedp.KeyEvent(kb.Enter))
	tab.Await(create+" .error + .response[data-code='404']", "There is no such record.")
	for _, done := range []string{create, operation("Lip-syncs", "createLipsync")} { // a long page is slow
		tab.Do(chromedp.Click(done + " button.opblock-summary-control"))
	}
}

// A document with other servers, served below a prefix.
func TestPage_showsForeignDocuments(t *testing.T) {
	t.Parallel()
	harness.SkipShort(t, "the browser takes seconds of CPU time for it")
	mux := http.NewServeMux()
	mux.Handle("/help/", http.StripPrefix("/help", handler(t, pets, docs.Config{BasePath: "/v2"})))
	mux.HandleFunc("GET /v2/pets", func(w http.ResponseWriter, _ *http.Request) { _, _ = io.WriteString(w, "a cat") })
	s := httptest.NewServer(mux)
	t.Cleanup(s.Close)
	tab := browsertest.Open(t, s.URL)
	id := operation("default", "listPets")
	tab.Do(chromedp.Navigate(s.URL+"/help/docs"), chromedp.Click(id+" button.opblock-summary-control"),
		chromedp.Click(id+" button.try-out__btn"), execute(id))
	if answer := browsertest.Read(tab, chromedp.Text(id+" .live-responses-table")); !strings.Contains(answer, "a cat") {
		t.Errorf("the answer is not that of this origin:\n%s", answer)
	}
	if samples := browsertest.Read(tab, chromedp.Text(id+" .code-sample")); !strings.Contains(samples, "<b>Perl</b>") || !strings.Contains(samples, "<script>") {
		t.Errorf("the samples are not shown as text:\n%s", samples)
	}
	odd := operation("default", "addPet")
	tab.Do(chromedp.Click(odd+" button.opblock-summary-control"), chromedp.WaitVisible(odd+" .responses-wrapper"))
	if markup := browsertest.Read(tab, chromedp.OuterHTML(".info")); strings.Contains(markup, "<script") || !strings.Contains(markup, "All of them.") {
		t.Errorf("the description is not shown as text:\n%s", markup)
	}
	if title := browsertest.Read(tab, chromedp.Title()); title != "Pets </title><script>alert(1)</script>" {
		t.Errorf("the title is %q", title)
	}
}
