package main

import (
	"bytes"
	"fmt"
	"html"
	"net/http"
	"net/http/httptest"
	"os/exec"
	"testing"

	"github.com/chromedp/chromedp"

	"github.com/avatarstudio/avatarstudio/server/internal/testing/browsertest"
)

// wantPlays checks that a browser plays the video at url to its end, and that ffprobe reports no error.
func wantPlays(t *testing.T, url string) {
	t.Helper()
	probe := exec.CommandContext(t.Context(), "ffprobe", "-v", "error", "-count_frames", "-show_entries", "stream=nb_read_frames", url) // decodes all frames
	var says bytes.Buffer
	probe.Stderr = &says
	if err := probe.Run(); err != nil || says.Len() > 0 {
		t.Errorf("ffprobe: %v: %s", err, &says)
	}

	page := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Type", "text/html")
		_, _ = fmt.Fprintf(w, `<!doctype html><video src="%s" muted></video>`, html.EscapeString(url))
	}))
	t.Cleanup(page.Close)
	type playback struct {
		Event    string
		Message  string
		At, Ends float64
		Width    int
		Frames   int
	}
	tab := browsertest.Open(t, page.URL)
	tab.Do(chromedp.Navigate(page.URL))
	played := browsertest.Read(tab, chromedp.Evaluate[playback](`new Promise(resolve => {
		const video = document.querySelector("video")
		const end = event => resolve({
			Event: event.type, Message: String(event.message ?? video.error?.message ?? ""), At: video.currentTime, Ends: video.duration,
			Width: video.videoWidth, Frames: video.getVideoPlaybackQuality().totalVideoFrames})
		for (const name of ["ended", "error"]) video.addEventListener(name, end)
		video.play().catch(reason => end({type: "refused", message: reason}))
	})`, chromedp.EvalAwaitPromise))
	tab.Faults() // the video has another origin
	if played.Event != "ended" || played.Ends == 0 || played.At < played.Ends || played.Width == 0 || played.Frames == 0 {
		t.Errorf("the browser plays %+v", played)
	}
}
