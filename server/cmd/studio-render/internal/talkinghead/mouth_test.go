package talkinghead

import (
	"flag"
	"fmt"
	"math"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/avatarstudio/avatarstudio/api/tools/harness"
)

var mouthPath = flag.String("mouth", "", "measure all voices, and write the results to this file")

// women and men are voices from which nothing was learned. They speak text from which nothing was learned.
var (
	women = []string{"en+f3", "en+f4", "en+linda", "en+steph", "en-us+anika"}
	men   = []string{"en+m4", "en+m7", "en+michael", "en+Alex", "en-us+david"}
)

const measuredText = `Sickness kept him home the third week. The wide road shimmered in the hot sun. The lazy cow lay in the cool grass.
Lift the square stone over the fence. The rope will bind the seven books at once. Hop over the fence and plunge in.
The friendly gang left the drug store. Mesh wire keeps chicks inside. The frosty air passed through the coat.
The crooked maze failed to fool the mouse. Adding fast leads to wrong sums. The show was a flop from the very start.
A saw is a tool used for making boards. The wagon moved on well oiled wheels. March the soldiers past the next hill.
A cup of sugar makes sweet fudge. Place a rosebush near the porch steps. Both lost their lives in the raging storm.`

// A measure says how well a mouth follows speech.
type measure struct {
	hops, right      float64 // hops, and those whose viseme is right
	closures, closed float64 // "p", "b" and "m", and those with closed lips in a frame
	vowels, shut     float64 // hops of vowels, and those with closed lips
	lag              float64 // ms by which the opening follows the loudness
	correlation      float64 // of opening and loudness
}

const (
	lipsShut   = 0.08              // the opening below which lips are seen as closed
	frameEvery = 1.0 / pictureRate // seconds
)

// measureMouth compares the shapes and the visemes of each hop with what was said.
func measureMouth(u utterance, sounds []sound, shown shapes, said []viseme) (m measure) {
	for i, v := range said {
		truth := visemeOf(u.at(hopTime(i)))
		m.hops++
		if v == truth {
			m.right++
		}
		if slices.Contains([]string{"aa", "E", "I", "O", "U"}, visemeTable[truth].name) {
			m.vowels++
			if shown.at(hopTime(i)).open < lipsShut {
				m.shut++
			}
		}
	}
	for _, s := range u.sounds {
		if visemeOf(s.ipa) != lipsClosed {
			continue
		}
		m.closures++
		// At least one frame shows the sound.
		middle, reach := (s.from+s.to)/2, max(s.to-s.from, frameEvery)/2
		for frame := math.Ceil((middle-reach)/frameEvery-0.5) + 0.5; frame*frameEvery <= middle+reach; frame++ {
			if shown.at(frame*frameEvery).open < lipsShut {
				m.closed++
				break
			}
		}
	}
	m.lag, m.correlation = follow(sounds, shown)
	return m
}

// follow returns the lag at which the opening and the loudness correlate best, in ms, and the correlation without lag.
func follow(sounds []sound, shown shapes) (lag, now float64) {
	correlation := func(milliseconds int) float64 {
		var n, sx, sy, sxx, syy, sxy float64
		for i, s := range sounds {
			x, y := math.Pow(10, s.level/20*0.6), shown.at(hopTime(i)+float64(milliseconds)/1000).open
			n, sx, sy, sxx, syy, sxy = n+1, sx+x, sy+y, sxx+x*x, syy+y*y, sxy+x*y
		}
		return (n*sxy - sx*sy) / math.Sqrt((n*sxx-sx*sx)*(n*syy-sy*sy))
	}
	best := -1.0
	for milliseconds := -200; milliseconds <= 200; milliseconds += 5 {
		if c := correlation(milliseconds); c > best {
			best, lag = c, float64(milliseconds)
		}
	}
	return lag, correlation(0)
}

// shutWhileLoud returns the part of loud hops in which the lips are closed.
func shutWhileLoud(sounds []sound, shown shapes) float64 {
	loud, _, _ := loudness(levelsOf(sounds))
	var hops, shut float64
	for i, s := range sounds {
		if s.level > loud-15 {
			hops++
			if shown.at(hopTime(i)).open < lipsShut {
				shut++
			}
		}
	}
	return shut / hops
}

// shown returns the shapes of the mouth and the viseme of each hop.
func shown(sounds []sound, said transcript) (shapes, []viseme) {
	shapes, visemes, _ := mouthShapes(sounds, said)
	return shapes, visemes
}

// shapesOf returns the shapes of the mouth for unknown speech.
func shapesOf(sounds []sound) shapes {
	shapes, _, _ := mouthShapes(sounds, transcript{})
	return shapes
}

// phonemesOf returns what espeak-ng says it speaks.
func phonemesOf(t testing.TB, voice, text string) transcript {
	t.Helper()
	c := exec.CommandContext(t.Context(), "espeak-ng", "-v", voice, "--stdin", "-q", "--ipa", "--sep=_")
	c.Stdin = strings.NewReader(text)
	output := harness.Try(c.Output())(t)
	return parsePhonemes(string(output))
}

func TestSpeak_tellsPhonemes(t *testing.T) {
	t.Parallel()
	harness.Need(t, "espeak-ng")
	s := harness.Try(Config{}.speak(t.Context(), Speech{Text: "Bob met me. Joe!"}, t.TempDir()))(t)
	if info, err := os.Stat(s.path); err != nil || info.Size() < 20_000 || string(s.said.sounds) != "\x00bɒb\x00mɛt\x00mi\x00ʒəʊ\x00" {
		t.Errorf("%v, %q", err, string(s.said.sounds))
	}
}

// TestMouth_followsSpeech measures mouths on voices from which nothing was learned: the mouth by the sound alone, and
// the mouth by the sound and its phonemes.
func TestMouth_followsSpeech(t *testing.T) {
	t.Parallel()
	harness.SkipShort(t, "it listens to a voice in several rooms")
	program := buildReader(t)
	voices := women[:1]
	if *mouthPath != "" {
		voices = slices.Concat(women, men)
	}
	var report strings.Builder
	report.WriteString(reportHead)
	row := func(cells ...string) { fmt.Fprintf(&report, "| %s |\n", strings.Join(cells, " | ")) }
	head := func(names ...string) { row(names...); row(slices.Repeat([]string{"---"}, len(names))...) }
	each := func(measures [2]measure, format string, value func(measure) float64) string {
		return fmt.Sprintf(strings.Join(slices.Repeat([]string{format}, 2), " / "), value(measures[0]), value(measures[1]))
	}
	accuracy := func(m measure) float64 { return 100 * m.right / m.hops }
	closed := func(m measure) float64 { return 100 * m.closed / m.closures }
	shut := func(m measure) float64 { return 100 * m.shut / m.vowels }
	lag := func(m measure) float64 { return m.lag }
	correlation := func(m measure) float64 { return m.correlation }
	head("Voice", "Room", "Viseme (%)", "p, b, m closed (%)", "Vowels closed (%)", "Lag (ms)", "Correlation")
	var lags []float64
	for i, voice := range voices {
		said, phonemes := utter(t, program, voice, measuredText), phonemesOf(t, voice, measuredText)
		for _, room := range rooms {
			sounds := soundsOf(room.change(said.samples, uint64(1000+i)))
			var measures [2]measure
			for i, known := range []transcript{{}, phonemes} {
				shapes, visemes := shown(sounds, known)
				measures[i] = measureMouth(said, sounds, shapes, visemes)
			}
			row(voice, room.name, each(measures, "%.0f", accuracy), each(measures, "%.0f", closed),
				each(measures, "%.0f", shut), each(measures, "%.0f", lag), each(measures, "%.2f", correlation))
			lags = append(lags, measures[0].lag)
			if i == 0 && (accuracy(measures[0]) < 70 || closed(measures[0]) < 95 || closed(measures[1]) < 100 || shut(measures[0]) > 25) {
				t.Errorf("%s, %s: the mouth does not follow the speech", voice, room.name)
			}
		}
	}
	slices.Sort(lags)
	if median := lags[len(lags)/2]; math.Abs(median) > 20 {
		t.Errorf("the median lag is %.0f ms", median)
	}
	t.Logf("\n%s", report.String())
	if *mouthPath == "" {
		return
	}
	report.WriteString("\n")
	head("Recorded words", "Closed (%)", "Lag (ms)", "Correlation")
	recordings, err := filepath.Glob("/usr/share/sounds/alsa/*_*.wav")
	if len(recordings) == 0 {
		t.Log("no recorded words: the package alsa-utils is not installed")
	}
	harness.Check(t, err)
	for _, path := range recordings {
		sounds := soundsOf(resample(t, nil, "-i", path))
		shown := shapesOf(sounds)
		lag, now := follow(sounds, shown)
		row(filepath.Base(path), fmt.Sprintf("%.0f", 100*shutWhileLoud(sounds, shown)), fmt.Sprintf("%.0f", lag), fmt.Sprintf("%.2f", now))
	}
	harness.Check(t, os.WriteFile(*mouthPath, []byte(report.String()), 0o644))
}

const reportHead = `# The mouth

Voices of espeak-ng from which nothing was learned say sentences from which nothing was learned: first the women's, then the
men's. The library of espeak-ng tells the times of the sounds. Each voice is heard clean, with noise 20 dB below it, and with
the echo of a room. A cell has two figures: the mouth by the sound alone; and the mouth by the sound and what espeak-ng says
that it speaks, as in a video from text. Reproduce with ` + "`make bench-mouth`" + `.

Columns: hops of 10 ms with the right viseme of 15; p, b and m during which a frame at 25 per second shows closed lips; hops of
vowels in which the lips are closed, which is wrong; the lag of the opening behind the loudness; and their correlation. Targets
of the first voice: 70 % of the visemes; 95 % closed, from text 100 %; of all: a median lag within ±20 ms. The recorded words
are those of a person in Debian's package alsa-utils. None of them has a p, b or m, so closed lips are wrong in them; the column
has the hops within 15 dB of loud speech.

`
