package docs_test

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/chromedp/cdproto/emulation"
	"github.com/chromedp/cdproto/log"
	"github.com/chromedp/cdproto/network"
	"github.com/chromedp/cdproto/runtime"
	"github.com/chromedp/chromedp"

	"github.com/avatarstudio/avatarstudio/api"
	"github.com/avatarstudio/avatarstudio/gen"
	"github.com/avatarstudio/avatarstudio/server"
	"github.com/avatarstudio/avatarstudio/server/docs"
)

// tab is a tab of a real browser.
type tab struct {
	t   *testing.T
	ctx context.Context
}

// newTab opens a tab. The test fails when what the tab loads logs an error, or requests
// anything of another origin.
func newTab(t *testing.T, origin string) tab {
	t.Helper()
	path, err := exec.LookPath("chromium")
	if err != nil {
		if os.Getenv("CI") == "true" {
			t.Fatal(err)
		}
		t.Skipf("%v; it is a package of Debian's", err)
	}
	options := append(chromedp.DefaultExecAllocatorOptions[:], chromedp.ExecPath(path), chromedp.NoSandbox) // CI runs as root
	ctx, cancel := chromedp.NewExecAllocator(t.Context(), options...)
	t.Cleanup(cancel)
	ctx, cancel = context.WithTimeout(ctx, 5*time.Minute)
	t.Cleanup(cancel)
	ctx, cancel = chromedp.NewContext(ctx)

	var mu sync.Mutex
	var faults []string
	err = chromedp.Listen(ctx, func(event any) {
		var fault string
		switch event := event.(type) {
		case *network.EventRequestWillBeSent:
			if url := event.Request.URL; !strings.HasPrefix(url, origin+"/") && !strings.HasPrefix(url, "data:") {
				fault = "request to " + url
			}
		case *runtime.EventExceptionThrown:
			fault = "exception: " + event.ExceptionDetails.Text
		case *runtime.EventConsoleAPICalled:
			if event.Type == runtime.ConsoleAPICalledTypeError || event.Type == runtime.ConsoleAPICalledTypeWarning {
				fault = fmt.Sprintf("console: %s", event.Args[0].Value)
			}
		case *log.EventEntryAdded:
			if event.Entry.Level == log.EntryLevelError {
				fault = event.Entry.Text
			}
		}
		if fault != "" {
			mu.Lock()
			defer mu.Unlock()
			faults = append(faults, fault)
		}
	})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		cancel() // the listener is done
		mu.Lock()
		defer mu.Unlock()
		for _, fault := range faults {
			t.Error(fault)
		}
	})
	return tab{t, ctx}
}

func (tb tab) do(steps ...chromedp.Action[chromedp.Void]) {
	tb.t.Helper()
	if err := chromedp.Do(tb.ctx, steps...); err != nil {
		tb.t.Fatal(err)
	}
}

func read[T any](tb tab, action chromedp.Action[T]) T {
	tb.t.Helper()
	value, err := chromedp.Run(tb.ctx, action)
	if err != nil {
		tb.t.Fatal(err)
	}
	return value
}

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
	tab := newTab(t, url)
	webhook := operation("webhooks", "notifyAvatarEvent")
	tab.do(chromedp.Navigate(url+"/docs"),
		chromedp.WaitVisible(operation("Avatars", "createAvatar")),
		chromedp.WaitVisible(operation("Projects", "listProjects")),
		chromedp.Click(webhook+" button.opblock-summary-control"),
		chromedp.WaitVisible(webhook+" .opblock-body"))
	if title := read(tab, chromedp.Title()); title != "Avatar and Video Project Service" {
		t.Errorf("the title is %q", title)
	}
	text := read(tab, chromedp.Text(webhook))
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
	tab := newTab(t, url)
	login, list := operation("Users", "login"), operation("Projects", "listProjects")
	tab.do(chromedp.Navigate(url+"/docs"), unfold(login), execute(login),
		unfold(list), chromedp.SendKeys(list+` tr[data-param-name="x-workspace-id"] input`, "films"), execute(list))
	if text := read(tab, chromedp.Text(list+" .live-responses-table")); !strings.Contains(text, "Made by ada") {
		t.Errorf("the projects are not those of who logged in:\n%s", text)
	}
}

// Nothing is wider than the window, in light and dark.
func TestPage_fitsEveryWindow(t *testing.T) {
	t.Parallel()
	url := serveStudio(t)
	tab := newTab(t, url)
	webhook := operation("webhooks", "notifyAvatarEvent")
	tab.do(chromedp.Navigate(url+"/docs"), unfold(operation("Avatars", "createAvatar")),
		chromedp.Click(webhook+" button.opblock-summary-control"), chromedp.WaitVisible(webhook+" .opblock-body"))
	for _, width := range []int64{360, 768, 1440} {
		for _, scheme := range []string{"light", "dark"} {
			preference := []*emulation.MediaFeature{{Name: "prefers-color-scheme", Value: scheme}}
			if _, err := chromedp.Call(tab.ctx, emulation.SetEmulatedMedia, emulation.SetEmulatedMediaParams{Features: preference}); err != nil {
				t.Fatal(err)
			}
			tab.do(chromedp.EmulateViewport(width, 900))
			if needed := read(tab, chromedp.Evaluate[int64](`document.documentElement.scrollWidth`)); needed > width {
				t.Errorf("the page is %d pixels wide in %d, %s", needed, width, scheme)
			}
			background := read(tab, chromedp.Evaluate[string](`getComputedStyle(document.body).backgroundColor`))
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
	tab := newTab(t, s.URL)
	id := operation("default", "listPets")
	tab.do(chromedp.Navigate(s.URL+"/help/docs"), unfold(id), execute(id))
	if answer := read(tab, chromedp.Text(id+" .live-responses-table")); !strings.Contains(answer, "a cat") {
		t.Errorf("the answer is not that of this origin:\n%s", answer)
	}
	if markup := read(tab, chromedp.OuterHTML(".info")); strings.Contains(markup, "<script") || !strings.Contains(markup, "All of them.") {
		t.Errorf("the description is not shown as text:\n%s", markup)
	}
	if title := read(tab, chromedp.Title()); title != "Pets </title><script>alert(1)</script>" {
		t.Errorf("the title is %q", title)
	}
}
