package talkinghead

import (
	"math"
	"slices"
	"testing"

	"github.com/avatarstudio/avatarstudio/api/tools/harness"
)

// wordTexts are texts in which words and spoken words differ: numbers, symbols, abbreviations, words that are joined,
// and a script without spaces.
var wordTexts = map[string]string{
	"en+f4": "Good morning, everyone, and welcome to the annual meeting. In 1984, we were 12 people; today, in 2026, we are 3,456,789! " +
		"Mr. Smith's well-known company isn't worth $5 or 20%: it's worth 1.5 million. Please write to ada@example.com by 9:30 — thank you. " +
		"One of the best (perhaps the very best) of the year… is here? Yes. The NATO and the BBC said \"no\" & left.",
	"de+m3": "Guten Morgen, meine Damen und Herren. Im Jahr 1984 waren wir 12, heute sind wir 3.456; das ist – wie man sagt – viel. Schön, dass Sie da sind!",
	"fr+f2": "Bonjour à tous, et bienvenue. L'année 1998 était belle; aujourd'hui, nous sommes 250 personnes. Est-ce que c'est vrai ? Oui, c'est ça.",
	"ru+m5": "Доброе утро, дорогие друзья. В 1984 году нас было двенадцать; сегодня нас 250. Спасибо, что вы пришли!",
	"ja+f1": "こんにちは、おげんきですか。わたしはスタジオのアナウンサーです。きょうは、とてもいいてんきですね。ありがとうございます。",
}

// Words and cues begin when espeak-ng speaks them, by the events of its library.
func TestWords_haveTheTimesOfSpeech(t *testing.T) {
	t.Parallel()
	harness.SkipShort(t, "it listens to five voices")
	program := buildReader(t)
	var words, cues []float64
	for voice, text := range wordTexts {
		samples, events := utterWords(t, program, voice, text)
		said := phonemesOf(t, voice, text)
		_, visemes, indexes := mouthShapes(soundsOf(samples), said)
		timed := timed(timeWords(wordsOf(cleanText(text)), said, visemes, indexes))
		shown := cuesOf(timed)
		begins, index := map[int]word{}, 0
		for _, w := range timed {
			begins[index] = w
			index += len([]rune(w.text))
			if w.space {
				index++
			}
		}
		known := len(words)
		for _, e := range events {
			w, ok := begins[e.index]
			if !ok {
				continue
			}
			words = append(words, math.Abs(w.from-e.at))
			if slices.ContainsFunc(shown, func(c cue) bool { return c.from == w.from }) {
				cues = append(cues, math.Abs(w.from-e.at))
			}
		}
		if len(words)-known < len(events)*2/3 {
			t.Errorf("%s: %d of %d words are known", voice, len(words)-known, len(events))
		}
	}
	slices.Sort(words)
	slices.Sort(cues)
	at := func(errs []float64, part float64) float64 { return 1000 * errs[int(part*float64(len(errs)-1))] }
	t.Logf("%d words: median %.0f ms, 90 %% %.0f ms, most %.0f ms", len(words), at(words, 0.5), at(words, 0.9), at(words, 1))
	t.Logf("%d cues: median %.0f ms, most %.0f ms", len(cues), at(cues, 0.5), at(cues, 1))
	if at(words, 0.5) > 20 || at(words, 0.9) > 100 || len(cues) < 15 || at(cues, 1) > 100 {
		t.Error("the times are not those of the speech")
	}
}

// Without a transcript, words have times by their lengths.
func TestWords_haveTimesWithoutTranscript(t *testing.T) {
	t.Parallel()
	visemes := slices.Concat(make([]viseme, 100), slices.Repeat([]viseme{lipsClosed}, 300), make([]viseme, 100))
	words := timeWords(wordsOf("One two, three — four."), transcript{}, visemes, nil)
	if first, last := words[0], words[len(words)-1]; first.from != 1 || math.Abs(last.to-4) > 0.02 || len(words) != 5 {
		t.Errorf("words are %+v", words)
	}
	if words := timeWords(wordsOf("One"), transcript{}, make([]viseme, 100), nil); words != nil {
		t.Errorf("silence says %+v", words)
	}
}
