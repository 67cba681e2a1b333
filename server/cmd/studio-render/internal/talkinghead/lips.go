package talkinghead

import "math"

// lipColumns is the number of columns in which a mouth is measured, from corner to corner.
const lipColumns = 25

// lips are the measures of a mouth in one frame, in face coordinates whose origin is the middle of the
// mouth.
type lips struct {
	Half float64 // half the width
	// Upper and Lower are the inner edges of the lips in each column. They are equal where the lips touch.
	Upper, Lower [lipColumns]float64
	// Top and Bottom are the outer edges of the lips in the middle.
	Top, Bottom float64
	// Gap is the mean distance of the lips.
	Gap float64
}

// edges returns the inner edges of the lips at x, which runs from -1 to 1, corner to corner.
func (l *lips) edges(x float64) (upper, lower float64) {
	position := min(max((x+1)/2*(lipColumns-1), 0), lipColumns-1-1e-9)
	i := int(position)
	part := position - float64(i)
	return l.Upper[i] + (l.Upper[i+1]-l.Upper[i])*part, l.Lower[i] + (l.Lower[i+1]-l.Lower[i])*part
}

// The rows in which a mouth is measured.
const (
	lipRows = 48
	lipStep = 0.012 // the distance of rows
)

// measureLips measures the mouth in a frame. The origin of mouth must be the middle of the mouth.
func measureLips(f *frame, mouth pose, marks landmarks) lips {
	left, right := mouth.inFace(marks.LeftCorner), mouth.inFace(marks.RightCorner)
	l := lips{
		Half: (right.X - left.X) / 2,
		Top:  mouth.inFace(marks.LipTop).Y, Bottom: mouth.inFace(marks.LipBottom).Y,
	}
	planes := f.planes()
	at := func(p plane, x, y float64) float64 {
		place := mouth.inFrame(point{x, y})
		return p.at(place.X, place.Y)
	}
	first := (l.Top+l.Bottom)/2 - lipStep*lipRows/2
	var luma, red [lipColumns][lipRows]float64
	for column := range lipColumns {
		x := l.Half * (2*float64(column)/(lipColumns-1) - 1)
		for row := range lipRows {
			y := first + lipStep*float64(row)
			luma[column][row] = (at(planes[0], x-0.015, y) + at(planes[0], x, y) + at(planes[0], x+0.015, y)) / 3
			red[column][row] = at(planes[2], x, y)
		}
	}

	line := darkestLine(luma, l.Top-first, l.Bottom-first)
	darkest := math.Inf(1)
	for column := lipColumns / 4; column < lipColumns*3/4; column++ {
		darkest = min(darkest, luma[column][line[column]])
	}
	// The skin is compared in each column, because one side of a face may be in the shade.
	cheeks := func(p plane) (skin [lipColumns]float64) {
		left, right := at(p, -l.Half*1.4, 0.1), at(p, l.Half*1.4, 0.1)
		for column := range skin {
			skin[column] = left + (right-left)*(0.5+(float64(column)/(lipColumns-1)-0.5)/1.4)
		}
		return skin
	}
	skin, skinRed := cheeks(planes[0]), cheeks(planes[2])
	// The inside of a mouth is dark. Teeth are bright, but less red than skin.
	inside := func(column, row int) bool {
		y := first + lipStep*float64(row)
		return y > l.Top+0.03 && y < l.Bottom-0.03 &&
			(luma[column][row] < darkest+0.25*max(skin[column]-darkest, 0) || red[column][row] < skinRed[column]-3)
	}
	var uppers, lowers [lipColumns]int
	var widest int
	for column := range lipColumns {
		upper, lower := line[column], line[column]
		for upper > 0 && inside(column, upper-1) {
			upper--
		}
		for lower < lipRows-1 && inside(column, lower+1) {
			lower++
		}
		uppers[column], lowers[column] = upper, lower
		widest = max(widest, lower-upper)
	}
	if float64(widest)*lipStep < closedLine {
		uppers, lowers = line, line
	} else { // the edges are blurred
		uppers, lowers = widen(uppers, lowers)
	}
	var gap float64
	for column := range lipColumns {
		l.Upper[column], l.Lower[column] = first+lipStep*float64(uppers[column]), first+lipStep*float64(lowers[column])
		gap += l.Lower[column] - l.Upper[column]
	}
	l.Gap = gap / lipColumns
	l.Upper, l.Lower = soften(l.Upper), soften(l.Lower)
	if l.Gap < 0.02 {
		for i := range l.Upper {
			l.Upper[i] = (l.Upper[i] + l.Lower[i]) / 2
			l.Lower[i] = l.Upper[i]
		}
	}
	return l
}

// widen returns the edges of an opening that is larger by a row and a column.
func widen(upper, lower [lipColumns]int) (uppers, lowers [lipColumns]int) {
	for i := range upper {
		before, after := max(i-1, 0), min(i+1, lipColumns-1)
		uppers[i], lowers[i] = min(upper[before], upper[i], upper[after]), max(lower[before], lower[i], lower[after])
		if lowers[i] > uppers[i] {
			uppers[i], lowers[i] = max(uppers[i]-1, 0), min(lowers[i]+1, lipRows-1)
		}
	}
	return uppers, lowers
}

// closedLine is the maximum thickness of the dark line between closed lips.
const closedLine = 0.07

// darkestLine returns the row of the darkest smooth line through a mouth, for each column, between the
// heights top and bottom.
func darkestLine(luma [lipColumns][lipRows]float64, top, bottom float64) (line [lipColumns]int) {
	from := min(max(int((top+0.02)/lipStep), 0), lipRows-2)
	to := min(max(int((bottom-0.03)/lipStep), from+1), lipRows-1)
	var cost [lipColumns][lipRows]float64
	var back [lipColumns][lipRows]int
	cost[0] = luma[0]
	for column := 1; column < lipColumns; column++ {
		for row := from; row <= to; row++ {
			best := math.Inf(1)
			for previous := max(row-2, from); previous <= min(row+2, to); previous++ {
				jump := float64(row - previous)
				if c := cost[column-1][previous] + 3*jump*jump; c < best {
					best, back[column][row] = c, previous
				}
			}
			cost[column][row] = best + luma[column][row]
		}
	}
	row := from
	for r := from; r <= to; r++ {
		if cost[lipColumns-1][r] < cost[lipColumns-1][row] {
			row = r
		}
	}
	for column := lipColumns - 1; column >= 0; column-- {
		line[column] = row
		row = back[column][row]
	}
	return line
}

func soften(edge [lipColumns]float64) (soft [lipColumns]float64) {
	for i := range edge {
		before, after := edge[max(i-1, 0)], edge[min(i+1, lipColumns-1)]
		soft[i] = (before + 2*edge[i] + after) / 4
	}
	return soft
}
