package talkinghead

import "math"

// A point is a position in a frame or in a face.
type point struct{ X, Y float64 }

func (p point) plus(q point) point    { return point{p.X + q.X, p.Y + q.Y} }
func (p point) minus(q point) point   { return point{p.X - q.X, p.Y - q.Y} }
func (p point) times(f float64) point { return point{p.X * f, p.Y * f} }
func (p point) length() float64       { return math.Hypot(p.X, p.Y) }
func middle(a, b point) point         { return a.plus(b).times(0.5) }

// A pose is the position of a face in a frame. Face coordinates have their origin between the eyes. The x
// axis runs along the eyes, the y axis points down, and the unit is the distance of the eyes.
type pose struct {
	X, Y  float64 // the origin of the face coordinates
	Scale float64 // the eye distance in pixels
	Angle float64
}

// poseOf returns the pose of a face with the given eyes.
func poseOf(left, right point) pose {
	origin, axis := middle(left, right), right.minus(left)
	return pose{origin.X, origin.Y, axis.length(), math.Atan2(axis.Y, axis.X)}
}

// inFrame converts face coordinates to frame coordinates.
func (p pose) inFrame(q point) point {
	sin, cos := math.Sincos(p.Angle)
	return point{p.X + p.Scale*(cos*q.X-sin*q.Y), p.Y + p.Scale*(sin*q.X+cos*q.Y)}
}

// inFace converts frame coordinates to face coordinates.
func (p pose) inFace(q point) point {
	sin, cos := math.Sincos(p.Angle)
	dx, dy := (q.X-p.X)/p.Scale, (q.Y-p.Y)/p.Scale
	return point{cos*dx + sin*dy, cos*dy - sin*dx}
}

// at returns the pose with its origin moved to a point of the face.
func (p pose) at(origin point) pose {
	moved := p.inFrame(origin)
	p.X, p.Y = moved.X, moved.Y
	return p
}

// times returns the pose in a frame that is larger by factor.
func (p pose) times(factor float64) pose {
	middle := (factor - 1) / 2 // the centres of pixels have whole coordinates, not their corners
	return pose{p.X*factor + middle, p.Y*factor + middle, p.Scale * factor, p.Angle}
}
