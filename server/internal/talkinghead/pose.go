package talkinghead

import "math"

// A point is a place in a frame or in a face.
type point struct{ X, Y float64 }

func (p point) plus(q point) point    { return point{p.X + q.X, p.Y + q.Y} }
func (p point) minus(q point) point   { return point{p.X - q.X, p.Y - q.Y} }
func (p point) times(f float64) point { return point{p.X * f, p.Y * f} }
func (p point) length() float64       { return math.Hypot(p.X, p.Y) }
func middle(a, b point) point         { return a.plus(b).times(0.5) }

// A pose is where a face is in a frame. Coordinates of the face have their origin between the
// eyes, the first axis along the eyes, the second down, and the distance of the eyes as unit.
type pose struct {
	X, Y  float64 // of the origin
	Scale float64 // the distance of the eyes in pixels
	Angle float64
}

// poseOf is the pose of a face with the eyes at left and right.
func poseOf(left, right point) pose {
	origin, axis := middle(left, right), right.minus(left)
	return pose{origin.X, origin.Y, axis.length(), math.Atan2(axis.Y, axis.X)}
}

// inFrame is where a point of the face is in the frame.
func (p pose) inFrame(q point) point {
	sin, cos := math.Sincos(p.Angle)
	return point{p.X + p.Scale*(cos*q.X-sin*q.Y), p.Y + p.Scale*(sin*q.X+cos*q.Y)}
}

// inFace is the point of the face at a point of the frame.
func (p pose) inFace(q point) point {
	sin, cos := math.Sincos(p.Angle)
	dx, dy := (q.X-p.X)/p.Scale, (q.Y-p.Y)/p.Scale
	return point{cos*dx + sin*dy, cos*dy - sin*dx}
}

// at is the pose with its origin moved to a point of the face.
func (p pose) at(origin point) pose {
	moved := p.inFrame(origin)
	p.X, p.Y = moved.X, moved.Y
	return p
}

// times is the pose in a frame that is larger by a factor.
func (p pose) times(factor float64) pose {
	middle := (factor - 1) / 2 // a pixel's centre, not its corner, has whole coordinates
	return pose{p.X*factor + middle, p.Y*factor + middle, p.Scale * factor, p.Angle}
}
