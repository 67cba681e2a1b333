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

// maxSpeech is the maximum output of a speech program in bytes, enough for ten minutes of 48 kHz stereo.
const maxSpeech = 128 << 20

// speak writes the spoken text to a file in dir and returns its path.
func (c Config) speak(ctx context.Context, text, dir string) (path string, err error) {
	if strings.TrimSpace(text) == "" {
		return "", unusable("The text and the audio_url are missing.")
	}
	program := c.Speech
	if len(program) == 0 {
		if _, err := exec.LookPath("espeak-ng"); err != nil {
			return "", unusable("This service cannot speak text: no program for speech is installed. Send audio_url instead.")
		}
		program = []string{"espeak-ng", "--stdin", "--stdout", "-b", "1", "-s", "160"}
	}
	path = filepath.Join(dir, "speech.wav")
	file, err := os.Create(path)
	if err != nil {
		return "", err
	}
	defer func() { err = errors.Join(err, file.Close()) }()
	p := newProcess(ctx, program[0], program[1:]...)
	p.Stdin = strings.NewReader(text)
	output, err := p.StdoutPipe()
	if err != nil {
		return "", err
	}
	if err := p.Start(); err != nil {
		return "", fmt.Errorf("speech: %w", err)
	}
	n, err := io.Copy(file, io.LimitReader(output, maxSpeech+1))
	switch {
	case err != nil:
		p.stop()
		return "", err
	case n > maxSpeech:
		p.stop()
		return "", unusable("The text is too long: at most %d minutes are spoken.", int(maxDuration.Minutes()))
	}
	return path, p.wait()
}
