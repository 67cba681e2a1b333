package talkinghead

import "math"

// light is the difference in brightness between a face in the current frame and in the frame of its mouth,
// for one plane of the frame. It varies linearly across the face.
type light struct{ level, across, down float64 }

// matchLight updates m.light from the skin around the mouth in f and in the mouth's own frame.
func (m *mouth) matchLight(f *frame, face pose) {
	const places = 32
	own, other := m.frame.planes(), f.planes()
	for i := range m.light {
		// This is a least squares fit of a plane to points on an ellipse. It is simple because the points
		// are symmetric.
		var now light
		var xx, yy float64
		for n := range places {
			sin, cos := math.Sincos(2 * math.Pi * float64(n) / places)
			q := point{0.70 * cos, maskMiddle + maskHeight*0.95*sin}
			there, here := m.Pose.inFrame(q), face.inFrame(q)
			difference := other[i].mean(here.X, here.Y, face.Scale*0.04) - own[i].mean(there.X, there.Y, m.Pose.Scale*0.04)
			difference = min(max(difference, -40), 40)
			now.level += difference / places
			now.across += difference * q.X
			now.down += difference * (q.Y - maskMiddle)
			xx, yy = xx+q.X*q.X, yy+(q.Y-maskMiddle)*(q.Y-maskMiddle)
		}
		now.across, now.down = now.across/xx, now.down/yy
		now.level -= now.down * maskMiddle
		if m.lit {
			old := m.light[i]
			now = light{(old.level + now.level) / 2, (old.across + now.across) / 2, (old.down + now.down) / 2}
		}
		m.light[i] = now
	}
	m.lit = true
}

// mean returns the mean of nine samples around a point of the frame.
func (p plane) mean(x, y, reach float64) float64 {
	var sum float64
	for _, dx := range []float64{-1, 0, 1} {
		for _, dy := range []float64{-1, 0, 1} {
			sum += p.at(x+dx*reach, y+dy*reach)
		}
	}
	return sum / 9
}

// tones are the colours of a face, one value for each plane of a frame.
type tones struct{ Skin, Lips [3]float64 }

// measureTones measures the colours around a mouth.
func measureTones(f *frame, mouth pose, l lips) (t tones) {
	for i, p := range f.planes() {
		mean := func(x, y float64) float64 {
			place := mouth.inFrame(point{x, y})
			return p.mean(place.X, place.Y, mouth.Scale*0.03)
		}
		t.Skin[i] = (mean(-l.Half*1.4, 0.05) + mean(l.Half*1.4, 0.05) + mean(0, l.Bottom+0.12)) / 3
		_, lower := l.edges(0)
		t.Lips[i] = (mean(0, (lower+l.Bottom)/2) + mean(-l.Half/3, (lower+l.Bottom)/2) + mean(l.Half/3, (lower+l.Bottom)/2)) / 3
	}
	return t
}

// An interior is the inside of an open mouth.
type interior struct {
	gap                        float64
	dark, teeth, tongue        [3]float64
	upper, lower, tongueHeight float64 // as fractions of the gap
	tip                        float64 // how much of the tongue is its tip, which is narrow
	upperShown, lowerShown     float64 // opacities of the teeth
}

// interior derives the colours of the inside of a mouth from those of the face.
func (t tones) interior(s shape, gap, half float64) interior {
	in := interior{gap: gap, tip: s.tongue}
	lit := t.Skin[0]
	in.dark = [3]float64{min(max(0.10*lit+14, 20), 36), 128 + 0.3*(t.Lips[1]-128), 128 + 0.45*(t.Lips[2]-128)}
	in.teeth = [3]float64{min(0.80*lit+45, 205), 128 + 0.45*(t.Skin[1]-128), 128 + 0.30*(t.Skin[2]-128)}
	in.tongue = [3]float64{(0.42+0.18*s.tongue)*lit + 8, t.Lips[1], 128 + 1.1*(t.Lips[2]-128)}
	if gap > 0 {
		scale := half / 0.4
		in.upper = s.teeth * min(0.075*scale/gap, 0.5+0.5*s.tuck)
		// The lower teeth meet the upper ones while the mouth is narrow, as for "ss".
		clenched := s.teeth * (1 - smoothstep(0.04, 0.12, gap)) * (1 - s.tongue) * (1 - s.tuck)
		in.lower = max(0.4*clenched, s.teeth*min(0.02*scale, max(gap-0.10, 0)*0.3)/gap)
		in.upperShown, in.lowerShown = 0.92*smoothstep(0, 0.05, in.upper), 0.55*smoothstep(0, 0.05, in.lower)
		in.tongueHeight = max(smoothstep(0.08, 0.2, gap)*0.34, 0.7*s.tongue)
	}
	return in
}

// tone returns the value of plane i at a point inside the mouth.
func (in *interior) tone(i int, m motion) float64 {
	bow := m.across * m.across
	value := in.dark[i]
	// The edges of the teeth are as blurred as the rest of a face in a video.
	blur := 0.010 / max(in.gap, 0.02)
	mix := func(tone, part float64) { value += (tone - value) * part }

	side := math.Abs(m.across)
	tongue := in.tongueHeight * (1 - 1.4*bow)
	mix(in.tongue[i], (0.75+0.2*in.tip)*smoothstep(0, 0.25, m.depth-(1-tongue))*(1-smoothstep(0.4-0.2*in.tip, 0.9-0.3*in.tip, side)))
	fading := 1 - smoothstep(0.45, 0.92, side)
	lower := in.lower * (1 - 0.6*bow)
	mix(in.teeth[i], in.lowerShown*fading*smoothstep(-blur, blur, m.depth-(1-lower)))
	upper := in.upper * (1 - 0.45*bow)
	mix(in.teeth[i], in.upperShown*fading*smoothstep(-blur, blur, upper-m.depth))
	if i == 0 {
		// The lips cast shadows.
		value *= 0.62 + 0.38*smoothstep(0, 0.030, m.depth*in.gap)
		value *= 0.80 + 0.20*smoothstep(0, 0.030, (1-m.depth)*in.gap)
		value *= 1 - 0.35*bow
	}
	return value
}
