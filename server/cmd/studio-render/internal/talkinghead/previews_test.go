package talkinghead_test

import (
	"bytes"
	"encoding/binary"
	"image"
	"image/gif"
	"image/png"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/avatarstudio/avatarstudio/api/tools/harness"
	"github.com/avatarstudio/avatarstudio/server/cmd/studio-render/internal/talkinghead"
	"github.com/avatarstudio/avatarstudio/server/internal/render/protocol"
)

// A video has a still picture and a moving one of two seconds, each with and without a play button, and its sound. An
// avatar has the pictures. They are small even if the video is noise.
func TestPreviews_ofAVideoAndAnAvatar(t *testing.T) {
	t.Parallel()
	harness.SkipShort(t, "it renders several videos")
	harness.Need(t, "ffmpeg", "ffprobe")
	noise := clip(t, "10", "scale=-2:396,pad=704:396:(ow-iw)/2:0:white,noise=alls=60:allf=t")
	made := makeLipsync(t, talkinghead.Lipsync{Video: noise, Audio: newSound(t, "sine=frequency=200", "2.1")})
	checkPreviews(t, made.Previews, 640, 360, 320, 180, 20)
	heard := command(t, "ffprobe", "-v", "error", "-show_entries", "stream=codec_name:format=duration", "-of", "csv=p=0", made.Voice)
	if filepath.Ext(made.Voice) != ".m4a" || !strings.HasPrefix(string(heard), "aac\n2.1") {
		t.Errorf("the voice %s is %s", made.Voice, heard)
	}
	avatar := harness.Try(talkinghead.Config{}.MakeAvatar(t.Context(), noise, t.TempDir()))(t)
	checkPreviews(t, avatar.Previews, 640, 360, 320, 180, 12)
	checkProvenance(t, made, avatar)
	avatar = harness.Try(talkinghead.Config{}.MakeAvatar(t.Context(), sample(t), t.TempDir()))(t)
	checkPreviews(t, avatar.Previews, 320, 400, 214, 268, 20)
	left, err := filepath.Glob(filepath.Join(filepath.Dir(avatar.Thumbnail), "work-*"))
	if harness.Check(t, err); len(left) > 0 {
		t.Errorf("%v is left", left)
	}
}

func checkPreviews(t *testing.T, p protocol.Previews, width, height, smallWidth, smallHeight, frames int) {
	t.Helper()
	still, play := readPNG(t, p.Still), readPNG(t, p.StillPlay)
	checkButton(t, still, play, width, height)
	moving, covered := readGIF(t, p.Animation), readGIF(t, p.AnimationPlay)
	checkButton(t, moving.Image[0], covered.Image[0], smallWidth, smallHeight)
	for _, g := range []*gif.GIF{moving, covered} {
		if len(g.Image) != frames || g.LoopCount != 0 {
			t.Errorf("an animation has %d frames and loops %d times, want %d frames", len(g.Image), g.LoopCount, frames)
		}
	}
}

// checkButton checks the size of a picture, and that the same with a play button differs in its middle only.
func checkButton(t *testing.T, plain, play image.Image, width, height int) {
	t.Helper()
	if size := image.Rect(0, 0, width, height); plain.Bounds() != size || play.Bounds() != size {
		t.Errorf("the pictures are %v and %v, want %v", plain.Bounds(), play.Bounds(), size)
	}
	luma := func(picture image.Image, x, y int) uint32 {
		r, g, b, _ := picture.At(x, y).RGBA()
		return (r + g + b) / 3 >> 8
	}
	if got := luma(play, width/2, height/2); got < 235 {
		t.Errorf("the middle of the button is %d, want white", got)
	}
	if a, b := luma(plain, 3, 3), luma(play, 3, 3); max(a, b)-min(a, b) > 40 { // animations are dithered
		t.Errorf("the corner is %d, and %d with the button", a, b)
	}
}

func readPNG(t *testing.T, path string) image.Image {
	t.Helper()
	return harness.Try(png.Decode(bytes.NewReader(read(t, path))))(t)
}

func readGIF(t *testing.T, path string) *gif.GIF {
	t.Helper()
	data := read(t, path)
	if len(data) > 1_500_000 {
		t.Errorf("%s has %d bytes", path, len(data))
	}
	return harness.Try(gif.DecodeAll(bytes.NewReader(data)))(t)
}

func read(t *testing.T, path string) []byte {
	t.Helper()
	return harness.Try(os.ReadFile(path))(t)
}

// checkProvenance checks that programs find the IPTC term for synthetic media in a video and in its still pictures, but
// not in those of an avatar, which are as the camera took them.
func checkProvenance(t *testing.T, made protocol.Result, avatar protocol.Result) {
	t.Helper()
	const term = "http://cv.iptc.org/newscodes/digitalsourcetype/compositeSynthetic"
	if tags := command(t, "ffprobe", "-v", "error", "-export_xmp", "1", "-show_entries", "format_tags=xmp", made.Video); !bytes.Contains(tags, []byte(term)) {
		t.Errorf("ffprobe reads %s", tags)
	}
	film, id := read(t, made.Video), []byte("uuid\xbe\x7a\xcf\xcb\x97\xa9\x42\xe8\x9c\x71\x99\x94\x91\xe3\xaf\xac<?xpacket")
	if box := film[max(bytes.LastIndex(film, id)-4, 0):]; int(binary.BigEndian.Uint32(box)) != len(box) {
		t.Errorf("the last box has %d bytes of %d", binary.BigEndian.Uint32(box), len(box))
	}
	for path, want := range map[string]bool{
		made.Previews.Still: true, made.Previews.StillPlay: true, avatar.Previews.Still: false, avatar.Previews.StillPlay: false,
	} {
		if got := bytes.Contains(read(t, path), []byte("iTXtXML:com.adobe.xmp\x00\x00\x00\x00\x00<?xpacket")); got != want {
			t.Errorf("%s is marked: %t", path, got)
		}
	}
}
