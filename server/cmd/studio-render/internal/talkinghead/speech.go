package talkinghead

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"

	"github.com/avatarstudio/avatarstudio/server/internal/render/protocol"
)

// Speech is the speech of an avatar: the sound at the path Audio, or Text if Audio is empty.
type Speech struct {
	Text, Audio string
	// Voice is the id of one of [Config.Voices]. Defaults to a voice of English.
	Voice string
	// Language is the language of Text (BCP 47). Defaults to that of the voice.
	Language string
	// Speed is relative to the usual speed, from 0.5 to 2. Defaults to 1.
	Speed float64
}

// speechProgram speaks.
const speechProgram = "espeak-ng"

// usualSpeed is the speed of espeak-ng in words per minute.
const usualSpeed = 160

// The output of espeak-ng has spokenBytes bytes per second. Of a long text, the first maxSpoken bytes are kept. The
// program runs for tailSpoken more, because it writes its phonemes with a delay.
const (
	spokenBytes = 2 * 22050
	maxSpoken   = spokenBytes * (600 - 1)
	tailSpoken  = maxSpoken / 4
)

// A speaking is spoken text.
type speaking struct {
	path     string // of a WAV file
	said     transcript
	language string // BCP 47; "" if it is unknown
	checks   []protocol.Check
}

// speak writes the spoken text to a file in dir.
func (c Config) speak(ctx context.Context, speech Speech, dir string) (speaking, error) {
	text := speech.Text
	if strings.TrimSpace(text) == "" {
		return speaking{}, unusable("The text and the audio_url are missing.")
	}
	voices, err := c.Voices(ctx)
	switch {
	case err != nil:
		return speaking{}, err
	case len(voices) == 0:
		return speaking{}, unusable("This service cannot speak text: no program for speech is installed. Send audio_url instead.")
	}
	id := cmp.Or(speech.Voice, defaultVoice)
	i := slices.IndexFunc(voices, func(v protocol.Voice) bool { return v.ID == id })
	if i < 0 {
		return speaking{}, unusable("The voice does not exist any more. Choose another one and create the video again.")
	}
	s := speaking{path: filepath.Join(dir, "speech.wav"), language: cmp.Or(tagOf(speech.Language), voices[i].Language)}
	speed := cmp.Or(speech.Speed, 1)
	told := filepath.Join(dir, "phonemes")
	n, err := runSpeech(ctx, []string{
		speechProgram, "--stdin", "--stdout", "-b", "1", "-v", voices[i].ID, "-s", strconv.Itoa(int(usualSpeed * min(max(speed, 0.5), 2))),
		"--ipa", "--sep=_", "--phonout=" + told,
	}, speakable(text), s.path, maxSpoken, tailSpoken)
	if err != nil {
		return speaking{}, err
	}
	output, err := os.ReadFile(told)
	if err != nil {
		return speaking{}, err
	}
	s.said = parsePhonemes(string(output))
	s.said.part = n > maxSpoken
	s.checks = []protocol.Check{reads(voices[i], text), spokenWhole(!s.said.part)}
	return s, nil
}

// speakable returns a text without what espeak-ng does not take as text: phonemes in brackets, and control characters.
func speakable(text string) string {
	text = strings.Map(func(r rune) rune {
		if r < ' ' && r != '\n' {
			return ' '
		}
		return r
	}, strings.ToValidUTF8(text, " "))
	return strings.ReplaceAll(text, "[", "[ ")
}

func spokenWhole(whole bool) protocol.Check {
	return check("spoken_whole", whole, "The whole text is spoken.", fmt.Sprintf("Only the first %d minutes of the text are spoken.", int(maxDuration.Minutes())))
}

// runSpeech writes the output of a program that reads text to a file, up to limit bytes. It stops the program after
// tail more, and returns the number of bytes that it has read.
func runSpeech(ctx context.Context, program []string, text, path string, limit, tail int64) (n int64, err error) {
	file, err := os.Create(path)
	if err != nil {
		return 0, err
	}
	defer func() { err = errors.Join(err, file.Close()) }()
	p := newProcess(ctx, program[0], program[1:]...)
	p.Stdin = strings.NewReader(text)
	spoken, err := p.open()
	if err != nil {
		return 0, fmt.Errorf("speech: %w", err)
	}
	n, err = io.Copy(file, io.LimitReader(spoken, limit))
	if err == nil {
		var more int64
		more, err = io.Copy(io.Discard, io.LimitReader(spoken, tail))
		if n += more; more == tail {
			p.stop()
			return n, err
		}
	}
	if err != nil {
		p.stop()
		return n, err
	}
	return n, p.wait()
}
