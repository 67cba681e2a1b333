package talkinghead

import (
	"fmt"
	"html"
	"slices"
	"strings"
	"testing"
	"unicode"

	"github.com/google/go-cmp/cmp"
	"github.com/rivo/uniseg"
)

// paced returns the cues of a text of which each sound takes a tenth of a second.
func paced(text string) []cue {
	words := wordsOf(cleanText(text))
	at := 0.0
	for i := range words {
		words[i].from = at
		at += words[i].weight / 10
		words[i].to = at
	}
	return cuesOf(words)
}

func TestCues_breakAtClauses(t *testing.T) {
	t.Parallel()
	for text, want := range map[string]string{
		"Good morning.": "Good morning.",
		"Good morning, and welcome to our house. I am glad that all of you have come today, for we have much to say.": "Good morning, and welcome to our house. / " +
			"I am glad that all of you have come today, | for we have much to say.",
		"今天天气很好，我们去公园散步。你们喜欢吃什么水果呢？我最喜欢苹果和香蕉。":                                                                           "今天天气很好，我们去公园散步。 / 你们喜欢吃什么水果呢？ / 我最喜欢苹果和香蕉。",
		"吾輩は猫である名前はまだ無いどこで生れたかとんと見当がつかぬ何でも薄暗いじめじめした所でニャーニャー泣いていた事だけは記憶している。":                                             "",
		"สวัสดีครับผมชื่อสมชายและผมทำงานในโรงพยาบาลขนาดใหญ่ในกรุงเทพมหานครมาหลายปีแล้วครับ":                              "",
		"วันนี้อากาศดีมาก เราไปเดินเล่นที่สวนสาธารณะด้วยกันเถอะ เมื่อวานฝนตกทั้งวันทุกคนจึงอยู่บ้านอ่านหนังสือและดื่มชา": "วันนี้อากาศดีมาก | เราไปเดินเล่นที่สวนสาธารณะด้วยกันเถอะ / เมื่อวานฝนตกทั้งวันทุกคนจึงอยู่บ้านอ่านหนังสือและดื่มชา",
		"ทะเลสาบของประเทศเพื่อนบ้านและแม่น้ำในเมืองหลวงเป็นที่นิยมของนักท่องเที่ยวในปัจจุบันนี้":                         "ทะเลสาบของประเทศเพื่อนบ้านและแม่น้ำใน | เมืองหลวงเป็นที่นิยมของนักท่องเที่ยวในปัจจุบันนี้",
		"Die Donaudampfschifffahrtsgesellschaft fährt seit 1829 auf der Donau und ihren Nebenflüssen.":                   "Die Donaudampfschifffahrtsgesellschaft | fährt seit 1829 auf der Donau und / ihren Nebenflüssen.",
		"https://www.example.com/a/very/long/address/that/never/ends/and/has/no/spaces/at/all?really=yes":                "",
		strings.Repeat("👩‍👩‍👧‍👦", 60) + "a": "",
		"Mr. Smith met Dr. No.":             "Mr. Smith met Dr. No.",
	} {
		var shown []string
		for _, c := range paced(text) {
			shown = append(shown, strings.Join(c.lines, " | "))
		}
		if got := strings.Join(shown, " / "); want != "" && got != want {
			t.Errorf("shown is %s\nwant %s", got, want)
		}
		checkFiles(t, text, paced(text))
	}
}

// Hostile texts have neither markup nor times of cues in the files.
func TestFiles_escapeText(t *testing.T) {
	t.Parallel()
	cues := []cue{{3599.9996, 3601, []string{cleanText("a\x00\n\n00:00:01.000 --> 00:00:02.000\u2028<script>x</script> & {\\an8}"), cleanText("\u202e\u2066\u200f\ufeffשלום")}}}
	if diff := cmp.Diff("1\n01:00:00,000 --> 01:00:01,000\na 00:00:01.000 --› 00:00:02.000 ‹script›x‹/script› & (\\an8)\nשלום\n\n", srt(cues)); diff != "" {
		t.Error(diff)
	}
	if diff := cmp.Diff("WEBVTT\n\n1\n01:00:00.000 --> 01:00:01.000\na 00:00:01.000 --&gt; 00:00:02.000 &lt;script&gt;x&lt;/script&gt; &amp; {\\an8}\nשלום\n\n", vtt(cues)); diff != "" {
		t.Error(diff)
	}
}

// For any text, the files have the words of the text in order, in cues of the promised form.
func FuzzSubtitles(f *testing.F) {
	for _, text := range wordTexts {
		f.Add(text)
	}
	f.Add("\x00--><b>\r\n\r\nWEBVTT\u2028\u202e{\\an8}&amp;\xff")
	f.Fuzz(func(t *testing.T, text string) { checkFiles(t, text, paced(text)) })
}

// checkFiles reads the files of cues as a strict player does.
func checkFiles(t *testing.T, text string, cues []cue) {
	t.Helper()
	squeeze := func(text string) string { return strings.Join(strings.Fields(text), "") }
	readSRT := strings.NewReplacer("‹", "<", "›", ">")
	said := strings.NewReplacer("‹", "<", "›", ">", "{", "(", "}", ")").Replace(cleanText(text))
	var shown, captions strings.Builder
	ended := "00:00:00,000"
	for i, block := range strings.Split(strings.TrimSuffix(srt(cues), "\n\n"), "\n\n") {
		lines := strings.Split(block, "\n")
		if block == "" {
			continue
		}
		if len(lines) < 3 || len(lines) > 4 || lines[0] != fmt.Sprint(i+1) {
			t.Fatalf("cue %d is %q", i, block)
		}
		from, to, ok := strings.Cut(lines[1], " --> ")
		if !ok || from < ended || to <= from {
			t.Errorf("cue %d is from %s to %s, after %s", i, from, to, ended)
		}
		ended = to
		for _, line := range lines[2:] {
			if strings.ContainsAny(line, "<>{}\x00\r") || uniseg.StringWidth(line) > maxColumns || strings.ContainsFunc(line, unicode.IsControl) {
				t.Errorf("line %q has %d columns", line, uniseg.StringWidth(line))
			}
			shown.WriteString(line)
		}
	}
	for i, block := range strings.Split(strings.TrimSuffix(vtt(cues), "\n\n"), "\n\n")[1:] {
		lines := strings.Split(block, "\n")
		if strings.Count(block, "-->") != 1 || strings.ContainsAny(strings.Join(lines[2:], ""), "<>") {
			t.Errorf("caption %d is %q", i, block)
		}
		captions.WriteString(strings.Join(lines[2:], ""))
	}
	if got := squeeze(readSRT.Replace(shown.String())); got != squeeze(said) {
		t.Errorf("shown is %q, want %q", got, squeeze(said))
	}
	if got := html.UnescapeString(captions.String()); squeeze(got) != squeeze(cleanText(text)) {
		t.Errorf("captions are %q, want %q", got, cleanText(text))
	}
	for i, c := range cues {
		one := len(wordsOf(strings.Join(c.lines, " "))) == 1
		if length := c.to - c.from; length > maxCue+0.001 && !one || length < minCue-0.001 && i+1 < len(cues) && cues[i+1].from > c.to+0.001 {
			t.Errorf("%q lasts %.3f s", c.lines, length)
		}
	}
	if !slices.IsSortedFunc(cues, func(a, b cue) int { return strings.Compare(stamp(a.from, "."), stamp(b.from, ".")) }) {
		t.Error("the cues are not in order")
	}
}
