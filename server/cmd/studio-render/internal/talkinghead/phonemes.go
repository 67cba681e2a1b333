package talkinghead

import (
	"math"
	"slices"
	"strings"
)

// A transcript is what espeak-ng has said. It is empty for other speech.
type transcript struct {
	sounds []rune // 0 wherever there may be a pause
	words  []spokenWord
	part   bool // whether only a part of it is heard, from the beginning
}

// parsePhonemes reads the output of espeak-ng --ipa --sep=_, which has a line for each clause.
func parsePhonemes(output string) (said transcript) {
	pause := func() {
		if len(said.sounds) == 0 || said.sounds[len(said.sounds)-1] != 0 {
			said.sounds = append(said.sounds, 0)
		}
	}
	for clause := range strings.Lines(output) {
		for word := range strings.FieldsSeq(clause) {
			pause()
			first := len(said.sounds)
			for phoneme := range strings.SplitSeq(word, "_") {
				if !strings.HasPrefix(phoneme, "(") { // the name of a language
					said.sounds = append(said.sounds, splitPhoneme(phoneme)...)
				}
			}
			if next := len(said.sounds); next > first {
				said.words = append(said.words, spokenWord{first: first, next: next})
			}
		}
		if n := len(said.words); n > 0 {
			said.words[n-1].last = true
		}
	}
	pause()
	return said
}

// heard returns the words of which all sounds are heard, with their times. hops are the indexes of the sound at each
// hop.
func (t transcript) heard(hops []int) (words []spokenWord) {
	start := func(hop int) float64 { return max(0, (float64(hop)+0.5)*soundHop-soundWindow/2) / soundRate }
	hop := 0
	until := func(sound int) (at float64, ok bool) {
		for hop < len(hops) && hops[hop] < sound {
			hop++
		}
		return start(hop), hop < len(hops)
	}
	for _, w := range t.words {
		var ok bool
		w.from, ok = until(w.first)
		if w.to, _ = until(w.next); !ok {
			break
		}
		words = append(words, w)
	}
	return words
}

// alignWidth is the number of halves of sounds among which those of a hop are searched, about ten seconds of speech.
const alignWidth = 256

// pauseHalves is by how many halves a sound follows another one if the pause between them is left out.
const pauseHalves = 3

// align returns the index of the sound at each hop, when it is known which sounds were said in which order. Pauses in
// said, which are 0, may be left out. With part, the speech may end before the sounds. It returns nil if the sounds do
// not fit the speech.
func (l *listener) align(scores []float32, said []rune, part bool) []int {
	phones := make([]int, len(said))
	for i, ipa := range said {
		phones[i] = l.phone(ipa)
	}
	halves := 2 * len(l.phones)
	hops := len(scores) / halves
	n := 2 * len(said)
	never := float32(math.Inf(-1))
	now, next := slices.Repeat([]float32{never}, n), slices.Repeat([]float32{never}, n)
	now[0] = 0
	width := min(alignWidth, n)
	steps := make([]uint8, width*hops)
	firsts := make([]int, hops)
	first, best := 0, 0
	for i := range hops {
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
			next[state] = score + scores[i*halves+2*phones[state/2]+state%2]
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
	if part {
		state = best
	}
	if hops == 0 || !part && first+width < n || math.IsInf(float64(now[state]), -1) {
		return nil
	}
	indexes := make([]int, hops)
	for i := hops - 1; i >= 0; i-- {
		indexes[i] = state / 2
		state -= int(steps[i*width+state-firsts[i]])
	}
	return indexes
}
