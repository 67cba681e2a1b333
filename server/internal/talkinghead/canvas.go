package talkinghead

import (
	"image"
	"image/color"
	"math"

	"golang.org/x/image/vector"
)

// A canvas is a picture that is drawn in face coordinates.
type canvas struct {
	image *image.RGBA
	face  pose
}

// A curve is a closed path of cubic Bézier curves: a start point, followed by two control points and an end
// point for each curve.
type curve []point

// mirrored returns a closed curve from its right half, which runs from top to bottom, and the mirror image
// of that half.
func mirrored(half ...point) curve {
	whole := append(curve{}, half...)
	for i := len(half) - 2; i >= 0; i-- {
		whole = append(whole, point{-half[i].X, half[i].Y})
	}
	return whole
}

// flipped returns the curve mirrored to the other side of the face.
func (c curve) flipped() curve {
	other := make(curve, len(c))
	for i, p := range c {
		other[i] = point{-p.X, p.Y}
	}
	return other
}

// ellipse returns an ellipse with the given centre and half axes.
func ellipse(x, y, width, height float64) curve {
	const k = 0.5523
	return curve{
		{x, y - height},
		{x + k*width, y - height},
		{x + width, y - k*height},
		{x + width, y},
		{x + width, y + k*height},
		{x + k*width, y + height},
		{x, y + height},
		{x - k*width, y + height},
		{x - width, y + k*height},
		{x - width, y},
		{x - width, y - k*height},
		{x - k*width, y - height},
		{x, y - height},
	}
}

// A mask is the coverage of each pixel, from 0 to 255.
type mask struct{ *image.Alpha }

// mask returns the coverage of the inside of a curve. Its edge is blurred by a distance.
func (c *canvas) mask(line curve, blur float64) mask {
	radius := int(blur * c.face.Scale / 2)
	places := make([]point, len(line))
	left, top, right, bottom := math.Inf(1), math.Inf(1), math.Inf(-1), math.Inf(-1)
	for i, p := range line {
		q := c.face.inFrame(p)
		places[i] = q
		left, top, right, bottom = min(left, q.X), min(top, q.Y), max(right, q.X), max(bottom, q.Y)
	}
	bounds := image.Rect(int(left), int(top), int(right)+2, int(bottom)+2).Inset(-3 * radius).Intersect(c.image.Rect)
	at := func(i int) (float32, float32) {
		return float32(places[i].X - float64(bounds.Min.X)), float32(places[i].Y - float64(bounds.Min.Y))
	}
	r := vector.NewRasterizer(bounds.Dx(), bounds.Dy())
	r.MoveTo(at(0))
	for i := 1; i+2 < len(line); i += 3 {
		bx, by := at(i)
		cx, cy := at(i + 1)
		dx, dy := at(i + 2)
		r.CubeTo(bx, by, cx, cy, dx, dy)
	}
	r.ClosePath()
	m := mask{image.NewAlpha(bounds)}
	r.Draw(m.Alpha, bounds, image.Opaque, image.Point{})
	if radius > 0 {
		for range 3 { // three box filters approximate a Gaussian
			m.blur(radius, 1, m.Stride, bounds.Dx(), bounds.Dy())
			m.blur(radius, m.Stride, 1, bounds.Dy(), bounds.Dx())
		}
	}
	return m
}

// blur applies a box filter along one axis.
func (m mask) blur(radius, step, lineStep, length, lines int) {
	old := make([]byte, length)
	for line := range lines {
		start := line * lineStep
		for i := range old {
			old[i] = m.Pix[start+i*step]
		}
		sum := 0
		for i := -radius; i < length; i++ {
			if in := i + radius; in < length {
				sum += int(old[in])
			}
			if out := i - radius - 1; out >= 0 {
				sum -= int(old[out])
			}
			if i >= 0 {
				m.Pix[start+i*step] = byte(sum / (2*radius + 1))
			}
		}
	}
}

// within returns the intersection with another mask.
func (m mask) within(other mask) mask {
	for y := m.Rect.Min.Y; y < m.Rect.Max.Y; y++ {
		for x := m.Rect.Min.X; x < m.Rect.Max.X; x++ {
			at := &m.Pix[m.PixOffset(x, y)]
			*at = byte(int(*at) * int(other.AlphaAt(x, y).A) / 255)
		}
	}
	return m
}

// paint blends a colour over the masked area. The alpha of tone is the opacity.
func (c *canvas) paint(m mask, tone color.NRGBA) {
	for y := m.Rect.Min.Y; y < m.Rect.Max.Y; y++ {
		covered := m.Pix[m.PixOffset(m.Rect.Min.X, y):][:m.Rect.Dx()]
		line := c.image.Pix[c.image.PixOffset(m.Rect.Min.X, y):]
		for i, v := range covered {
			part := int(v) * int(tone.A)
			if part == 0 {
				continue
			}
			at := line[4*i:][:3]
			for k, t := range [3]uint8{tone.R, tone.G, tone.B} {
				at[k] = byte((int(at[k])*(255*255-part) + int(t)*part + 255*255/2) / (255 * 255))
			}
		}
	}
}

func rgb(r, g, b uint8) color.NRGBA             { return color.NRGBA{r, g, b, 255} }
func tint(r, g, b uint8, a float64) color.NRGBA { return color.NRGBA{r, g, b, uint8(a * 255)} }
