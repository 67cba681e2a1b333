package talkinghead

import (
	"math"
	"math/cmplx"
)

// The format of the analysed sound.
const (
	soundRate     = 16000 // samples per second, mono
	soundWindow   = 512   // samples: 32 ms
	soundHop      = 160   // samples: 10 ms
	hopsPerSecond = soundRate / soundHop
)

// A sound is the energy in each frequency band during one hop, relative to the square of the full-scale
// amplitude.
type sound struct {
	voice float64 // 80–450 Hz: the first formant of "oo", "ee" and "mm"
	open  float64 // 500–1100 Hz: the first formant of "aa"
	back  float64 // 700–1500 Hz: the second formant of "oo" and "oh"
	front float64 // 1700–3200 Hz: the second formant of "ee"
	hiss  float64 // 3500–7800 Hz: "s", "sh", "f"
}

func (s sound) energy() float64 { return s.voice + s.open + s.front + s.hiss }

// A spectrum measures the bands of a sound. It is not safe for concurrent use.
type spectrum struct {
	window         [soundWindow]float64
	turns          [soundWindow]complex128 // the roots of unity
	values, result [soundWindow]complex128
}

func newSpectrum() *spectrum {
	s := &spectrum{}
	for i := range s.window {
		s.turns[i] = cmplx.Rect(1, -2*math.Pi*float64(i)/soundWindow)
		s.window[i] = 0.5 - 0.5*real(s.turns[i])
	}
	return s
}

// measure returns the sound in one window of samples.
func (s *spectrum) measure(samples []int16) sound {
	for i, v := range samples {
		s.values[i] = complex(float64(v)/math.MaxInt16*s.window[i], 0)
	}
	s.transform(s.result[:], s.values[:], 1)
	band := func(from, to int) (energy float64) {
		const hertz = soundRate / float64(soundWindow)
		for i := int(float64(from) / hertz); i <= int(float64(to)/hertz); i++ {
			re, im := real(s.result[i]), imag(s.result[i])
			energy += re*re + im*im
		}
		return energy * 16 / 3 / (soundWindow * soundWindow) // undoes the attenuation of the Hann window
	}
	return sound{band(80, 450), band(500, 1100), band(700, 1500), band(1700, 3200), band(3500, 7800)}
}

// transform writes the fast Fourier transform of every step-th value to result, whose length is a power of two.
func (s *spectrum) transform(result, values []complex128, step int) {
	if len(result) == 1 {
		result[0] = values[0]
		return
	}
	even, odd := result[:len(result)/2], result[len(result)/2:]
	s.transform(even, values, 2*step)
	s.transform(odd, values[step:], 2*step)
	for i, value := range even {
		turned := odd[i] * s.turns[i*step]
		even[i], odd[i] = value+turned, value-turned
	}
}
