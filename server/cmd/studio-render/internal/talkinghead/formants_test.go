package talkinghead

import "math"

// The rule of formants makes a mouth without learning. It is the yardstick of the measurements.

// A bands is the energy in each frequency band during one hop, relative to the square of the full-scale
// amplitude.
type bands struct {
	voice float64 // 80–450 Hz: the first formant of "oo", "ee" and "mm"
	open  float64 // 500–1100 Hz: the first formant of "aa"
	back  float64 // 700–1500 Hz: the second formant of "oo" and "oh"
	front float64 // 1700–3200 Hz: the second formant of "ee"
	hiss  float64 // 3500–7800 Hz: "s", "sh", "f"
}

func (s bands) energy() float64 { return s.voice + s.open + s.front + s.hiss }

// ruled returns the shapes of the mouth by the rule, and the viseme of each hop: the one whose mean shape in u is
// nearest.
func ruled(samples []int16, u utterance) (shapes, []viseme) {
	s := newSpectrum()
	padded := append(make([]int16, soundWindow-soundHop), samples...)
	var heard []bands
	var levels []float64
	for end := soundWindow; end <= len(padded); end += soundHop {
		s.measure(padded[end-soundWindow : end])
		band := func(from, to int) (energy float64) {
			const hertz = soundRate / float64(soundWindow)
			for i := int(float64(from) / hertz); i <= int(float64(to)/hertz); i++ {
				re, im := real(s.result[i]), imag(s.result[i])
				energy += re*re + im*im
			}
			return energy * 16 / 3 / (soundWindow * soundWindow)
		}
		heard = append(heard, bands{band(80, 450), band(500, 1100), band(700, 1500), band(1700, 3200), band(3500, 7800)})
		levels = append(levels, decibels(heard[len(heard)-1].energy()))
	}
	loud, silence, _ := loudness(levels)
	targets := make(shapes, len(heard))
	var means [visemes]shape
	var n [visemes]float64
	for i, b := range heard {
		targets[i] = articulate(b)
		voiced := smoothstep(silence, silence+8, levels[i])
		targets[i].open *= voiced * math.Pow(10, min(levels[i]-loud, 1)/20*0.6)
		targets[i].width *= voiced
		targets[i].press *= voiced
		v := visemeOf(u.at(hopTime(i)))
		n[v]++
		means[v].open += targets[i].open
		means[v].width += targets[i].width
		means[v].press += targets[i].press
	}
	said := make([]viseme, len(targets))
	for i, s := range targets {
		nearest := math.Inf(1)
		for v, mean := range means {
			if d := math.Hypot(math.Hypot(s.open-mean.open/n[v], s.width-mean.width/n[v]), s.press-mean.press/n[v]); d < nearest {
				nearest, said[i] = d, viseme(v)
			}
		}
	}
	return ruledSmooth(targets), said
}

// articulate returns the shape for one sound. It recognizes vowels by their formants: a high first formant
// means a low jaw. If the first formant is low, the second one separates spread lips from round lips.
// Without either, the lips are closed.
func articulate(s bands) shape {
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

// ruledSmooth adds the inertia of the mouth.
func ruledSmooth(s shapes) shapes {
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
