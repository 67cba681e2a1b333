package talkinghead

import (
	"bytes"
	_ "embed"
	"encoding/binary"
	"math"
	"slices"
	"sync"
)

// The features by which sounds are told apart: the timbre and level of a hop, and of those before and after it.
const (
	around   = 4 // the distance of these hops
	features = 3*cepstra + 3
	// usual is the number of hops that the usual timbre of voices counts when that of a speaker is averaged.
	usual = 60
)

// A normal is a normal distribution of features. Root is the inverse of the Cholesky factor of their covariance, row
// by row, and Base the logarithm of the determinant.
type normal struct {
	Mean [features]float32
	Root [features * (features + 1) / 2]float32
	Base float32
}

// score returns the logarithm of the density, apart from a constant: half the square of the Mahalanobis distance.
func (n *normal) score(x *[features]float32) float32 {
	var away [features]float32
	for i := range away {
		away[i] = x[i] - n.Mean[i]
	}
	distance, root := n.Base, n.Root[:]
	for i := range away {
		var sum float32
		for j, r := range root[:i+1] {
			sum += r * away[j]
		}
		distance += sum * sum
		root = root[i+1:]
	}
	return -distance / 2
}

// A phone is a sound of speech, 0 being silence. Its first half differs from the second one.
type phone struct {
	IPA    rune
	Halves [2]normal
}

// A listener recognizes the sounds of speech. It is safe for concurrent use.
type listener struct {
	timbre  [cepstra]float32 // the mean of all voices
	phones  []phone
	visemes []viseme // of phones
}

//go:embed phones.bin
var phonesFile []byte // written by make phones

// listening decodes phonesFile once.
//
//nolint:gochecknoglobals // a cache
var listening = sync.OnceValue(func() *listener {
	l := &listener{}
	l.phones = make([]phone, (len(phonesFile)-binary.Size(l.timbre))/binary.Size(phone{}))
	file := bytes.NewReader(phonesFile)
	for _, part := range []any{&l.timbre, l.phones} {
		if err := binary.Read(file, binary.LittleEndian, part); err != nil {
			panic(err)
		}
	}
	for i := range l.phones {
		l.visemes = append(l.visemes, visemeOf(l.phones[i].IPA))
	}
	return l
})

// visemesOf returns the viseme of each hop, and the index of its sound in what is said, or nil if that is unknown. loud is
// the level of loud speech.
func visemesOf(sounds []sound, said transcript, loud float64) (visemes []viseme, indexes []int) {
	l := listening()
	heard := l.hears(sounds, loud)
	if said.sounds != nil {
		indexes = l.align(heard, said.sounds, said.part)
	}
	if indexes == nil {
		return l.recognize(heard), nil
	}
	for _, i := range indexes {
		visemes = append(visemes, visemeOf(said.sounds[i]))
	}
	return visemes, indexes
}

// hears returns the features of each hop. loud is the level of loud speech.
func (l *listener) hears(sounds []sound, loud float64) [][features]float32 {
	mean, n := l.timbre, float32(usual)
	for i := range mean {
		mean[i] *= usual
	}
	for i := range sounds {
		if sounds[i].level > loud-25 {
			n++
			for j, c := range sounds[i].cepstrum {
				mean[j] += c
			}
		}
	}
	heard := make([][features]float32, len(sounds))
	for i := range heard {
		x := heard[i][:0]
		var levels [3]float32
		for k := range levels {
			s := &sounds[min(max(i+(k-1)*around, 0), len(sounds)-1)]
			for j, c := range s.cepstrum {
				x = append(x, c-mean[j]/n)
			}
			levels[k] = float32(max(s.level-loud, -40) / 4)
		}
		_ = append(x, levels[1], levels[2]-levels[0], levels[2]+levels[0]-2*levels[1])
	}
	return heard
}

// What is known before a hop is heard, as logarithms of probabilities.
const (
	// change is added when a new sound starts.
	change = -6
	// closing is added to sounds with closed lips: a mouth that stays open is seen at once.
	closing = 5
	// muffled is by how much closed lips are less likely for each 4 dB above their usual level, which is 4 dB below
	// that of loud speech.
	muffled = 6
)

// scores writes the score of each half of each phone to scores.
func (l *listener) scores(x *[features]float32, scores []float32) {
	for i := range l.phones {
		for half := range l.phones[i].Halves {
			score := l.phones[i].Halves[half].score(x)
			switch quiet := -muffled * (1 + x[3*cepstra]); l.visemes[i] {
			case silent:
				score += min(0, quiet)
			case lipsClosed:
				score += min(closing, quiet)
			}
			scores[2*i+half] = score
		}
	}
}

// recognize returns the viseme of each hop by the Viterbi algorithm: the most likely sequence of phones, each with
// both halves.
func (l *listener) recognize(heard [][features]float32) []viseme {
	n := 2 * len(l.phones)
	scores, now, next := make([]float32, n), make([]float32, n), make([]float32, n)
	from := make([]uint8, n*len(heard))
	for i := range now {
		now[i] = float32(-(i % 2) * math.MaxInt32) // starts with a first half
	}
	for i := range heard {
		l.scores(&heard[i], scores)
		ended := 1
		for j := 3; j < n; j += 2 {
			if now[j] > now[ended] {
				ended = j
			}
		}
		for j := range next {
			before, arrives := now[j], now[ended]+change
			came := ended
			if j%2 == 1 {
				came, arrives = j-1, now[j-1]
			}
			if before >= arrives {
				came, arrives = j, before
			}
			next[j], from[i*n+j] = arrives+scores[j], uint8(came)
		}
		now, next = next, now
	}
	said := make([]viseme, len(heard))
	if len(said) == 0 {
		return said
	}
	state := slices.Index(now, slices.Max(now))
	for i := len(said) - 1; i >= 0; i-- {
		said[i] = l.visemes[state/2]
		state = int(from[i*n+state])
	}
	return said
}
