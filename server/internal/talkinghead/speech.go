package talkinghead

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
)

// speechProgram speaks unless [Config] names another program.
const speechProgram = "espeak-ng"

// maxSpeech is the maximum output of a speech program in bytes, enough for ten minutes of 48 kHz stereo.
const maxSpeech = 128 << 20

// speak writes the spoken text to a file in dir and returns its path, and its phonemes if the program tells them.
func (c Config) speak(ctx context.Context, text, dir string) (path string, phonemes []rune, err error) {
	if strings.TrimSpace(text) == "" {
		return "", nil, unusable("The text and the audio_url are missing.")
	}
	program, told := c.Speech, ""
	if len(program) == 0 {
		if _, err := exec.LookPath(speechProgram); err != nil {
			return "", nil, unusable("This service cannot speak text: no program for speech is installed. Send audio_url instead.")
		}
		told = filepath.Join(dir, "phonemes")
		program = []string{speechProgram, "--stdin", "--stdout", "-b", "1", "-s", "160", "--ipa", "--sep=_", "--phonout=" + told}
	}
	path = filepath.Join(dir, "speech.wav")
	file, err := os.Create(path)
	if err != nil {
		return "", nil, err
	}
	defer func() { err = errors.Join(err, file.Close()) }()
	p := newProcess(ctx, program[0], program[1:]...)
	p.Stdin = strings.NewReader(text)
	spoken, err := p.StdoutPipe()
	if err != nil {
		return "", nil, err
	}
	if err := p.Start(); err != nil {
		return "", nil, fmt.Errorf("speech: %w", err)
	}
	n, err := io.Copy(file, io.LimitReader(spoken, maxSpeech+1))
	switch {
	case err != nil:
		p.stop()
		return "", nil, err
	case n > maxSpeech:
		p.stop()
		return "", nil, unusable("The text is too long: at most %d minutes are spoken.", int(maxDuration.Minutes()))
	}
	if err := p.wait(); err != nil || told == "" {
		return path, nil, err
	}
	output, err := os.ReadFile(told)
	return path, parsePhonemes(string(output)), err
}
