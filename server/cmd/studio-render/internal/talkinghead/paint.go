package talkinghead

import "math"

// A canvas is what paint knows about planes of the same size.
type canvas struct {
	*mouth
	opening
	interior interior
	face     pose
	strength float64

	first    int       // the number of the first plane
	to, from []plane   // the planes of the painted frame, and of the mouth's own frame
	base     [2]plane  // copies of the rows of to that are painted
	seen     transform // from the face to base
	own      transform // from the face to from

	left, top, right, bottom int     // the part of the planes that is painted
	cos, sin                 float64 // from pixels to the face
}

// paint draws the mouth on a face in f. strength is the opacity, from 0 to 1.
func (m *mouth) paint(f *frame, face pose, s shape, strength float64) {
	if strength <= 0 {
		m.lit = false
		return
	}
	o := m.opening(s, face.Scale)
	if !m.picture {
		m.matchLight(f, face)
	} else if s == (shape{}) && m.Lips.Gap == 0 {
		return
	}
	to, from := f.planes(), m.frame.planes()
	inner := m.Tones.interior(s, o.up+o.down, m.Lips.Half)
	for _, group := range [][2]int{{0, 1}, {1, 3}} { // luma, and both planes of chroma
		c := canvas{
			mouth: m, opening: o, interior: inner, face: face, strength: strength,
			first: group[0], to: to[group[0]:group[1]], from: from[group[0]:group[1]],
		}
		if c.prepare() {
			c.draw()
		}
	}
}

// prepare sets the other fields. It returns false if the face is outside of the frame.
func (c *canvas) prepare() bool {
	p := c.to[0]
	if c.left, c.top, c.right, c.bottom = p.around(c.face); c.left >= c.right || c.top >= c.bottom {
		return false
	}
	for i, p := range c.to {
		c.base[i] = p.copyRows(&c.scratch[i], c.top, c.bottom)
	}
	c.seen, c.own = p.transform(c.face), c.from[0].transform(c.Pose)
	c.seen.y -= float64(c.top)
	c.sin, c.cos = math.Sincos(c.face.Angle)
	c.sin, c.cos = c.sin/c.face.Scale, c.cos/c.face.Scale
	return true
}

// toFace returns the point of the face at a pixel.
func (c *canvas) toFace(row, column int) point {
	dx, dy := c.to[0].toFrame(column)-c.face.X, c.to[0].toFrame(row)-c.face.Y
	return point{c.cos*dx + c.sin*dy, c.cos*dy - c.sin*dx}
}

// draw draws the mouth. What the mouth does not move stays as it is.
func (c *canvas) draw() {
	for row := c.top; row < c.bottom; row++ {
		for column := c.left; column < c.right; column++ {
			q := c.toFace(row, column)
			if q.X <= -mouthSide || q.X >= mouthSide || q.Y <= mouthTop || q.Y >= mouthBottom {
				continue
			}
			move := c.at(q.X, q.Y)
			own := c.ownPart(move.from)
			if move.inside == 0 && (own == 0 || c.picture) && move.from.minus(q).length()*c.face.Scale <= 0.01 {
				continue
			}
			for i := range c.to {
				var skin float64
				if move.inside < 1 {
					skin = c.skinAt(i, move.from, own)
				}
				if move.inside > 0 {
					skin += (c.interior.tone(c.first+i, move) - skin) * move.inside
				}
				c.set(i, row, column, skin)
			}
		}
	}
}

// set draws a pixel of plane i.
func (c *canvas) set(i, row, column int, value float64) {
	at := &c.to[i].pix[row*c.to[i].width+column]
	if c.strength < 1 {
		value = float64(*at) + (value-float64(*at))*c.strength
	}
	*at = toByte(value)
}

// skinAt returns the value of plane i at a point of the closed mouth. The part own comes from the mouth's own
// frame, and the rest from the painted frame.
func (c *canvas) skinAt(i int, q point, own float64) (value float64) {
	if own < 1 {
		value = c.base[i].sample(c.seen.apply(q))
	}
	if own > 0 {
		light := &c.light[c.first+i]
		mine := c.from[i].sample(c.own.apply(q)) + light.level + light.across*q.X + light.down*q.Y
		value += (mine - value) * own
	}
	return value
}

// ownPart returns how much of the skin at a point comes from the mouth's own frame, from 0 to 1.
func (c *canvas) ownPart(q point) float64 {
	if c.picture {
		return 1
	}
	return mouthMask(q)
}

// around returns the bounds of the part of a plane that the mouth of a face may change.
func (p plane) around(face pose) (left, top, right, bottom int) {
	x0, y0, x1, y1 := math.Inf(1), math.Inf(1), math.Inf(-1), math.Inf(-1)
	for _, u := range []float64{-mouthSide, mouthSide} {
		for _, v := range []float64{mouthTop, mouthBottom} {
			q := face.inFrame(point{u, v})
			x0, x1, y0, y1 = min(x0, q.X), max(x1, q.X), min(y0, q.Y), max(y1, q.Y)
		}
	}
	return max(int(p.fromFrame(x0)), 0), max(int(p.fromFrame(y0)), 0),
		min(int(p.fromFrame(x1))+2, p.width), min(int(p.fromFrame(y1))+2, p.height)
}

// copyRows copies rows of a plane, so that the plane can be written while the copy is read.
func (p plane) copyRows(scratch *[]byte, top, bottom int) plane {
	*scratch = append((*scratch)[:0], p.pix[top*p.width:bottom*p.width]...)
	return plane{*scratch, p.width, bottom - top, p.half}
}
