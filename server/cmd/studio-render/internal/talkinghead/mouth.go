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

	narrowest = 0.3  // fraction of the width of the mouth that stays closed for "oo"
	pout      = 0.25 // fraction by which the lips are fuller for "oo"
)

// A mouth paints the mouth of a face into frames. The skin comes from one frame of the source, and is
// warped. The inside of the mouth is synthetic.
type mouth struct {
	*scene

	frame *frame // the part of a frame that scene has
	// picture means that the source is a picture, so all frames have the same light.
	picture bool

	scratch [2][]byte // for two planes
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
	tuck         float64 // how much of the lower lip is behind the teeth
	soft         float64 // half the blur of an edge: half a pixel
}

func (m *mouth) opening(s shape, scale float64) opening {
	gap := maxGap * s.open
	return opening{
		lips: &m.Lips, stretch: 1 + 0.10*max(s.width, 0) + 0.28*min(s.width, 0) - 0.05*s.open,
		up: gap * upward, down: gap * (1 - upward),
		press: 0.022 * s.press * (1 - min(s.open*4, 1)), round: max(-s.width, 0),
		tuck: 0.035 * s.tuck, soft: 0.6 / scale,
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
		fading := max(mouthSide-side, 0) / (mouthSide - corner)
		from = side + (half-corner)*fading*fading
	}
	across := math.Copysign(from/half, u)

	// Vertically, the lips and the jaw move.
	narrow := across / (1 - narrowest*o.round)
	var arch float64
	if narrow*narrow < 1 {
		arch = math.Sqrt(1 - narrow*narrow)
		arch *= o.round + (1-o.round)*math.Sqrt(arch) // the opening of "oo" is rounder
	}
	upper, lower := o.lips.edges(across)
	line := upper + (lower-upper)*0.35
	if from > half {
		beyond := smoothstep(1, 1.4, from/half)
		upper, lower = upper+(line-upper)*beyond, lower+(line-lower)*beyond
	}
	lipsUp, lipsDown := line-o.up*arch, line+o.down*arch
	// The dark line between closed lips does not belong to either lip.
	apart := smoothstep(0, 0.05, lipsDown-lipsUp)
	upper, lower = upper-o.press*arch-0.006*apart, lower+(o.press+o.tuck)*arch+0.022*apart
	m := motion{across: across}
	sides := 1 - smoothstep(0.25, mouthSide, side)
	chinDown := o.down * jawDrop * sides
	fuller := func(away float64) float64 {
		if o.round == 0 || away <= 0 || from > half {
			return 0
		}
		return pout * o.round * (1 - across*across) * away * (1 - smoothstep(0.05, 0.22, away))
	}
	switch middle := (lipsUp + lipsDown) / 2; {
	case v < middle:
		t := smoothstep(0, 0.24, lipsUp-v)
		m.from.Y = v - (lipsUp-upper)*(1-t)
		m.from.Y = min(m.from.Y, max(upper, v)) + fuller(lipsUp-v)
	default:
		away := v - lipsDown
		t := smoothstep(0, lipReach, away)
		down := (lipsDown-lower)*(1-t) + chinDown*t
		m.from.Y = v - down*(1-smoothstep(chin, mouthBottom, v)) - fuller(away)
	}
	m.from.X = math.Copysign(from, u)
	if gap := lipsDown - lipsUp; gap > 0 && from < half && v > lipsUp-o.soft && v < lipsDown+o.soft {
		m.depth = (v - lipsUp) / gap
		m.inside = smoothstep(-o.soft, o.soft, v-lipsUp) * smoothstep(-o.soft, o.soft, lipsDown-v) * smoothstep(0.004, 0.02, gap)
	}
	return m
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
