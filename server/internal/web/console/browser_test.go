package console_test

import (
	"bytes"
	"errors"
	"fmt"
	"image"
	"image/color/palette"
	"image/gif"
	"net/http"
	"net/url"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/chromedp/chromedp"

	"github.com/avatarstudio/avatarstudio/api/tools/harness"
	"github.com/avatarstudio/avatarstudio/server/internal/store"
	"github.com/avatarstudio/avatarstudio/server/internal/studio"
	"github.com/avatarstudio/avatarstudio/server/internal/testing/browsertest"
	"github.com/avatarstudio/avatarstudio/server/internal/testing/studiotest"
	"github.com/avatarstudio/avatarstudio/server/internal/web/console"
)

func TestMain(m *testing.M) { browsertest.Main{M: m}.Run() }

// openTab opens a page of a user who is logged in.
func (s *site) openTab(t *testing.T, path string) *browsertest.Tab {
	t.Helper()
	tab := browsertest.Open(t, s.URL)
	for _, cookie := range s.signIn(t, email).http.Jar.Cookies(try(url.Parse(s.URL + console.Path))(t)) {
		tab.SetCookie(console.Path, cookie)
	}
	tab.Visit(path, ".bar nav")
	return tab
}

func TestBrowser_logsInWithKeyboardAndLoadsLittle(t *testing.T) {
	t.Parallel()
	harness.SkipShort(t, "the browser takes seconds of CPU time for it")
	s := newSite(t, newSQLite(t))
	tab := browsertest.Open(t, s.URL)
	tab.Visit("/console", "#email")
	tab.Inspect("login")
	tab.AwaitFocus("email")
	tab.Do(chromedp.KeyEvent(email + "\tguess\r"))
	tab.Await("[role=alert]", "The email or the password is wrong.")
	tab.Faults() // the error status
	tab.Inspect("login-wrong")
	tab.Do(chromedp.KeyEvent(password + "\r"))
	tab.Await("h1", "Avatars")
	if received := tab.Received(); received > 100_000 {
		t.Errorf("the first page needs %d bytes", received)
	}
	// The first focusable element skips the navigation.
	tab.Do(chromedp.KeyEvent("\t\r"))
	tab.AwaitFocus("main")
	tab.Do(chromedp.Click(".account button"), chromedp.WaitVisible("#email"))
}

// submit sends a form of the user to a path, and waits for the page that follows.
func submit(tab *browsertest.Tab, path string, form url.Values) {
	browsertest.Read(tab, chromedp.Evaluate[bool](fmt.Sprintf(`(() => {
		const form = Object.assign(document.createElement("form"), {method: "post", action: %q})
		for (const [name, value] of new URLSearchParams(%q)) form.append(Object.assign(document.createElement("input"), {name, value}))
		document.body.append(form)
		document.documentElement.dataset.old = true
		form.submit()
		return true
	})()`, path, form.Encode())))
	tab.Await("html:not([data-old]) h1", "")
}

// Every page fits each window and is accessible, with hostile and long texts. Its links and forms lead somewhere.
func TestBrowser_pagesAreAccessible(t *testing.T) {
	t.Parallel()
	harness.SkipShort(t, "the browser takes seconds of CPU time for it")
	s := newSite(t, newSQLite(t), func(cfg *console.Config) {
		cfg.Daemon = console.Daemon{Version: "v1.2.3", Started: time.Now(), Workers: 256, RenderWorkers: 3, Missing: "ffmpeg is not installed"}
		cfg.Backup = func() studio.BackupStatus {
			return studio.BackupStatus{Every: time.Hour, Last: time.Now().Add(-time.Hour), Size: 9_960, Failed: true}
		}
	})
	v := s.operator(t)
	project := func(title, status, thumbnail string) map[string]any {
		return map[string]any{
			"title": title, "status": status, "language": "english", "available_credits": 120, "utilised_credits": 5, "created_at": "2026-01-12T09:30:00Z",
			"thumbnail": thumbnail, "tags": map[string]any{"names": []string{"onboarding", "finance"}, "colors": []string{"#2D7FF9", "#F82B60"}},
		}
	}
	s.addProjects(t, project(hostile, "PUBLISHED", ""), project(strings.Repeat("Donaudampfschifffahrtsgesellschaft", 3), "draft", "https://media.example.com/a.png"))
	check(t, s.store.SeeDaemon(t.Context(), store.Daemon{
		ID: "01936f3e-7c00-7a3b-8c44-2f6f1f0a9d10", Host: "studio-7d9f8b6c5d-x2v4q.example.com", Version: "v0.0.0-20261123190801-70ef073c0000+dirty", Started: time.Now(),
	}))
	const dead = "https://dead.example.com:8443/a/long/path/that/goes/on/and/on?key=secret"
	check(t, s.store.SaveBreaker(t.Context(), store.Breaker{Origin: "https://dead.example.com:8443", Until: time.Now().Add(time.Hour)}))
	s.addEvent(t, dead, studio.Attempt{Failure: "connect"}, store.Outcome{State: studio.EventPending, RetryAt: time.Now().Add(2 * time.Hour)})
	s.addEvent(t, "https://gone.example.com/", studio.Attempt{Status: 410, Failure: "status"}, store.Outcome{State: studio.EventExhausted, Reason: studio.ReasonGone, DisableURL: true})
	event := s.addEvent(t, "https://hooks.example.com/?key=secret", studio.Attempt{
		Status: 500, Failure: "status", Duration: 80 * time.Millisecond, Address: "192.0.2.1:443", Excerpt: []byte("<h1>Internal Server Error</h1>" + hostile),
	}, store.Outcome{State: studio.EventExhausted, Reason: studio.ReasonSchedule})
	for i := range 8 {
		studiotest.AddUser(t, s.studio, fmt.Sprintf("user-%02d@mail%s.example.com", i, strings.Repeat("a-long-name", i%5)))
	}
	_, _, err := s.studio.AddAPIKey(t.Context(), studio.APIKey{UserID: s.user.ID, Name: "Nightly batch " + hostile})
	check(t, err)
	waiting, pending, published := s.create(t, studio.Avatar, "Ada "+hostile), s.create(t, studio.Avatar, "Bob"), s.createPublished(t, "Eve")
	check(t, s.studio.Progressed(t.Context(), waiting.ID, studio.Progress{Done: 0.4}))
	try(s.studio.Rendered(t.Context(), pending.ID, studio.Rendering{Checks: []studio.Check{{Name: "face", OK: true, Message: "One face is seen."}}}, nil))(t)
	failed := s.create(t, studio.Lipsync, "Take I")
	try(s.studio.Rendered(t.Context(), failed.ID, studio.Rendering{}, &studio.RenderError{Reason: "The recording has no sound."}))(t)
	link, _ := linkOf(t, v.post("/console/users/invite", url.Values{"email": {"carl@example.com"}}))

	tab, followed := s.openTab(t, "/console/service"), map[string]bool{}
	for _, page := range []struct {
		name, path string
		form       url.Values // nil for a page that is visited
		fails      bool       // whether its status is one of errors
	}{
		{name: "projects", path: "/console/projects"},
		{name: "video-new", path: "/console/videos/new?avatar_id=" + published.ID},
		{name: "avatars", path: "/console/avatars"},
		{name: "avatar-new-invalid", path: "/console/avatars/new", form: url.Values{"title": {hostile}, "webhook_url": {"https://refused.example/"}}, fails: true},
		{name: "avatar-processing", path: "/console/avatars/" + waiting.ID},
		{name: "avatar-consent", path: "/console/avatars/" + pending.ID},
		{name: "webhooks-test", path: "/console/webhooks/test", form: url.Values{"webhook_url": {"https://hooks.example.com/"}}},
		{name: "events", path: "/console/events"},
		{name: "event", path: "/console/events/" + event.ID},
		{name: "replay", path: "/console/events/replay", form: url.Values{"select": {"filter"}}},
		{name: "account-key", path: "/console/account/keys", form: url.Values{"name": {"Another"}}},
		{name: "users-invited", path: "/console/users/invite", form: url.Values{"email": {"dora@example.com"}}},
		{name: "user-delete", path: "/console/users/delete?email=user-07@maila-long-namea-long-name.example.com"},
		{name: "workspaces", path: "/console/workspaces?workspace=" + s.workspace},
		{name: "endpoints", path: "/console/endpoints"},
		{name: "service", path: "/console/service"},
		{name: "link", path: link},
	} {
		if page.form != nil {
			submit(tab, page.path, page.form)
		} else {
			tab.Visit(page.path, "main h1")
		}
		if page.fails {
			tab.Faults() // the error status
		}
		tab.Do(chromedp.Evaluate[chromedp.Void](`for (const e of document.querySelectorAll("details")) e.open = true; scrollTo(0, 0)`))
		tab.Inspect(page.name)
		if lost := browsertest.Read(tab, chromedp.Evaluate[int](
			`document.querySelectorAll("[sse-connect] [sse-swap] :is(a, button, input, summary, [tabindex]):not([id], [tabindex='-1'])").length`)); lost != 0 {
			t.Errorf("%s: %d elements lack an id, without which a change of the page takes the focus from them", page.name, lost)
		}
		for _, way := range browsertest.Read(tab, chromedp.Evaluate[[]string](`[...document.querySelectorAll("a[href^='/console'], form[action]")].map(
			e => e.href ? "GET " + e.getAttribute("href") : e.method.toUpperCase() + " " + e.getAttribute("action"))`)) {
			method, path, _ := strings.Cut(way, " ")
			switch {
			case followed[way]:
			case method == http.MethodGet:
				v.get(path).want(t, http.StatusOK)
			default:
				if p := v.send(http.MethodOptions, path, "", ""); !strings.Contains(p.header.Get("Allow"), method) {
					t.Errorf("%s: nothing answers %s", page.name, way)
				}
			}
			followed[way] = true
		}
	}
	if len(followed) < 45 {
		t.Errorf("the pages have %d ways", len(followed))
	}
}

// A thumbnail moves while its card has the focus, and the video of the card is shared, which a notice says once.
func TestBrowser_showsMovingThumbnailsAndShares(t *testing.T) {
	t.Parallel()
	harness.SkipShort(t, "the browser takes seconds of CPU time for it")
	s := newSite(t, newSQLite(t))
	lipsync := s.create(t, studio.Lipsync, "Quarterly results")
	s.render(t, lipsync)
	var picture bytes.Buffer
	check(t, gif.Encode(&picture, image.NewPaletted(image.Rect(0, 0, 320, 180), palette.WebSafe), nil))
	for _, name := range []string{made.Previews.StillPlay, made.Previews.Animation} {
		check(t, s.media.Write(t.Context(), studio.ResultKey(lipsync.ID, name), bytes.NewReader(picture.Bytes())))
	}
	tab := s.openTab(t, "/console/projects")
	moving := func(want string) { // how many thumbnails are shown and loaded
		t.Helper()
		if got := browsertest.Read(tab, chromedp.Evaluate[string](`new Promise(resolve => requestAnimationFrame(() => requestAnimationFrame(() => {
			const shown = [...document.querySelectorAll(".moving")].filter(e => getComputedStyle(e).display != "none")
			Promise.all(shown.map(e => e.decode())).then(() => resolve(shown.length + " of " +
				performance.getEntriesByType("resource").filter(e => e.name.endsWith("/moving")).length))
		})))`, chromedp.EvalAwaitPromise)); got != want {
			t.Errorf("%s thumbnails move, want %s", got, want)
		}
	}
	focus := chromedp.Evaluate[chromedp.Void](`document.querySelector(".card h2 a").focus()`)
	moving("0 of 0")
	tab.Prefer("prefers-reduced-motion", "reduce")
	tab.Do(focus)
	moving("0 of 0")
	tab.Prefer(browsertest.ColorScheme, "light")
	moving("1 of 1")
	tab.Inspect("gallery")
	tab.Do(focus, chromedp.KeyEvent("\r"), chromedp.WaitVisible(".state video"), chromedp.Click(`button[value="true"]`))
	tab.Await(".notice", "It is shared.")
	tab.Do(chromedp.Navigate(s.URL+"/console/account"), chromedp.Evaluate[chromedp.Void](`history.back()`))
	tab.Await("main:not(:has(.notice)) #project", "")
	tab.Do(chromedp.Reload(), chromedp.WaitVisible("main:not(:has(.notice)) #project"), chromedp.Click("#project summary"))
	tab.Inspect("project-shared")
}

// A user creates a lip-sync from two files, for which the form waits. Its page follows the rendering between clicks,
// and says its state only.
func TestBrowser_createsLipsyncFromUploads(t *testing.T) {
	t.Parallel()
	harness.SkipShort(t, "the browser takes seconds of CPU time for it")
	s := newSite(t, newSQLite(t))
	file, empty := filepath.Join(t.TempDir(), `a "quoted" name.mp4`), filepath.Join(t.TempDir(), "empty.mp4")
	check(t, errors.Join(os.WriteFile(file, []byte("a video"), 0o600), os.WriteFile(empty, nil, 0o600)))
	tab := s.openTab(t, "/console/lipsyncs")
	tab.Do(chromedp.Evaluate[chromedp.Void](`document.querySelector(".empty .button").click()`), // at once: a message replaces the list
		chromedp.WaitVisible("#title"), chromedp.SendKeys("#title", "Ada "+hostile), chromedp.Evaluate[chromedp.Void](`{
		const send = XMLHttpRequest.prototype.send
		XMLHttpRequest.prototype.send = function (file) { window.goOn ? send.call(this, file) : window.goOn = () => send.call(this, file) }
	}`), chromedp.SendKeys("#video_url", "https://media.example.com/of-another-file"), chromedp.SetUploadFiles("#video_url-file", []string{empty}),
		chromedp.WaitVisible("#video_url:placeholder-shown"), chromedp.SetUploadFiles("#video_url-file", []string{file}), chromedp.SetUploadFiles("#audio_url-file", []string{file}))
	tab.Await("output", "Uploaded.")
	tab.Do(chromedp.WaitVisible("form.create button.primary:disabled"), chromedp.Evaluate[chromedp.Void](`goOn()`),
		chromedp.Click("form.create button.primary:enabled"))
	tab.Await(".notice", "It has been created")
	tab.Await("#said", "processing")
	tab.Do(chromedp.Evaluate[chromedp.Void](`{
		const pressed = document.querySelector(".state")
		pressed.dispatchEvent(new PointerEvent("pointerdown", {bubbles: true}))
		addEventListener("htmx:sseBeforeMessage", () => setTimeout(() => {
			document.title = JSON.stringify([pressed.isConnected, document.getElementById("said").textContent])
			dispatchEvent(new PointerEvent("pointerup"))
		}), {once: true})
	}`))
	check(t, s.studio.Progressed(t.Context(), try(s.studio.List(t.Context(), studio.SubjectFilter{UserID: s.user.ID, Kind: studio.Lipsync}, "", 1))(t).Subjects[0].ID, studio.Progress{Done: 0.4}))
	tab.Await(".progress", "40 %")
	tab.Await("title", `[true,"processing"]`)
}

// The form of a session that ended is sent after a login in a new tab. Without JavaScript, a link refreshes a page.
func TestBrowser_sendsFormsLaterAndWorksWithoutScripts(t *testing.T) {
	t.Parallel()
	harness.SkipShort(t, "the browser takes seconds of CPU time for it")
	s := newSite(t, newSQLite(t))
	tab := s.openTab(t, "/console/lipsyncs/new")
	check(t, s.studio.EndSessions(t.Context(), studio.User{}, email))
	submit(tab, "/console/lipsyncs/new", url.Values{"title": {"Hello"}, "audio_url": {"https://media.example.com/a.wav"}}) // its scripts have run
	tab.DisableScripts()
	tab.Do(chromedp.SendKeys("#email", email), chromedp.SendKeys("#password", password+"\r"))
	harness.Eventually(t, "the form is not sent", func() bool {
		tab.Do(chromedp.Reload())
		return browsertest.Read(tab, chromedp.Evaluate[bool](`document.querySelector(".state")?.textContent.includes("In the queue") === true`))
	})
	tab.Faults() // the error statuses
	try(s.studio.Rendered(t.Context(), try(s.studio.List(t.Context(), studio.SubjectFilter{UserID: s.user.ID, Kind: studio.Lipsync}, "", 1))(t).Subjects[0].ID, studio.Rendering{}, nil))(t)
	tab.Do(chromedp.Click("noscript a"))
	tab.Await(".badge", "succeeded")
}

// Two clicks on a button send its form once, and the key that it makes can be copied.
func TestBrowser_makesOneKeyWithTwoClicks(t *testing.T) {
	t.Parallel()
	harness.SkipShort(t, "the browser takes seconds of CPU time for it")
	s := newSite(t, newSQLite(t))
	tab := s.openTab(t, "/console/account")
	tab.Do(chromedp.SendKeys("#name", "Nightly batch"), chromedp.Evaluate[chromedp.Void](`{
		const button = document.querySelector('form[action$="/keys"] button')
		button.click()
		for (const later of [1, 5, 20, 50]) setTimeout(() => button.click(), later)
	}`))
	tab.Await("#secret", "avs_")
	if keys, err := s.studio.APIKeys(t.Context(), s.user.ID); err != nil || len(keys) != 1 {
		t.Errorf("two clicks make %d keys, %v", len(keys), err)
	}
	tab.Do(chromedp.Click(`[data-copy="secret"]`))
	tab.Await("[data-copy]", "Copied")
	if _, ok := studio.HashAPIKey(tab.Clipboard()); !ok {
		t.Error("another text than the key is copied")
	}
}
