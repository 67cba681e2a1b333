package docs_test

import (
	"context"
	"errors"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"github.com/chromedp/chromedp"
	"github.com/chromedp/chromedp/kb"

	"github.com/avatarstudio/avatarstudio/api"
	"github.com/avatarstudio/avatarstudio/api/tools/harness"
	"github.com/avatarstudio/avatarstudio/gen"
	"github.com/avatarstudio/avatarstudio/server"
	"github.com/avatarstudio/avatarstudio/server/docs"
	"github.com/avatarstudio/avatarstudio/server/internal/testing/browsertest"
	"github.com/avatarstudio/avatarstudio/server/internal/web/guide"
)

func TestMain(m *testing.M) { browsertest.Main{M: m}.Run() }

// operation returns the selector for an operation on the page.
func operation(tag, id string) string { return "#operations-" + tag + "-" + id }

// unfold shows the fields of a request.
func unfold(operation string) chromedp.Action[chromedp.Void] {
	return chromedp.Steps(chromedp.Click(operation+" button.opblock-summary-control"), chromedp.Click(operation+" button.try-out__btn"))
}

// execute sends the request and waits for the response.
func execute(operation string) chromedp.Action[chromedp.Void] {
	return chromedp.Steps(chromedp.Click(operation+" button.execute"), chromedp.WaitVisible(operation+" .live-responses-table .highlight-code"))
}

// service has one user, and responds only to authenticated requests of that user.
type service struct {
	server.Unimplemented
}

func (service) Login(context.Context, gen.LoginRequestObject) (gen.LoginResponseObject, error) {
	return gen.Login200JSONResponse{AccessToken: "a-token", RefreshToken: "another"}, nil
}

func (service) ListProjects(ctx context.Context, _ gen.ListProjectsRequestObject) (gen.ListProjectsResponseObject, error) {
	caller, _ := server.PrincipalFrom(ctx)
	return gen.ListProjects200JSONResponse{Data: []gen.Project{{Title: new("Made by " + caller.UserID)}}, Size: 1}, nil
}

func serveStudio(t *testing.T) string {
	t.Helper()
	reference := handler(t, string(api.Spec), docs.Config{BasePath: "/studio", Samples: api.Samples, Guide: guide.Path + "/"})
	pages, err := guide.New()
	harness.Check(t, err)
	studio, err := server.New(service{}, server.Config{
		Authenticator: server.AuthenticatorFunc(func(_ context.Context, token string) (server.Principal, error) {
			if token != "a-token" {
				return server.Principal{}, errors.New("another token")
			}
			return server.Principal{UserID: "ada"}, nil
		}),
	})
	harness.Check(t, err)
	mux := http.NewServeMux()
	mux.Handle("/", reference)
	mux.Handle(guide.Path+"/", pages)
	mux.Handle("/studio/", http.StripPrefix("/studio", studio))
	s := httptest.NewServer(mux)
	t.Cleanup(s.Close)
	return s.URL
}

func TestPage_showsOperationsAndWebhooks(t *testing.T) {
	t.Parallel()
	url := serveStudio(t)
	tab := browsertest.Open(t, url)
	webhook := operation("webhooks", "notifyAvatarEvent")
	tab.Do(chromedp.Navigate(url+"/docs"),
		chromedp.WaitVisible(operation("Avatars", "createAvatar")),
		chromedp.WaitVisible(operation("Projects", "listProjects")),
		chromedp.Click(webhook+" button.opblock-summary-control"),
		chromedp.WaitVisible(webhook+" .opblock-body"))
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
}

// Operations that the interface does not show have a badge. A reader opens an error to see more than its first
// sentence.
func TestPage_marksExtensionsAndFoldsErrors(t *testing.T) {
	t.Parallel()
	harness.SkipShort(t, "the browser takes seconds of CPU time for it")
	url := serveStudio(t)
	tab := browsertest.Open(t, url)
	create := operation("Videos", "createVideo")
	tab.Do(chromedp.Navigate(url+"/docs"), chromedp.Click(create+" button.opblock-summary-control"), chromedp.WaitVisible(create+" .error-control"))
	badges := func(operation string) int {
		return browsertest.Read(tab, chromedp.Evaluate[int](`document.querySelectorAll("`+operation+` .badge").length`))
	}
	if marked, shown := badges(create), badges(operation("Avatars", "createAvatar")); marked != 1 || shown != 0 {
		t.Errorf("an extension has %d badges, and another operation %d", marked, shown)
	}
	if height := browsertest.Read(tab, chromedp.Evaluate[int](`document.querySelector("`+create+`").offsetHeight`)); height > 3000 {
		t.Errorf("the operation is %d pixels high", height)
	}
	if text := browsertest.Read(tab, chromedp.Text(create)); !strings.Contains(text, "The caller has no such record.") || strings.Contains(text, "There is no such record.") {
		t.Errorf("the errors are not folded:\n%s", text)
	}
	tab.Do(chromedp.Focus(create+" .error:nth-of-type(5) .error-control"), chromedp.KeyEvent(kb.Enter))
	tab.Await(create+" .error + .response[data-code='404']", "There is no such record.")
}

// A reader logs in on the page, and later requests have the token.
func TestPage_sendsRequestsToItsOrigin(t *testing.T) {
	t.Parallel()
	harness.SkipShort(t, "the browser takes seconds of CPU time for it")
	url := serveStudio(t)
	tab := browsertest.Open(t, url)
	login, list := operation("Users", "login"), operation("Projects", "listProjects")
	tab.Do(chromedp.Navigate(url+"/docs"), unfold(login), execute(login),
		unfold(list), chromedp.SendKeys(list+` tr[data-param-name="x-workspace-id"] input`, "films"), execute(list))
	if text := browsertest.Read(tab, chromedp.Text(list+" .live-responses-table")); !strings.Contains(text, "Made by ada") {
		t.Errorf("the projects are not those of who logged in:\n%s", text)
	}
}

// A reader selects a language with the keyboard and copies the program. The selected language is kept for the
// next operation.
func TestPage_copiesSamples(t *testing.T) {
	t.Parallel()
	harness.SkipShort(t, "the browser takes seconds of CPU time for it")
	url := serveStudio(t)
	tab := browsertest.Open(t, url)
	tab.Do(chromedp.Navigate(url + "/docs"))
	insecure := chromedp.Evaluate[chromedp.Void](`Object.defineProperty(navigator, 'clipboard', {value: undefined, configurable: true}) && undefined`)
	secure := chromedp.Evaluate[chromedp.Void](`delete navigator.clipboard && undefined`)
	for _, language := range []struct{ id, keys, extension string }{
		{"createAvatar", "", "sh"}, {"createLipsync", kb.ArrowRight + kb.ArrowRight + kb.ArrowRight, "py"}, {"createVideo", "", "py"},
	} {
		tag := map[string]string{"createAvatar": "Avatars", "createLipsync": "Lip-syncs", "createVideo": "Videos"}[language.id]
		part := operation(tag, language.id)
		tab.Do(chromedp.Click(part+" button.opblock-summary-control"), chromedp.WaitVisible(part+" .code-sample"),
			chromedp.Focus(part+" .code-sample input:checked"), chromedp.KeyEvent(language.keys),
			chromedp.Focus(part+" .code-sample button"))
		if language.id == "createVideo" { // as over plain HTTP, where the clipboard is not available
			tab.Do(insecure, chromedp.KeyEvent(kb.Enter))
			tab.Await(part+" .code-sample [role=status]", "Copied")
			tab.Do(secure)
		} else {
			tab.Do(chromedp.KeyEvent(kb.Enter))
			tab.Await(part+" .code-sample [role=status]", "Copied")
		}
		want, err := api.Samples.ReadFile("_samples/" + language.id + "." + language.extension)
		harness.Check(t, err)
		if copied := tab.Clipboard(); strings.TrimSpace(copied) != strings.TrimSpace(string(want)) {
			t.Errorf("%s: copied %q", language.id, copied)
		}
	}
}

// The page is accessible in windows of all sizes, in light and dark mode.
func TestPage_isAccessibleInAllWindows(t *testing.T) {
	t.Parallel()
	harness.SkipShort(t, "the browser takes seconds of CPU time for it")
	url := serveStudio(t)
	tab := browsertest.Open(t, url)
	create, webhook := operation("Avatars", "createAvatar"), operation("webhooks", "notifyAvatarEvent")
	tab.Do(chromedp.Navigate(url+"/docs"), chromedp.WaitVisible(create))
	tab.Accepted = []string{"heading-order", "landmark-unique", "region"} // of Swagger UI
	tab.Inspect("docs")
	tab.Do(unfold(create), execute(create), chromedp.Click(webhook+" button.opblock-summary-control"), chromedp.WaitVisible(webhook+" .opblock-body"),
		chromedp.Click(create+" .error-control"), chromedp.Click(".models-control"))
	tab.Faults() // the 401, because no user is logged in
	tab.Inspect("docs-open")
	for _, scheme := range []string{"light", "dark"} {
		tab.Prefer(scheme)
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
	tab.Do(chromedp.Navigate(s.URL+"/help/docs"), unfold(id), execute(id))
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
