package main

import (
	"net/http"
	"regexp"
	"strings"
	"testing"

	"github.com/chromedp/chromedp"

	"github.com/avatarstudio/avatarstudio/api/tools/gobuild"
	"github.com/avatarstudio/avatarstudio/api/tools/harness"
	"github.com/avatarstudio/avatarstudio/gen"
	"github.com/avatarstudio/avatarstudio/server/internal/testing/browsertest"
	"github.com/avatarstudio/avatarstudio/server/internal/web/guide"
)

// A user makes an avatar and a video of it in the browser, with the built-in renderer. Anybody with its URL can play
// the video until it is deleted.
func TestConsole_makesVideos(t *testing.T) {
	t.Parallel()
	harness.SkipShort(t, "it renders in front of a browser")
	harness.Need(t, "ffmpeg", "ffprobe", "espeak-ng")
	renderer := try(gobuild.Program(t.Context(), "github.com/avatarstudio/avatarstudio/server/cmd/studio-render"))(t)
	d := startDaemon(t, func(cfg *daemonConfig) {
		cfg.Console, cfg.AutoConsent, cfg.Render = true, false, renderConfig{Program: []string{renderer}, Workers: 1}
	})
	tab := browsertest.Open(t, d.url())
	tab.Visit("/console/avatars/new", "#email")
	tab.AwaitFocus("email")
	tab.Do(chromedp.KeyEvent(testEmail+"\t"+testPassword+"\r"), chromedp.WaitVisible("#title"), chromedp.SendKeys("#title", "Ada\r"))
	tab.Await(".badge", "consent pending")
	tab.Do(chromedp.Click(`button[value="true"]`))
	tab.Await(".badge", "published")
	tab.Do(chromedp.Click(".state .primary"), chromedp.WaitVisible("#text"), chromedp.SendKeys("#title", "Welcome to the team"),
		chromedp.SendKeys("#text", "Good morning. It is nice to have you here."), chromedp.Click("form.create .primary"))
	tab.Await(".badge", "succeeded")
	tab.Do(chromedp.Click(`a[href="/console/videos"]`))
	tab.Await(".card h2", "Welcome to the team")
	tab.Do(chromedp.Evaluate[chromedp.Void](`document.querySelector(".card h2 a").click()`)) // the list is replaced when live updates start
	tab.Await("h1", "Welcome to the team")
	played := browsertest.Read(tab, chromedp.Evaluate[string](`new Promise(resolve => {
		const video = document.querySelector("video")
		video.muted = true
		video.addEventListener("error", () => resolve("error"))
		video.addEventListener("ended", () => { video.currentTime = 0.9 })
		video.addEventListener("seeked", () => resolve("played"))
		video.play().catch(reason => resolve(String(reason)))
	})`, chromedp.EvalAwaitPromise))
	if played != "played" {
		t.Errorf("the video: %s", played)
	}
	tab.Picture("console.webp")

	videos := try(d.client.ListVideos(t.Context()))(t)
	video := videos.Data[0]
	wantFile(t, video.Video, "video/mp4", "ftyp")
	wantFile(t, video.Thumbnail, "image/jpeg", "\xff\xd8")
	check(t, d.client.DeleteAvatar(t.Context(), gen.DeleteAvatarRequest{AvatarID: video.AvatarID}))
	if response, _ := get(t, *video.Video); response.StatusCode != http.StatusNotFound {
		t.Errorf("after the deletion: %s", response.Status)
	}
}

// A user tries the API on the reference page in the browser. Each request is sent as the example shows it, but with the
// ids that earlier responses returned.
func TestDocs_tryOperations(t *testing.T) {
	t.Parallel()
	harness.SkipShort(t, "the browser takes seconds of CPU time for it")
	d := startDaemon(t, func(cfg *daemonConfig) { cfg.AutoConsent = false })
	tab := browsertest.Open(t, d.url())
	tab.Visit("/docs", "#operations-Avatars-createAvatar")
	tab.Do(chromedp.Evaluate[chromedp.Void](`document.querySelector("#operations-tag-Avatars").scrollIntoView()`))
	tab.Picture("docs.webp")
	try := func(operation, status string, before ...chromedp.Action[chromedp.Void]) {
		t.Helper()
		operation = "#operations-" + operation
		tab.Do(chromedp.Click(operation+" button.opblock-summary-control"), chromedp.Click(operation+" button.try-out__btn"))
		tab.Do(before...)
		tab.Do(chromedp.Click(operation + " button.execute"))
		tab.Await(operation+" .live-responses-table .response-col_status", status)
		tab.Do(chromedp.Click(operation + " button.opblock-summary-control")) // a long page is slow
	}
	try("Users-login", "200", chromedp.Click("#operations-Users-login textarea"), chromedp.KeyEvent("a", chromedp.KeyModifiers(chromedp.ModifierCtrl)), chromedp.KeyEvent(credentials(testEmail, testPassword)))
	try("Avatars-createAvatar", "200")
	try("Avatars-getAvatar", "200")
	try("Avatars-deleteAvatar", "204")
	tab.Do(chromedp.Click("#operations-Avatars-createAvatar button.opblock-summary-control"), chromedp.Click("#operations-Avatars-createAvatar button.execute"))
	harness.Eventually(t, "another avatar, because the example has no Idempotency-Key", func() bool {
		avatars, err := d.client.ListAvatars(t.Context())
		return err == nil && len(avatars.Data) == 1 && *avatars.Data[0].Title == "Ada"
	})
}

// wantFile checks that a URL serves a file with the given media type.
func wantFile(t *testing.T, url *string, mediaType, begins string) {
	t.Helper()
	if url == nil {
		t.Fatalf("there is no %s", mediaType)
	}
	response, body := get(t, *url)
	if response.StatusCode != http.StatusOK || response.Header.Get("Content-Type") != mediaType || !strings.Contains(body[:min(64, len(body))], begins) {
		t.Errorf("%s: %s, %s, %d bytes", *url, response.Status, response.Header.Get("Content-Type"), len(body))
	}
}

// The help lists and prints the topics, which the manual page contains.
func TestHelp_printsTopics(t *testing.T) {
	t.Parallel()
	help, man := must(t, "", "help"), must(t, "", "man")
	for _, page := range guide.Pages() {
		if text := must(t, "", "help", page.Name); text != strings.TrimSpace(page.Text()) || !strings.Contains(help, "\n     "+page.Name+" ") ||
			!strings.Contains(man, ".SH \""+strings.ReplaceAll(strings.ToUpper(page.Title), "-", `\-`)+"\"\n") {
			t.Errorf("the help or the manual page lacks the topic %s", page.Name)
		}
	}
}

// Each command line of studiod in the guide names a command and its flags. A flag in the text is one of some command.
func TestGuide_namesCommandsAndFlags(t *testing.T) {
	t.Parallel()
	root, lines := rootCommand(nil, nil, nil), 0
	flags := harness.Flags(root)
	for _, page := range guide.Pages() {
		lines += harness.CheckCommands(t, root, page.Markdown())
		for _, flag := range regexp.MustCompile("`(--[a-z-]+)").FindAllStringSubmatch(page.Markdown(), -1) {
			if !flags[flag[1]] {
				t.Errorf("%s: no command has the flag %s", page.Name, flag[1])
			}
		}
	}
	if lines < 40 {
		t.Errorf("the guide has %d command lines", lines)
	}
}
