package talkinghead

import (
	"math"
	"slices"
)

// A shape is the position of the lips and the jaw.
type shape struct {
	open  float64 // from 0, closed, to about 1
	width float64 // from -1, "oo", to 1, "ee"
	press float64 // from 0 to 1, lips pressed together for "mm"

	teeth  float64 // from 0, hidden, to 1, as much as the opening shows
	tongue float64 // from 0, low, to 1, its tip at the upper teeth
	tuck   float64 // from 0 to 1, the lower lip at the upper teeth for "ff"
}

// each calls change with each component of s and the same one of other.
func (s *shape) each(other shape, change func(own *float64, other float64)) {
	change(&s.open, other.open)
	change(&s.width, other.width)
	change(&s.press, other.press)
	change(&s.teeth, other.teeth)
	change(&s.tongue, other.tongue)
	change(&s.tuck, other.tuck)
}

// shapes are the shapes of a speaking mouth, one per hop.
type shapes []shape

// mouthShapes returns the shapes of the mouth that makes the given sounds, and their visemes and indexes as visemesOf
// does.
func mouthShapes(sounds []sound, said transcript) (_ shapes, visemes []viseme, indexes []int) {
	levels := levelsOf(sounds)
	loud, silence, speech := loudness(levels)
	targets := make(shapes, len(sounds))
	if !speech {
		return targets, nil, nil
	}
	visemes, indexes = visemesOf(sounds, said, loud)
	for i, v := range visemes {
		targets[i] = visemeTable[v].shape
		voiced := smoothstep(silence, silence+8, levels[i])
		targets[i].open = voiced * max(targets[i].open*math.Pow(10, min(levels[i]-loud, 1)/20*0.6), min(targets[i].open, leastOpen))
		targets[i].width *= voiced
	}
	return targets.smooth(), visemes, indexes
}

// leastOpen is the opening for quiet sounds, such as "s" and "f", which need a gap however quiet they are.
const leastOpen = 0.12

// levelsOf returns the level of each sound.
func levelsOf(sounds []sound) []float64 {
	levels := make([]float64, len(sounds))
	for i, s := range sounds {
		levels[i] = s.level
	}
	return levels
}

// loudness returns the level of loud speech and the level of silence, in dB. speech is false if there is no
// speech.
func loudness(levels []float64) (loud, silence float64, speech bool) {
	if len(levels) == 0 {
		return 0, 0, false
	}
	sorted := slices.Sorted(slices.Values(levels))
	at := func(part float64) float64 { return sorted[int(part*float64(len(sorted)-1))] }
	peak := sorted[len(sorted)-1]
	// Long pauses must not lower the level of loud speech, so only audible levels count.
	audible, _ := slices.BinarySearch(sorted, peak-30)
	loud = sorted[audible+int(0.9*float64(len(sorted)-1-audible))]
	silence = min(max(loud-36, at(0.1)+5), loud-18)
	return loud, silence, peak > -60
}

// How long a movement of the mouth takes, in hops. It starts before the sound, because the jaw and the lips need time
// to arrive, and ends sooner.
const (
	jawBefore  = 10
	jawAfter   = 5
	lipsBefore = 12
	lipsAfter  = 8
	// pressReach is how long the lips take to close for "p", "b" and "m", whatever the jaw does.
	pressReach = 3
)

// smooth adds the inertia of the mouth.
func (s shapes) smooth() shapes {
	moved := make(shapes, len(s))
	weight := func(away int, before, after float64) float64 {
		reach := after
		if away > 0 {
			reach = before
		}
		return 1 + math.Cos(math.Pi*min(math.Abs(float64(away))/reach, 1))
	}
	for i := range s {
		var now shape
		var open, press, jaw, lips float64
		for away := max(-lipsAfter, -i); away <= min(lipsBefore, len(s)-1-i); away++ {
			near := s[i+away]
			ofJaw, ofLips := weight(away, jawBefore, jawAfter), weight(away, lipsBefore, lipsAfter)
			jaw, lips = jaw+ofJaw, lips+ofLips
			open += near.open * ofJaw
			now.each(near, func(own *float64, near float64) { *own += near * ofLips })
			press = max(press, near.press*(1-smoothstep(1, pressReach, math.Abs(float64(away)))))
		}
		now.each(shape{}, func(own *float64, _ float64) { *own /= lips })
		now.open, now.press = open/jaw*(1-press), press
		if now.open < 0.03 {
			now.open = 0
		}
		moved[i] = now
	}
	return moved
}

// at returns the shape at a time in seconds. The mouth is closed before the start and after the end.
func (s shapes) at(seconds float64) shape {
	// Hop i belongs to the middle of the window that ends with it.
	position := seconds*hopsPerSecond + float64(soundWindow/2-soundHop)/soundHop
	i := int(math.Floor(position))
	part := position - float64(i)
	now := s.hop(i)
	now.each(s.hop(i+1), func(own *float64, next float64) { *own += (next - *own) * part })
	return now
}

func (s shapes) hop(i int) shape {
	if i < 0 || i >= len(s) {
		return shape{}
	}
	return s[i]
}

func decibels(energy float64) float64 { return 10 * math.Log10(energy+1e-12) }
