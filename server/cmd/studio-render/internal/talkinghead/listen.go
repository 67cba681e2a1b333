package talkinghead

import (
	"bytes"
	_ "embed"
	"encoding/binary"
	"math"
	"slices"
	"sync"
)

// The features by which sounds are told apart: the timbre of a hop, and its level.
const (
	features = melBands + 1
	// usual is the number of hops that the usual timbre of voices counts when that of a speaker is averaged.
	usual = 60
)

// A layer is a layer of a neural network. Each neuron hears what the layer before says of the hops at some distances.
type layer struct {
	around  []int     // the distances
	inputs  int       // the weights of a neuron, of which the last one is its bias
	weights []float32 // neuron by neuron
}

// The layers of the network. Those of the first layer hear the timbre of the speaker, too, and those of the last one
// say how likely it is that each half of each phone is heard.
const neurons = 64

func newLayers(phones int) []layer {
	layers := []layer{
		{around: []int{-2, -1, 0, 1, 2}, inputs: 5*features + melBands + 1},
		{around: []int{-3, 0, 3}, inputs: 3*neurons + 1},
		{around: []int{-7, 0, 7}, inputs: 3*neurons + 1},
		{around: []int{0}, inputs: neurons + 1},
	}
	for i := range layers {
		layers[i].weights = make([]float32, neurons*layers[i].inputs)
	}
	layers[3].weights = make([]float32, 2*phones*layers[3].inputs)
	return layers
}

// outputs returns the number of neurons.
func (l *layer) outputs() int { return len(l.weights) / l.inputs }

// hear appends to x what a neuron hears at a hop.
func (l *layer) hear(x, before []float32, hop, hops int, speaker []float32) []float32 {
	width := len(before) / hops
	for _, away := range l.around {
		at := min(max(hop+away, 0), hops-1)
		x = append(x, before[at*width:(at+1)*width]...)
	}
	return append(append(x, speaker...), 1)
}

// say writes to y what the neurons say when they hear x. There are at least four.
func (l *layer) say(y, x []float32) {
	for i := 0; i < len(y); i += 4 {
		i := min(i, len(y)-4)
		row := l.weights[i*len(x) : (i+4)*len(x)]
		a, b, c, d := row[:len(x)], row[len(x):][:len(x)], row[2*len(x):][:len(x)], row[3*len(x):][:len(x)]
		var p, q, r, s float32 // four sums are faster than one
		for j, v := range x {
			p += a[j] * v
			q += b[j] * v
			r += c[j] * v
			s += d[j] * v
		}
		y[i], y[i+1], y[i+2], y[i+3] = p, q, r, s
	}
}

// A listener recognizes the sounds of speech. It is safe for concurrent use.
type listener struct {
	usual   [melBands]float32 // the mean timbre of all voices
	layers  []layer
	phones  []rune   // in IPA, the first of which is silence, 0
	visemes []viseme // of phones
}

// phonesFile was learned from 320 invented and 58 built-in voices of espeak-ng, which tell the times of their sounds;
// from the people who recorded the prompts of Asterisk in English, Spanish, French, Italian and Russian, in Debian's
// packages asterisk-core-sounds: Allison Smith and June Wallack (CC BY-SA 3.0), Carlo Flora and Maxim Topal (CC BY
// 3.0); from three voices of flite; and from vowels that begin in silence. Noise, rooms, speeds and microphones varied.
//
//go:embed phones.bin
var phonesFile []byte

// listening decodes phonesFile once.
//
//nolint:gochecknoglobals // a cache
var listening = sync.OnceValue(func() *listener {
	l := &listener{}
	rest := len(phonesFile)/4 - len(l.usual)
	for _, layer := range newLayers(0) {
		rest -= len(layer.weights)
	}
	l.phones = make([]rune, rest/(1+2*(neurons+1)))
	l.layers = newLayers(len(l.phones))
	parts := []any{&l.usual, l.phones}
	for _, layer := range l.layers {
		parts = append(parts, layer.weights)
	}
	file := bytes.NewReader(phonesFile)
	for _, part := range parts {
		if err := binary.Read(file, binary.LittleEndian, part); err != nil {
			panic(err)
		}
	}
	for _, ipa := range l.phones {
		l.visemes = append(l.visemes, visemeOf(ipa))
	}
	return l
})

// phone returns the index of a sound, or of one that looks like it.
func (l *listener) phone(ipa rune) int {
	i := slices.Index(l.phones, ipa)
	if i < 0 {
		i = slices.Index(l.visemes, visemeOf(ipa))
	}
	return i
}

// visemesOf returns the viseme of each hop, and the index of its sound in what is said, or nil if that is unknown. loud
// is the level of loud speech.
func visemesOf(sounds []sound, said transcript, loud float64) (visemes []viseme, indexes []int) {
	l := listening()
	scores := l.hears(sounds, loud)
	if said.sounds != nil {
		indexes = l.align(scores, said.sounds, said.part)
	}
	if indexes == nil {
		return l.recognize(scores, sounds, loud), nil
	}
	for _, i := range indexes {
		visemes = append(visemes, visemeOf(said.sounds[i]))
	}
	return visemes, indexes
}

// hears returns, for each hop, the score of each half of each phone: the logarithm of how much likelier it is with what
// is heard than without, apart from a constant. loud is the level of loud speech.
func (l *listener) hears(sounds []sound, loud float64) []float32 {
	heard, speaker := l.features(sounds, loud)
	hops := len(sounds)
	for i := range l.layers {
		layer := &l.layers[i]
		if i > 0 {
			for j, v := range heard {
				heard[j] = max(v, 0)
			}
			speaker = nil
		}
		n := layer.outputs()
		said, x := make([]float32, n*hops), make([]float32, 0, layer.inputs)
		for hop := range hops {
			layer.say(said[hop*n:(hop+1)*n], layer.hear(x, heard, hop, hops, speaker))
		}
		heard = said
	}
	return heard
}

// features returns the features of each hop, relative to the timbre of the speaker, and that relative to the usual one.
func (l *listener) features(sounds []sound, loud float64) (heard, speaker []float32) {
	mean, n := l.usual, float32(usual)
	for i := range mean {
		mean[i] *= usual
	}
	for i := range sounds {
		if sounds[i].level > loud-25 {
			n++
			for j, v := range sounds[i].timbre {
				mean[j] += v
			}
		}
	}
	for i := range mean {
		mean[i] /= n
		speaker = append(speaker, mean[i]-l.usual[i])
	}
	heard = make([]float32, 0, features*len(sounds))
	for i := range sounds {
		for j, v := range sounds[i].timbre {
			heard = append(heard, v-mean[j])
		}
		heard = append(heard, float32(max(sounds[i].level-loud, -40)/10))
	}
	return heard, speaker
}

// What is known before a hop is heard, as logarithms of probabilities.
const (
	// change is added when a new sound starts.
	change = -3
	// closing is added to sounds with closed lips: a mouth that stays open is seen at once. But lips that are closed
	// muffle the voice, so it is all added only from muffled below the level of loud speech, in dB, and nothing at that
	// level.
	closing = 3
	muffled = 4
)

// recognize returns the viseme of each hop by the Viterbi algorithm: the most likely sequence of phones, each with
// both halves.
func (l *listener) recognize(scores []float32, sounds []sound, loud float64) []viseme {
	n, hops := 2*len(l.phones), len(sounds)
	now, next := make([]float32, n), make([]float32, n)
	from := make([]uint8, len(scores))
	for i := range now {
		now[i] = float32(-(i % 2) * math.MaxInt32) // starts with a first half
	}
	for i := range hops {
		ended := 1
		for j := 3; j < n; j += 2 {
			if now[j] > now[ended] {
				ended = j
			}
		}
		quiet := float32(min(max((loud-sounds[i].level)/muffled, 0), 1))
		for j, score := range scores[i*n : (i+1)*n] {
			if l.visemes[j/2] == lipsClosed {
				score += closing * quiet
			}
			before, arrives := now[j], now[ended]+change
			came := ended
			if j%2 == 1 {
				came, arrives = j-1, now[j-1]
			}
			if before >= arrives {
				came, arrives = j, before
			}
			next[j], from[i*n+j] = arrives+score, uint8(came)
		}
		now, next = next, now
	}
	said := make([]viseme, hops)
	if hops == 0 {
		return said
	}
	state := slices.Index(now, slices.Max(now))
	for i := hops - 1; i >= 0; i-- {
		said[i] = l.visemes[state/2]
		state = int(from[i*n+state])
	}
	return said
}
