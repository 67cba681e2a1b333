package talkinghead_test

import (
	"image"
	"math"
	"os"
	"path/filepath"
	"slices"
	"testing"

	"golang.org/x/image/draw"

	"github.com/avatarstudio/avatarstudio/api/tools/harness"
)

// picture is a decoded picture in RGB.
type picture struct {
	pix   []byte
	width int
}

// readPicture decodes a picture, or the first frame of a video.
func readPicture(t testing.TB, path string) picture {
	t.Helper()
	if filepath.Ext(path) == ".mp4" {
		pix := ffmpeg(t, "-i", path, "-vf", "scale=flags=area+accurate_rnd+full_chroma_int,format=rgb24", "-frames:v", "1", "-f", "rawvideo", "-")
		return picture{pix, seenWidth}
	}
	file := harness.Try(os.Open(path))(t)
	defer file.Close()
	decoded, _, err := image.Decode(file)
	harness.Check(t, err)
	rgba := image.NewRGBA(image.Rect(0, 0, seenWidth, seenHeight))
	draw.BiLinear.Scale(rgba, rgba.Rect, decoded, decoded.Bounds(), draw.Src, nil)
	p := picture{width: seenWidth}
	for pixel := range slices.Chunk(rgba.Pix, 4) {
		p.pix = append(p.pix, pixel[:3]...)
	}
	return p
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
