package main

import (
	"bytes"
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/avatarstudio/avatarstudio/api/tools/harness"
	"github.com/avatarstudio/avatarstudio/server/internal/render/protocol"
)

// The program prepares an avatar, and then makes it speak a sound, and a text, which has subtitles. An avatar of text
// is a permanent failure.
func TestRun_makesAvatarAndVideo(t *testing.T) {
	t.Parallel()
	harness.Need(t, "ffmpeg", "ffprobe", "espeak-ng")
	avatarDir := t.TempDir()
	avatar, err := exchange(t, protocol.Request{Kind: protocol.Avatar, Request: []byte(`{"title":"Ada"}`), OutputDir: avatarDir})
	harness.Check(t, err)
	if len(avatar.Files) == 0 || avatar.Thumbnail == "" || avatar.Previews.AnimationPlay == "" || len(avatar.Checks) == 0 || avatar.Checks[0].Status != protocol.Succeeded {
		t.Errorf("the avatar is %+v", avatar)
	}
	files := map[string]string{}
	for _, name := range avatar.Files {
		files[name] = filepath.Join(avatarDir, name)
	}

	sound := filepath.Join(t.TempDir(), "sound.wav")
	harness.Check(t, exec.CommandContext(t.Context(), "ffmpeg", "-f", "lavfi", "-i", "sine=frequency=600", "-t", "0.5", "-af", "pan=stereo|c0=c0|c1=-1*c0", sound).Run())
	request := protocol.Request{
		Kind: protocol.Video, Request: []byte(`{"avatar_id":"a"}`), Inputs: map[string]string{"audio_url": sound}, AvatarFiles: files, OutputDir: t.TempDir(),
	}
	video := harness.Try(exchange(t, request))(t)
	if video.Video != "out.mp4" || video.Thumbnail != "out.jpg" || video.DurationSeconds < 0.4 || video.DurationSeconds > 0.6 {
		t.Errorf("the video is %+v", video)
	}
	if len(video.Checks) != 1 || video.Checks[0].Name != "heard_in_mono" || video.Checks[0].Status != protocol.Failed {
		t.Errorf("the checks of inverted sound are %+v", video.Checks)
	}
	for _, name := range []string{
		video.Video, video.Thumbnail, video.Voice, video.Previews.Still, video.Previews.StillPlay, video.Previews.Animation, video.Previews.AnimationPlay,
	} {
		if info, err := os.Stat(filepath.Join(request.OutputDir, name)); err != nil || info.Size() == 0 {
			t.Errorf("%s: %v", name, err)
		}
	}

	request.Voice, request.Inputs, request.OutputDir = "pt-br+Annie", nil, t.TempDir()
	request.Request = []byte(`{"text":"Olá! <b>","language":"pt-PT","speed":2}`)
	video = harness.Try(exchange(t, request))(t)
	if video.Language != "pt-PT" || len(video.Checks) != 2 || video.Checks[0].Status != protocol.Succeeded {
		t.Errorf("the video is %+v", video)
	}
	for name, want := range map[string]string{video.Subtitles: "Olá! ‹b›\n", video.Captions: "Olá! &lt;b&gt;\n"} {
		if content, err := os.ReadFile(filepath.Join(request.OutputDir, name)); err != nil || !strings.Contains(string(content), want) {
			t.Errorf("%s: %s, %v", name, content, err)
		}
	}
	text := filepath.Join(t.TempDir(), "text")
	harness.Check(t, os.WriteFile(text, []byte("#!/bin/sh\n"), 0o600))
	request = protocol.Request{Kind: protocol.Avatar, Request: []byte(`{}`), Inputs: map[string]string{"base_video_url": text}, OutputDir: t.TempDir()}
	_, err = exchange(t, request)
	if failure, ok := errors.AsType[*protocol.Error](err); !ok || !failure.Permanent || len(failure.Checks) != 1 || failure.Checks[0].Status != protocol.Failed {
		t.Errorf("an avatar of text: %v", err)
	}
	known, err := exchange(t, protocol.Request{Kind: protocol.Voices, Request: []byte(`{}`), OutputDir: t.TempDir()})
	harness.Check(t, err)
	if annie := (protocol.Voice{ID: "fr-fr+Annie", Language: "fr-FR", Name: "French (France), Annie", Gender: "female"}); !slices.Contains(known.Voices, annie) {
		t.Errorf("%+v is not among %d voices", annie, len(known.Voices))
	}
}

// Other failures are reported by the exit status, with nothing on standard output.
func TestRun_exitStatusOfOtherFailures(t *testing.T) {
	t.Parallel()
	for name, test := range map[string]struct {
		args  []string
		input string
	}{
		"an argument": {[]string{"-help"}, ""},
		"no request":  {nil, ""},
		"version 2":   {nil, `{"version":2,"kind":"avatar","id":"1","attempt":1,"request":{},"inputs":{},"output_dir":"/tmp"}`},
	} {
		var stdout, stderr bytes.Buffer
		if code := run(t.Context(), test.args, strings.NewReader(test.input), &stdout, &stderr); code != 2 || stdout.Len() > 0 || stderr.Len() == 0 {
			t.Errorf("%s: status %d, %q, %q", name, code, stdout.String(), stderr.String())
		}
	}
}

// exchange runs the program as the daemon does.
func exchange(t *testing.T, request protocol.Request) (protocol.Result, error) {
	t.Helper()
	request.Version, request.ID, request.Attempt = protocol.Version, "1", 1
	var input, output, problems bytes.Buffer
	harness.Check(t, protocol.WriteRequest(&input, request))
	if code := run(t.Context(), nil, &input, &output, &problems); code != 0 || problems.Len() > 0 {
		t.Fatalf("status %d: %s", code, problems.Bytes())
	}
	return protocol.Read(&output, func(float64, protocol.Stage) {})
}
