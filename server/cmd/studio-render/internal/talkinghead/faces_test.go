package talkinghead

import (
	"errors"
	"image"
	"image/color"
	"image/draw"
	"image/png"
	"math"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"testing"

	"github.com/avatarstudio/avatarstudio/api/tools/harness"
)

// madeFaces are what faces look like. Each is a photo or the presenter, filtered by ffmpeg.
var madeFaces = []struct{ name, filter string }{
	{name: "photo"},
	{name: "presenter"},
	{name: "open mouth"},
	{name: "tilted", filter: "rotate=20*PI/180:c=white"},
	{name: "dark skin", filter: "colorchannelmixer=rr=0.50:gg=0.40:bb=0.36"},
	{name: "small", filter: "scale=112:-2,pad=480:360:180:120:gray"},
	{name: "at the border", filter: "crop=250:320:70:60"},
	{name: "low light", filter: "eq=gamma=0.6:contrast=0.6:brightness=-0.12,noise=alls=6:all_seed=1"},
}

// openMouth opens the mouth of the photo. It returns from where the colour of a point in the face is copied, and the
// colour that covers it by part.
func openMouth(q point) (from point, cover color.RGBA, part float64) {
	const gap, lipsX, lipsY = 0.20, 0.025, 1.10
	x := (q.X - lipsX) / 0.37
	arch := math.Sqrt(max(1-x*x, 0))
	away := q.Y - lipsY + 0.025
	if away < 0 || math.Abs(x) > 2 {
		return q, color.RGBA{}, 0
	}
	fading := (1 - smoothstep(0.45, 1.0, away)) * (1 - smoothstep(1, 2, math.Abs(x)))
	down := gap * (arch*(1-smoothstep(0, 0.35, away)) + 0.7*smoothstep(0, 0.35, away)) * fading
	inside := smoothstep(0, 0.015, gap*arch-away) * smoothstep(0, 0.02, gap*arch)
	cover = color.RGBA{44, 18, 18, 255}
	if away < 0.2*gap*arch {
		cover = color.RGBA{222, 212, 200, 255} // the teeth
	}
	return point{q.X, q.Y - down*(1-inside)}, cover, inside
}

// colorAt returns the interpolated colour at a point.
func colorAt(m *image.RGBA, x, y float64) (c color.RGBA) {
	x, y = min(max(x, 0), float64(m.Rect.Dx()-2)), min(max(y, 0), float64(m.Rect.Dy()-2))
	column, row := int(x), int(y)
	fx, fy := x-float64(column), y-float64(row)
	i := m.PixOffset(column, row)
	mix := func(channel int) uint8 {
		a, b := float64(m.Pix[i+channel]), float64(m.Pix[i+4+channel])
		c, d := float64(m.Pix[i+m.Stride+channel]), float64(m.Pix[i+m.Stride+4+channel])
		return toByte((a*(1-fx)+b*fx)*(1-fy) + (c*(1-fx)+d*fx)*fy)
	}
	return color.RGBA{mix(0), mix(1), mix(2), 255}
}

// pigoDirectory is where the module pigo is, which has a photo of a face. It is cached because go list is slow.
var pigoDirectory = sync.OnceValues(func() (string, error) {
	output, err := exec.Command("go", "list", "-m", "-f", "{{.Dir}}", "github.com/esimov/pigo").Output()
	return strings.TrimSpace(string(output)), err
})

// PigoModule returns the directory of the module pigo.
func PigoModule(t testing.TB) string {
	t.Helper()
	dir, err := pigoDirectory()
	harness.Check(t, err)
	return dir
}

func runFFmpeg(t testing.TB, args ...string) {
	t.Helper()
	harness.Check(t, ffmpeg(t.Context(), args...).run())
}

// makeFace returns the path of the picture of a made face.
func makeFace(t testing.TB, i int) string {
	t.Helper()
	made := madeFaces[i]
	photo, path := filepath.Join(PigoModule(t), "testdata", "sample.jpg"), filepath.Join(t.TempDir(), "face.png")
	switch {
	case made.name == "presenter":
		harness.Check(t, os.WriteFile(path, presenter, 0o600))
	case made.name == "open mouth":
		file, err := os.Open(photo)
		harness.Check(t, err)
		decoded, _, err := image.Decode(file)
		harness.Check(t, errors.Join(err, file.Close()))
		from, face := image.NewRGBA(decoded.Bounds()), pose{X: 159, Y: 183.5, Scale: 91}
		draw.Draw(from, from.Rect, decoded, decoded.Bounds().Min, draw.Src)
		picture := image.NewRGBA(from.Rect)
		for row := range from.Rect.Dy() {
			for column := range from.Rect.Dx() {
				q, cover, part := openMouth(face.inFace(point{float64(column), float64(row)}))
				place := face.inFrame(q)
				c := colorAt(from, place.X, place.Y)
				mix := func(a, b uint8) uint8 { return toByte(float64(a) + (float64(b)-float64(a))*part) }
				picture.SetRGBA(column, row, color.RGBA{mix(c.R, cover.R), mix(c.G, cover.G), mix(c.B, cover.B), 255})
			}
		}
		file, err = os.Create(path)
		harness.Check(t, err)
		harness.Check(t, errors.Join(png.Encode(file, picture), file.Close()))
	case made.filter == "":
		return photo
	default:
		runFFmpeg(t, "-i", photo, "-vf", made.filter, "-frames:v", "1", path)
	}
	return path
}
