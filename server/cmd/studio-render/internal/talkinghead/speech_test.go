package talkinghead

import (
	"errors"
	"math"
	"os"
	"os/exec"
	"slices"
	"strings"
	"testing"

	"github.com/avatarstudio/avatarstudio/api/tools/harness"
	"github.com/avatarstudio/avatarstudio/server/internal/render/protocol"
)

// Each voice has an id that espeak-ng knows, and the first voice of a language is its usual one.
func TestVoices_areThoseOfEspeak(t *testing.T) {
	t.Parallel()
	harness.Need(t, "espeak-ng")
	voices := harness.Try(Config{}.Voices(t.Context()))(t)
	first := func(code string) string {
		i := slices.IndexFunc(voices, func(v protocol.Voice) bool { return strings.HasPrefix(v.Language+"-", code+"-") })
		if i < 0 {
			return ""
		}
		return voices[i].ID
	}
	for code, want := range map[string]string{"en": "en-gb", "fr": "fr-fr", "pt": "pt", "ru": "ru", "cmn": "cmn", "en-US": "en-us", "xx": ""} {
		if got := first(code); got != want {
			t.Errorf("the first voice of %s is %q, want %q", code, got, want)
		}
	}
	ids := map[string]bool{}
	for _, v := range voices {
		if ids[v.ID] || tagOf(v.Language) != v.Language || v.Name == "" || v.Gender == "" {
			t.Errorf("a voice is %+v", v)
		}
		ids[v.ID] = true
	}
	for _, v := range voices[:2] {
		s, err := Config{}.speak(t.Context(), Speech{Text: "1", Voice: v.ID}, t.TempDir())
		if err != nil || s.language != v.Language {
			t.Errorf("%s: %+v, %v", v.ID, s, err)
		}
	}
	if testing.Short() {
		return
	}
	for i, v := range voices {
		if i%16 > 0 { // each takes a process
			continue
		}
		if output, err := exec.CommandContext(t.Context(), speechProgram, "-q", "-v", v.ID, "1").CombinedOutput(); err != nil {
			t.Errorf("%s: %v: %s", v.ID, err, output)
		}
	}
}

func TestSpeak_usesVoiceAndSpeed(t *testing.T) {
	t.Parallel()
	harness.Need(t, "espeak-ng")
	const text = "Guten Morgen, meine Damen und Herren."
	length := func(s Speech) float64 {
		t.Helper()
		spoken := harness.Try(Config{}.speak(t.Context(), s, t.TempDir()))(t)
		info := harness.Try(os.Stat(spoken.path))(t)
		return float64(info.Size())
	}
	usual := length(Speech{Text: text, Voice: "de"})
	for speed, want := range map[float64]float64{0.5: 1.9, 2: 0.55, 100: 0.55} {
		if got := length(Speech{Text: text, Voice: "de", Speed: speed}) / usual; got < want*0.85 || got > want*1.15 {
			t.Errorf("at speed %v, the speech is %.2f times as long", speed, got)
		}
	}
	for _, voice := range []string{"../en-gb", "-w", "en-gb+Nobody", "variant"} {
		_, err := Config{}.speak(t.Context(), Speech{Text: text, Voice: voice}, t.TempDir())
		if lost, ok := errors.AsType[*protocol.Error](err); !ok || !strings.HasPrefix(lost.Reason, "The voice does not exist any more.") {
			t.Errorf("voice %s: %v", voice, err)
		}
	}
	if s, err := (Config{}).speak(t.Context(), Speech{Text: text, Voice: "de", Language: "DE_at"}, t.TempDir()); err != nil || s.language != "de-AT" {
		t.Errorf("the language is %q, %v", s.language, err)
	}
}

// A program that speaks for too long is stopped, and what is kept of its speech has subtitles that end with it.
func TestSpeak_cutsLongTexts(t *testing.T) {
	t.Parallel()
	harness.Need(t, "espeak-ng", "ffmpeg", "ffprobe")
	text := strings.Repeat("今天天气很好，我们去公园散步吧。", 10)
	dir := t.TempDir()
	s := harness.Try(Config{}.speak(t.Context(), Speech{Text: text}, dir))(t)
	if len(s.checks) != 2 || s.checks[0].Status == protocol.Succeeded || !strings.Contains(s.checks[0].Message, "100% of the letters") || s.checks[1].Status == protocol.Failed {
		t.Errorf("checks are %+v", s.checks)
	}
	const kept = 12 * spokenBytes
	if n, err := runSpeech(t.Context(), []string{"sh", "-c", "cat " + s.path + "; exec yes"}, "", s.path+".cut", kept, 1<<20); err != nil || n != kept+1<<20 {
		t.Fatalf("%d bytes are read, %v", n, err)
	}
	sound := harness.Try(open(t.Context(), s.path+".cut", "The sound"))(t)
	s.said.part = true
	p := performance{sound: sound, said: s.said, words: wordsOf(cleanText(text)), dir: dir, work: dir}
	harness.Check(t, p.analyseSound(t.Context()))
	cues := cuesOf(p.words)
	if last := cues[len(cues)-1]; math.Abs(p.seconds-12) > 0.1 || math.Abs(last.to-p.seconds) > 2 || len(p.words) == len(wordsOf(cleanText(text))) {
		t.Errorf("of %.1f s, %d words are shown until %.1f s", p.seconds, len(p.words), last.to)
	}
}

func TestVoice_readsItsScripts(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		language, text string
		reads          bool
	}{
		{"en-GB", "Hello, Кот and welcome to all of you!", true},
		{"en-GB", "Привет, welcome", false},
		{"en-GB", "1984 + 5", true},
		{"ru", "Привет, это Bob", false}, // a fifth of the letters
		{"ru", "Здравствуйте, дорогие друзья, это Bob", true},
		{"ja", "きょうは、いいてんきですねー。", true},
		{"ja", "今日は、いい天気ですねー。", false},
		{"cmn", "こんにちは", false},
		{"cmn-Latn-pinyin", "nǐ hǎo", true},
		{"zh", "你好", true},
		{"ar", "مرحبا بكم", true},
		{"ko", "안녕하세요", true},
		{"th", "สวัสดีครับ", true},
		{"sr", "Dobar dan", true},
		{"hi", "hello", false},
	} {
		if got := reads(protocol.Voice{Language: c.language, Name: "X"}, c.text); (got.Status == protocol.Succeeded) != c.reads || got.Message == "" {
			t.Errorf("%s %s: %+v", c.language, c.text, got)
		}
	}
}

// Text cannot switch espeak-ng to phonemes.
func TestSpeakable_hasNoPhonemes(t *testing.T) {
	t.Parallel()
	for _, text := range []string{"[[h@l'oU]]", "[[[h@l'oU]]", "[[[[[h@l'oU]]", "[\x01[h@l'oU]]"} {
		if got := speakable(text); strings.Contains(got, "[[") {
			t.Errorf("%q becomes %q", text, got)
		}
	}
}
