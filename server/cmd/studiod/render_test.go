package main

import (
	"bytes"
	"errors"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"testing"

	"github.com/avatarstudio/avatarstudio/api/tools/gobuild"
	"github.com/avatarstudio/avatarstudio/api/tools/harness"
	"github.com/avatarstudio/avatarstudio/client"
	"github.com/avatarstudio/avatarstudio/gen"
	"github.com/avatarstudio/avatarstudio/server/internal/testing/studiotest"
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

// Unusable input is a permanent failure with a reason for the user, and is not retried.
func TestDaemon_unusableInputIsPermanentFailure(t *testing.T) {
	t.Parallel()
	d := startRenderingDaemon(t)
	host := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Type", "video/mp4")
		_, _ = io.WriteString(w, "this is no video")
	}))
	t.Cleanup(host.Close)
	sent, err := d.client.UploadMedia(t.Context(), "video/mp4", strings.NewReader("#EXTM3U\n#EXTINF:10,\nfile:///etc/passwd\n"))
	check(t, err)
	for url, want := range map[string]string{
		host.URL:                "", // the reason comes from the renderer
		sent.URL:                "",
		"http://10.0.0.1/a.mp4": "The video_url must have a host that is a public address.",
		"https://192.168.0.1/b": "The video_url must have a host that is a public address.",
	} {
		lipsync, err := d.client.CreateLipsync(t.Context(), gen.CreateLipsyncRequest{
			VideoURL: gen.Value(url), UseAudioFromVideo: gen.Value(true),
		})
		check(t, err)
		lipsync, err = d.client.WaitLipsync(t.Context(), lipsync.InferenceID)
		check(t, err)
		if lipsync.FailureReason == nil || want != "" && *lipsync.FailureReason != want {
			t.Errorf("%s: %+v", url, lipsync)
		}
	}
}

func TestDaemon_deletionKillsRenderer(t *testing.T) {
	t.Parallel()
	harness.Need(t, "sh")
	script := filepath.Join(t.TempDir(), "hangs")
	check(t, os.WriteFile(script, []byte("#!/bin/sh\necho runs >&2 && sleep 600\n"), 0o755))
	d := startDaemon(t, func(cfg *daemonConfig) {
		cfg.Database, cfg.Render = studiotest.NewSQLite(t), renderConfig{Program: []string{script}}
	})
	lipsync, err := d.client.CreateLipsync(t.Context(), gen.CreateLipsyncRequest{Title: gen.Value("Greeting")})
	check(t, err)
	harness.Eventually(t, "the start of the program", func() bool { return strings.Contains(d.log.String(), "line=runs") })
	if len(studiotest.Processes(script)) == 0 {
		t.Error("the program does not run")
	}
	check(t, d.client.DeleteLipsync(t.Context(), gen.DeleteInferenceRequest{InferenceID: lipsync.InferenceID}))
	harness.Eventually(t, "the end of the program", func() bool { return len(studiotest.Processes(script)) == 0 })
	_, err = d.client.WaitLipsync(t.Context(), lipsync.InferenceID)
	if !errors.Is(err, client.ErrNotFound) {
		t.Errorf("error %v", err)
	}
}
