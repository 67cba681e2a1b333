package talkinghead

import "math"

// The part of a face that a mouth changes, in face coordinates relative to the middle of the mouth.
const (
	mouthSide   = 0.85  // distance to either side
	mouthTop    = -0.36 // below the nose
	mouthBottom = 1.05  // below the chin
	chin        = 0.55  // above the edge of the chin
)

// How far a mouth opens, in eye distances and fractions.
const (
	maxGap   = 0.27 // maximum distance of the lips
	upward   = 0.14 // fraction by which the upper lip moves
	jawDrop  = 0.60 // fraction of the lower lip's movement that the chin makes
	lipReach = 0.42 // distance below the lips from which the skin moves with the jaw
)

// A mouth paints the mouth of a face into frames. The skin comes from one frame of the source, and is
// warped. The inside of the mouth is synthetic.
type mouth struct {
	*scene

	frame *frame // the part of a frame that scene has
	// picture means that the source is a picture, so all frames have the same light.
	picture bool

	scratch []byte
	light   [3]light
	lit     bool // whether light was set by the previous frame
}

// motion says, for one point of a mouth, from where its skin is copied, and which part of it is the inside
// of the mouth.
type motion struct {
	from   point
	inside float64
	depth  float64 // from 0 at the upper lip to 1 at the lower one
	across float64 // from -1 to 1, corner to corner
}

// opening is the geometry of a mouth's lips in one shape.
type opening struct {
	lips         *lips
	stretch      float64 // factor of the width
	up, down     float64 // movement of the lips in the middle
	press, round float64
	soft         float64 // half the blur of an edge: half a pixel
}

func (m *mouth) opening(s shape, scale float64) opening {
	gap := maxGap * s.open
	return opening{
		lips: &m.Lips, stretch: 1 + 0.10*max(s.width, 0) + 0.22*min(s.width, 0) - 0.05*s.open,
		up: gap * upward, down: gap * (1 - upward),
		press: 0.022 * s.press * (1 - min(s.open*4, 1)), round: max(-s.width, 0),
		soft: 0.6 / scale,
	}
}

// at returns the motion of the point (u, v) of the face.
func (o *opening) at(u, v float64) motion {
	side := math.Abs(u)
	// Horizontally, the corners of the mouth move, and distant skin does not.
	half := o.lips.Half
	near := smoothstep(mouthTop, -0.08, v) * (1 - smoothstep(0.12, 0.6, v))
	corner := half * (1 + (o.stretch-1)*near)
	from := side / (corner / half)
	if side > corner {
		from = half + (side-corner)*(mouthSide-half)/(mouthSide-corner)
	}
	across := math.Copysign(from/half, u)

	// Vertically, the lips and the jaw move.
	arch := math.Sqrt(max(1-across*across, 0))
	arch *= o.round + (1-o.round)*math.Sqrt(arch) // the opening of "oo" is rounder
	upper, lower := o.lips.edges(across)
	line := upper + (lower-upper)*0.35
	lipsUp, lipsDown := line-o.up*arch, line+o.down*arch
	// The dark line between closed lips does not belong to either lip.
	apart := smoothstep(0, 0.05, lipsDown-lipsUp)
	upper, lower = upper-o.press*arch-0.006*apart, lower+o.press*arch+0.022*apart
	m := motion{across: across}
	sides := 1 - smoothstep(0.25, mouthSide, side)
	chinDown := o.down * jawDrop * sides
	switch middle := (lipsUp + lipsDown) / 2; {
	case v < middle:
		t := smoothstep(0, 0.24, lipsUp-v)
		m.from.Y = v - (lipsUp-upper)*(1-t)
		m.from.Y = min(m.from.Y, max(upper, v))
	default:
		away := v - lipsDown
		t := smoothstep(0, lipReach, away)
		down := (lipsDown-lower)*(1-t) + chinDown*t
		m.from.Y = v - down*(1-smoothstep(chin, mouthBottom, v))
	}
	m.from.X = math.Copysign(from, u)
	if gap := lipsDown - lipsUp; gap > 0 && math.Abs(across) < 1 {
		m.depth = (v - lipsUp) / gap
		m.inside = smoothstep(-o.soft, o.soft, v-lipsUp) * smoothstep(-o.soft, o.soft, lipsDown-v) * smoothstep(0.004, 0.02, gap)
	}
	return m
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
	inner := m.Tones.interior(o.up+o.down, m.Lips.Half)
	from := m.frame.planes()
	for i, p := range f.planes() {
		left, top, right, bottom := p.around(face)
		if left >= right || top >= bottom {
			return
		}
		base := p.copyRows(&m.scratch, top, bottom)
		sin, cos := math.Sincos(face.Angle)
		sin, cos = sin/face.Scale, cos/face.Scale
		for row := top; row < bottom; row++ {
			dy := p.toFrame(row) - face.Y
			line := p.pix[row*p.width:]
			for column := left; column < right; column++ {
				dx := p.toFrame(column) - face.X
				u, v := cos*dx+sin*dy, cos*dy-sin*dx
				if u <= -mouthSide || u >= mouthSide || v <= mouthTop || v >= mouthBottom {
					continue
				}
				move := o.at(u, v)
				skin := m.skin(i, from[i], base, face, move.from, float64(top))
				if move.inside > 0 {
					skin += (inner.tone(i, move) - skin) * move.inside
				}
				if strength < 1 {
					skin = float64(line[column]) + (skin-float64(line[column]))*strength
				}
				line[column] = toByte(skin)
			}
		}
	}
}

// skin returns the value of plane i at a point of the closed mouth. Near the mouth it comes from the
// mouth's own frame, and further away from the painted frame.
func (m *mouth) skin(i int, own, base plane, face pose, q point, top float64) float64 {
	if m.picture {
		place := m.Pose.inFrame(q)
		return own.at(place.X, place.Y)
	}
	part := mouthMask(q)
	var seen float64
	if part < 1 {
		place := face.inFrame(q)
		seen = base.at(place.X, place.Y-top*base.step())
	}
	if part > 0 {
		place := m.Pose.inFrame(q)
		light := m.light[i]
		seen += (own.at(place.X, place.Y) + light.level + light.across*q.X + light.down*q.Y - seen) * part
	}
	return seen
}

// mouthMask returns how much of the skin at a point comes from the mouth's own frame, from 0 to 1.
func mouthMask(q point) float64 {
	x, y := q.X/0.74, (q.Y-maskMiddle)/maskHeight
	if x*x+y*y <= 0.55*0.55 {
		return 1
	}
	return 1 - smoothstep(0.55, 1, math.Sqrt(x*x+y*y))
}

const (
	maskMiddle = 0.11
	maskHeight = 0.45
)

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
