package talkinghead_test

import (
	"errors"
	"math"
	"os"
	"path/filepath"
	"slices"
	"testing"

	"github.com/avatarstudio/avatarstudio/api/tools/harness"
	"github.com/avatarstudio/avatarstudio/server/cmd/studio-render/internal/talkinghead"
	"github.com/avatarstudio/avatarstudio/server/internal/render/protocol"
)

// An avatar of a video can speak for longer than the video.
func TestMakeAvatar_canSpeak(t *testing.T) {
	t.Parallel()
	harness.SkipShort(t, "that of studio-render makes an avatar that speaks")
	harness.Need(t, "ffmpeg", "ffprobe", "espeak-ng")
	dir := t.TempDir()
	avatar := harness.Try(talkinghead.Config{}.MakeAvatar(t.Context(), clip(t, "15", steady), dir))(t)
	if slices.ContainsFunc(avatar.Checks, func(c protocol.Check) bool { return c.Status == protocol.Failed || c.Message == "" }) || len(avatar.Checks) == 0 {
		t.Errorf("checks are %+v", avatar.Checks)
	}
	harness.Try(os.Stat(avatar.Thumbnail))(t)
	files := map[string]string{} // in another directory, as the daemon keeps them
	for _, name := range avatar.Files {
		files[name] = filepath.Join(t.TempDir(), "0-"+name)
		harness.Check(t, os.Rename(filepath.Join(dir, name), files[name]))
	}
	made, err := talkinghead.Config{}.MakeVideo(t.Context(), files, talkinghead.Speech{Text: "It says what it was asked."}, dir)
	harness.Check(t, err)
	f := watch(t, made.Video)
	if made.DurationSeconds < 1.5 || math.Abs(f.video-f.audio) > 1/f.rate {
		t.Errorf("it lasts %v s, its sound %v s", f.video, f.audio)
	}
	if open := f.dark(t); slices.Max(open) < 0.04 {
		t.Errorf("the mouth opens by %.3f at most", slices.Max(open))
	}
	delete(files, "track.gob")
	_, err = talkinghead.Config{}.MakeVideo(t.Context(), files, talkinghead.Speech{Text: "Hello"}, dir)
	if _, blamed := errors.AsType[*protocol.Error](err); err == nil || blamed {
		t.Errorf("without a file of the avatar: %v", err)
	}
}

func TestMakeAvatar_reportsEveryCheckUpToTheFailure(t *testing.T) {
	t.Parallel()
	harness.Need(t, "ffmpeg", "ffprobe")
	dir := t.TempDir()
	pictures := map[string]string{"the demo's": "../../../studiod/face.jpg"}
	args := []string{"-loop", "1", "-i", sample(t)} // of one process, because its start takes most of its CPU time
	for name, filter := range map[string]string{
		"small": "scale=40:-1,pad=180:180:70:70:white", "two": "scale=240:-1,tile=2x1", "none": "crop=100:80:0:0",
	} {
		pictures[name] = filepath.Join(dir, name+".png")
		args = append(args, "-vf", filter, "-frames:v", "1", pictures[name])
	}
	ffmpeg(t, args...)
	pictures["text"] = filepath.Join(dir, "text.png")
	harness.Check(t, os.WriteFile(pictures["text"], []byte("no picture"), 0o600))
	for name, want := range map[string][]string{
		"the demo's": {"+readable", "+long_enough", "+one_face", "+large_enough", "+lit"},
		"small":      {"+readable", "+long_enough", "+one_face", "-large_enough", "+lit"},
		"two":        {"+readable", "+long_enough", "-one_face", "+large_enough", "+lit"},
		"none":       {"+readable", "+long_enough", "-one_face"},
		"text":       {"-readable"},
	} {
		avatar, err := talkinghead.Config{}.MakeAvatar(t.Context(), pictures[name], t.TempDir())
		if _, refused := errors.AsType[*protocol.Error](err); refused != (name != "the demo's") || err != nil && !refused {
			t.Errorf("%s: error is %v", name, err)
		}
		var got []string
		for _, c := range avatar.Checks {
			sign := "-"
			if c.Status == protocol.Succeeded {
				sign = "+"
			}
			got = append(got, sign+c.Name)
		}
		if !slices.Equal(got, want) {
			t.Errorf("%s: checks are %v, want %v", name, got, want)
		}
	}
}
