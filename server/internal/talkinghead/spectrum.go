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
	window [soundWindow]float64
	values [soundWindow]complex128
}

func newSpectrum() *spectrum {
	s := &spectrum{}
	for i := range s.window {
		s.window[i] = 0.5 - 0.5*math.Cos(2*math.Pi*float64(i)/soundWindow)
	}
	return s
}

// measure returns the sound in one window of samples.
func (s *spectrum) measure(samples []int16) sound {
	for i, v := range samples {
		s.values[i] = complex(float64(v)/math.MaxInt16*s.window[i], 0)
	}
	transform(s.values[:])
	band := func(from, to int) (energy float64) {
		const hertz = soundRate / float64(soundWindow)
		for i := int(float64(from) / hertz); i <= int(float64(to)/hertz); i++ {
			re, im := real(s.values[i]), imag(s.values[i])
			energy += re*re + im*im
		}
		return energy * 16 / 3 / (soundWindow * soundWindow) // undoes the attenuation of the Hann window
	}
	return sound{band(80, 450), band(500, 1100), band(700, 1500), band(1700, 3200), band(3500, 7800)}
}

// transform computes the fast Fourier transform in place. The number of values must be a power of two.
func transform(values []complex128) {
	n := len(values)
	for i, j := 1, 0; i < n; i++ {
		bit := n >> 1
		for ; j&bit != 0; bit >>= 1 {
			j ^= bit
		}
		j ^= bit
		if i < j {
			values[i], values[j] = values[j], values[i]
		}
	}
	for size := 2; size <= n; size *= 2 {
		turn := cmplx.Rect(1, -2*math.Pi/float64(size))
		for start := 0; start < n; start += size {
			factor := complex(1, 0)
			for i := start; i < start+size/2; i++ {
				odd := values[i+size/2] * factor
				values[i], values[i+size/2] = values[i]+odd, values[i]-odd
				factor *= turn
			}
		}
	}
}
