package talkinghead

import "strings"

// A viseme is what a sound of speech looks like. The visemes are those of Oculus LipSync, in another order.
type viseme uint8

const (
	silent viseme = iota
	lipsClosed
	visemes = 15
)

// visemeTable has, for each viseme, its sounds in the International Phonetic Alphabet (IPA), and the shape of the
// mouth while they are spoken loudly.
//
//nolint:gochecknoglobals // a table
var visemeTable = [visemes]struct {
	name, sounds string
	shape        shape
}{
	silent:     {"sil", "", shape{}},
	lipsClosed: {"PP", "pbmɓɱɸβ", shape{press: 1}},
	{"FF", "fvʋ", shape{open: 0.14, width: 0.10, teeth: 1, tuck: 1}},
	{"TH", "θð", shape{open: 0.25, width: 0.10, teeth: 0.5, tongue: 1}},
	{"DD", "tdɖʈɗɾʔ", shape{open: 0.22, width: 0.15, teeth: 0.8, tongue: 0.7}},
	{"kk", "kɡgŋxɣqχhħɦcɟç", shape{open: 0.32, teeth: 0.5}},
	{"CH", "ʃʒɕʑʂʐ", shape{open: 0.28, width: -0.45, teeth: 0.8}},
	{"SS", "szɬ", shape{open: 0.17, width: 0.35, teeth: 1}},
	{"nn", "nlɲɳɭʎɫ", shape{open: 0.25, width: 0.10, teeth: 0.6, tongue: 0.8}},
	{"RR", "ɹɚrʁʀɽɻ", shape{open: 0.32, width: -0.30, teeth: 0.3}},
	{"aa", "aɑʌæɐ", shape{open: 1, width: 0.10, teeth: 0.7}},
	{"E", "ɛeəɜɘ", shape{open: 0.65, width: 0.35, teeth: 0.8}},
	{"I", "iɪjᵻɨ", shape{open: 0.38, width: 0.85, teeth: 1}},
	{"O", "ɒɔoɤ", shape{open: 0.72, width: -0.55, teeth: 0.2}},
	{"U", "uʊwyøœʏʉɯɥ", shape{open: 0.38, width: -0.85}},
}

// visemeOf returns the viseme of a sound, or silent if it is unknown.
func visemeOf(ipa rune) viseme {
	for v, entry := range visemeTable {
		if strings.ContainsRune(entry.sounds, ipa) {
			return viseme(v)
		}
	}
	return silent
}

// splitPhoneme returns the sounds of a phoneme: the two vowels of a diphthong, or the end of an affricate, whose
// start is hardly seen. It ignores stress, length and other marks.
func splitPhoneme(ipa string) (sounds []rune) {
	for _, sound := range ipa {
		if visemeOf(sound) != silent {
			sounds = append(sounds, sound)
		}
	}
	if len(sounds) > 1 && (sounds[0] == 't' || sounds[0] == 'd') {
		return sounds[1:]
	}
	return sounds
}
