package talkinghead

import (
	"encoding/binary"
	"flag"
	"math"
	"os"
	"slices"
	"testing"

	"github.com/avatarstudio/avatarstudio/api/harness"
)

var phonesPath = flag.String("phones", "", "write the model of phones to this file")

// learned are the voices from which the model is learned, and learnedText is what they say.
var learned = []string{
	"en", "en+m1", "en+m2", "en+m3", "en+m5", "en+m6", "en+f1", "en+f2", "en+f5", "en+Andy", "en+belinda", "en+aunty", "en+Gene", "en+klatt",
	"en+zac", "en+Lee", "en+victor", "en+Alicia", "en+Andrea", "en-us", "en-us+m1", "en-us+m3", "en-us+m6", "en-us+f1", "en-us+f2", "en-us+f5",
	"en-us+Andy", "en-us+Annie", "en-us+belinda", "en-us+ed", "en-us+Mike", "en-us+Denis", "en-us+klatt3", "en-us+klatt4",
	"en-us+iven3", "en-us+boris", "en-us+john", "en-us+aunty", "en-us+Marco", "en+Diogo", "en-us+Jacky", "en+Storm", "en-us+robert", "en+benjamin",
	"en-us+rob", "en+pablo", "en-us+miguel", "en+shelby", "en-us+sandro", "en+norbert", "en-us+quincy", "en+Hugo", "en-us+adam", "en+marcelo",
	"en-us+paul", "en+travis", "en-us+croak", "en+grandma",
}

const learnedText = `The birch canoe slid on the smooth planks. Glue the sheet to the dark blue background. It's easy to tell the depth of a well.
These days a chicken leg is a rare dish. Rice is often served in round bowls. The juice of lemons makes fine punch.
The box was thrown beside the parked truck. The hogs were fed chopped corn and garbage. Four hours of steady work faced us.
A large size in stockings is hard to sell. The boy was there when the sun rose. A rod is used to catch pink salmon.
The source of the huge river is the clear spring. Kick the ball straight and follow through. Help the woman get back to her feet.
A pot of tea helps to pass the evening. Smoky fires lack flame and heat. The soft cushion broke the man's fall.
The salt breeze came across from the sea. The girl at the booth sold fifty bonds. The small pup gnawed a hole in the sock.
The fish twisted and turned on the bent hook. Press the pants and sew a button on the vest. The swan dive was far short of perfect.
The beauty of the view stunned the young boy. Two blue fish swam in the tank. Her purse was full of useless trash.
The colt reared and threw the tall rider. It snowed, rained, and hailed the same morning. Read verse out loud for pleasure.
Hoist the load to your left shoulder. Take the winding path to reach the lake. Note closely the size of the gas tank.
Wipe the grease off his dirty face. Mend the coat before you go out. The wrist was badly strained and hung limp.
The stray cat gave birth to kittens. The young girl gave no clear response. The meal was cooked before the bell rang.
What joy there is in living. A king ruled the state in the early days. The ship was torn apart on the sharp reef.`

// moments are the sums from which a normal distribution is estimated.
type moments struct {
	n     float64
	sums  [features]float64
	pairs [features][features]float64
}

func (m *moments) add(x *[features]float32) {
	m.n++
	for i, a := range x {
		m.sums[i] += float64(a)
		for j, b := range x[:i+1] {
			m.pairs[i][j] += float64(a) * float64(b)
		}
	}
}

// covariance returns entry i, j of the covariance times the number of samples.
func (m *moments) covariance(i, j int) float64 { return m.pairs[i][j] - m.sums[i]*m.sums[j]/m.n }

// shared is the number of samples of all sounds that the covariance of one sound is mixed with.
const shared = 1000

// estimate returns the normal distribution. pooled is the mean covariance of all sounds.
func (m *moments) estimate(pooled *[features][features]float64) (n normal) {
	var factor, inverse [features][features]float64
	var base float64
	for i := range features {
		n.Mean[i] = float32(m.sums[i] / m.n)
		for j := range i + 1 {
			sum := (m.covariance(i, j) + shared*pooled[i][j]) / (m.n + shared)
			for k := range j {
				sum -= factor[i][k] * factor[j][k]
			}
			if i == j {
				factor[i][i] = math.Sqrt(sum)
				base += math.Log(sum)
			} else {
				factor[i][j] = sum / factor[j][j]
			}
		}
	}
	root := n.Root[:0]
	for i := range features {
		for j := range i + 1 {
			sum := 0.0
			if i == j {
				sum = 1
			}
			for k := j; k < i; k++ {
				sum -= factor[i][k] * inverse[k][j]
			}
			inverse[i][j] = sum / factor[i][i]
			root = append(root, float32(inverse[i][j]))
		}
	}
	n.Base = float32(base)
	return n
}

// TestPhones_learn learns the model of phones from speech of espeak-ng.
func TestPhones_learn(t *testing.T) {
	if *phonesPath == "" {
		t.Skip("writes phones.bin only for make phones")
	}
	program := buildReader(t)
	type heard struct {
		utterance
		sounds []sound
	}
	var all []heard
	var timbre [cepstra]float64
	var n float64
	for i, voice := range learned {
		said := utter(t, program, voice, learnedText)
		for _, room := range rooms {
			h := heard{said, soundsOf(room.change(said.samples, uint64(i)))}
			loud, _, _ := loudness(levelsOf(h.sounds))
			for _, s := range h.sounds {
				if s.level > loud-25 {
					n++
					for j, c := range s.cepstrum {
						timbre[j] += float64(c)
					}
				}
			}
			all = append(all, h)
		}
	}
	l := &listener{}
	for i := range timbre {
		l.timbre[i] = float32(timbre[i] / n)
	}
	learning := map[rune]*[2]moments{}
	for _, h := range all {
		loud, _, _ := loudness(levelsOf(h.sounds))
		next := 0
		for i, x := range l.hears(h.sounds, loud) {
			at := hopTime(i)
			for next+1 < len(h.utterance.sounds) && at >= h.utterance.sounds[next].to {
				next++
			}
			s := h.utterance.sounds[next]
			if learning[s.ipa] == nil {
				learning[s.ipa] = &[2]moments{}
			}
			half := 0
			if at > (s.from+s.to)/2 {
				half = 1
			}
			learning[s.ipa][half].add(&x)
		}
	}
	var pooled [features][features]float64
	var total float64
	var kept []rune
	for ipa, halves := range learning {
		if min(halves[0].n, halves[1].n) < 300 {
			continue
		}
		kept = append(kept, ipa)
	}
	slices.Sort(kept)
	for _, ipa := range kept {
		for half := range 2 {
			m := &learning[ipa][half]
			total += m.n
			for i := range features {
				for j := range i + 1 {
					pooled[i][j] += m.covariance(i, j)
				}
			}
		}
	}
	for i := range features {
		for j := range i + 1 {
			pooled[i][j] /= total
		}
	}
	for _, ipa := range kept {
		m := learning[ipa]
		l.phones = append(l.phones, phone{ipa, [2]normal{m[0].estimate(&pooled), m[1].estimate(&pooled)}})
	}
	file, err := os.Create(*phonesPath)
	harness.Check(t, err)
	harness.Check(t, binary.Write(file, binary.LittleEndian, l.timbre))
	harness.Check(t, binary.Write(file, binary.LittleEndian, l.phones))
	harness.Check(t, file.Close())
	t.Logf("%d phones from %.0f hops: %s", len(kept), total, string(kept[1:]))
}
