package talkinghead

import (
	"bufio"
	"bytes"
	"compress/gzip"
	"fmt"
	"math"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/avatarstudio/avatarstudio/api/tools/harness"
)

// The model of phones is learned from four kinds of speakers:
//
//   - Voices of espeak-ng, which tell the times of their sounds. Most are invented: variants at random.
//   - The people who recorded the prompts of Asterisk, in Debian's packages asterisk-core-sounds-en, -es, -fr, -it and
//     -ru, and those with the suffix -g722: Allison Smith and June Wallack (CC BY-SA 3.0), Carlo Flora and Maxim Topal
//     (CC BY 3.0).
//   - Voices of flite, which are models of recorded people.
//   - Vowels that begin in silence without a consonant.

// A talk is speech from which the model is learned.
type talk struct {
	utterance            // of a recording, sounds is nil unless they are found
	said      transcript // what is said in a recording
	lessons   []*lesson  // variations, the first of which is a recording as it is
}

// builtIn are the voices of espeak-ng from which the model is learned.
var builtIn = []string{
	"en", "en+m1", "en+m2", "en+m3", "en+m5", "en+m6", "en+f1", "en+f2", "en+f5", "en+Andy", "en+belinda", "en+aunty", "en+Gene", "en+klatt",
	"en+zac", "en+Lee", "en+victor", "en+Alicia", "en+Andrea", "en-us", "en-us+m1", "en-us+m3", "en-us+m6", "en-us+f1", "en-us+f2", "en-us+f5",
	"en-us+Andy", "en-us+Annie", "en-us+belinda", "en-us+ed", "en-us+Mike", "en-us+Denis", "en-us+klatt3", "en-us+klatt4",
	"en-us+iven3", "en-us+boris", "en-us+john", "en-us+aunty", "en-us+Marco", "en+Diogo", "en-us+Jacky", "en+Storm", "en-us+robert", "en+benjamin",
	"en-us+rob", "en+pablo", "en-us+miguel", "en+shelby", "en-us+sandro", "en+norbert", "en-us+quincy", "en+Hugo", "en-us+adam", "en+marcelo",
	"en-us+paul", "en+travis", "en-us+croak", "en+grandma",
}

// modelled are the voices of flite.
var modelled = []string{"slt", "rms", "awb"}

// A person has recorded prompts. Voice is the voice of espeak-ng that knows the language.
type person struct{ language, folder, voice string }

var people = []person{
	{"en", "en_US_f_Allison", "en-us"},
	{"es", "es_MX_f_Allison", "es-419"},
	{"fr", "fr_CA_f_June", "fr"},
	{"it", "it_IT_m_Carlo", "it"},
	{"ru", "ru_RU_f_IvrvoiceRU", "ru"},
}

// How much is learned from: numbers of voices, and of sentences that a voice of espeak-ng or flite says.
const (
	inventedVoices    = 320
	espeakSustained   = 3 // sounds that a voice of espeak-ng sustains
	espeakSentences   = 16
	modelledSentences = 160
	vowelTalks        = 60
)

// learnedText is some of what the voices say.
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

// talks returns all speech from which the model is learned.
func talks(t *testing.T, random *rand.Rand) (all []*talk) {
	t.Helper()
	harness.Need(t, "flite")
	texts := map[string][]string{}
	for _, p := range people {
		recordings, sentences := p.prompts(t)
		all = append(all, recordings...)
		texts[p.language] = sentences
	}
	phonetic := strings.SplitAfter(strings.ReplaceAll(learnedText, "\n", " "), ". ")
	text := func(language string, sentences int) string {
		var b strings.Builder
		for i := range sentences {
			from := texts[language]
			if language == "en" && i%2 == 0 {
				from = phonetic
			}
			b.WriteString(from[random.IntN(len(from))])
		}
		return b.String()
	}
	program := buildReader(t)
	say := func(voice, language string) {
		said := text(language, espeakSentences)
		for range espeakSustained {
			said += sustained(random)
		}
		all = append(all, &talk{utterance: utter(t, program, voice, said)})
	}
	for _, voice := range builtIn {
		say(voice, "en")
	}
	variant := filepath.Join(variants(t), "invented")
	for i := range inventedVoices {
		harness.Check(t, os.WriteFile(variant, []byte(invent(random)), 0o644))
		if i%6 == 5 {
			foreign := people[1+i/6%(len(people)-1)]
			say(foreign.voice+"+invented", foreign.language)
		} else {
			say([]string{"en", "en-us"}[i%2]+"+invented", "en")
		}
	}
	for range vowelTalks {
		all = append(all, &talk{utterance: vowels(random)})
	}
	for _, voice := range modelled {
		for range modelledSentences / 2 {
			said, path := text("en", 2), filepath.Join(t.TempDir(), "speech.wav")
			harness.Check(t, exec.CommandContext(t.Context(), "flite", "-voice", voice, "-t", said, "-o", path).Run())
			all = append(all, &talk{utterance: utterance{samples: resample(t, nil, "-i", path)}, said: phonemesOf(t, "en-us", said)})
		}
	}
	return all
}

// prompts returns the recordings of a person whose text is certain, and their texts.
func (p person) prompts(t *testing.T) (recordings []*talk, texts []string) {
	t.Helper()
	file, err := os.Open("/usr/share/doc/asterisk-core-sounds-" + p.language + "/core-sounds-" + p.language + ".txt.gz")
	if err != nil {
		t.Fatalf("Install asterisk-core-sounds-%s and asterisk-core-sounds-%[1]s-g722: %v", p.language, err)
	}
	defer file.Close()
	lines, err := gzip.NewReader(file)
	harness.Check(t, err)
	var sound bytes.Buffer
	var ends []int
	for line := bufio.NewScanner(lines); line.Scan(); {
		name, text, ok := strings.Cut(line.Text(), ": ")
		data, err := os.ReadFile("/usr/share/asterisk/sounds/" + p.folder + "/" + name + ".g722")
		if !ok || err != nil || strings.ContainsAny(text, "0123456789[]()<>*#@/") {
			continue
		}
		sound.Write(data)
		ends = append(ends, 2*sound.Len()) // a byte has two samples
		texts = append(texts, strings.TrimRight(text, ". ")+". ")
		recordings = append(recordings, &talk{said: phonemesOf(t, p.voice, text)})
	}
	if len(texts) == 0 {
		t.Fatalf("Install asterisk-core-sounds-%s-g722.", p.language)
	}
	samples := resample(t, &sound, "-f", "g722", "-i", "-")
	from := 0
	for i, to := range ends {
		to = min(to, len(samples))
		recordings[i].samples = samples[from:to]
		from = to
	}
	return recordings, texts
}

// vowels returns vowels with silence between them. Their sudden start is no plosive.
func vowels(random *rand.Rand) (u utterance) {
	kinds := []struct {
		ipa           rune
		first, second float64
	}{{'a', 750, 1200}, {'i', 280, 2250}, {'u', 310, 750}, {'ɛ', 550, 1800}, {'ɔ', 550, 850}}
	at := func() float64 { return float64(len(u.samples)) / soundRate }
	add := func(ipa rune, samples []int16) {
		from := at()
		u.samples = append(u.samples, samples...)
		u.sounds = append(u.sounds, spoken{ipa, from, at()})
	}
	for range 8 {
		kind := kinds[random.IntN(len(kinds))]
		add(0, make([]int16, int((0.15+0.4*random.Float64())*soundRate)))
		add(kind.ipa, formants(0.15+0.4*random.Float64(), [2]float64{kind.first * (0.9 + 0.2*random.Float64()), 0},
			[2]float64{kind.second * (0.9 + 0.2*random.Float64()), -8 * random.Float64()}))
	}
	return u
}

// sustained returns a text in which a voice of espeak-ng sustains a sound.
func sustained(random *rand.Rand) string {
	sounds := []string{"Vm", "Vn", "u:", "i:", "A:", "O:"}
	sound := sounds[random.IntN(len(sounds))]
	held := sound[len(sound)-2:]
	if held[0] == 'V' {
		held = held[1:] + ":"
	}
	start := []string{"s", "t", "h", "f", "p"}
	return "[[" + start[random.IntN(len(start))] + sound + strings.Repeat(held, 1+random.IntN(4)) + "]]. "
}

// variants makes espeak-ng look for variants of voices in another directory, which it returns. It knows 350 at most.
func variants(t *testing.T) string {
	t.Helper()
	version, err := exec.CommandContext(t.Context(), "espeak-ng", "--version").Output()
	harness.Check(t, err)
	_, data, _ := strings.Cut(strings.TrimSpace(string(version)), "Data at: ")
	files, err := os.ReadDir(data)
	harness.Check(t, err)
	dir := t.TempDir()
	ours := filepath.Join(dir, "espeak-ng-data")
	variants := filepath.Join(ours, "voices", "!v")
	harness.Check(t, os.MkdirAll(variants, 0o755))
	for _, file := range files {
		if file.Name() != "voices" {
			harness.Check(t, os.Symlink(filepath.Join(data, file.Name()), filepath.Join(ours, file.Name())))
		}
	}
	t.Setenv("ESPEAK_DATA_PATH", dir)
	return variants
}

// invent returns a variant of voices of espeak-ng.
func invent(random *rand.Rand) string {
	between := func(from, to float64) float64 { return from + (to-from)*random.Float64() }
	var file strings.Builder
	line := func(format string, args ...any) { fmt.Fprintf(&file, format+"\n", args...) }
	line("language variant\nname invented")
	low := 60 * math.Pow(4, random.Float64())
	line("pitch %.0f %.0f", low, low*between(1.1, 1.6))
	line("speed %.0f", between(75, 135))
	if random.IntN(5) < 2 {
		line("klatt %d", 1+random.IntN(6))
	}
	size := between(78, 122)
	for formant := range 9 {
		line("formant %d %.0f %.0f %.0f", formant, min(max(size*between(0.88, 1.12), 70), 130), 50*math.Pow(4, random.Float64()), between(60, 180))
	}
	if random.IntN(2) == 0 {
		line("tone 100 %.0f 600 %.0f 1200 %.0f 2000 %.0f 3000 %.0f", between(150, 255), between(50, 255), between(20, 255), between(20, 255), between(10, 255))
	}
	line("consonants %.0f %.0f\nvoicing %.0f", between(40, 130), between(30, 130), between(30, 130))
	line("flutter %.0f\nroughness %d", between(0, 8), random.IntN(4))
	if random.IntN(5) == 0 {
		line("breath %.0f %.0f %.0f", between(0, 60), between(0, 40), between(0, 40))
	}
	if random.IntN(3) == 0 {
		line("stressAdd 130 140 140 100 0 0 130 160\nstressAmp 16 16 24 24 16 16 20 24")
	}
	return file.String()
}

// vary changes speech at random: its speed, and with it the pitch and the size of the speaker; the timbre; the room;
// and the noise. It returns the factor of the speed.
func vary(samples []int16, random *rand.Rand) ([]int16, float64) {
	speed := math.Pow(1.2, 2*random.Float64()-1)
	values := make([]float64, int(float64(len(samples))/speed))
	at := func(i int) float64 { return float64(samples[min(max(i, 0), len(samples)-1)]) }
	for i := range values {
		whole, x := math.Modf(float64(i) * speed)
		j := int(whole)
		a, b, c, d := at(j-1), at(j), at(j+1), at(j+2)
		values[i] = b + x/2*(c-a+x*(2*a-5*b+4*c-d+x*(3*(b-c)+d-a))) // Catmull–Rom
	}
	if random.IntN(2) == 0 { // the timbre
		tilt, before := 1.2*random.Float64()-0.6, 0.0
		for i, v := range values {
			values[i] = v + tilt*before
			before = v
		}
	}
	if random.IntN(2) == 0 { // the room
		loudness, length := 0.05+0.13*random.Float64(), 200+1000*random.Float64()
		dry := slices.Clone(values)
		for range 60 {
			delay := 80 + random.IntN(4000)
			gain := loudness * random.NormFloat64() * math.Exp(-float64(delay)/length)
			for i, v := range dry[:max(len(dry)-delay, 0)] {
				values[i+delay] += gain * v
			}
		}
	}
	if random.IntN(8) == 0 { // a microphone without high tones
		part := 0.5 + 0.3*random.Float64()
		var low [4]float64
		for i, v := range values {
			for k := range low {
				low[k] += part * (v - low[k])
				v = low[k]
			}
			values[i] = v
		}
	}
	var energy, peak float64
	for _, v := range values {
		energy += v * v
		peak = max(peak, math.Abs(v))
	}
	if random.IntN(5) < 3 { // noise of 10 to 35 dB below the speech
		level := math.Sqrt(energy/float64(len(values))) * math.Pow(10, -(10+25*random.Float64())/20)
		white, dark, part, low := random.Float64(), 5*random.Float64(), 0.03+0.3*random.Float64(), 0.0
		level /= math.Sqrt(white*white + dark*dark*part/2)
		for i := range values {
			v := random.NormFloat64()
			low += part * (v - low)
			values[i] += level * (white*v + dark*low)
		}
	}
	changed := make([]int16, len(values))
	gain := min(1, 30_000/max(peak, 1))
	for i, v := range values {
		changed[i] = limit(gain * v)
	}
	return changed, speed
}
