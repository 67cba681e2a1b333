package talkinghead

import (
	"bufio"
	"bytes"
	"cmp"
	"context"
	"fmt"
	"os/exec"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"unicode"

	"github.com/avatarstudio/avatarstudio/server/internal/render/protocol"
)

// defaultVoice speaks if no voice is chosen.
const defaultVoice = "en-gb"

// woman is the variant of espeak-ng, since version 1.50, that turns the voice of each language into that of a woman.
const woman = "Annie"

// Voices returns the voices of espeak-ng, the usual ones of each language first. There are none if espeak-ng is
// not installed.
func (c Config) Voices(ctx context.Context) ([]protocol.Voice, error) {
	if _, missing := exec.LookPath(speechProgram); missing != nil {
		return nil, nil //nolint:nilerr // a program that is not installed has no voices
	}
	listed, err := exec.CommandContext(ctx, speechProgram, "--voices").Output()
	if err != nil {
		return nil, err
	}
	return parseVoices(listed), nil
}

// A listedVoice is a line of espeak-ng --voices.
type listedVoice struct {
	protocol.Voice

	code string // of the language
	rank int    // among the voices of the language; 0 is the best
}

var voiceLine = regexp.MustCompile(`^ *\d+ +([a-z0-9-]+) +\S*/([FM]) +(\S+) +\S+ *(.*)$`) // it does not find those in capitals

// parseVoices returns the voices in the output of espeak-ng --voices, each with a variant.
func parseVoices(output []byte) (voices []protocol.Voice) {
	var list []listedVoice
	for lines := bufio.NewScanner(bytes.NewReader(output)); lines.Scan(); {
		field := voiceLine.FindStringSubmatch(lines.Text())
		if field == nil || slices.ContainsFunc(list, func(v listedVoice) bool { return v.ID == field[1] }) {
			continue
		}
		v := listedVoice{Voice: protocol.Voice{
			ID: field[1], Language: languageTag(field[1]), Gender: map[string]string{"F": "female", "M": "male"}[field[2]],
			Name: strings.Join(strings.Fields(strings.NewReplacer("_", " ", "(", " (").Replace(field[3])), " "),
		}}
		v.code, _, _ = strings.Cut(v.ID, "-")
		if v.ID != v.code {
			v.rank = 100
			if _, rank, ok := strings.Cut(field[4], "("+v.code+" "); ok {
				rank, _, _ = strings.Cut(rank, ")")
				v.rank, _ = strconv.Atoi(rank)
			}
		}
		list = append(list, v)
	}
	slices.SortStableFunc(list, func(a, b listedVoice) int {
		return cmp.Or(cmp.Compare(a.code, b.code), cmp.Compare(a.rank, b.rank))
	})
	for _, v := range list {
		voices = append(voices, v.Voice, protocol.Voice{ID: v.ID + "+" + woman, Language: v.Language, Name: v.Name + ", " + woman, Gender: "female"})
	}
	return voices
}

// scripts has the scripts that voices of other than Latin letters read, by the code of their language.
//
//nolint:gochecknoglobals // a table
var scripts = func() map[string][]*unicode.RangeTable {
	byCode := map[string][]*unicode.RangeTable{}
	for codes, tables := range map[string][]*unicode.RangeTable{
		"ba be bg cv kk ky mk nog ru tt uk": {unicode.Cyrillic},
		"bs sr tk uz":                       {unicode.Cyrillic, unicode.Latin},
		"ar fa sd ug ur":                    {unicode.Arabic},
		"cmn hak yue zh":                    {unicode.Han, unicode.Bopomofo},
		"ja":                                {unicode.Hiragana, unicode.Katakana}, // espeak-ng names each Chinese character
		"ko":                                {unicode.Hangul},
		"as bn bpy":                         {unicode.Bengali},
		"hi kok mr ne":                      {unicode.Devanagari},
		"el grc":                            {unicode.Greek},
		"hy hyw":                            {unicode.Armenian},
		"am":                                {unicode.Ethiopic},
		"chr":                               {unicode.Cherokee},
		"gu":                                {unicode.Gujarati},
		"he":                                {unicode.Hebrew},
		"ka":                                {unicode.Georgian},
		"kn":                                {unicode.Kannada},
		"ml":                                {unicode.Malayalam},
		"my shn":                            {unicode.Myanmar},
		"or":                                {unicode.Oriya},
		"pa":                                {unicode.Gurmukhi},
		"si":                                {unicode.Sinhala},
		"ta":                                {unicode.Tamil},
		"te":                                {unicode.Telugu},
		"th":                                {unicode.Thai},
	} {
		for code := range strings.FieldsSeq(codes) {
			byCode[code] = tables
		}
	}
	return byCode
}()

// mostForeign is the share of letters of other scripts in a text that a voice is said to speak.
const mostForeign = 0.2

// reads checks whether a voice reads the letters of a text.
func reads(v protocol.Voice, text string) protocol.Check {
	code, script, _ := strings.Cut(v.Language, "-")
	tables := scripts[code]
	if tables == nil || strings.HasPrefix(script, "Latn") {
		tables = []*unicode.RangeTable{unicode.Latin}
	}
	letters, foreign := 0, 0
	for _, r := range text {
		if unicode.IsLetter(r) {
			letters++
			if !unicode.In(r, append(tables, unicode.Common, unicode.Inherited)...) {
				foreign++
			}
		}
	}
	share := float64(foreign) / float64(max(letters, 1))
	return check("speaks_language", share <= mostForeign, "The voice reads the letters of the text.",
		fmt.Sprintf("The voice speaks %s, and does not read %.0f%% of the letters of the text. Choose another voice, or write the text in letters that it reads.", v.Name, 100*share))
}

var tagForm = regexp.MustCompile(`^[A-Za-z]{2,8}(-[A-Za-z0-9]{1,8}){0,7}$`)

// tagOf returns a language tag in its usual form, or "" if it is none.
func tagOf(language string) string {
	tag := strings.ReplaceAll(language, "_", "-")
	if !tagForm.MatchString(tag) {
		return ""
	}
	return languageTag(tag)
}

// languageTag returns a language tag with the usual case of letters, such as pt-BR.
func languageTag(tag string) string {
	parts := strings.Split(strings.ToLower(tag), "-")
	for i, part := range parts[1:] {
		switch {
		case len(part) == 1: // what follows is private
			return strings.Join(parts, "-")
		case len(part) == 2:
			parts[i+1] = strings.ToUpper(part)
		case len(part) == 4:
			parts[i+1] = strings.ToUpper(part[:1]) + part[1:]
		}
	}
	return strings.Join(parts, "-")
}
