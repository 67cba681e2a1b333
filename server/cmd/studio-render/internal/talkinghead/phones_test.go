package talkinghead

import (
	"encoding/binary"
	"flag"
	"maps"
	"math"
	"math/rand/v2"
	"os"
	"slices"
	"testing"

	"github.com/avatarstudio/avatarstudio/api/tools/harness"
)

var phonesPath = flag.String("phones", "", "learn the model of phones, and write it to this file")

// How much is learned from, and how long.
const (
	rare       = 1500 // hops of a sound that are too few for a phone
	recorded   = 3    // variations of each recording
	made       = 2    // variations of what a voice of espeak-ng says
	doubtful   = 0.2  // the part of recordings whose sounds are too doubtful
	firstHops  = 3_000_000
	secondHops = 3_000_000
	thirdHops  = 16_000_000
)

// TestPhones_learn learns the model of phones: first from voices of espeak-ng, which tell the times of their sounds.
// With what it has learned, it finds the sounds of recordings, and learns from all.
func TestPhones_learn(t *testing.T) {
	if *phonesPath == "" {
		t.Skip("writes phones.bin only for make phones")
	}
	random := rand.New(rand.NewPCG(1, 1))
	all := talks(t, random)
	l := &listener{phones: frequent(all)}
	l.look()
	l.layers = newLayers(len(l.phones))
	for i := range l.layers {
		layer := &l.layers[i]
		for j := range layer.weights {
			layer.weights[j] = float32(random.NormFloat64() * math.Sqrt(2/float64(layer.inputs)))
		}
	}
	l.hearAll(all, random)
	for i, hops := range []int{firstHops, secondHops, thirdHops} {
		if i > 0 {
			l.find(all)
		}
		var lessons []*lesson
		for _, k := range all {
			for _, lesson := range k.lessons {
				if k.sounds != nil {
					lesson.label(l, k.sounds)
					lessons = append(lessons, lesson)
				}
			}
		}
		l.teach(t, lessons, hops, random)
	}
	file, err := os.Create(*phonesPath)
	harness.Check(t, err)
	for _, part := range l.parts() {
		harness.Check(t, binary.Write(file, binary.LittleEndian, part))
	}
	harness.Check(t, file.Close())
	t.Logf("%d phones: %s", len(l.phones), string(l.phones[1:]))
}

// frequent returns the sounds that are not rare.
func frequent(all []*talk) (phones []rune) {
	hops := map[rune]float64{}
	for _, k := range all {
		for _, s := range k.sounds {
			hops[s.ipa] += (s.to - s.from) * hopsPerSecond
		}
	}
	for ipa, n := range hops {
		if n > rare {
			phones = append(phones, ipa)
		}
	}
	slices.Sort(phones)
	return phones
}

// hearAll sets the lessons of talks, except for their states, and the usual timbre.
func (l *listener) hearAll(all []*talk, random *rand.Rand) {
	heard := make([][][]sound, len(all))
	var sum [melBands]float64
	n := 0.0
	for i, k := range all {
		variations := recorded
		if k.sounds != nil {
			variations = made
		}
		for j := range variations {
			samples, speed := k.samples, 1.0
			if j > 0 || k.sounds != nil {
				samples, speed = vary(samples, random)
			}
			sounds := soundsOf(samples)
			loud, _, _ := loudness(levelsOf(sounds))
			for _, s := range sounds {
				if s.level > loud-25 {
					n++
					for band, v := range s.timbre {
						sum[band] += float64(v)
					}
				}
			}
			heard[i] = append(heard[i], sounds)
			k.lessons = append(k.lessons, &lesson{speed: speed})
		}
	}
	for band := range sum {
		l.usual[band] = float32(sum[band] / n)
	}
	for i, k := range all {
		for j, lesson := range k.lessons {
			loud, _, _ := loudness(levelsOf(heard[i][j]))
			lesson.features, lesson.speaker = l.features(heard[i][j], loud)
		}
	}
}

// find finds the sounds of recordings.
func (l *listener) find(all []*talk) {
	doubts := map[*talk]float64{}
	for _, k := range all {
		if k.said.sounds != nil {
			plain := k.lessons[0]
			k.sounds, doubts[k] = l.order(l.judge(plain.features, plain.speaker), k.said.sounds)
		}
	}
	limit := slices.Sorted(maps.Values(doubts))[int((1-doubtful)*float64(len(doubts)))]
	for k, doubt := range doubts {
		if doubt > limit {
			k.sounds = nil
		}
	}
}

// order returns when sounds are said, and how much worse that fits the scores than any sounds do.
func (l *listener) order(scores []float32, said []rune) (sounds []spoken, doubt float64) {
	n, before := 2*len(l.phones), -1
	for hop, i := range l.align(scores, said, false) {
		from, row, phone := hopTime(hop)-0.5/hopsPerSecond, scores[hop*n:(hop+1)*n], 2*l.phone(said[i])
		doubt += float64(slices.Max(row) - max(row[phone], row[phone+1]))
		if i != before {
			sounds = append(sounds, spoken{ipa: said[i], from: from})
		}
		sounds[len(sounds)-1].to = from + 1.0/hopsPerSecond
		before = i
	}
	return sounds, doubt * float64(n) / float64(len(scores))
}
