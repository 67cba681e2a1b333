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

// The scale of the spectrum.
const (
	melBands = 26
	melFirst = 80.0   // Hz
	melLast  = 7600.0 // Hz
	melFloor = 1e-5   // of the strongest band: weaker ones are mostly noise
)

// A sound is what is heard during one hop.
type sound struct {
	level float64 // dB relative to the square of the full-scale amplitude
	// timbre is the level of each mel band in bel, relative to their mean.
	timbre [melBands]float32
}

// A spectrum measures sounds. It is not safe for concurrent use.
type spectrum struct {
	window         [soundWindow]float64
	turns          [soundWindow]complex128 // the roots of unity
	bands          [melBands + 2]float64   // the middles of the mel bands, in steps of the spectrum
	values, result [soundWindow]complex128
}

func newSpectrum() *spectrum {
	s := &spectrum{}
	for i := range s.window {
		s.turns[i] = cmplx.Rect(1, -2*math.Pi*float64(i)/soundWindow)
		s.window[i] = 0.5 - 0.5*real(s.turns[i])
	}
	mel := func(hertz float64) float64 { return math.Log(1 + hertz/700) }
	for i := range s.bands {
		at := mel(melFirst) + (mel(melLast)-mel(melFirst))*float64(i)/(melBands+1)
		s.bands[i] = 700 * (math.Exp(at) - 1) * soundWindow / soundRate
	}
	return s
}

// measure returns the sound in one window of samples.
func (s *spectrum) measure(samples []int16) (heard sound) {
	for i, v := range samples {
		s.values[i] = complex(float64(v)/math.MaxInt16*s.window[i], 0)
	}
	s.transform(s.result[:], s.values[:], 1)
	var bands [melBands]float64
	var energy, strongest float64
	for i := range bands {
		below, middle, above := s.bands[i], s.bands[i+1], s.bands[i+2]
		for j := int(math.Ceil(below)); float64(j) < above; j++ {
			part := min((float64(j)-below)/(middle-below), (above-float64(j))/(above-middle))
			re, im := real(s.result[j]), imag(s.result[j])
			bands[i] += part * (re*re + im*im)
		}
		energy += bands[i]
		strongest = max(strongest, bands[i])
	}
	mean := 0.0
	for i := range bands {
		bands[i] = math.Log10(max(bands[i], strongest*melFloor) + 1e-12)
		mean += bands[i] / melBands
	}
	for i := range bands {
		heard.timbre[i] = float32(bands[i] - mean)
	}
	heard.level = decibels(energy * 16 / 3 / (soundWindow * soundWindow)) // undoes the attenuation of the Hann window
	return heard
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
