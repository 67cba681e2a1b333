package talkinghead

import (
	"math"
	"slices"
)

// cellSide is the side of the cells of a mesh, in eye distances, for luma. Cells of chroma are twice as large. The warp
// of the skin is nearly linear across a cell.
const cellSide = 1.0 / 32

// A node is a corner of the cells of a mesh, in which the skin around the lips is warped.
type node struct {
	from point   // from where the skin is copied
	own  float64 // how much of the skin comes from the mouth's own frame, from 0 to 1
	kind nodeKind
}

type nodeKind int

const (
	untouched nodeKind = iota
	skinNode
	lipNode // at the inner edges of the lips, where the warp is not smooth
)

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

	left, top, right, bottom int // the part of the planes that is painted
	// The nodes between these bounds are lip nodes.
	lipsSide, lipsTop, lipsBottom float64
	cos, sin                      float64 // from pixels to the face
}

// paint draws the mouth on a face in f. strength is the opacity, from 0 to 1.
func (m *mouth) paint(f *frame, face pose, s shape, strength float64) {
	m.paintWith((*canvas).cells, f, face, s, strength)
}

func (m *mouth) paintWith(draw func(*canvas), f *frame, face pose, s shape, strength float64) {
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
			draw(&c)
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
	margin := 1.5*cellSide*p.step() + c.soft
	c.lipsSide = c.Lips.Half*max(c.stretch, 1) + margin
	c.lipsTop, c.lipsBottom = slices.Min(c.Lips.Upper[:])-c.up-margin, slices.Max(c.Lips.Lower[:])+c.down+margin
	return true
}

// cells draws the mouth cell by cell.
func (c *canvas) cells() {
	cell := max(int(c.face.Scale*cellSide), 1) // in pixels of the plane
	columns := (c.right-c.left+cell-1)/cell + 1
	above, below := make([]node, columns), make([]node, columns)
	c.nodes(below, c.top, cell)
	for top := c.top; top < c.bottom; top += cell {
		above, below = below, above
		c.nodes(below, top+cell, cell)
		for row := top; row < min(top+cell, c.bottom); row++ {
			down := float64(row-top) / float64(cell)
			for i := range columns - 1 {
				left := c.left + i*cell
				right := min(left+cell, c.right)
				switch max(above[i].kind, above[i+1].kind, below[i].kind, below[i+1].kind) {
				case untouched:
				case skinNode:
					c.skin(row, left, right, cell, above[i].towards(&below[i], down), above[i+1].towards(&below[i+1], down))
				case lipNode:
					c.lips(row, left, right)
				}
			}
		}
	}
}

// nodes computes a row of the mesh.
func (c *canvas) nodes(nodes []node, row, cell int) {
	for i := range nodes {
		q := c.toFace(row, c.left+i*cell)
		n := &nodes[i]
		*n = node{from: q}
		if q.X <= -mouthSide || q.X >= mouthSide || q.Y <= mouthTop || q.Y >= mouthBottom {
			continue
		}
		n.from = c.at(q.X, q.Y).from
		n.own = c.ownPart(n.from)
		switch {
		case math.Abs(q.X) < c.lipsSide && q.Y > c.lipsTop && q.Y < c.lipsBottom:
			n.kind = lipNode
		case n.own > 0 && !c.picture || n.from.minus(q).length()*c.face.Scale > 0.01:
			n.kind = skinNode
		}
	}
}

// towards returns the node between n and other.
func (n *node) towards(other *node, part float64) node {
	return node{from: n.from.plus(other.from.minus(n.from).times(part)), own: n.own + (other.own-n.own)*part}
}

// toFace returns the point of the face at a pixel.
func (c *canvas) toFace(row, column int) point {
	dx, dy := c.to[0].toFrame(column)-c.face.X, c.to[0].toFrame(row)-c.face.Y
	return point{c.cos*dx + c.sin*dy, c.cos*dy - c.sin*dx}
}

// skin draws part of a row of a cell, whose left and right end are given.
func (c *canvas) skin(row, left, right, cell int, from, to node) {
	step := 1 / float64(cell)
	dx, dy, down := (to.from.X-from.from.X)*step, (to.from.Y-from.from.Y)*step, (to.own-from.own)*step
	for column := left; column < right; column++ {
		for i := range c.to {
			c.set(i, row, column, c.skinAt(i, from.from, from.own))
		}
		from.from.X += dx
		from.from.Y += dy
		from.own += down
	}
}

// lips draws part of a row of a cell that lips are in.
func (c *canvas) lips(row, left, right int) {
	for column := left; column < right; column++ {
		q := c.toFace(row, column)
		move := c.at(q.X, q.Y)
		own := c.ownPart(move.from)
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
