package studio

import (
	"cmp"
	"context"
	"net/http"
	"slices"
	"strings"
	"unicode"
)

// Voice is a voice of the renderer.
type Voice struct {
	ID       string
	Language string // BCP 47
	Name     string // for people
	Gender   string // such as female; "" if it is unknown
}

// Speaks reports whether v speaks a language, with the accent of any region.
func (v Voice) Speaks(language string) bool { return code(v.Language) == code(language) }

// Speech is what a video says.
type Speech struct {
	Text     *string // nil if there is none
	Recorded bool    // whether a recording is spoken instead of Text
	Voice    string  // id; "" means the first voice of Language
	Language string  // of Text (BCP 47); "" means that of the voice
}

// ListVoices returns the voices that match a language, as [ChooseVoice] does, or all voices if language is "".
func (s *Service) ListVoices(ctx context.Context, language string) ([]Voice, error) {
	if s.Voices == nil {
		return nil, nil
	}
	voices, err := s.Voices(ctx)
	if language != "" {
		voices = matching(voices, language)
	}
	return voices, err
}

// checkSpeech returns an [*Error] if a text cannot be spoken, or not with the chosen voice.
func (s *Service) checkSpeech(ctx context.Context, speech Speech) error {
	if speech.Text != nil && !speech.Recorded && !strings.ContainsFunc(*speech.Text, isSpoken) {
		return ErrText
	}
	if speech.Voice == "" && speech.Language == "" {
		return nil
	}
	voices, err := s.ListVoices(ctx, "")
	if err != nil {
		return err
	}
	_, err = ChooseVoice(voices, speech.Voice, speech.Language)
	return err
}

func isSpoken(r rune) bool { return unicode.IsLetter(r) || unicode.IsDigit(r) }

// ChooseVoice returns the voice with an id, or the first voice that matches a language if id is "". The language must
// match a voice in either case. It matches the voices of its longest prefix that has voices, so en-AU matches en-GB
// unless there is a voice for en-AU. The error is an [*Error]. It does not occur without voices, because the
// service cannot check the names then.
func ChooseVoice(voices []Voice, id, language string) (Voice, error) {
	if len(voices) == 0 || id == "" && language == "" {
		return Voice{ID: id, Language: language}, nil
	}
	matched := voices
	if language != "" {
		if matched = matching(voices, language); len(matched) == 0 {
			near := nearest(voices, func(v Voice) string { return code(v.Language) }, code(language))
			return Voice{}, refuse(http.StatusUnprocessableEntity, "unknown_language", "The service has no voice for this language.").
				about("/language", "voice", "must be the language of a voice of GET /v1/voices; the nearest is "+near.Language)
		}
	}
	if id == "" {
		return matched[0], nil
	}
	i := slices.IndexFunc(voices, func(v Voice) bool { return v.ID == id })
	if i < 0 {
		near := nearest(matched, func(v Voice) string { return strings.ToLower(v.ID) }, strings.ToLower(id))
		return Voice{}, refuse(http.StatusUnprocessableEntity, "unknown_voice", "The service has no such voice.").
			about("/voice", "voice", "must be a voice of GET /v1/voices; the nearest is "+near.ID)
	}
	return voices[i], nil
}

// matching returns the voices of a language. Those of exactly this language are first.
func matching(voices []Voice, language string) (matched []Voice) {
	for tag := normalTag(language); tag != ""; {
		for _, v := range voices {
			if strings.HasPrefix(normalTag(v.Language)+"-", tag+"-") {
				matched = append(matched, v)
			}
		}
		if len(matched) > 0 {
			slices.SortStableFunc(matched, func(a, b Voice) int {
				return cmp.Compare(min(1, len(normalTag(a.Language))-len(tag)), min(1, len(normalTag(b.Language))-len(tag)))
			})
			return matched
		}
		tag = tag[:max(0, strings.LastIndexByte(tag, '-'))]
	}
	return nil
}

// sameLanguages maps the codes of languages to others in use for them.
//
//nolint:gochecknoglobals // a table
var sameLanguages = map[string]string{
	"cmn": "zh", "nb": "no", "arb": "ar", "pes": "fa", "iw": "he", "in": "id", "ji": "yi", "fil": "tl", "mo": "ro",
}

// normalTag returns a language tag in lower case, with one code for each language.
func normalTag(tag string) string {
	tag = strings.ToLower(strings.ReplaceAll(tag, "_", "-"))
	code, rest, more := strings.Cut(tag, "-")
	code = cmp.Or(sameLanguages[code], code)
	if !more {
		return code
	}
	return code + "-" + rest
}

// code returns the code of the language in a tag.
func code(tag string) string {
	code, _, _ := strings.Cut(normalTag(tag), "-")
	return code
}

// nearest returns the voice whose name has the least edit distance to wanted. Names that begin with the same language
// are nearer than all others.
func nearest(voices []Voice, name func(Voice) string, wanted string) Voice {
	const otherLanguage = 1000 // more than any distance
	away := func(v Voice) int {
		if strings.HasPrefix(name(v), code(wanted)) {
			return distance(name(v), wanted)
		}
		return otherLanguage + distance(name(v), wanted)
	}
	return slices.MinFunc(voices, func(a, b Voice) int { return cmp.Compare(away(a), away(b)) })
}

// distance returns the edit distance (Levenshtein) of two texts, in bytes.
func distance(a, b string) int {
	row := make([]int, len(b)+1)
	for j := range row {
		row[j] = j
	}
	for i := range len(a) {
		diagonal := row[0]
		row[0]++
		for j := range len(b) {
			substituted := diagonal
			if a[i] != b[j] {
				substituted++
			}
			diagonal = row[j+1]
			row[j+1] = min(substituted, row[j]+1, row[j+1]+1)
		}
	}
	return row[len(b)]
}
