package talkinghead_test

import (
	"context"
	"encoding/binary"
	"errors"
	"hash/crc32"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"
	"unicode"

	"github.com/avatarstudio/avatarstudio/api/tools/harness"
	"github.com/avatarstudio/avatarstudio/server/cmd/studio-render/internal/talkinghead"
	"github.com/avatarstudio/avatarstudio/server/internal/render/protocol"
)

// Input that cannot be used fails with a protocol.Error, whose reason is a sentence without a path of this
// machine.
func TestMakeLipsync_rejectsUnusableInput(t *testing.T) {
	t.Parallel()
	harness.SkipShort(t, "it starts many processes")
	harness.Need(t, "ffmpeg", "ffprobe")
	dir := t.TempDir()
	file := func(name string, content []byte) string {
		path := filepath.Join(dir, name)
		harness.Check(t, os.WriteFile(path, content, 0o600))
		return path
	}
	face, noFace, longVideo, longSound := sample(t), filepath.Join(dir, "whole.mp4"), filepath.Join(dir, "long.mp4"), filepath.Join(dir, "long.wav")
	ffmpeg(t, "-f", "lavfi", "-i", "testsrc=s=320x240:r=25:d=1.2", "-f", "lavfi", "-i", "color=s=64x64:r=1:d=660", "-f", "lavfi", "-i", "anullsrc=r=8000:cl=mono:d=660",
		"-map", "0", "-pix_fmt", "yuv420p", noFace, "-map", "1", "-pix_fmt", "yuv420p", longVideo, "-map", "2", longSound)
	inputs, outputs, sources := []string{"-loop", "1", "-t", "2", "-i", face}, []string(nil), 0 // of one process, because its start takes most of its CPU time
	generate := func(name string, source int, args ...string) string {
		path := filepath.Join(dir, name)
		outputs = slices.Concat(outputs, []string{"-map", strconv.Itoa(source)}, args, []string{path})
		return path
	}
	lavfi := func(name, source string, args ...string) string {
		inputs, sources = append(inputs, "-f", "lavfi", "-t", "2", "-i", source), sources+1
		return generate(name, sources, args...)
	}
	voice := lavfi("voice.wav", "sine=frequency=300:sample_rate=16000:duration=1")
	whole := harness.Try(os.ReadFile(noFace))(t)
	portrait := harness.Try(os.ReadFile(face))(t)
	secret := file("secret.txt", []byte("a secret of this machine"))
	video := func(path string) talkinghead.Lipsync { return talkinghead.Lipsync{Video: path, Audio: voice} }
	sound := func(path string) talkinghead.Lipsync { return talkinghead.Lipsync{Video: face, Audio: path} }

	for name, test := range map[string]struct {
		lipsync talkinghead.Lipsync
		reason  string // a substring of the reason
	}{
		"empty":                     {video(file("empty.mp4", nil)), "empty"},
		"text named MP4":            {video(file("text.mp4", []byte("just text"))), "not accepted"},
		"truncated before its end":  {video(file("half.mp4", whole[:len(whole)/2])), "damaged"},
		"only a header":             {video(file("header.mp4", whole[:24])), "damaged"},
		"a box of 10 GB":            {video(file("box.mp4", append(whole[:32:32], 0, 0, 0, 1, 'm', 'o', 'o', 'v', 0, 0, 0, 2, 0x54, 0x0b, 0xe4, 0, 1, 2, 3))), "neither pictures nor sound"},
		"noise after a header":      {video(file("noise.mkv", append([]byte("\x1aE\xdf\xa3"), make([]byte, 5000)...))), "damaged"},
		"HLS of a file":             {video(file("hls.mp4", []byte("#EXTM3U\n#EXTINF:10,\nfile://"+secret+"\n"))), "not accepted"},
		"a list to join":            {video(file("list.mp4", []byte("ffconcat version 1.0\nfile "+secret+"\n"))), "not accepted"},
		"SVG":                       {video(file("drawing.svg", []byte(`<svg xmlns="http://www.w3.org/2000/svg"><image href="file://`+secret+`"/></svg>`))), "not accepted"},
		"gzip":                      {video(file("bomb.gz", []byte("\x1f\x8b\x08\x00aaaaaaaaaaaaaaaaaaaaaaaa"))), "not accepted"},
		"PNG of 20,000 × 20,000":    {video(file("large.png", pngHeader(20_000, 20_000))), "20000 × 20000"},
		"PNG without content":       {video(file("hollow.png", pngHeader(200, 200))), "damaged"},
		"JPEG without its end":      {video(file("end.jpg", portrait[:len(portrait)*9/10])), "damaged"},
		"JPEG cut off":              {video(file("cut.jpg", []byte("\xff\xd8\xff\xe0\x00\x10JFIF"))), "damaged"},
		"8K":                        {video(lavfi("8k.mp4", "color=s=7680x4320:r=1", "-frames:v", "1", "-c:v", "mpeg4", "-threads", "1")), "too large"},
		"a strip":                   {video(lavfi("strip.png", "color=s=4096x72", "-frames:v", "1")), "too narrow: its 4096 × 72 pixels become 1920 × 32 in 1080p"},
		"tiny":                      {video(lavfi("tiny.mp4", "color=s=32x32:r=25", "-t", "1", "-pix_fmt", "yuv420p")), "too small"},
		"no face":                   {video(noFace), "No face"},
		"ten faces":                 {video(generate("ten.png", 0, "-vf", "scale=240:-1,tile=5x2", "-frames:v", "1")), "10 faces"},
		"a small face":              {video(generate("small.png", 0, "-vf", "scale=40:-1,pad=180:180:70:70:white", "-frames:v", "1")), "small"},
		"a face in the dark":        {video(generate("dark.png", 0, "-vf", "format=gray,lutyuv=y=val/10+4", "-frames:v", "1")), "dark"},
		"a short video":             {video(generate("short.mp4", 0, "-t", "0.4", "-pix_fmt", "yuv420p")), "too short"},
		"a video of 0 s":            {video(lavfi("none.mp4", "color=s=320x240:r=25", "-t", "0", "-pix_fmt", "yuv420p")), "neither pictures nor sound"},
		"a video of 11 minutes":     {video(longVideo), "too long"},
		"sound for a video":         {video(voice), "The video has no pictures."},
		"a sound of 11 minutes":     {sound(longSound), "too long"},
		"a picture for sound":       {sound(face), "The file of audio_url has no sound."},
		"a video without sound":     {sound(noFace), "no sound"},
		"a sound in text":           {sound(file("text.wav", []byte("RIFFtext"))), "not accepted"},
		"a codec of sound":          {sound(lavfi("odd.avi", "sine=duration=1", "-c:a", "adpcm_swf")), `The sound of the file of audio_url is in the format "adpcm_swf", which is not accepted.`},
		"a codec without a decoder": {sound(lavfi("dts.mkv", "sine=duration=1", "-c:a", "dca", "-strict", "-2")), `"dts"`},
		"a codec of pictures":       {video(lavfi("odd.mkv", "testsrc=s=320x240:r=25", "-t", "1.2", "-c:v", "ffv1")), `The video is in the format "ffv1", which is not accepted.`},
		"a moving WebP":             {video(lavfi("moving.webp", "testsrc=s=64x64", "-frames:v", "2", "-c:v", "libwebp_anim")), "not accepted: animated WebP."},
		"a HEIC":                    {video(file("photo.heic", []byte("\x00\x00\x00\x18ftypheic\x00\x00\x00\x00mif1heic"))), "not accepted: HEIC or AVIF."},
		"an answer for a sound":     {sound(file("answer.wav", []byte(`{"error":"not found"}`))), "not accepted: JSON."},
		"an MPEG stream":            {video(lavfi("stream.ts", "testsrc=s=64x64", "-frames:v", "2", "-c:v", "mpeg2video")), "not accepted: MPEG."},
		"nothing to say":            {talkinghead.Lipsync{Video: face}, "audio_url"},
		"sound of a picture":        {talkinghead.Lipsync{Video: face, UseAudioFromVideo: true}, "no sound"},
		"sound of no video":         {talkinghead.Lipsync{UseAudioFromVideo: true}, "video_url"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			output := t.TempDir()
			_, err := talkinghead.Config{}.MakeLipsync(t.Context(), test.lipsync, output)
			failure, ok := errors.AsType[*protocol.Error](err)
			if !ok {
				t.Fatalf("error is %v", err)
			}
			if reason := failure.Reason; !strings.Contains(reason, test.reason) || !strings.HasSuffix(reason, ".") ||
				!unicode.IsUpper(rune(reason[0])) || strings.Contains(reason, dir) || strings.Contains(reason, "secret") {
				t.Errorf("the reason is %q", reason)
			}
			if left, err := os.ReadDir(output); err != nil || len(left) > 0 {
				t.Errorf("left are %v, %v", left, err)
			}
		})
	}
	ffmpeg(t, append(inputs, outputs...)...) // the tests above wait for the end of this one
}

// pngHeader returns a PNG file that ends after its header.
func pngHeader(width, height uint32) []byte {
	header := append([]byte("IHDR"), binary.BigEndian.AppendUint32(binary.BigEndian.AppendUint32(nil, width), height)...)
	header = append(header, 8, 2, 0, 0, 0)
	picture := append([]byte("\x89PNG\r\n\x1a\n\x00\x00\x00\x0d"), header...)
	return binary.BigEndian.AppendUint32(picture, crc32.ChecksumIEEE(header))
}

func TestMakeLipsync_cancelStopsAndCleansUp(t *testing.T) {
	t.Parallel()
	harness.Need(t, "ffmpeg", "ffprobe")
	output, sound := t.TempDir(), newSound(t, "sine=sample_rate=16000", "8")
	ctx, cancel := context.WithCancel(t.Context())
	var last float64
	_, err := talkinghead.Config{Progress: func(done float64, _ protocol.Stage) {
		if last = done; done > 0.3 {
			cancel()
		}
	}}.MakeLipsync(ctx, talkinghead.Lipsync{Video: sample(t), Audio: sound}, output)
	if !errors.Is(err, context.Canceled) {
		t.Errorf("error is %v", err)
	}
	if last > 0.9 {
		t.Errorf("it went on to %v", last)
	}
	if left, err := filepath.Glob(filepath.Join(output, "work-*")); err != nil || len(left) > 0 {
		t.Errorf("left are %v, %v", left, err)
	}
}
