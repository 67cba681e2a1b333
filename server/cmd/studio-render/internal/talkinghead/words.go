package talkinghead

import (
	"math"
	"strings"
	"unicode"

	"github.com/rivo/uniseg"
)

// clauseEnd tells whether a clause ends after a word.
type clauseEnd uint8

const (
	inClause clauseEnd = iota
	endsClause
	endsSentence
)

// A word is a part of a text that stays on one line: a word with its punctuation, or a character of a script without
// spaces.
type word struct {
	text     string
	space    bool // whether a space follows
	number   bool // or a symbol, which may be spoken as many words
	columns  int
	weight   float64 // about the number of its sounds; 0 if it is not spoken
	end      clauseEnd
	from, to float64 // when it is spoken, in seconds
}

// cleanText returns a text as one line. It removes what could change the direction of other text.
func cleanText(text string) string {
	text = strings.Map(func(r rune) rune {
		switch {
		case r == '\u200c' || r == '\u200d': // joins letters and emoji
			return r
		case unicode.IsSpace(r) || unicode.IsControl(r) || r == unicode.ReplacementChar:
			return ' '
		case !unicode.IsGraphic(r):
			return -1
		}
		return r
	}, strings.ToValidUTF8(text, " "))
	return strings.Join(strings.Fields(text), " ")
}

// wordsOf returns the words of a text that cleanText returned.
func wordsOf(text string) (words []word) {
	add := func(text string, space bool) {
		w := word{text: text, space: space, columns: uniseg.StringWidth(text), end: endOf(text)}
		if space && w.end == inClause && unicode.In([]rune(lastRune(text))[0], unicode.Thai, unicode.Lao) {
			w.end = endsClause
		}
		for _, r := range text {
			w.weight += weightOf(r)
			w.number = w.number || unicode.IsDigit(r) || unicode.IsSymbol(r)
		}
		words = append(words, w)
	}
	for state := -1; text != ""; {
		var segment string
		segment, text, _, state = uniseg.FirstLineSegmentInString(text, state)
		trimmed := strings.TrimRight(segment, " ")
		space := trimmed != segment
		if trimmed == "" {
			continue
		}
		parts := partsOf(trimmed)
		for i, part := range parts {
			add(part, space && i == len(parts)-1)
		}
	}
	return words
}

// partsOf splits a text without spaces that is longer than a line. In Thai and Lao, which have no spaces between words,
// a syllable begins at a vowel that is written before its consonant. Other texts are split into characters.
func partsOf(text string) (parts []string) {
	if uniseg.StringWidth(text) <= maxColumns {
		return []string{text}
	}
	from := 0
	for at, r := range text + "\u0e40" {
		if at == from || (r < '\u0e40' || '\u0e44' < r) && (r < '\u0ec0' || '\u0ec4' < r) {
			continue
		}
		if part := text[from:at]; uniseg.StringWidth(part) <= maxColumns {
			parts = append(parts, part)
		} else {
			for characters := uniseg.NewGraphemes(part); characters.Next(); { // as people see them, with their marks
				parts = append(parts, characters.Str())
			}
		}
		from = at
	}
	return parts
}

// weightOf returns about how many sounds a character has. A digit or symbol is spoken as a word.
func weightOf(r rune) float64 {
	switch {
	case unicode.IsDigit(r):
		return 3.5
	case unicode.In(r, unicode.Han, unicode.Hangul):
		return 3
	case unicode.IsLetter(r):
		return 0.9
	case unicode.IsSymbol(r) && r != '`' && r != '^':
		return 4
	}
	return 0
}

// endOf returns whether a clause ends after a word. Quotes and brackets may follow the punctuation.
func endOf(text string) clauseEnd {
	text = strings.TrimRightFunc(text, func(r rune) bool {
		return r == '"' || r == '\'' || unicode.In(r, unicode.Pe, unicode.Pf, unicode.Pi)
	})
	if len(text) <= len("Mrs.") && !strings.ContainsAny(text, "aeiouyAEIOUY") && strings.IndexFunc(text, unicode.IsUpper) == 0 {
		return inClause // an abbreviation, such as Mr.
	}
	for end, marks := range map[clauseEnd]string{endsClause: ",;:،؛、，；：–—", endsSentence: ".!?…。！？؟।۔｡"} {
		if strings.ContainsAny(marks, lastRune(text)) {
			return end
		}
	}
	return inClause
}

func lastRune(text string) string {
	runes := []rune(text)
	return string(runes[max(0, len(runes)-1):])
}

// A spokenWord is a word of the speech: sounds of a transcript, and when they are heard.
type spokenWord struct {
	first, next int  // index of the first sound, and of that after the last one
	last        bool // of a clause
	from, to    float64
}

// groups are the numbers of words and of spoken words that can belong together: a number is spoken as many words, and
// short words, or the characters of a script without spaces, are spoken as one.
//
//nolint:gochecknoglobals // a table
var groups = func() (list [][2]int) {
	list = append(list, [2]int{1, 0}, [2]int{0, 1}, [2]int{1, 1})
	for n := 2; n < groupRows; n++ {
		list = append(list, [2]int{1, n}, [2]int{n, 1})
	}
	return list
}()

// groupRows is more than the words of any group.
const groupRows = 20

// maxCells bounds the memory for matching words, in bytes.
const maxCells = 32 << 20

// match writes the times of the spoken words to the words of which they are a part. It finds the most likely groups by
// dynamic programming: their parts have about the same numbers of sounds, and clauses end together. With whole, all
// words are spoken; otherwise the speech may end before the text. match reports whether there is such a match, and
// returns the number of words that are spoken.
func match(words []word, spoken []spokenWord, whole bool) (n int, ok bool) {
	n, m := len(words), len(spoken)
	if !whole {
		n = min(n, 5*m+100)
	}
	if m == 0 || n == 0 || (n+1)*(m+1) > maxCells {
		return 0, false
	}
	weights, sounds := make([]float64, n+1), make([]float64, m+1)
	for i := range n {
		weights[i+1] = weights[i] + words[i].weight
	}
	for j, s := range spoken {
		sounds[j+1] = sounds[j] + float64(s.next-s.first)
	}
	const rows = groupRows // of costs that are needed at once
	var costs [rows][]float64
	for i := range costs {
		costs[i] = make([]float64, m+1)
	}
	chosen := make([]uint8, (n+1)*(m+1))
	best, bestCost := n, math.Inf(1)
	for i := range n + 1 {
		row := costs[i%rows]
		for j := range m + 1 {
			if i == 0 && j == 0 {
				row[0] = 0
				continue
			}
			row[j] = math.Inf(1)
			for g, group := range groups {
				a, b := i-group[0], j-group[1]
				if a < 0 || b < 0 || costs[a%rows][b] >= row[j] {
					continue
				}
				cost := costs[a%rows][b] + groupCost(words[a:i], spoken[b:j], weights[i]-weights[a], sounds[j]-sounds[b])
				if cost < row[j] {
					row[j], chosen[i*(m+1)+j] = cost, uint8(g)
				}
			}
		}
		if !whole && row[m] < bestCost {
			best, bestCost = i, row[m]
		}
	}
	for i, j := best, m; i > 0 || j > 0; {
		group := groups[chosen[i*(m+1)+j]]
		i, j = i-group[0], j-group[1]
		share(words[i:i+group[0]], spoken[j:j+group[1]])
	}
	return best, true
}

// groupCost returns how unlikely it is that the spoken words are these words, which have this weight and these sounds.
func groupCost(words []word, spoken []spokenWord, weight, sounds float64) (cost float64) {
	switch {
	case len(spoken) == 0 && weight == 0:
		return 0
	case len(spoken) == 0 || len(words) == 0:
		return 2 + (weight+sounds)/4
	case weight == 0:
		return 3 + sounds/4
	}
	cost = math.Abs(math.Log((sounds + 1) / (weight + 1)))
	if len(spoken) > 1 && !words[0].number {
		cost += 0.5 * float64(len(spoken)-1)
	}
	for _, w := range words[:len(words)-1] {
		if cost += 0.05; w.space {
			cost += 0.5
		}
		if w.end != inClause {
			cost++
		}
	}
	for _, s := range spoken[:len(spoken)-1] {
		if s.last {
			cost++
		}
	}
	if (words[len(words)-1].end != inClause) != spoken[len(spoken)-1].last {
		cost++
	}
	return cost
}

// share divides the time of spoken words among words, by their weights. Words without sounds keep no time.
func share(words []word, spoken []spokenWord) {
	if len(spoken) == 0 {
		return
	}
	from, length := spoken[0].from, spoken[len(spoken)-1].to-spoken[0].from
	spread(words, func(part float64) float64 { return from + length*part })
}

// timeWords returns the words that are heard, with their times.
func timeWords(words []word, said transcript, visemes []viseme, indexes []int) []word {
	if len(words) == 0 {
		return nil
	}
	if n, ok := match(words, said.heard(indexes), !said.part); ok {
		return words[:n]
	}
	var voiced []float64 // when something is heard, in steps of a hop
	for hop, v := range visemes {
		if v != silent {
			voiced = append(voiced, float64(hop)/hopsPerSecond)
		}
	}
	if len(voiced) == 0 {
		return nil
	}
	spread(words, func(part float64) float64 { return voiced[min(int(part*float64(len(voiced))), len(voiced)-1)] })
	return words
}

// spread gives words times by their weights alone. at returns the time at which a part of them, from 0 to 1, is spoken.
func spread(words []word, at func(part float64) float64) {
	sum, done := 0.0, 0.0
	for _, w := range words {
		sum += w.weight
	}
	for i := range words {
		words[i].from = at(done / max(sum, 1))
		done += words[i].weight
		words[i].to = at(done / max(sum, 1))
	}
}
