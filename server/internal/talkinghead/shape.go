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

// mouthShapes returns the shapes of the mouth that makes the given sounds.
func mouthShapes(sounds []sound) shapes {
	levels := make([]float64, len(sounds))
	for i, s := range sounds {
		levels[i] = decibels(s.energy())
	}
	loud, silence, speech := loudness(levels)
	targets := make(shapes, len(sounds))
	if !speech {
		return targets
	}
	for i, s := range sounds {
		targets[i] = articulate(s)
		voiced := smoothstep(silence, silence+8, levels[i])
		targets[i].open *= voiced * math.Pow(10, min(levels[i]-loud, 1)/20*0.6)
		targets[i].width *= voiced
		targets[i].press *= voiced
	}
	return targets.smooth()
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

// articulate returns the shape for one sound. It recognizes vowels by their formants: a high first formant
// means a low jaw. If the first formant is low, the second one separates spread lips from round lips.
// Without either, the lips are closed.
func articulate(s sound) shape {
	all := decibels(s.energy())
	in := func(band, from, to float64) float64 { return smoothstep(from, to, decibels(band)-all) }
	jaw := in(s.open, -14, -3)
	murmur := in(s.voice, -6, -1) * (1 - jaw)
	vowel := in(s.front, -24, -15)
	back := in(s.back, -27, -17) * (1 - smoothstep(8, 18, decibels(s.front)-decibels(s.back)))
	hiss := in(s.hiss, -5, -1)
	spread := in(s.front, -12, -5)

	narrow := murmur * vowel // "oo" or "ee"
	round := jaw * in(s.voice, -10, -4) * (1 - spread)
	return shape{
		open:  max(jaw*(1-0.25*round), narrow*(0.36+0.08*back), 0.3*hiss),
		width: narrow*(0.9-1.8*back) + jaw*0.4*spread - 0.55*round + 0.35*hiss,
		press: murmur * (1 - vowel),
	}
}

// How fast a mouth moves: the part of a difference that is left after one hop.
const (
	attack  = 0.70
	release = 0.80
	stretch = 0.86
	// ahead is how many hops the mouth is early, which compensates for its inertia.
	ahead = 3
)

// smooth adds the inertia of the mouth.
func (s shapes) smooth() shapes {
	moved := make(shapes, len(s))
	var now shape
	for i := range s {
		target := s[min(i+ahead, len(s)-1)]
		speed := release
		if target.open > now.open {
			speed = attack
		}
		now.open = target.open + (now.open-target.open)*speed
		now.width = target.width + (now.width-target.width)*stretch
		now.press = target.press + (now.press-target.press)*release
		moved[i] = now
		if now.open < 0.03 {
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
