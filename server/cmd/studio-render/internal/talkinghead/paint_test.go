package talkinghead

import (
	"fmt"
	"math"
	"testing"

	"github.com/avatarstudio/avatarstudio/api/tools/harness"
)

// A mouth that is drawn by cells looks like one whose motion is computed for each pixel.
func TestCanvas_drawsEachPixel(t *testing.T) {
	t.Parallel()
	harness.Need(t, "ffmpeg", "ffprobe")
	source, found, err := presenterSource(t.Context(), t.TempDir())
	harness.Check(t, err)
	still, err := source.firstFrame(t.Context())
	harness.Check(t, err)
	face := found.Places[0].Face.at(found.Places[0].Mouth)
	for _, picture := range []bool{true, false} {
		for _, s := range []shape{{open: 0.3, width: 1}, {open: 1}, {open: 0.6, width: -1}, {press: 1}} {
			for _, turned := range []float64{0, 0.1} {
				if picture && turned > 0 {
					continue // the picture moves with the face
				}
				t.Run(fmt.Sprint(picture, s, turned), func(t *testing.T) {
					t.Parallel()
					face := face
					face.Angle += turned
					cells, pixels := still.crop(0, 0, still.width, still.height), still.crop(0, 0, still.width, still.height)
					found.Scenes[0].mouth(picture).paint(cells, face, s, 1)
					found.Scenes[0].mouth(picture).paintWith(func(c *canvas) {
						for row := c.top; row < c.bottom; row++ {
							c.lips(row, c.left, c.right)
						}
					}, pixels, face, s, 1)
					for i, p := range pixels.planes() {
						left, top, right, bottom := p.around(face)
						var squares, n, worst float64
						for row := top; row < bottom; row++ {
							for column := left; column < right; column++ {
								q := face.inFace(point{p.toFrame(column), p.toFrame(row)})
								if math.Abs(q.X) > mouthSide || q.Y < mouthTop || q.Y > mouthBottom {
									continue
								}
								at := row*p.width + column
								off := math.Abs(float64(cells.planes()[i].pix[at]) - float64(p.pix[at]))
								squares, n, worst = squares+off*off, n+1, max(worst, off)
							}
						}
						deviation := math.Sqrt(squares / n)
						if deviation > 0.5 || worst > 24 {
							t.Errorf("plane %d: the deviation is %.2f, and at worst %.0f", i, deviation, worst)
						}
					}
				})
			}
		}
	}
}
