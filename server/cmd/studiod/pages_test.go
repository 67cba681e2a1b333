package main

import (
	"testing"

	"github.com/chromedp/chromedp"
	"github.com/getkin/kin-openapi/openapi3"

	"github.com/avatarstudio/avatarstudio/api"
	"github.com/avatarstudio/avatarstudio/api/tools/harness"
	"github.com/avatarstudio/avatarstudio/client"
	"github.com/avatarstudio/avatarstudio/gen"
	"github.com/avatarstudio/avatarstudio/server/internal/testing/browsertest"
)

// A user makes an avatar and a video of it in the browser, with the built-in renderer.
func TestConsole_makesVideos(t *testing.T) {
	t.Parallel()
	harness.SkipShort(t, "it renders in front of a browser")
	d := startRenderingDaemon(t, func(cfg *daemonConfig) { cfg.Console, cfg.AutoConsent = true, false })
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
	tab.Picture("console.png")
}

// A user tries the API on the reference page in the browser. Each request is sent as the example shows it, but with the
// ids that earlier responses returned.
func TestDocs_tryOperations(t *testing.T) {
	t.Parallel()
	harness.SkipShort(t, "the browser takes seconds of CPU time for it")
	d := startDaemon(t, func(cfg *daemonConfig) { cfg.AutoConsent = false })
	_, err := d.studio.AddWorkspace(t.Context(), demoWorkspace, "Demo")
	check(t, err)
	check(t, d.studio.AddMember(t.Context(), demoWorkspace, testEmail))
	tab := browsertest.Open(t, d.url())
	tab.Visit("/docs", "#operations-Avatars-createAvatar")
	tab.Do(chromedp.Evaluate[chromedp.Void](`document.querySelector("#operations-tag-Avatars").scrollIntoView()`))
	tab.Picture("docs.png")
	try := func(id string, before ...chromedp.Action[chromedp.Void]) {
		t.Helper()
		documented := documentedOperation(t, id)
		operation := "#operations-" + documented.Tags[0] + "-" + id
		status := "200"
		if documented.Responses.Value(status) == nil {
			status = "204"
		}
		tab.Do(chromedp.Click(operation+" button.opblock-summary-control"), chromedp.Click(operation+" button.try-out__btn"))
		tab.Do(before...)
		tab.Do(chromedp.Click(operation + " button.execute"))
		tab.Await(operation+" .live-responses-table .response-col_status", status)
		tab.Do(chromedp.Click(operation + " button.opblock-summary-control")) // a long page is slow
	}
	try("login", chromedp.Click("#operations-Users-login textarea"), chromedp.KeyEvent("a", chromedp.KeyModifiers(chromedp.ModifierCtrl)), chromedp.KeyEvent(credentials(testEmail, testPassword)))
	for _, id := range []string{"listProjects", "createAvatar", "getAvatar", "submitConsent"} {
		try(id)
	}
	harness.Eventually(t, "a published avatar", func() bool {
		published, err := d.client.ListAvatars(t.Context(), client.ListAvatarsParams{Status: new(gen.AvatarStatusPublished)})
		return err == nil && len(published.Data) == 1
	})
	for _, id := range []string{
		"createVideo", "getVideo", "createLipsync", "getLipsync", "listAvatars", "refreshTokens", "testWebhook", "deleteVideo", "deleteLipsync", "deleteAvatar",
	} {
		try(id)
	}
	tab.Do(chromedp.Click("#operations-Avatars-createAvatar button.opblock-summary-control"), chromedp.Click("#operations-Avatars-createAvatar button.execute"))
	harness.Eventually(t, "another avatar, because the example has no Idempotency-Key", func() bool {
		avatars, err := d.client.ListAvatars(t.Context())
		return err == nil && len(avatars.Data) == 1 && *avatars.Data[0].Title == "Ada"
	})
}

// documentedOperation returns the operation of the document with an id.
func documentedOperation(t *testing.T, id string) *openapi3.Operation {
	t.Helper()
	document, err := openapi3.NewLoader().LoadFromData(api.Spec)
	check(t, err)
	for _, item := range document.Paths.Map() {
		for _, operation := range item.Operations() {
			if operation.OperationID == id {
				return operation
			}
		}
	}
	t.Fatalf("the document has no operation %s; server/cmd/studiod/pages_test.go tries it", id)
	return nil
}
