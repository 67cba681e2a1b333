package talkinghead_test

import (
	"fmt"
	"math"
	"os"
	"path/filepath"
	"testing"

	"github.com/avatarstudio/avatarstudio/api/tools/harness"
	"github.com/avatarstudio/avatarstudio/server/cmd/studio-render/internal/talkinghead"
)

// maxColorError is the mean difference of colours that the noise of the encoding explains.
const maxColorError = 1.5

// picture is a decoded picture in RGB.
type picture struct {
	pix   []byte
	width int
}

// readPicture decodes a picture, or a frame of a video.
func readPicture(t testing.TB, path string, frame, width, height int) picture {
	t.Helper()
	filter := fmt.Sprintf("select=gte(n\\,%d),scale=%d:%d:flags=area+accurate_rnd+full_chroma_int,format=rgb24", frame, width, height)
	return picture{ffmpeg(t, "-i", path, "-vf", filter, "-frames:v", "1", "-f", "rawvideo", "-"), width}
}

// area is a rectangle in pixels.
type area struct{ left, top, right, bottom float64 }

// compare returns the mean difference of each channel in an area. The area of the other picture is displaced by dx and
// dy.
func (p picture) compare(other picture, in area, dx, dy int) (mean [3]float64) {
	n := 0.0
	for y := int(in.top); y < int(in.bottom); y++ {
		for x := int(in.left); x < int(in.right); x++ {
			for i := range mean {
				mean[i] += float64(p.pix[3*(y*p.width+x)+i]) - float64(other.pix[3*((y+dy)*p.width+x+dx)+i])
			}
			n++
		}
	}
	for i := range mean {
		mean[i] /= n
	}
	return mean
}

// align returns the displacement at which an area of another picture is most similar.
func (p picture) align(other picture, in area) (dx, dy int) {
	const reach = 6
	least := math.Inf(1)
	for y := -reach; y <= reach; y++ {
		for x := -reach; x <= reach; x++ {
			sum := 0.0
			for row := int(in.top); row < int(in.bottom); row += 2 {
				for column := int(in.left); column < int(in.right); column += 2 {
					sum += math.Abs(float64(p.pix[3*(row*p.width+column)+1]) - float64(other.pix[3*((row+y)*p.width+column+x)+1]))
				}
			}
			if sum < least {
				least, dx, dy = sum, x, y
			}
		}
	}
	return dx, dy
}

// farthest returns the largest value without its sign.
func farthest(values [3]float64) float64 {
	return max(math.Abs(values[0]), math.Abs(values[1]), math.Abs(values[2]))
}

// A video of an avatar of a picture has the colours of the picture, and no edge around the mouth, which is painted over
// it.
func TestMakeVideo_hasColorsOfPicture(t *testing.T) {
	t.Parallel()
	harness.SkipShort(t, "TestMake_showsWhatAViewerSees compares colours too")
	harness.Need(t, "ffmpeg", "ffprobe")
	for name, format := range map[string][]string{ // with other matrices, ranges and resolutions of colours
		"picture.jpg": {"-q:v", "2"}, "picture.webp": {"-vf", "scale=400:-2", "-q:v", "90"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			dir := t.TempDir()
			path, sound := filepath.Join(dir, name), newSound(t, "sine=frequency=500", "0.8")
			ffmpeg(t, append(append([]string{"-i", sample(t)}, format...), path)...)
			avatar, err := talkinghead.Config{}.MakeAvatar(t.Context(), path, dir)
			harness.Check(t, err)
			thumbnail := avatar.Thumbnail + ".jpg"
			if err := os.Rename(avatar.Thumbnail, thumbnail); err != nil { // the video has one of the same name
				t.Fatal(err)
			}
			made, err := talkinghead.Config{}.MakeVideo(t.Context(), keep(t, avatar, dir), talkinghead.Speech{Audio: sound}, dir)
			harness.Check(t, err)
			f := watch(t, made.Path)
			face := newFinder(t).find(t, f.frames[0], f.width, f.height)
			unit, x, y := face.eyes(), (face.mouthLeft[0]+face.mouthRight[0])/2, (face.mouthLeft[1]+face.mouthRight[1])/2
			want := readPicture(t, path, 0, f.width, f.height)
			shown := map[string]picture{"avatar": readPicture(t, thumbnail, 0, f.width, f.height), "thumbnail": readPicture(t, made.Thumbnail, 0, f.width, f.height)}
			for i := 0; i < len(f.frames); i += 5 {
				shown[fmt.Sprint("frame ", i)] = readPicture(t, made.Path, i, f.width, f.height)
			}
			var edge [3]float64
			for what, got := range shown {
				for where, in := range map[string]area{
					"face":       {x - 0.8*unit, y - 1.9*unit, x + 0.8*unit, y - 0.4*unit},
					"background": {0.2 * unit, 0.2 * unit, 0.6 * unit, 0.6 * unit},
				} {
					dx, dy := got.align(want, in)
					if off := got.compare(want, in, dx, dy); farthest(off) > maxColorError {
						t.Errorf("%s: the colours of the %s are off by %.2f", what, where, off)
					}
				}
				for _, side := range []float64{-0.55, 0.55} { // the upper edge of what is painted, on a cheek
					left, right := x+(side-0.15)*unit, x+(side+0.15)*unit
					dx, dy := got.align(want, area{left, y - 0.6*unit, right, y - 0.15*unit})
					above := got.compare(want, area{left, y - 0.48*unit, right, y - 0.38*unit}, dx, dy)
					below := got.compare(want, area{left, y - 0.34*unit, right, y - 0.24*unit}, dx, dy)
					for i := range edge {
						edge[i] += (below[i] - above[i]) / float64(2*len(shown))
					}
				}
			}
			if farthest(edge) > maxColorError {
				t.Errorf("the painted part has an edge of %.2f", edge)
			}
		})
	}
}

// A video in RGB is converted, and its lip-sync says how.
func TestMakeLipsync_convertsRGB(t *testing.T) {
	t.Parallel()
	harness.SkipShort(t, "it makes a video and renders it")
	harness.Need(t, "ffmpeg", "ffprobe")
	dir := t.TempDir()
	video := filepath.Join(dir, "rgb.mp4")
	ffmpeg(t, "-loop", "1", "-r", "25", "-i", sample(t), "-f", "lavfi", "-i", "sine=frequency=500", "-t", "1.2", "-c:v", "libx264rgb", video)
	made := makeLipsync(t, talkinghead.Lipsync{Video: video, UseAudioFromVideo: true})
	want := readPicture(t, video, 0, 320, 400)
	for _, path := range []string{made.Path, made.Thumbnail} {
		if off := readPicture(t, path, 0, 320, 400).compare(want, area{0, 0, 320, 240}, 0, 0); farthest(off) > maxColorError {
			t.Errorf("%s: the colours are off by %.2f", filepath.Base(path), off)
		}
	}
}
