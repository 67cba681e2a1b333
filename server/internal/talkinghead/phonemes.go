package talkinghead

import (
	"math"
	"slices"
	"strings"
)

// parsePhonemes returns the sounds in the output of espeak-ng --ipa --sep=_, with a 0 wherever there may be a pause.
func parsePhonemes(output string) (sounds []rune) {
	pause := func() {
		if len(sounds) == 0 || sounds[len(sounds)-1] != 0 {
			sounds = append(sounds, 0)
		}
	}
	for word := range strings.FieldsSeq(output) {
		pause()
		for phoneme := range strings.SplitSeq(word, "_") {
			if !strings.HasPrefix(phoneme, "(") { // the name of a language
				sounds = append(sounds, splitPhoneme(phoneme)...)
			}
		}
	}
	pause()
	return sounds
}

// alignWidth is the number of halves of sounds among which those of a hop are searched, about ten seconds of speech.
const alignWidth = 256

// pauseHalves is by how many halves a sound follows another one if the pause between them is left out.
const pauseHalves = 3

// align returns the viseme of each hop, when it is known which sounds were said in which order. Pauses in said, which
// are 0, may be left out. It returns nil if the sounds do not fit the speech.
func (l *listener) align(heard [][features]float32, said []rune) []viseme {
	phones := make([]int, len(said))
	for i, ipa := range said {
		phones[i] = slices.IndexFunc(l.phones, func(p phone) bool { return p.IPA == ipa })
		if phones[i] < 0 {
			phones[i] = slices.Index(l.visemes, visemeOf(ipa))
		}
	}
	n := 2 * len(said)
	never := float32(math.Inf(-1))
	scores := make([]float32, 2*len(l.phones))
	now, next := slices.Repeat([]float32{never}, n), slices.Repeat([]float32{never}, n)
	now[0] = 0
	width := min(alignWidth, n)
	steps := make([]uint8, width*len(heard))
	firsts := make([]int, len(heard))
	first, best := 0, 0
	for i := range heard {
		l.scores(&heard[i], scores)
		before := first
		first = min(max(best-width/2, first), n-width)
		firsts[i], best = first, first
		for state := first; state < first+width; state++ {
			score, step := now[state], 0
			if state > before && now[state-1] > score {
				score, step = now[state-1], 1
			}
			if skipped := state - pauseHalves; state%2 == 0 && skipped >= before && said[state/2-1] == 0 && now[skipped] > score {
				score, step = now[skipped], pauseHalves
			}
			next[state] = score + scores[2*phones[state/2]+state%2]
			steps[i*width+state-first] = uint8(step)
			if next[state] > next[best] {
				best = state
			}
		}
		now, next = next, now
	}
	state := n - 1
	if n > pauseHalves && now[n-pauseHalves] > now[state] {
		state = n - pauseHalves
	}
	if len(heard) == 0 || first+width < n || math.IsInf(float64(now[state]), -1) {
		return nil
	}
	visemes := make([]viseme, len(heard))
	for i := len(heard) - 1; i >= 0; i-- {
		visemes[i] = visemeOf(said[state/2])
		state -= int(steps[i*width+state-firsts[i]])
	}
	return visemes
}
