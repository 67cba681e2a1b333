package talkinghead

import (
	"bytes"
	"cmp"
	"fmt"
	"math"
	"math/rand/v2"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/avatarstudio/avatarstudio/api/tools/harness"
)

// A spoken is a sound at a time in seconds. IPA is 0 for silence.
type spoken struct {
	ipa      rune
	from, to float64
}

// An utterance is speech whose sounds and their times are known.
type utterance struct {
	samples []int16
	sounds  []spoken
}

// buildReader returns the path of the program of testdata/phonemes.c.
func buildReader(t testing.TB) string {
	t.Helper()
	harness.Need(t, "gcc", "ffmpeg", "espeak-ng")
	path := filepath.Join(t.TempDir(), "phonemes")
	if output, err := exec.CommandContext(t.Context(), "gcc", "-o", path, "testdata/phonemes.c", "-l:libespeak-ng.so.1").CombinedOutput(); err != nil {
		t.Fatalf("%v: %s", err, output)
	}
	return path
}

// utter speaks text with a voice of espeak-ng.
func utter(t testing.TB, program, voice, text string) utterance {
	t.Helper()
	samples, lines := read(t, text, program, voice)
	u := utterance{samples: samples}
	var before string
	var from float64
	add := func(to float64) {
		parts := splitPhoneme(before)
		if len(parts) == 0 {
			parts = []rune{0}
		}
		for i, ipa := range parts {
			step := (to - from) / float64(len(parts))
			u.sounds = append(u.sounds, spoken{ipa, from + step*float64(i), from + step*float64(i+1)})
		}
		from = to
	}
	for line := range strings.Lines(lines) {
		at, ipa, _ := strings.Cut(strings.TrimRight(line, "\n"), " ")
		milliseconds := harness.Try(strconv.Atoi(at))(t)
		add(float64(milliseconds) / 1000)
		before = ipa
	}
	add(float64(len(u.samples)) / soundRate)
	return u
}

// A wordEvent is the time in seconds at which a word begins, and the index of its first character in the text.
type wordEvent struct {
	at    float64
	index int
}

// utterWords speaks text like utter, and returns when its words begin.
func utterWords(t testing.TB, program, voice, text string) (samples []int16, words []wordEvent) {
	t.Helper()
	samples, lines := read(t, text, program, voice, "words")
	for line := range strings.Lines(lines) {
		var milliseconds, position int
		harness.Try(fmt.Sscan(line, &milliseconds, &position))(t)
		words = append(words, wordEvent{float64(milliseconds) / 1000, position - 1})
	}
	return samples, words
}

// read runs the program of testdata/phonemes.c. It returns the speech, and a line for each event.
func read(t testing.TB, text string, command ...string) (samples []int16, lines string) {
	t.Helper()
	var output, events bytes.Buffer
	c := exec.CommandContext(t.Context(), command[0], command[1:]...)
	c.Stdin, c.Stdout, c.Stderr = strings.NewReader(text), &output, &events
	harness.Check(t, c.Run())
	rate, lines, _ := strings.Cut(events.String(), "\n")
	return resample(t, &output, "-f", "s16le", "-ar", rate, "-ac", "1", "-i", "-"), lines
}

// resample decodes a sound to the format that is analysed.
func resample(t testing.TB, input *bytes.Buffer, args ...string) []int16 {
	t.Helper()
	c := exec.CommandContext(t.Context(), "ffmpeg", append(append([]string{"-v", "error"}, args...),
		"-f", "s16le", "-ac", "1", "-ar", strconv.Itoa(soundRate), "-")...)
	if input != nil {
		c.Stdin = input
	}
	output := harness.Try(c.Output())(t)
	samples := make([]int16, len(output)/2)
	for i := range samples {
		samples[i] = int16(uint16(output[2*i]) | uint16(output[2*i+1])<<8)
	}
	return samples
}

// at returns the sound at a time.
func (u utterance) at(seconds float64) rune {
	i, found := slices.BinarySearchFunc(u.sounds, seconds, func(s spoken, at float64) int { return cmp.Compare(s.from, at) })
	if !found {
		i--
	}
	if i < 0 {
		return 0
	}
	return u.sounds[i].ipa
}

// hopTime returns the time of the middle of the window of a hop.
func hopTime(hop int) float64 { return (float64(hop+1)*soundHop - soundWindow/2) / soundRate }

// rooms are what is done to clean speech: nothing, the noise of a fan 20 dB below it, or the echo of a room whose
// reverberation is 0.35 s long.
var rooms = []struct {
	name   string
	change func([]int16, uint64) []int16
}{
	{"clean", func(samples []int16, _ uint64) []int16 { return samples }},
	{"noise", func(samples []int16, seed uint64) []int16 {
		random := rand.New(rand.NewPCG(seed, 1))
		var energy, low float64
		for _, v := range samples {
			energy += float64(v) * float64(v)
		}
		level := math.Sqrt(energy/float64(len(samples))) / 10
		noisy := slices.Clone(samples)
		for i := range noisy {
			white := random.NormFloat64()
			low += 0.1 * (white - low)
			noisy[i] = limit(float64(noisy[i]) + level*(0.6*white+3.4*low))
		}
		return noisy
	}},
	{"echo", func(samples []int16, seed uint64) []int16 {
		random := rand.New(rand.NewPCG(seed, 2))
		heard := make([]float64, len(samples))
		for i, v := range samples {
			heard[i] = float64(v)
		}
		for range 60 {
			delay := 80 + random.IntN(4000)
			gain := 0.16 * random.NormFloat64() * math.Exp(-float64(delay)/800)
			for i, v := range samples[:max(len(samples)-delay, 0)] {
				heard[i+delay] += gain * float64(v)
			}
		}
		echoed := make([]int16, len(samples))
		for i, v := range heard {
			echoed[i] = limit(v)
		}
		return echoed
	}},
}

func limit(v float64) int16 { return int16(min(max(v, math.MinInt16), math.MaxInt16)) }

// soundsOf analyses samples as [media.samples] does.
func soundsOf(samples []int16) (sounds []sound) {
	s := newSpectrum()
	padded := append(make([]int16, soundWindow-soundHop), samples...)
	for end := soundWindow; end <= len(padded); end += soundHop {
		sounds = append(sounds, s.measure(padded[end-soundWindow:end]))
	}
	return sounds
}
