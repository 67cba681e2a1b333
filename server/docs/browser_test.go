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

	"github.com/avatarstudio/avatarstudio/api"
	"github.com/avatarstudio/avatarstudio/gen"
	"github.com/avatarstudio/avatarstudio/server"
	"github.com/avatarstudio/avatarstudio/server/docs"
	"github.com/avatarstudio/avatarstudio/server/internal/browsertest"
)

// operation selects the part of the page for an operation.
func operation(tag, id string) string { return "#operations-" + tag + "-" + id }

// unfold shows the fields of a request.
func unfold(operation string) chromedp.Action[chromedp.Void] {
	return chromedp.Steps(chromedp.Click(operation+" button.opblock-summary-control"), chromedp.Click(operation+" button.try-out__btn"))
}

// execute sends the request, and waits for the answer.
func execute(operation string) chromedp.Action[chromedp.Void] {
	return chromedp.Steps(chromedp.Click(operation+" button.execute"), chromedp.WaitVisible(operation+" .live-responses-table .highlight-code"))
}

// service knows one user, and that the user's requests are logged in.
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
	reference := handler(t, string(api.Spec), docs.Config{BasePath: "/studio"})
	studio, err := server.New(service{}, server.Config{
		BasePath: "/studio",
		Authenticator: server.AuthenticatorFunc(func(_ context.Context, token string) (server.Principal, error) {
			if token != "a-token" {
				return server.Principal{}, errors.New("another token")
			}
			return server.Principal{UserID: "ada"}, nil
		}),
	})
	if err != nil {
		t.Fatal(err)
	}
	mux := http.NewServeMux()
	mux.Handle("/", reference)
	mux.Handle("/studio/", studio)
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
	text := browsertest.Read(tab, chromedp.Text(webhook))
	for _, part := range []string{
		"webhook-id", "webhook-timestamp", "webhook-signature", "webhook-sequence", `"event_type": "avatar_event"`, "410",
	} {
		if !strings.Contains(text, part) {
			t.Errorf("the webhook does not show %s:\n%s", part, text)
		}
	}
}

// A reader logs in on the page, and the requests that follow have the token.
func TestPage_triesOperationsOnItsOrigin(t *testing.T) {
	t.Parallel()
	url := serveStudio(t)
	tab := browsertest.Open(t, url)
	login, list := operation("Users", "login"), operation("Projects", "listProjects")
	tab.Do(chromedp.Navigate(url+"/docs"), unfold(login), execute(login),
		unfold(list), chromedp.SendKeys(list+` tr[data-param-name="x-workspace-id"] input`, "films"), execute(list))
	if text := browsertest.Read(tab, chromedp.Text(list+" .live-responses-table")); !strings.Contains(text, "Made by ada") {
		t.Errorf("the projects are not those of who logged in:\n%s", text)
	}
}

// Nothing is wider than the window, in light and dark.
func TestPage_fitsEveryWindow(t *testing.T) {
	t.Parallel()
	url := serveStudio(t)
	tab := browsertest.Open(t, url)
	webhook := operation("webhooks", "notifyAvatarEvent")
	tab.Do(chromedp.Navigate(url+"/docs"), unfold(operation("Avatars", "createAvatar")),
		chromedp.Click(webhook+" button.opblock-summary-control"), chromedp.WaitVisible(webhook+" .opblock-body"))
	for _, width := range browsertest.Widths() {
		for _, scheme := range []string{"light", "dark"} {
			tab.Prefer(scheme)
			tab.Do(chromedp.EmulateViewport(width, 900))
			if needed := browsertest.Read(tab, chromedp.Evaluate[int64](`document.documentElement.scrollWidth`)); needed > width {
				t.Errorf("the page is %d pixels wide in %d, %s", needed, width, scheme)
			}
			background := browsertest.Read(tab, chromedp.Evaluate[string](`getComputedStyle(document.body).backgroundColor`))
			if isDark := background != "rgb(255, 255, 255)"; isDark != (scheme == "dark") {
				t.Errorf("the background is %s where %s is preferred", background, scheme)
			}
		}
	}
}

// A document that names other servers, mounted below a prefix.
func TestPage_showsDocumentsOfOthers(t *testing.T) {
	t.Parallel()
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
	if markup := browsertest.Read(tab, chromedp.OuterHTML(".info")); strings.Contains(markup, "<script") || !strings.Contains(markup, "All of them.") {
		t.Errorf("the description is not shown as text:\n%s", markup)
	}
	if title := browsertest.Read(tab, chromedp.Title()); title != "Pets </title><script>alert(1)</script>" {
		t.Errorf("the title is %q", title)
	}
}
