package talkinghead

import (
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

// A retouch changes a point of a face, in face coordinates: it returns from where its colour is copied, and the colour
// that covers it by part.
type retouch func(q point) (from point, cover color.RGBA, part float64)

// madeFaces are what faces look like. Each is a photo or the presenter, retouched, and then filtered by ffmpeg.
var madeFaces = []struct {
	name      string
	presenter bool
	retouch   retouch
	turn      float64 // in degrees, to the right of the picture
	filter    string
}{
	{name: "photo"},
	{name: "presenter", presenter: true},
	{name: "open mouth", retouch: openMouth(0.20, false)},
	{name: "mouth with teeth", retouch: openMouth(0.12, true)},
	{name: "glasses", retouch: glasses},
	{name: "beard", retouch: beard(0.78)},
	{name: "moustache", retouch: beard(0)},
	{name: "turned left", turn: -30},
	{name: "turned right", turn: 30},
	{name: "presenter turned", presenter: true, turn: 30},
	{name: "tilted", filter: "rotate=20*PI/180:c=white"},
	{name: "presenter tilted", presenter: true, filter: "rotate=-20*PI/180"},
	{name: "dark skin", filter: "colorchannelmixer=rr=0.50:gg=0.40:bb=0.36"},
	{name: "pale skin", filter: "eq=gamma=1.35:saturation=0.6"},
	{name: "small", filter: "scale=112:-2,pad=480:360:180:120:gray"},
	{name: "at the border", filter: "crop=250:320:70:60"},
	{name: "low light", filter: "eq=gamma=0.6:contrast=0.6:brightness=-0.12,noise=alls=6:all_seed=1"},
	{name: "noise", filter: "noise=alls=24:all_seed=1"},
	{name: "gray", filter: "hue=s=0"},
	{name: "light from a side", retouch: func(q point) (point, color.RGBA, float64) {
		return q, color.RGBA{20, 16, 14, 255}, 0.75 * smoothstep(-0.2, 0.7, q.X)
	}},
}

// photoMouth is the middle of the line of the lips in the photo.
var photoMouth = point{0.025, 1.10}

// openMouth returns a mouth that is open by gap.
func openMouth(gap float64, teeth bool) retouch {
	return func(q point) (point, color.RGBA, float64) {
		x := (q.X - photoMouth.X) / 0.37
		arch := math.Sqrt(max(1-x*x, 0))
		away := q.Y - photoMouth.Y + 0.025
		if away < 0 || math.Abs(x) > 2 {
			return q, color.RGBA{}, 0
		}
		fading := (1 - smoothstep(0.45, 1.0, away)) * (1 - smoothstep(1, 2, math.Abs(x)))
		down := gap * (arch*(1-smoothstep(0, 0.35, away)) + 0.7*smoothstep(0, 0.35, away)) * fading
		inside := smoothstep(0, 0.015, gap*arch-away) * smoothstep(0, 0.02, gap*arch)
		cover := color.RGBA{44, 18, 18, 255}
		if teeth && away < 0.75*gap*arch || away < 0.2*gap*arch {
			cover = color.RGBA{222, 212, 200, 255}
		}
		return point{q.X, q.Y - down*(1-inside)}, cover, inside
	}
}

// glasses draws round glasses with a dark frame.
func glasses(q point) (point, color.RGBA, float64) {
	x := math.Abs(q.X)
	lens := math.Hypot((x-0.52)/0.40, (q.Y-0.06)/0.33)
	rim := 1 - smoothstep(0.07, 0.11, math.Abs(lens-1))
	bridge := (1 - smoothstep(0.02, 0.035, math.Abs(q.Y+0.02))) * (1 - smoothstep(0.12, 0.14, x))
	temple := (1 - smoothstep(0.02, 0.035, math.Abs(q.Y+0.02))) * smoothstep(0.91, 0.93, x) * (1 - smoothstep(1.25, 1.27, x))
	if part := max(rim, bridge, temple); part > 0 || lens > 1 {
		return q, color.RGBA{24, 22, 26, 255}, part
	}
	return q, color.RGBA{225, 235, 245, 255}, 0.12 + 0.2*(1-smoothstep(0.02, 0.05, math.Abs(q.X-0.3*q.Y-math.Copysign(0.52, q.X))))
}

// beard returns a moustache, and a beard of the given width if it is not 0.
func beard(width float64) retouch {
	return func(q point) (point, color.RGBA, float64) {
		x, y := math.Abs(q.X-photoMouth.X), q.Y-photoMouth.Y
		hair := smoothstep(-0.26, -0.20, y) * (1 - smoothstep(-0.10, -0.06, y+0.25*x*x)) * (1 - smoothstep(0.34, 0.44, x))
		if width > 0 {
			side := smoothstep(0.40, 0.50, x+0.2*y) * smoothstep(-0.5, 0.1, y+x*0.3)
			below := smoothstep(0.14, 0.20, y+0.25*x*x)
			jaw := 1 - smoothstep(0.92, 1.02, math.Hypot(x/(width*1.12), y/0.85))
			hair = max(hair, max(side*smoothstep(-0.3, -0.1, y), below)*jaw)
		}
		// Hairs are noise that is long in one direction.
		grain := func(scaleX, scaleY float64) float64 {
			cell := math.Sin(math.Floor((q.X+0.15*q.Y*math.Copysign(1, q.X))*scaleX)*127.1+math.Floor(q.Y*scaleY)*311.7) * 43758.5453
			return cell - math.Floor(cell)
		}
		dark := 0.7 + 0.3*(0.6*grain(60, 14)+0.4*grain(90, 25))
		light := uint8(20 + 120*(1-dark))
		return q, color.RGBA{light + 14, light + 4, light, 255}, hair * dark
	}
}

// turned returns the picture of a head that has turned around its vertical axis by an angle, as a relief shows it.
func turned(from *image.RGBA, face pose, degrees float64) *image.RGBA {
	sin, cos := math.Sincos(degrees * math.Pi / 180)
	to := image.NewRGBA(from.Rect)
	const steps, reach = 1200, 6.0
	var across, depth [steps]float64
	for row := range from.Rect.Dy() {
		for i := range steps {
			x := reach * (2*float64(i)/steps - 1)
			y := (float64(row) - face.Y) / face.Scale
			z := 1.15 * math.Sqrt(max(0, 1-x*x/2-(y-0.3)*(y-0.3)/6.25))
			z += 0.36 * smoothstep(0, 0.62, y) * (1 - smoothstep(0.64, 0.82, y)) * math.Exp(-x*x/0.03)
			across[i], depth[i] = x*cos+(z-0.9)*sin, z*cos-x*sin
		}
		shown, nearest := make([]float64, from.Rect.Dx()), make([]float64, from.Rect.Dx())
		for column := range shown {
			shown[column], nearest[column] = (float64(column)-face.X)/face.Scale, math.Inf(-1)
		}
		for i := range steps - 1 {
			a, b := across[i], across[i+1]
			for column := max(int(math.Ceil(face.X+face.Scale*min(a, b))), 0); column < len(shown); column++ {
				u := (float64(column) - face.X) / face.Scale
				if u >= max(a, b) {
					break
				}
				if depth[i] > nearest[column] {
					nearest[column], shown[column] = depth[i], reach*(2*(float64(i)+(u-a)/(b-a))/steps-1)
				}
			}
		}
		for column, x := range shown {
			to.SetRGBA(column, row, colorAt(from, face.X+face.Scale*x, float64(row)))
		}
	}
	return to
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

// makeFace writes the picture of a made face to a file and returns its path.
func makeFace(t testing.TB, i int) string {
	t.Helper()
	made := madeFaces[i]
	dir := t.TempDir()
	plain, path := filepath.Join(dir, "plain.png"), filepath.Join(dir, "face.png")
	base, face := filepath.Join(PigoModule(t), "testdata", "sample.jpg"), pose{X: 159, Y: 183.5, Scale: 91}
	if made.presenter {
		base, face = filepath.Join(dir, "presenter.webp"), presenterFace
		harness.Check(t, os.WriteFile(base, presenter, 0o600))
	}
	file, err := os.Open(base)
	harness.Check(t, err)
	decoded, _, err := image.Decode(file)
	harness.Check(t, err)
	harness.Check(t, file.Close())
	from := image.NewRGBA(decoded.Bounds())
	draw.Draw(from, from.Rect, decoded, decoded.Bounds().Min, draw.Src)
	picture := from
	if made.retouch != nil {
		picture = image.NewRGBA(from.Rect)
		for row := range from.Rect.Dy() {
			for column := range from.Rect.Dx() {
				q, cover, part := made.retouch(face.inFace(point{float64(column), float64(row)}))
				place := face.inFrame(q)
				c := colorAt(from, place.X, place.Y)
				mix := func(a, b uint8) uint8 { return toByte(float64(a) + (float64(b)-float64(a))*part) }
				picture.SetRGBA(column, row, color.RGBA{mix(c.R, cover.R), mix(c.G, cover.G), mix(c.B, cover.B), 255})
			}
		}
	}
	if made.turn != 0 {
		picture = turned(picture, face, made.turn)
	}
	file, err = os.Create(plain)
	harness.Check(t, err)
	harness.Check(t, (&png.Encoder{CompressionLevel: png.NoCompression}).Encode(file, picture))
	harness.Check(t, file.Close())
	if made.filter == "" {
		return plain
	}
	runFFmpeg(t, "-i", plain, "-vf", made.filter, "-frames:v", "1", path)
	return path
}
