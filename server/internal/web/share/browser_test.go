package share_test

import (
	"bytes"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/chromedp/chromedp"

	"github.com/avatarstudio/avatarstudio/api/tools/harness"
	"github.com/avatarstudio/avatarstudio/server/internal/studio"
	"github.com/avatarstudio/avatarstudio/server/internal/testing/browsertest"
	"github.com/avatarstudio/avatarstudio/server/internal/testing/studiotest"
)

func TestMain(m *testing.M) { browsertest.Main{M: m}.Run() }

// A browser plays the video with its captions, and the policy of the page forbids nothing that it needs.
func TestBrowser_playsWithCaptions(t *testing.T) {
	t.Parallel()
	harness.SkipShort(t, "the browser takes seconds of CPU time for it")
	s := newSite(t, studiotest.Open(t, studiotest.NewSQLite(t)))
	id, page := s.share(studio.Rendering{Video: "video.mp4", Captions: "speech.vtt", Language: "en"})
	harness.Need(t, "ffmpeg")
	path := filepath.Join(t.TempDir(), "video.mp4")
	output, err := exec.CommandContext(t.Context(), "ffmpeg", "-v", "error", "-f", "lavfi", "-i", "testsrc=duration=0.5:size=64x36:rate=4",
		"-f", "lavfi", "-i", "sine=duration=0.5", "-pix_fmt", "yuv420p", "-movflags", "faststart", path).CombinedOutput()
	if err != nil {
		t.Fatalf("%v: %s", err, output)
	}
	video := try(os.ReadFile(path))(t)
	check(t, s.media.Write(t.Context(), studio.ResultKey(id, "video.mp4"), bytes.NewReader(video)))
	check(t, s.media.Write(t.Context(), studio.ResultKey(id, "speech.vtt"), strings.NewReader("WEBVTT\n\n00:00.000 --> 00:01.000\n<i>Good</i> morning.\n")))
	s.update(id, studio.ProjectChange{Title: new("Welcome to the team 👩‍👩‍👧‍👦 — " + strings.Repeat("Donaudampfschifffahrtsgesellschaft ", 3))})
	tab := browsertest.Open(t, s.URL)
	tab.Visit(page, "main > video") // a search for a word also finds the text in the head
	tab.Inspect("share")
	played := browsertest.Read(tab, chromedp.Evaluate[string](`new Promise(resolve => {
		const video = document.querySelector("video"), track = video.textTracks[0]
		video.muted = true
		for (const name of ["ended", "error"]) video.addEventListener(name, () => resolve([name, video.videoWidth, track.mode, track.cues[0].text].join(" ")))
		video.play().catch(reason => resolve(String(reason)))
	})`, chromedp.EvalAwaitPromise))
	if played != "ended 64 showing <i>Good</i> morning." {
		t.Errorf("playing the video ends with %q", played)
	}
	tab.Visit(page+"A", "main > h1")
	tab.Faults() // the error status
	tab.Inspect("share-none")
}
