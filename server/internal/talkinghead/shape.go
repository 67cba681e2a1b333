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
}

// shapes are the shapes of a speaking mouth, one per hop.
type shapes []shape

// mouthShapes returns the shapes of the mouth that makes the given sounds. phonemes are what is said, or nil if that is
// unknown.
func mouthShapes(sounds []sound, phonemes []rune) shapes {
	levels := levelsOf(sounds)
	loud, silence, speech := loudness(levels)
	targets := make(shapes, len(sounds))
	if !speech {
		return targets
	}
	for i, v := range visemesOf(sounds, phonemes, loud) {
		targets[i] = visemeTable[v].shape
		voiced := smoothstep(silence, silence+8, levels[i])
		targets[i].open *= voiced * math.Pow(10, min(levels[i]-loud, 1)/20*0.6)
		targets[i].width *= voiced
	}
	return targets.smooth()
}

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

// How long a movement of the mouth takes, in hops before and after a sound. It starts before the sound.
const (
	jawReach  = 6
	lipsReach = 9
	// pressReach is how long the lips take to close for "p", "b" and "m", whatever the jaw does.
	pressReach = 4
)

// smooth adds the inertia of the mouth.
func (s shapes) smooth() shapes {
	moved := make(shapes, len(s))
	for i := range s {
		var open, width, press, jaw, lips float64
		for away := -lipsReach; away <= lipsReach; away++ {
			if i+away < 0 || i+away >= len(s) {
				continue
			}
			near := s[i+away]
			weight := func(reach float64) float64 { return max(0, 1+math.Cos(math.Pi*min(math.Abs(float64(away))/reach, 1))) }
			jaw, lips = jaw+weight(jawReach), lips+weight(lipsReach)
			open += near.open * weight(jawReach)
			width += near.width * weight(lipsReach)
			press = max(press, near.press*(1-smoothstep(1, pressReach, math.Abs(float64(away)))))
		}
		moved[i] = shape{open: open / jaw * (1 - press), width: width / lips, press: press}
		if moved[i].open < 0.03 {
			moved[i].open = 0
		}
	}
	return moved
}

// at returns the shape at a time in seconds. The mouth is closed before the start and after the end.
func (s shapes) at(seconds float64) shape {
	// Hop i belongs to the middle of the window that ends with it.
	position := seconds*hopsPerSecond + float64(soundWindow/2-soundHop)/soundHop
	i := int(math.Floor(position))
	part := position - float64(i)
	a, b := s.hop(i), s.hop(i+1)
	mix := func(a, b float64) float64 { return a + (b-a)*part }
	return shape{mix(a.open, b.open), mix(a.width, b.width), mix(a.press, b.press)}
}

func (s shapes) hop(i int) shape {
	if i < 0 || i >= len(s) {
		return shape{}
	}
	return s[i]
}

func decibels(energy float64) float64 { return 10 * math.Log10(energy+1e-12) }
