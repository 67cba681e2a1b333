package console_test

import (
	"bytes"
	"fmt"
	"os"
	"os/exec"
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
	for _, cookie := range s.signIn(t, email).http.Jar.Cookies(mustParse(t, s.URL+console.Path)) {
		tab.SetCookie(console.Path, cookie)
	}
	tab.Visit(path, ".bar nav")
	return tab
}

// finishRendering completes the rendering of a subject with a video.
func (s *site) finishRendering(t *testing.T, subject studio.Subject, video string) {
	t.Helper()
	file, err := os.Open(video)
	check(t, err)
	defer func() { check(t, file.Close()) }()
	check(t, s.media.Write(t.Context(), studio.ResultKey(subject.ID, "video.mp4"), file))
	_, err = s.studio.Rendered(t.Context(), subject.ID, studio.Rendering{Video: "video.mp4", Checks: []studio.Check{{Name: "face", OK: true, Message: "One face is seen."}}}, nil)
	check(t, err)
}

func TestBrowser_logsInWithKeyboardAndLoadsLittle(t *testing.T) {
	t.Parallel()
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

func TestBrowser_showsProjects(t *testing.T) {
	t.Parallel()
	s := newSite(t, newSQLite(t))
	var documents []map[string]any
	for i, title := range []string{"Welcome to the team", hostile, "Produkttour", strings.Repeat("Donaudampfschifffahrtsgesellschaft", 3), "Safety at the site", "Release notes", "Travel policy"} {
		documents = append(documents, map[string]any{
			"title": title, "status": []string{"PUBLISHED", "draft", "failed"}[i%3], "language": "english", "available_credits": 120 - i, "utilised_credits": 5 * i,
			"created_at": "2026-01-12T09:30:00Z", "thumbnail": []string{"", "https://media.example.com/a.png"}[i%2],
			"tags": map[string]any{"names": []string{"onboarding", "finance"}, "colors": []string{"#2D7FF9", "#F82B60"}},
		})
	}
	s.addProjects(t, documents...)
	tab := s.openTab(t, "/console/projects")
	tab.Await("h2", "<script>document.title")
	tab.Inspect("projects")
	if title := browsertest.Read(tab, chromedp.Title()); title != "Projects · Avatar Studio" {
		t.Errorf("the title is %q", title)
	}
}

// A thumbnail moves while its card has the focus, and the video of the card is shared.
func TestBrowser_showsMovingThumbnailsAndShares(t *testing.T) {
	t.Parallel()
	harness.SkipShort(t, "the browser takes seconds of CPU time for it")
	s := newSite(t, newSQLite(t))
	video := browsertest.NewVideo(t)
	for i, title := range []string{"Seguridad en la obra", "Quarterly results", "Welcome to the team"} {
		lipsync := s.create(t, studio.Lipsync, title)
		_, err := s.studio.UpdateProject(t.Context(), s.user.ID, lipsync.ID, studio.ProjectChange{
			Tags: &studio.Tags{Names: []string{"onboarding", "finance"}, Colors: []string{"#2D7FF9", "#F82B60"}}, Shared: new(i == 1),
		})
		check(t, err)
		if i > 0 {
			s.render(t, lipsync)
			s.writePictures(t, lipsync, video)
		}
	}
	tab := s.openTab(t, "/console/projects")
	tab.Await("h2", "Quarterly results")
	moving := func() (moving string) { // how many thumbnails are loaded and shown
		return browsertest.Read(tab, chromedp.Evaluate[string](`new Promise(resolve => requestAnimationFrame(() => requestAnimationFrame(() => {
			const shown = [...document.querySelectorAll(".moving")].filter(e => getComputedStyle(e).display != "none")
			Promise.all(shown.map(e => e.decode())).then(() => resolve(shown.length + " of " +
				performance.getEntriesByType("resource").filter(e => e.name.endsWith("/moving")).length))
		})))`, chromedp.EvalAwaitPromise))
	}
	focus := chromedp.Evaluate[chromedp.Void](`document.querySelector(".card h2 a").focus()`)
	if got := moving(); got != "0 of 0" {
		t.Errorf("without a focus, %s thumbnails move", got)
	}
	tab.PreferStillness()
	tab.Do(focus)
	if got := moving(); got != "0 of 0" {
		t.Errorf("for those who want stillness, %s thumbnails move", got)
	}
	tab.Prefer("light")
	if got := moving(); got != "1 of 1" {
		t.Errorf("with the focus, %s thumbnails move", got)
	}
	tab.Inspect("gallery")

	tab.Do(focus, chromedp.KeyEvent("\r"), chromedp.WaitVisible(".state video"))
	tab.Inspect("project")
	tab.Do(chromedp.Click(`button[value="true"]`))
	tab.Await(".notice", "It is shared.")
	tab.Do(chromedp.Click(`[data-copy]`))
	tab.Await("[data-copy]", "Copied")
	if link := tab.Clipboard(); !strings.HasPrefix(link, "https://studio.example/share/") {
		t.Errorf("the link is %q", link)
	}
	tab.Do(chromedp.Click("#project summary"))
	tab.Inspect("project-shared")
	captions := browsertest.Read(tab, chromedp.Evaluate[string](`new Promise(resolve => {
		const video = document.querySelector("video"), track = document.querySelector("track")
		const show = () => resolve(track.track.mode + " " + track.track.cues[0].text)
		track.readyState == 2 ? show() : track.addEventListener("load", show)
	})`, chromedp.EvalAwaitPromise))
	if captions != "showing Good morning." {
		t.Errorf("the captions are %q", captions)
	}
}

// writePictures replaces the files of a rendering by those of a video.
func (s *site) writePictures(t *testing.T, subject studio.Subject, video string) {
	t.Helper()
	dir := t.TempDir()
	captions := filepath.Join(dir, made.Captions)
	check(t, os.WriteFile(captions, []byte("WEBVTT\n\n00:00.000 --> 00:01.000\nGood morning.\n"), 0o600))
	still, moving := filepath.Join(dir, made.Previews.StillPlay), filepath.Join(dir, made.Previews.Animation)
	output, err := exec.CommandContext(t.Context(), "ffmpeg", "-v", "error", "-i", video, "-frames:v", "1", still, "-vf", "fps=5,scale=320:-1", moving).CombinedOutput()
	if err != nil {
		t.Fatalf("%v: %s", err, output)
	}
	for name, from := range map[string]string{made.Video: video, made.Thumbnail: still, made.Previews.StillPlay: still, made.Previews.Animation: moving, made.Captions: captions} {
		content, err := os.ReadFile(from)
		check(t, err)
		check(t, s.media.Write(t.Context(), studio.ResultKey(subject.ID, name), bytes.NewReader(content)))
	}
}

// A user creates an avatar from an uploaded file, gives consent, creates a video, and plays it. The page of the
// video is updated although the service restarts during the rendering.
func TestBrowser_createsVideoFromUpload(t *testing.T) {
	t.Parallel()
	harness.SkipShort(t, "it makes and plays a video")
	s := newSite(t, newSQLite(t))
	video := browsertest.NewVideo(t)
	tab := s.openTab(t, "/console")
	tab.Do(chromedp.Click(`a[href="/console/avatars"]`))
	tab.Await(".empty", "An avatar is created from a video or a photo")
	tab.Inspect("avatars-none")
	tab.Do(chromedp.Click(".empty .button"), chromedp.WaitVisible("#title"), chromedp.SendKeys("#title", "Ada "+hostile),
		chromedp.SendKeys("#webhook_url", "https://refused.example/"),
		chromedp.SetUploadFiles("#base_video_url-file", []string{video}))
	tab.Await("output", "Uploaded.")
	tab.Inspect("avatar-new")
	tab.Do(chromedp.Submit("form.create"))
	tab.Await("#webhook_url-error", "must not be refused")
	tab.Faults() // the error status
	tab.Inspect("avatar-new-invalid")
	tab.Do(chromedp.Clear("input#webhook_url"), chromedp.Click("form.create button.primary"))
	tab.Await(".notice", "It has been created")
	tab.Await(".badge", "processing")

	page, err := s.studio.List(t.Context(), studio.SubjectFilter{UserID: s.user.ID, Kind: studio.Avatar}, "", 1)
	check(t, err)
	avatar := page.Subjects[0]
	check(t, s.studio.Progressed(t.Context(), avatar.ID, studio.Progress{Done: 0.4}))
	tab.Await(".progress", "40 %")
	tab.Inspect("avatar-processing")
	_, err = s.studio.Rendered(t.Context(), avatar.ID, studio.Rendering{}, nil)
	check(t, err)
	tab.Await(".badge", "consent pending")
	tab.Inspect("avatar-consent")
	tab.Do(chromedp.Click(`button[value="true"]`))
	tab.Await(".badge", "published")
	tab.Inspect("avatar-published")

	tab.Do(chromedp.Click(".state .primary"), chromedp.WaitVisible("#text"), chromedp.SendKeys("#title", "Greeting"), chromedp.SendKeys("#text", "Good morning."))
	tab.Inspect("video-new")
	tab.Do(chromedp.Click("form.create button.primary"))
	tab.Await(".badge", "processing")
	page, err = s.studio.List(t.Context(), studio.SubjectFilter{UserID: s.user.ID, Kind: studio.Video}, "", 1)
	check(t, err)
	s.restart(func() { s.finishRendering(t, page.Subjects[0], video) })
	tab.Await(".badge", "succeeded")
	tab.Faults() // failed requests during the restart
	played := browsertest.Read(tab, chromedp.Evaluate[string](`new Promise(resolve => {
		const video = document.querySelector("video")
		video.muted = true
		for (const name of ["ended", "error"]) video.addEventListener(name, () => resolve(name + " " + video.videoWidth))
		video.play().catch(reason => resolve(String(reason)))
	})`, chromedp.EvalAwaitPromise))
	if played != "ended 640" {
		t.Errorf("playing the video ends with %q", played)
	}
	tab.Inspect("video-succeeded")
	tab.Do(chromedp.Click(`a[href="/console/videos"]`))
	tab.Await(".card", "Greeting")
	if fit := browsertest.Read(tab, chromedp.Evaluate[string](`getComputedStyle(document.querySelector(".cover").appendChild(new Image())).objectFit`)); fit != "contain" {
		t.Errorf("a portrait loses its chin: object-fit is %s", fit)
	}
	for i, kind := range []studio.Kind{studio.Lipsync, studio.Lipsync, studio.Lipsync} {
		lipsync := s.create(t, kind, "Take "+strings.Repeat("I", i+1))
		check(t, s.studio.Progressed(t.Context(), lipsync.ID, studio.Progress{Done: 0.3}))
		if i == 0 {
			_, err = s.studio.Rendered(t.Context(), lipsync.ID, studio.Rendering{}, &studio.RenderError{Reason: "The recording has no sound."})
			check(t, err)
		}
	}
	tab.Do(chromedp.Click(`a[href="/console/lipsyncs"]`))
	tab.Await(".reason", "The recording has no sound.")
	tab.Inspect("lipsyncs")

	tab.Visit("/console/avatars/"+avatar.ID, ".danger")
	tab.Do(chromedp.Click(".head .danger"))
	tab.Await("h1", "Delete")
	tab.Inspect("delete")
	tab.Do(chromedp.Click("button.danger"))
	tab.Await(".notice", "It has been deleted.")
	if title := browsertest.Read(tab, chromedp.Title()); title != "Avatars · Avatar Studio" {
		t.Errorf("the title is %q", title)
	}
}

// Without JavaScript, a page shows the end of a rendering, and a session that ended keeps the form.
func TestBrowser_worksWithoutScripts(t *testing.T) {
	t.Parallel()
	s := newSite(t, newSQLite(t))
	tab := s.openTab(t, "/console/lipsyncs/new")
	tab.DisableScripts()
	tab.Do(chromedp.SendKeys("#title", "Hello"), chromedp.SendKeys("#audio_url", "https://media.example.com/a.wav"))
	check(t, s.studio.RevokeTokens(t.Context(), email))
	tab.Do(chromedp.Submit("form.create"), chromedp.WaitVisible("#email"))
	tab.Faults() // the error status
	tab.Do(chromedp.SendKeys("#email", email), chromedp.SendKeys("#password", password+"\r"))
	tab.Await("h1", "New lip-sync")
	tab.Do(chromedp.Submit("form.create"))
	tab.Await(".state", "In the queue")
	page, err := s.studio.List(t.Context(), studio.SubjectFilter{UserID: s.user.ID, Kind: studio.Lipsync}, "", 1)
	check(t, err)
	_, err = s.studio.Rendered(t.Context(), page.Subjects[0].ID, studio.Rendering{}, nil)
	check(t, err)
	tab.Await(".badge", "succeeded") // five seconds later
}

// clickTwice clicks a button, and again as soon as the browser has sent the form.
func clickTwice(tab *browsertest.Tab, button string) {
	browsertest.Read(tab, chromedp.Evaluate[bool](fmt.Sprintf(`(() => {
		const button = document.querySelector(%q)
		button.click()
		for (const later of [1, 5, 20, 50]) setTimeout(() => button.click(), later)
		return true
	})()`, button)))
}

// An operator invites a user, who joins with a link, and manages users, workspaces and endpoints.
func TestBrowser_operatorsManageTheService(t *testing.T) {
	t.Parallel()
	harness.SkipShort(t, "the browser takes seconds of CPU time for it")
	s := newSite(t, newSQLite(t), func(cfg *console.Config) {
		cfg.Daemon = console.Daemon{Version: "v1.2.3", Started: time.Now(), Workers: 256, RenderWorkers: 3, Missing: "ffmpeg is not installed"}
		cfg.Backup = func() *console.Backup {
			return &console.Backup{Every: time.Hour, Last: time.Now().Add(-time.Hour), Size: 9_960, Failed: "upload"}
		}
		cfg.MailLink = func(_, _ string, purpose studio.LinkPurpose) bool { return purpose == studio.InviteLink }
	})
	check(t, s.studio.SetRole(t.Context(), email, studio.Operator))
	for _, id := range []string{"01936f3e-7c00-7a3b-8c44-2f6f1f0a9d10", "01936f3e-7c00-7a3b-8c44-2f6f1f0a9d11"} {
		check(t, s.store.SeeDaemon(t.Context(), store.Daemon{ID: id, Host: "studio-7d9f8b6c5d-x2v4q.example.com", Version: "v0.0.0-20261123190801-70ef073c0000+dirty", Started: time.Now()}))
	}
	check(t, s.store.SaveBreaker(t.Context(), store.Breaker{Origin: "https://dead.example.com:8443", Until: time.Now().Add(time.Hour)}))
	s.addEvent(t, "https://dead.example.com:8443/a/long/path/that/goes/on/and/on?key=secret", studio.Attempt{Failure: "connect"}, store.Outcome{State: studio.EventPending, RetryAt: time.Now()})
	s.addEvent(t, "https://gone.example.com/", studio.Attempt{Status: 410, Failure: "status"}, store.Outcome{State: studio.EventExhausted, Reason: studio.ReasonGone, DisableURL: true})
	tab := s.openTab(t, "/console/users")
	tab.Do(chromedp.SendKeys("#invited", "bob@example.com"), chromedp.SendKeys("#workspace", "Team"), chromedp.Click(`form[action$="/invite"] button`))
	tab.Await(".notice", "A mail with this link is on its way to bob@example.com.")
	tab.Inspect("users-invited")
	tab.Do(chromedp.Click(`[data-copy="link"]`))
	tab.Await("[data-copy]", "Copied")
	link := tab.Clipboard()
	if !strings.HasPrefix(link, s.studio.PublicURL+"/console/link?key=") {
		t.Errorf("the link is %q", link)
	}
	tab.Visit("/console/workspaces?workspace="+s.workspace, "#members")
	tab.Inspect("workspaces")
	tab.Do(chromedp.SendKeys("#name", "Films\r"))
	tab.Await("#members", "Members of Films")
	tab.Do(chromedp.SendKeys("#member", email+"\r"))
	tab.Await("section td", email)
	tab.Do(chromedp.Click(`button[value="remove"]`))
	tab.Await("section .muted", "Nobody.")
	tab.Visit("/console/users/log", "td")
	tab.Await("td", "bob@example.com")
	tab.Await("td", "created the workspace")
	tab.Inspect("acts")
	tab.Visit("/console/service", "h2")
	tab.Do(chromedp.Click(`a[href="/console/endpoints"]`))
	tab.Await(".badge", "failing")
	tab.Inspect("endpoints")
	tab.Do(chromedp.Click(`td button[value="enabled"]`))
	tab.Await(".notice", "The endpoint is enabled.")
	tab.Visit("/console/service", "h2")
	tab.Do(chromedp.Click(`button[value="pause"]`))
	tab.Await(".problem", "An operator has paused all notifications")
	tab.Await("dd", "10.0 kB, compressed")
	tab.Await(".problem", "The backups fail at this step: upload.")
	tab.Await(".simulated", "The reason: ffmpeg is not installed.")
	tab.Await("td", "v0.0.0-20261123190801-70ef073c0000+dirty")
	tab.Inspect("service-failing")
	tab.Do(chromedp.Click(`button[value="resume"]`), chromedp.WaitVisible(`button[value="pause"]`))
	tab.Visit(strings.TrimPrefix(link, s.studio.PublicURL), "#password")
	tab.Inspect("link")
	tab.Do(chromedp.SendKeys("#password", "a new password"))
	clickTwice(tab, "main button")
	tab.Await(".notice", "Welcome.")
	tab.Visit(strings.TrimPrefix(link, s.studio.PublicURL), "h1")
	tab.Await("p", "This link was used or has expired.")
	tab.Faults() // the error status
	tab.Inspect("link-used")
	tab.Visit("/console/avatars/new", ".simulated")
	tab.Await(".simulated", "Ask an operator for real videos.")
	tab.Inspect("avatar-new-simulated")

	tab = s.openTab(t, "/console/users?email="+email)
	tab.Do(chromedp.Click("summary"), chromedp.Click(`button[value="disable"]`))
	tab.Await("main", "Operators cannot do this to themselves.")
	tab.Faults() // the error status
	tab.Inspect("operator-last")
	tab.Visit("/console/users?email=bob@example.com", "summary")
	open := []chromedp.Action[chromedp.Void]{chromedp.Focus("summary"), chromedp.KeyEvent("\r")}
	tab.Do(open...)
	tab.Do(chromedp.KeyEvent("\t\t\t\r"))
	tab.Await(".notice", "The user is an operator now.")
	tab.Do(open...)
	tab.Do(chromedp.Click(`button[value="reset"]`))
	tab.Await("#link", "/console/link?key=")
	link = browsertest.Read(tab, chromedp.Evaluate[string](`document.querySelector("#link").textContent`))
	bob := browsertest.Open(t, s.URL)
	bob.Visit(strings.TrimPrefix(link, s.studio.PublicURL), "#password")
	bob.Await("h1", "New password")
	bob.Inspect("link-reset")
	bob.Do(chromedp.SendKeys("#password", "another password\r"))
	bob.Await(".notice", "Welcome.")
	tab.Visit("/console/users?email=bob@example.com", "summary")
	tab.Do(open...)
	tab.Do(chromedp.Click(`button[value="end-sessions"]`))
	tab.Await(".notice", "The sessions of the user have ended.")
	bob.Visit("/console/account", "#email")
	tab.Do(open...)
	tab.Do(chromedp.Click(`button[value="disable"]`))
	tab.Await(".notice", "The user is disabled.")
	tab.Do(open...)
	tab.Inspect("users-disabled")
	tab.Do(chromedp.Click(`a.danger`))
	tab.Await("h1", "Delete bob@example.com?")
	tab.Inspect("user-delete")
	tab.Do(chromedp.Click(`button[value="delete"]`))
	tab.Await(".notice", "The user is deleted.")
}

// A user ends a session, makes an API key, revokes it, changes the password, and leaves.
func TestBrowser_managesAccount(t *testing.T) {
	t.Parallel()
	harness.SkipShort(t, "the browser takes seconds of CPU time for it")
	s := newSite(t, newSQLite(t))
	other := s.signIn(t, email)
	tab := s.openTab(t, "/console/account")
	tab.Inspect("account-sessions")
	tab.Do(chromedp.Click(`button[aria-label^="End the session"]`))
	tab.Await(".notice", "The session has ended.")
	if p := other.get("/console/account"); p.path != "/console/login" {
		t.Errorf("an ended session shows %s", p.path)
	}
	tab.Do(chromedp.SendKeys("#name", "Nightly batch "+hostile), chromedp.SendKeys("#workspace", "Team"))
	clickTwice(tab, `form[action$="/keys"] button`)
	tab.Await("#secret", "avs_")
	tab.Await("td", "Nightly batch "+hostile)
	if keys, err := s.studio.APIKeys(t.Context(), s.user.ID); err != nil || len(keys) != 1 {
		t.Errorf("two clicks make %d keys, %v", len(keys), err)
	}
	tab.Inspect("account-key")
	tab.Do(chromedp.Click(`[data-copy="secret"]`))
	tab.Await("[data-copy]", "Copied")
	if _, ok := studio.HashAPIKey(tab.Clipboard()); !ok {
		t.Error("another text than the key is copied")
	}
	tab.Do(chromedp.Click(`button[aria-label^="Revoke"]`))
	tab.Await(".notice", "The API key is revoked.")
	tab.Do(chromedp.SendKeys("#current", password), chromedp.SendKeys("#password", "another password\r"))
	tab.Await(".notice", "The password is changed.")
	tab.Do(chromedp.SendKeys("#leave-password", "guess\r"))
	tab.Await("#leave-error", "The current password is wrong.")
	tab.Faults() // the error status
	tab.Inspect("account")
	tab.Do(chromedp.SendKeys("#leave-password", "another password\r"))
	tab.Await(".notice", "Your account is deleted")
	tab.Inspect("left")
}

// A user finds out why notifications failed, enables the endpoint, sees new events and replays an old one.
func TestBrowser_replaysFailedEvents(t *testing.T) {
	t.Parallel()
	harness.SkipShort(t, "the browser takes seconds of CPU time for it")
	s := newSite(t, newSQLite(t))
	for i := range 3 {
		s.addEvent(t, "https://hooks.example.com/?key=secret", studio.Attempt{
			Status: 500, Failure: "status", Duration: 80 * time.Millisecond, Address: "192.0.2.1:443", Excerpt: []byte("<h1>Internal Server Error</h1>" + hostile),
		}, store.Outcome{State: studio.EventExhausted, Reason: studio.ReasonSchedule, DisableURL: i == 2})
	}
	s.addEvent(t, "https://other.example.com/a/long/path/that/goes/on/and/on", studio.Attempt{Status: 204}, store.Outcome{State: studio.EventDelivered})
	tab := s.openTab(t, "/console/webhooks")
	tab.Await(".badge", "off")
	tab.Inspect("webhooks")
	tab.Do(chromedp.Click(`td button[value="enabled"]`))
	tab.Await(".notice", "The endpoint is enabled.")
	tab.Do(chromedp.Click(`tr:last-child button[value="paused"]`))
	tab.Await("tr:last-child .badge", "paused")
	tab.Do(chromedp.SendKeys("#webhook_url", "https://hooks.example.com/\r"))
	tab.Await(".notice", "Delivered")
	tab.Inspect("webhooks-test")
	tab.Do(chromedp.Click(`a[href="/console/events"]`))
	click := func(selector string) { // in the page, because its list is replaced when events occur
		browsertest.Read(tab, chromedp.Evaluate[bool](fmt.Sprintf("document.querySelector(%q).click() ?? true", selector)))
	}
	tab.Await("td .badge", "exhausted")
	click(`[type="checkbox"]`)
	s.create(t, studio.Avatar, "Without a webhook")
	tab.Await("td .badge", "not sent")
	s.addEvent(t, "https://dead.example.com/a/long/path/that/goes/on/and/on", studio.Attempt{Failure: "connect"}, store.Outcome{State: studio.EventPending, RetryAt: time.Now().Add(2 * time.Hour)})
	tab.Await("td", "Last result: No connection could be opened.Next attempt in 2 h")
	if n := browsertest.Read(tab, chromedp.Evaluate[int](`document.querySelectorAll(":checked[type=checkbox]").length`)); n != 1 {
		t.Errorf("%d events are selected after new ones are shown", n)
	}
	tab.Inspect("events")
	tab.Do(chromedp.EmulateViewport(390, 844))
	if hidden := browsertest.Read(tab, chromedp.Evaluate[int](`[...document.querySelectorAll("tbody td")].filter(e => e.textContent && e.getBoundingClientRect().right > innerWidth).length`)); hidden > 0 {
		t.Errorf("%d cells are outside of the screen of a phone", hidden)
	}
	click(`tr:has(.exhausted) a`)
	tab.Await(".attempts pre", "<h1>Internal")
	tab.Inspect("event")
	tab.Visit("/console/events?state=exhausted", `[type="checkbox"]`)
	click(`[type="checkbox"]`)
	click(`button[value="ids"]`)
	tab.Await("h1", "Replay 1 event?")
	tab.Do(chromedp.Click("button.primary"))
	tab.Await(".notice", "The events are being sent again.")
	click(`button[value="filter"]`)
	tab.Await("button", "Replay also 1 event delivered before")
	tab.Inspect("replay")
}

// An operator sees the users and the state of the service until the role is removed.
func TestBrowser_showsServiceToOperators(t *testing.T) {
	t.Parallel()
	harness.SkipShort(t, "the browser takes seconds of CPU time for it")
	s := newSite(t, newSQLite(t), func(cfg *console.Config) {
		cfg.Daemon = console.Daemon{Version: "v1.2.3", Started: time.Now(), Workers: 256, RenderWorkers: 2}
		cfg.Backup = func() *console.Backup {
			return &console.Backup{Every: time.Hour, Last: time.Now().Add(-20 * time.Minute), Size: 2_500_000}
		}
	})
	for i := range 30 {
		studiotest.AddUser(t, s.studio, fmt.Sprintf("user-%02d@mail%s.example.com", i, strings.Repeat("a-long-name", i%5)))
	}
	for i := range 4 {
		s.create(t, studio.Lipsync, fmt.Sprint(i))
		check(t, s.store.SaveBreaker(t.Context(), store.Breaker{Origin: fmt.Sprintf("https://hooks-%d.example.com", i), Until: time.Now().Add(time.Hour)}))
	}
	_, _, err := s.store.ClaimRenderings(t.Context(), "0d7f6f3c-6f0e-4a53-a2b3-3c1f6f3d0f55", time.Now(), 2)
	check(t, err)
	check(t, s.studio.SetRole(t.Context(), email, studio.Operator))
	tab := s.openTab(t, "/console/users")
	tab.Await("td", "user-29@")
	tab.Do(chromedp.Click(`[rel="next"]`))
	tab.Await("td", email)
	tab.Inspect("users")
	tab.Do(chromedp.EmulateViewport(1440, 900))
	if height := browsertest.Read(tab, chromedp.Evaluate[int](`Math.max(...[...document.querySelectorAll("tbody tr")].map(row => row.offsetHeight))`)); height > 100 {
		t.Errorf("a user needs %d pixels", height)
	}
	tab.Do(chromedp.SendKeys("#email", "USER-07@maila-long-namea-long-name.example.com\r"))
	tab.Await("td", "user-07@")
	tab.Do(chromedp.Click(`a[href="/console/service"]`))
	tab.Await("code", "https://hooks-0.example.com")
	tab.Inspect("service")
	check(t, s.studio.SetRole(t.Context(), email, studio.NoRole))
	tab.Do(chromedp.Click(".head .button"))
	tab.Await("h1", "Not Found")
	tab.Faults() // the error status
	if n := browsertest.Read(tab, chromedp.Evaluate[int](`document.querySelectorAll('nav a[href="/console/users"], nav a[href="/console/service"]').length`)); n != 0 {
		t.Errorf("%d links to pages for operators remain", n)
	}
}
