package main

import (
	"bytes"
	"net/http"
	"os"
	"runtime"
	"strings"
	"testing"

	"github.com/avatarstudio/avatarstudio/api/tools/gobuild"
	"github.com/avatarstudio/avatarstudio/api/tools/harness"
	"github.com/avatarstudio/avatarstudio/gen"
)

// startRenderingDaemon starts a daemon with the built-in renderer.
func startRenderingDaemon(t *testing.T, change ...func(*daemonConfig)) *testDaemon {
	t.Helper()
	harness.Need(t, "ffmpeg", "ffprobe", "espeak-ng")
	renderer, err := gobuild.Program(t.Context(), "github.com/avatarstudio/avatarstudio/server/cmd/studio-render")
	check(t, err)
	return startDaemon(t, append(change, func(cfg *daemonConfig) {
		cfg.Render = renderConfig{Program: []string{renderer}, Workers: max(1, runtime.NumCPU()/2)}
	})...)
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

// An avatar and a video of it are made. Anybody with their URLs can play both until they are deleted.
func TestDaemon_makesVideos(t *testing.T) {
	t.Parallel()
	d := startRenderingDaemon(t)
	request := gen.CreateAvatarRequest{Title: gen.Value("Ada")}
	if testing.Short() { // a picture of the renderer's presenter with a sixteenth of its pixels
		picture, err := os.ReadFile("testdata/presenter.jpg")
		check(t, err)
		sent, err := d.client.UploadMedia(t.Context(), "image/jpeg", bytes.NewReader(picture))
		check(t, err)
		request.BaseVideoURL = gen.Value(sent.URL)
	}
	avatar, err := d.client.CreateAvatar(t.Context(), request)
	check(t, err)
	avatar, err = d.client.WaitAvatar(t.Context(), avatar.AvatarID)
	check(t, err)
	if avatar.Status != gen.AvatarStatusPublished || avatar.AvatarProcessingResults == nil || *avatar.Progress != 100 {
		t.Fatalf("the avatar is %+v", avatar)
	}
	wantFile(t, avatar.Thumbnail, "image/jpeg", "\xff\xd8")

	video, err := d.client.CreateVideo(t.Context(), gen.CreateVideoRequest{AvatarID: avatar.AvatarID, Text: gen.Value("Hello.")})
	check(t, err)
	video, err = d.client.WaitVideo(t.Context(), video.InferenceID)
	check(t, err)
	if video.FailureReason != nil {
		t.Fatal(*video.FailureReason)
	}
	wantFile(t, video.Video, "video/mp4", "ftyp")
	wantFile(t, video.Thumbnail, "image/jpeg", "\xff\xd8")
	wantPlays(t, *video.Video)

	check(t, d.client.DeleteAvatar(t.Context(), gen.DeleteAvatarRequest{AvatarID: avatar.AvatarID}))
	for _, url := range []string{*avatar.Thumbnail, *video.Video} {
		if response, _ := get(t, url); response.StatusCode != http.StatusNotFound {
			t.Errorf("after the deletion: %s", response.Status)
		}
	}
}
