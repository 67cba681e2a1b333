package talkinghead

import (
	"math"
	"math/rand/v2"
)

// A head animates a picture. It moves the head slightly and makes the eyes blink.
type head struct {
	still  *frame
	face   pose
	eyes   [2]point  // in face coordinates
	weight []uint16  // how much each pixel moves with the head, from 0 to 1 << weightBits
	blinks []float64 // when the eyes begin to close, in seconds
}

// The part of a picture that moves with the head, in face coordinates.
const (
	headMiddle = 0.35
	headWidth  = 1.7
	headHeight = 2.2
	headFading = 1.7 // distance over which the movement fades out
	neck       = 2.4 // the pivot of the head
)

// weightBits is the number of bits of a weight.
const weightBits = 10

func newHead(still *frame, face pose, eyes [2]point, seconds float64) *head {
	h := &head{still: still, face: face, weight: make([]uint16, still.width*still.height)}
	for i, eye := range eyes {
		h.eyes[i] = face.inFace(eye)
	}
	for row := range still.height {
		for column := range still.width {
			q := face.inFace(point{float64(column), float64(row)})
			away := math.Hypot(q.X/headWidth, (q.Y-headMiddle)/headHeight)
			h.weight[row*still.width+column] = uint16(math.Round((1 << weightBits) * (1 - smoothstep(1, headFading, away))))
		}
	}
	// The seed is fixed, so that a rendering can be repeated.
	chance := rand.New(rand.NewPCG(1, 2))
	for at := 1.3; at < seconds; at += 2.2 + 2.8*chance.Float64() {
		h.blinks = append(h.blinks, at)
	}
	return h
}

// A turn is a small displacement of a head.
type turn struct {
	x, y  float64 // in eye distances
	angle float64
}

// turn returns the displacement of the head at a time. It grows with emphasis.
func (h *head) turn(seconds, emphasis float64) turn {
	wave := func(period, phase float64) float64 { return math.Sin(2*math.Pi*seconds/period + phase) }
	return turn{
		x:     0.022*wave(5.3, 0.4) + 0.010*wave(2.9, 2.1),
		y:     0.012*wave(4.1, 1.2) + 0.006*wave(2.3, 0.3) + 0.030*emphasis,
		angle: 0.009*wave(6.1, 0.9) + 0.006*wave(3.4, 1.7),
	}
}

// move draws the picture with the head displaced by t. It returns the pose of the face in f.
func (h *head) move(f *frame, t turn) pose {
	pivot := h.face.inFrame(point{0, neck})
	sin, cos := math.Sincos(t.angle)
	dx, dy := t.x*h.face.Scale, t.y*h.face.Scale
	from := h.still.planes()
	for i, p := range f.planes() {
		source, step := from[i], int(p.step())
		fixed := func(v float64) int { return int(v / p.step() * fixedOne) }
		for row := range p.height {
			line, weights := p.pix[row*p.width:][:p.width], h.weight[row*step*h.still.width:]
			copy(line, source.pix[row*p.width:])
			// Along the row, the movement of the head is linear.
			rx, ry := p.toFrame(0)-dx-pivot.X, p.toFrame(row)-dy-pivot.Y
			moveX, moveY := fixed(cos*rx+sin*ry-rx-dx), fixed(cos*ry-sin*rx-ry-dy)
			slopeX, slopeY := int((cos-1)*fixedOne), int(-sin*fixedOne)
			for column := range line {
				if w := int(weights[column*step]); w != 0 {
					line[column] = source.fixed(column*fixedOne+(moveX+slopeX*column)*w>>weightBits, row*fixedOne+(moveY+slopeY*column)*w>>weightBits)
				}
			}
		}
	}
	rx, ry := h.face.X-pivot.X, h.face.Y-pivot.Y
	return pose{pivot.X + cos*rx - sin*ry + dx, pivot.Y + sin*rx + cos*ry + dy, h.face.Scale, h.face.Angle + t.angle}
}

// closed returns how far the eyes are closed at a time, from 0 to 1.
func (h *head) closed(seconds float64) (part float64) {
	for _, at := range h.blinks {
		part = max(part, min(smoothstep(at, at+0.09, seconds), 1-smoothstep(at+0.13, at+0.29, seconds)))
	}
	return part
}

// The parts of an eye, in face coordinates relative to the pupil.
const (
	eyeSide  = 0.29
	upperLid = -0.125
	lowerLid = 0.085
	underEye = 0.17  // the upper end of the smooth skin below the eye
	lash     = 0.014 // half the thickness of the lashes
)

// blink draws the eyelids of a face, closed by part.
func (h *head) blink(f *frame, face pose, part float64) {
	if part == 0 {
		return
	}
	from := h.still.planes()
	for i, p := range f.planes() {
		for _, eye := range h.eyes {
			center := face.inFrame(eye)
			reach := face.Scale * (eyeSide + 0.05)
			top, bottom := max(int(p.fromFrame(center.Y-reach)), 0), min(int(p.fromFrame(center.Y+reach))+2, p.height)
			left, right := max(int(p.fromFrame(center.X-reach)), 0), min(int(p.fromFrame(center.X+reach))+2, p.width)
			for row := top; row < bottom; row++ {
				for column := left; column < right; column++ {
					q := face.inFace(point{p.toFrame(column), p.toFrame(row)}).minus(eye)
					arch := 1 - (q.X/eyeSide)*(q.X/eyeSide)
					if arch <= 0 || q.Y < 2*upperLid {
						continue
					}
					arch = math.Sqrt(arch)
					open := upperLid * arch
					lid := open + (lowerLid-upperLid)*arch*part
					covered := smoothstep(open-0.03, open+0.02, q.Y) * (1 - smoothstep(-0.7/face.Scale, 0.7/face.Scale, q.Y-lid)) *
						smoothstep(0, 0.5, arch) * smoothstep(0, 0.3, part)
					if covered == 0 {
						continue
					}
					// The skin of the lid is copied from below the eye, where nothing covers it.
					place := h.face.inFrame(eye.plus(point{q.X * 0.9, underEye + (lid-q.Y)*0.5}))
					at := &p.pix[row*p.width+column]
					skin := from[i].at(place.X, place.Y)
					if !p.half {
						line := (q.Y - lid + lash) / lash
						skin *= 0.97 - 0.55*math.Exp(-line*line)
					}
					*at = toByte(float64(*at) + (skin-float64(*at))*covered)
				}
			}
		}
	}
}
