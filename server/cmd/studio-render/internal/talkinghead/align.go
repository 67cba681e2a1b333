package talkinghead

import "math"

// The part of a face by which it is tracked from frame to frame. It reaches from the brows to the nose,
// which hardly change while a person speaks.
const (
	patchColumns = 28
	patchRows    = 20
	patchSide    = 0.95
	patchTop     = -0.45
	patchBottom  = 0.75
)

// A patch is that part of a face in one frame, normalized to mean 0 and deviation 1.
type patch [patchColumns * patchRows]float64

func patchPoint(i int) point {
	column, row := i%patchColumns, i/patchColumns
	return point{
		patchSide * (2*float64(column)/(patchColumns-1) - 1),
		patchTop + (patchBottom-patchTop)*float64(row)/(patchRows-1),
	}
}

func newPatch(gray plane, face pose) *patch {
	var p patch
	for i := range p {
		place := face.inFrame(patchPoint(i))
		p[i] = gray.at(place.X, place.Y)
	}
	p.normalize()
	return &p
}

func (p *patch) normalize() (mean, deviation float64) {
	var sum, squares float64
	for _, v := range p {
		sum += v
		squares += v * v
	}
	mean = sum / float64(len(p))
	deviation = math.Sqrt(max(squares/float64(len(p))-mean*mean, 1))
	for i := range p {
		p[i] = (p[i] - mean) / deviation
	}
	return mean, deviation
}

// likeness returns the correlation of two patches, which is 1 if they are equal.
func (p *patch) likeness(q *patch) float64 {
	var sum float64
	for i := range p {
		sum += p[i] * q[i]
	}
	return sum / float64(len(p))
}

// follow finds the face in another frame, starting from a guess. It uses the Lucas–Kanade method for
// translation, rotation and scale. It returns the pose and the likeness of the face there.
func (p *patch) follow(gray plane, guess pose) (pose, float64) {
	face := guess
	for _, reach := range []float64{0.08, 0.03} { // coarse, then fine differences
		step := max(reach*guess.Scale, 0.75)
		for range 5 {
			if p.improve(gray, &face, step) < 0.02 {
				break
			}
		}
		if face.Scale < guess.Scale*0.7 || face.Scale > guess.Scale*1.4 ||
			math.Hypot(face.X-guess.X, face.Y-guess.Y) > guess.Scale {
			return guess, 0
		}
	}
	return face, p.likeness(newPatch(gray, face))
}

// improve makes one step of the method. It returns the length of the step in pixels.
func (p *patch) improve(gray plane, face *pose, step float64) float64 {
	var seen patch
	var slopes [len(patch{})][4]float64
	sin, cos := math.Sincos(face.Angle)
	for i := range seen {
		q := patchPoint(i)
		dx, dy := cos*q.X-sin*q.Y, sin*q.X+cos*q.Y // in eye distances
		x, y := face.X+face.Scale*dx, face.Y+face.Scale*dy
		left, right := gray.at(x-step, y), gray.at(x+step, y)
		above, below := gray.at(x, y-step), gray.at(x, y+step)
		seen[i] = (left + right + above + below) / 4
		gx, gy := (right-left)/(2*step), (below-above)/(2*step)
		slopes[i] = [4]float64{gx, gy, gx*dx + gy*dy, gy*dx - gx*dy}
	}
	_, deviation := seen.normalize()
	var matrix [4][4]float64
	var right [4]float64
	for i, slope := range slopes {
		difference := (p[i] - seen[i]) * deviation
		for a := range 4 {
			right[a] += slope[a] * difference
			for b := range 4 {
				matrix[a][b] += slope[a] * slope[b]
			}
		}
	}
	for a := range 4 {
		matrix[a][a] = 1.001*matrix[a][a] + 1e-6
	}
	d := solve(matrix, right)
	length := math.Hypot(d[0], d[1])
	if limit := face.Scale * 0.25; length > limit {
		for i := range d {
			d[i] *= limit / length
		}
	}
	face.X += d[0]
	face.Y += d[1]
	face.Scale += min(max(d[2], -0.1*face.Scale), 0.1*face.Scale)
	face.Angle += min(max(d[3]/face.Scale, -0.1), 0.1)
	return length + math.Abs(d[2]) + math.Abs(d[3])
}

// solve solves four linear equations whose matrix is positive definite, so that elimination needs no pivots.
func solve(matrix [4][4]float64, right [4]float64) [4]float64 {
	for i := range 4 {
		for row := range 4 {
			factor := matrix[row][i] / matrix[i][i]
			if row == i {
				continue
			}
			for column := i; column < 4; column++ {
				matrix[row][column] -= factor * matrix[i][column]
			}
			right[row] -= factor * right[i]
		}
	}
	for i := range right {
		right[i] /= matrix[i][i]
	}
	return right
}
