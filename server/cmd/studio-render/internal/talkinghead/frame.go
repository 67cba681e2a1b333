package talkinghead

import "math"

// A frame is one picture of a video in the format yuv420p of ffmpeg: a plane of luma, and two planes of
// chroma of half the width and height. Width and height are even.
type frame struct {
	width, height int
	pix           []byte // the three planes in order
}

func newFrame(width, height int) *frame {
	return &frame{width, height, make([]byte, frameBytes(width, height))}
}

func frameBytes(width, height int) int { return width * height * 3 / 2 }

// A plane is one plane of a frame, or a part of one.
type plane struct {
	pix           []byte
	width, height int
	// half is set for chroma, whose values cover two by two pixels of the frame.
	half bool
}

func (f *frame) luma() plane { return plane{f.pix[:f.width*f.height], f.width, f.height, false} }

// planes returns the luma plane and both chroma planes.
func (f *frame) planes() [3]plane {
	n, w, h := f.width*f.height, f.width/2, f.height/2
	return [3]plane{f.luma(), {f.pix[n : n+w*h], w, h, true}, {f.pix[n+w*h:], w, h, true}}
}

// fromFrame converts a coordinate of the frame to one of the plane.
func (p plane) fromFrame(v float64) float64 {
	if p.half {
		return v/2 - 0.25
	}
	return v
}

// toFrame converts a row or column of the plane to a coordinate of the frame.
func (p plane) toFrame(i int) float64 {
	if p.half {
		return float64(2*i) + 0.5
	}
	return float64(i)
}

// step returns the distance of two values of the plane in pixels of the frame.
func (p plane) step() float64 {
	if p.half {
		return 2
	}
	return 1
}

// at returns the interpolated value at a point of the frame.
func (p plane) at(x, y float64) float64 { return p.sample(p.fromFrame(x), p.fromFrame(y)) }

// sample returns the interpolated value at a point of the plane. Outside the plane it returns the value of the
// closest pixel.
func (p plane) sample(x, y float64) float64 {
	right, below := 1, p.width
	if !(x >= 0 && y >= 0 && x < float64(p.width-1) && y < float64(p.height-1)) {
		x, y = min(max(x, 0), float64(p.width-1)), min(max(y, 0), float64(p.height-1))
		if int(x) == p.width-1 {
			right = 0
		}
		if int(y) == p.height-1 {
			below = 0
		}
	}
	column, row := int(x), int(y)
	fx, fy := x-float64(column), y-float64(row)
	i := row*p.width + column
	a, b := float64(p.pix[i]), float64(p.pix[i+right])
	c, d := float64(p.pix[i+below]), float64(p.pix[i+below+right])
	a += (b - a) * fx
	c += (d - c) * fx
	return a + (c-a)*fy
}

// Points of a plane in fixed-point arithmetic.
const (
	fixedBits = 16
	fixedOne  = 1 << fixedBits
)

// fixed is sample with fixed-point arithmetic, which is faster.
func (p plane) fixed(x, y int) byte {
	column, row := x>>fixedBits, y>>fixedBits
	if column < 0 || row < 0 || column >= p.width-1 || row >= p.height-1 {
		return toByte(p.sample(float64(x)/fixedOne, float64(y)/fixedOne))
	}
	fx, fy := x>>8&255, y>>8&255
	above, below := p.pix[row*p.width+column:][:2], p.pix[(row+1)*p.width+column:][:2]
	upper, lower := int(above[0])<<8+(int(above[1])-int(above[0]))*fx, int(below[0])<<8+(int(below[1])-int(below[0]))*fx
	return byte((upper<<8 + (lower-upper)*fy + 1<<15) >> 16)
}

// A transform maps face coordinates to a plane.
type transform struct{ cos, sin, x, y float64 }

// transform returns the transform of a face in the frame of the plane.
func (p plane) transform(face pose) transform {
	sin, cos := math.Sincos(face.Angle)
	scale := face.Scale / p.step()
	return transform{cos * scale, sin * scale, p.fromFrame(face.X), p.fromFrame(face.Y)}
}

func (t *transform) apply(q point) (x, y float64) {
	return t.x + t.cos*q.X - t.sin*q.Y, t.y + t.sin*q.X + t.cos*q.Y
}

// crop copies a part of a frame. x and y must be even, and the part must lie in the frame.
func (f *frame) crop(x, y, width, height int) *frame {
	part := newFrame(width, height)
	to := part.planes()
	for i, from := range f.planes() {
		x, y := x, y
		if from.half {
			x, y = x/2, y/2
		}
		for row := range to[i].height {
			copy(to[i].pix[row*to[i].width:][:to[i].width], from.pix[(y+row)*from.width+x:])
		}
	}
	return part
}

// reduce writes the luma of the frame, scaled down by a whole factor, to gray.
func (f *frame) reduce(factor int, gray []byte) plane {
	p := plane{gray, f.width / factor, f.height / factor, false}
	for row := range p.height {
		for column := range p.width {
			sum := 0
			for y := row * factor; y < (row+1)*factor; y++ {
				for _, v := range f.pix[y*f.width+column*factor:][:factor] {
					sum += int(v)
				}
			}
			p.pix[row*p.width+column] = byte(sum / (factor * factor))
		}
	}
	return p
}

func toByte(v float64) byte { return byte(min(max(int(v+0.5), 0), 255)) }

// smoothstep rises smoothly from 0 at a to 1 at b.
func smoothstep(a, b, v float64) float64 {
	t := (v - a) / (b - a)
	switch {
	case t <= 0:
		return 0
	case t >= 1:
		return 1
	}
	return t * t * (3 - 2*t)
}
