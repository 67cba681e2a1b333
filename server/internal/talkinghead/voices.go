package talkinghead

import (
	"bufio"
	"bytes"
	"cmp"
	"context"
	"os/exec"
	"regexp"
	"slices"
	"strconv"
	"strings"
)

// A Voice is a voice of espeak-ng.
type Voice struct {
	ID       string
	Language string // BCP 47
	Name     string // for people
	Gender   string // female or male
}

// defaultVoice speaks if no voice is chosen.
const defaultVoice = "en-gb"

// woman is the variant of espeak-ng that turns the voice of each language into that of a woman.
const woman = "Annie"

// Voices returns the voices of espeak-ng, the usual ones of each language first. There are none if another program
// speaks, or if espeak-ng is not installed.
func (c Config) Voices(ctx context.Context) ([]Voice, error) {
	if _, err := exec.LookPath(speechProgram); len(c.Speech) > 0 || err != nil {
		return nil, nil
	}
	listed, err := exec.CommandContext(ctx, speechProgram, "--voices").Output()
	if err != nil {
		return nil, err
	}
	variants, err := exec.CommandContext(ctx, speechProgram, "--voices=variant").Output()
	if err != nil {
		return nil, err
	}
	return parseVoices(listed, bytes.Contains(variants, []byte("!v/"+woman))), nil
}

// A listedVoice is a line of espeak-ng --voices.
type listedVoice struct {
	Voice

	code string // of the language
	rank int    // among the voices of the language; 0 is the best
}

var voiceLine = regexp.MustCompile(`^ *\d+ +([A-Za-z0-9-]+) +\S*/([FM]) +(\S+) +\S+ *(.*)$`)

// parseVoices returns the voices in the output of espeak-ng --voices. With women, each has a variant.
func parseVoices(output []byte, women bool) (voices []Voice) {
	var list []listedVoice
	for lines := bufio.NewScanner(bytes.NewReader(output)); lines.Scan(); {
		field := voiceLine.FindStringSubmatch(lines.Text())
		if field == nil || slices.ContainsFunc(list, func(v listedVoice) bool { return v.ID == field[1] }) {
			continue
		}
		v := listedVoice{Voice: Voice{
			ID: field[1], Language: languageTag(field[1]), Gender: map[string]string{"F": "female", "M": "male"}[field[2]],
			Name: strings.TrimSpace(strings.ReplaceAll(field[3], "_", " ")),
		}}
		v.code, _, _ = strings.Cut(v.ID, "-")
		v.Name = strings.Replace(v.Name, "(", " (", 1)
		v.Name = strings.Join(strings.Fields(v.Name), " ")
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
		voices = append(voices, v.Voice)
		if women {
			voices = append(voices, Voice{ID: v.ID + "+" + woman, Language: v.Language, Name: v.Name + ", " + woman, Gender: "female"})
		}
	}
	return voices
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
