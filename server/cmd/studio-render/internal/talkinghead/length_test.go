package talkinghead

import (
	"bytes"
	"encoding/binary"
	"errors"
	"math"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/avatarstudio/avatarstudio/api/tools/harness"
	"github.com/avatarstudio/avatarstudio/server/internal/render/protocol"
)

// The length of a file is that of what can be decoded, whatever the file says. A file whose end is missing is damaged.
func TestMedia_isAsLongAsWhatIsDecoded(t *testing.T) {
	t.Parallel()
	harness.SkipShort(t, "it makes and decodes many files")
	harness.Need(t, "ffmpeg", "ffprobe")
	dir := t.TempDir()
	face := filepath.Join(PigoModule(t), "testdata", "sample.jpg")
	film := []string{"-loop", "1", "-r", "10", "-i", face, "-f", "lavfi", "-i", "sine=d=2.5", "-t", "1.2", "-vf", "scale=160:200,noise=alls=20:allf=t", "-pix_fmt", "yuv420p"}
	longer := append(film[:len(film)-2:len(film)-2], "-pix_fmt", "yuv420p", "-t", "2.5", "-map", "0", "-map", "1", "-af", "apad", "-vf", "scale=160:200,trim=end=1.2")
	says := func(seconds float64) func([]byte) []byte { // in the header of a Matroska file
		return func(file []byte) []byte {
			_, after, _ := bytes.Cut(file, []byte("\x44\x89\x88"))
			binary.BigEndian.PutUint64(after, math.Float64bits(seconds*1000))
			return file
		}
	}
	cut := func(file []byte) []byte { return file[:len(file)*2/5] }
	quiet := func(file []byte) []byte { // frames of 8 kbit/s before those of 160
		return append(bytes.Repeat(append([]byte("\xff\xf3\x10\xc0"), make([]byte, 22)...), 100), file...)
	}
	for _, test := range []struct {
		name   string
		args   []string
		change func([]byte) []byte
		want   float64 // seconds
		reason string
	}{
		{name: "silence.aac", args: []string{"-f", "lavfi", "-i", "anoisesrc=d=2:r=44100,adelay=1500", "-b:a", "320k"}, want: 3.5},
		{name: "noindex.mp3", args: []string{"-f", "lavfi", "-i", "anoisesrc=d=6:r=22050", "-b:a", "160k", "-write_xing", "0", "-id3v2_version", "0"}, change: quiet, want: 8.6},
		{name: "longer.webm", args: append(slices.Clip(longer), "-c:v", "libvpx", "-deadline", "realtime", "-cpu-used", "8"), want: 1.2},
		{name: "longer.mp4", args: longer, want: 1.2},
		{name: "longer.avi", args: append(slices.Clip(longer), "-c:v", "mpeg4"), want: 1.2},
		{name: "piped.avi", args: append(slices.Clip(film), "-c:v", "mpeg4", "-seekable", "0"), want: 1.2},
		{name: "says 700 s.mkv", args: film, change: says(700), want: 1.2},
		{name: "says 0.1 s.mkv", args: film, change: says(0.1), want: 1.2},
		{name: "followed.jpg", args: []string{"-i", face, "-frames:v", "1"}, change: func(file []byte) []byte { return bytes.Repeat(file, 20) }, want: 1.0 / pictureRate},
		{name: "cut.mkv", args: film, change: cut, reason: "damaged"},
		{name: "cut.mp4", args: append(slices.Clip(film), "-movflags", "+faststart"), change: cut, reason: "damaged"},
		{name: "cut.avi", args: append(slices.Clip(film), "-c:v", "mpeg4"), change: cut, reason: "damaged"},
		{name: "cut after 700 s.mkv", args: film, change: func(file []byte) []byte { return cut(says(700)(file)) }, reason: "damaged"},
	} {
		t.Run(test.name, func(t *testing.T) {
			t.Parallel()
			path := filepath.Join(dir, test.name)
			harness.Check(t, ffmpeg(t.Context(), append(slices.Clip(test.args), path)...).run())
			if test.change != nil {
				content := harness.Try(os.ReadFile(path))(t)
				harness.Check(t, os.WriteFile(path, test.change(content), 0o600))
			}
			got, err := lasts(t, path)
			switch reason, ok := errors.AsType[*protocol.Error](err); {
			case test.reason == "" && (err != nil || math.Abs(got-test.want) > 0.15):
				t.Errorf("it lasts %.2f s, want %.1f: %v", got, test.want, err)
			case test.reason != "" && (!ok || !strings.Contains(reason.Reason, test.reason)):
				t.Errorf("it lasts %.2f s: %v", got, err)
			}
		})
	}
}

// Streams that are not used refuse no file: of other codecs, of other kinds, too large, or too long.
func TestMedia_unusedStreamsRefuseNothing(t *testing.T) {
	t.Parallel()
	harness.SkipShort(t, "files with such streams are few")
	harness.Need(t, "ffmpeg", "ffprobe")
	dir := t.TempDir()
	path := func(name string) string { return filepath.Join(dir, name) }
	harness.Check(t, os.WriteFile(path("title.srt"), []byte("1\n00:00:00,000 --> 00:00:09,000\nHello\n"), 0o600))
	files := map[string]string{
		"others.mkv": "-map 1 -map 0 -map 2 -map 3 -c:v:0 ffv1 -c:v:1 libx264 -preset ultrafast -disposition:v:0 0 -disposition:v:1 default " +
			"-c:a dca -strict -2 -ar 48000 -c:s srt",
		"pictures.mkv": "-map 0 -map 3 -c:a aac -c:v ffv1",
		"large.avi":    "-map 0 -map 3 -c:a aac -vf scale=4160:64 -c:v mpeg4 -frames:v 3",
		"long.mkv":     "-map 0 -map 3 -c:a aac -vf setpts=1000*PTS -r 1/100 -c:v mpeg4",
	}
	args := []string{"-f", "lavfi", "-i", "color=s=64x64:r=10:d=1", "-f", "lavfi", "-i", "color=green:s=64x64:r=10:d=1", "-i", path("title.srt"), "-f", "lavfi", "-i", "sine=d=0.4"}
	for name, options := range files {
		args = append(append(args, strings.Fields(options)...), path(name))
	}
	harness.Check(t, ffmpeg(t.Context(), args...).run())
	for name := range files {
		m, err := open(t.Context(), path(name), "The file")
		harness.Check(t, err)
		if name == "others.mkv" {
			_, err = m.firstFrame(t.Context())
			err = errors.Join(err, m.noPictures)
		} else {
			_, err = m.samples(t.Context(), func([]int16) {})
			err = errors.Join(err, m.noSound)
		}
		if err != nil || (m.noPictures == nil) == (m.noSound == nil) {
			t.Errorf("%s: %v; the pictures: %v; the sound: %v", name, err, m.noPictures, m.noSound)
		}
	}
}

// No room for another thread is no damage of a file, and what ffprobe quotes from a file does not pass for it.
func TestMedia_isNotDamagedWithoutThreads(t *testing.T) {
	t.Parallel()
	for _, text := range []string{"opening decoder for input stream #0:0 : Resource temporarily unavailable", "Error while opening encoder for output"} {
		if err := newProcess(t.Context(), "sh", "-c", "echo '"+text+"' >&2; exit 1").run(); !badInput(err) || badInput(errors.Join(errors.New("ffmpeg: "), err)) {
			t.Errorf("the file is damaged, or may cause it: %v", err)
		}
	}
}

// lasts returns the length of the pictures of a file, or else of its sound.
func lasts(t *testing.T, path string) (float64, error) {
	t.Helper()
	m, err := open(t.Context(), path, "The file")
	if err != nil {
		return 0, err
	}
	if m.video.Codec == "" {
		p := performance{sound: m}
		err := p.analyseSound(t.Context())
		return p.seconds, err
	}
	m.limit = maxFootage // as of an avatar
	tracked, err := Config{}.follow(t.Context(), m, "The file", 0, 1)
	return float64(len(tracked.track.Places)) / m.rate.float(), err
}

// The rate of interlaced video is that of its frames, although files may count its fields.
func TestFrameRate_isThatOfFrames(t *testing.T) {
	t.Parallel()
	for _, test := range [][3]string{
		{"50/1", "25/1", "50/2"},
		{"60000/1001", "30000/1001", "60000/2002"},
		{"50/1", "2520/101", "50/2"},
		{"25/1", "25/1", "25/1"},
		{"50/1", "50/1", "50/1"},
		{"90000/1", "30/1", "30/1"},
		{"120/1", "0/0", "60/1"},
		{"0/0", "0/0", "25/1"},
	} {
		if got := frameRate(test[0], test[1]).String(); got != test[2] {
			t.Errorf("of %s and %s it is %s, want %s", test[0], test[1], got, test[2])
		}
	}
}
