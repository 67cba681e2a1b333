package talkinghead_test

import (
	"bytes"
	"cmp"
	"encoding/binary"
	"encoding/json"
	"fmt"
	"io"
	"math"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"

	pigo "github.com/esimov/pigo/core"

	"github.com/avatarstudio/avatarstudio/api/tools/harness"
)

// The functions in this file measure videos. They share no code with the renderer.

func command(t testing.TB, name string, args ...string) []byte {
	t.Helper()
	var problems bytes.Buffer
	c := exec.CommandContext(t.Context(), name, args...)
	c.Stderr = &problems
	output, err := c.Output()
	if err != nil {
		t.Fatalf("%s %s: %v: %s", name, strings.Join(args, " "), err, problems.Bytes())
	}
	if name == "ffprobe" && problems.Len() > 0 {
		t.Errorf("ffprobe says %s", problems.Bytes())
	}
	return output
}

func ffmpeg(t testing.TB, args ...string) []byte {
	t.Helper()
	return command(t, "ffmpeg", append([]string{"-v", "error", "-nostdin", "-y"}, args...)...)
}

// A film is a decoded video. Its frames contain luma only.
type film struct {
	path          string
	width, height int
	rate          float64
	frames        [][]byte
	// video and audio are the lengths of the streams, in seconds.
	video, audio float64
	streams      []stream
	comment      string
}

type stream struct {
	Kind      string `json:"codec_type"`
	Codec     string `json:"codec_name"`
	Profile   string `json:"profile"`
	Format    string `json:"pix_fmt"`
	Width     int    `json:"width"`
	Height    int    `json:"height"`
	Rate      string `json:"r_frame_rate"`
	Transfer  string `json:"color_transfer"`
	Duration  string `json:"duration"`
	FirstTime string `json:"start_time"`
}

// watch decodes a video.
func watch(t testing.TB, path string) *film {
	t.Helper()
	var info struct {
		Streams []stream `json:"streams"`
		Format  struct {
			Tags struct {
				Comment string `json:"comment"`
			} `json:"tags"`
		} `json:"format"`
	}
	harness.Check(t, json.Unmarshal(command(t, "ffprobe", "-v", "error", "-of", "json", "-show_streams", "-show_format", path), &info))
	f := &film{path: path, streams: info.Streams, comment: info.Format.Tags.Comment}
	for _, s := range info.Streams {
		seconds := harness.Try(strconv.ParseFloat(s.Duration, 64))(t)
		if s.Kind == "audio" {
			f.audio = seconds
			continue
		}
		f.video, f.width, f.height = seconds, s.Width, s.Height
		var num, den float64
		harness.Try(fmt.Sscanf(s.Rate, "%f/%f", &num, &den))(t)
		f.rate = num / den
	}
	for f.width > 900 { // half the size is precise enough
		f.width, f.height = f.width/2, f.height/2
	}
	pixels := ffmpeg(t, "-i", path, "-map", "0:v", "-vf", fmt.Sprintf("scale=%d:%d:flags=area", f.width, f.height), "-f", "rawvideo", "-pix_fmt", "gray", "-")
	for part := range slices.Chunk(pixels, f.width*f.height) {
		f.frames = append(f.frames, part)
	}
	return f
}

// loudness returns the perceived loudness during each frame, by Stevens's power law.
func (f *film) loudness(t testing.TB) []float64 {
	t.Helper()
	sound := ffmpeg(t, "-i", f.path, "-map", "0:a", "-f", "s16le", "-ac", "1", "-ar", "16000", "-")
	samples := make([]int16, len(sound)/2)
	if err := binary.Read(bytes.NewReader(sound), binary.LittleEndian, samples); err != nil && err != io.EOF {
		t.Fatal(err)
	}
	heard := make([]float64, len(f.frames))
	for i := range heard {
		from, to := int(float64(i)/f.rate*16000), int(float64(i+1)/f.rate*16000)
		var sum float64
		for _, v := range samples[min(from, len(samples)):min(to, len(samples))] {
			sum += float64(v) * float64(v)
		}
		heard[i] = math.Pow(math.Sqrt(sum/float64(to-from))/math.MaxInt16, 0.6)
	}
	return heard
}

// A finder finds faces.
type finder struct{ face, pupil, corner *cascade }

type cascade struct {
	*pigo.Pigo
	*pigo.PuplocCascade
}

func newFinder(t testing.TB) *finder {
	t.Helper()
	read := func(name string) []byte {
		return harness.Try(os.ReadFile(filepath.Join("cascade", name)))(t)
	}
	point := func(name string) *cascade {
		p := harness.Try(pigo.NewPuplocCascade().UnpackCascade(read(name)))(t)
		return &cascade{PuplocCascade: p}
	}
	face := harness.Try(pigo.NewPigo().Unpack(read("facefinder")))(t)
	return &finder{&cascade{Pigo: face}, point("puploc"), point("lp84")}
}

// A seen is a detected face: the eyes and the corners of the mouth, as x and y.
type seen struct{ left, right, mouthLeft, mouthRight [2]float64 }

// eyes returns the distance of the eyes.
func (s seen) eyes() float64 {
	return math.Hypot(s.right[0]-s.left[0], s.right[1]-s.left[1])
}

// find returns the best face in a frame. It fails the test if there is none.
func (f *finder) find(t testing.TB, luma []byte, width, height int) seen {
	t.Helper()
	image := pigo.ImageParams{Pixels: luma, Rows: height, Cols: width, Dim: width}
	short := min(width, height)
	found := f.face.ClusterDetections(f.face.RunCascade(pigo.CascadeParams{
		MinSize: short / 3, MaxSize: short, ShiftFactor: 0.1, ScaleFactor: 1.1, ImageParams: image,
	}, 0), 0.2)
	if len(found) == 0 {
		t.Fatal("no face in a frame")
	}
	best := slices.MaxFunc(found, func(a, b pigo.Detection) int { return cmp.Compare(a.Q, b.Q) })
	eye := func(side float64) *pigo.Puploc {
		return f.pupil.RunDetector(pigo.Puploc{
			Row: best.Row - int(0.075*float64(best.Scale)), Col: best.Col + int(side*0.175*float64(best.Scale)),
			Scale: float32(best.Scale) * 0.25, Perturbs: 63,
		}, image, 0, false)
	}
	left, right := eye(-1), eye(1)
	at := func(p *pigo.Puploc) [2]float64 { return [2]float64{float64(p.Col), float64(p.Row)} }
	return seen{
		at(left), at(right),
		at(f.corner.GetLandmarkPoint(left, right, image, 63, false)), at(f.corner.GetLandmarkPoint(left, right, image, 63, true)),
	}
}

// dark returns, for each frame, the dark area between the lips, in squares of the eye distance.
func (f *film) dark(t testing.TB) []float64 {
	t.Helper()
	finder := newFinder(t)
	open := make([]float64, len(f.frames))
	for i, luma := range f.frames {
		face := finder.find(t, luma, f.width, f.height)
		unit := face.eyes()
		value := func(x, y float64) float64 {
			x, y = min(max(x, 0), float64(f.width-2)), min(max(y, 0), float64(f.height-2))
			i, fx, fy := int(y)*f.width+int(x), x-math.Floor(x), y-math.Floor(y)
			above := float64(luma[i])*(1-fx) + float64(luma[i+1])*fx
			below := float64(luma[i+f.width])*(1-fx) + float64(luma[i+f.width+1])*fx
			return above*(1-fy) + below*fy
		}
		// The brightness of the face is measured at the cheeks.
		var skin, n float64
		for _, eye := range [][2]float64{face.left, face.right} {
			for dx := -0.15; dx <= 0.15; dx += 0.03 {
				for dy := 0.4; dy <= 0.7; dy += 0.03 {
					skin += value(eye[0]+dx*unit, eye[1]+dy*unit)
					n++
				}
			}
		}
		skin /= n
		along := [2]float64{(face.right[0] - face.left[0]) / unit, (face.right[1] - face.left[1]) / unit}
		middle := [2]float64{(face.mouthLeft[0] + face.mouthRight[0]) / 2, (face.mouthLeft[1] + face.mouthRight[1]) / 2}
		const step = 0.01
		for u := -0.38; u <= 0.38; u += step {
			for v := -0.16; v <= 0.36; v += step {
				x := middle[0] + unit*(u*along[0]-v*along[1])
				y := middle[1] + unit*(u*along[1]+v*along[0])
				if value(x, y) < 16+0.2*(skin-16) {
					open[i] += step * step
				}
			}
		}
	}
	return open
}

// correlation returns Pearson's correlation of a and b, with b delayed by lag.
func correlation(a, b []float64, lag int) float64 {
	var n, sa, sb, saa, sbb, sab float64
	for i := range a {
		if j := i + lag; j >= 0 && j < len(b) {
			n, sa, sb = n+1, sa+a[i], sb+b[j]
			saa, sbb, sab = saa+a[i]*a[i], sbb+b[j]*b[j], sab+a[i]*b[j]
		}
	}
	return (sab - sa*sb/n) / math.Sqrt((saa-sa*sa/n)*(sbb-sb*sb/n))
}

// difference returns the PSNR of two films in dB. It compares only the pixels for which outside returns
// true.
func difference(a, b *film, outside func(frame, x, y int) bool) float64 {
	var sum, n float64
	for i := range min(len(a.frames), len(b.frames)) {
		for y := range a.height {
			for x := range a.width {
				if !outside(i, x, y) {
					continue
				}
				d := float64(a.frames[i][y*a.width+x]) - float64(b.frames[i][y*a.width+x])
				sum += d * d
				n++
			}
		}
	}
	return 10 * math.Log10(255*255/max(sum/n, 1e-9))
}
