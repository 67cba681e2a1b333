package render

import (
	"context"
	"encoding/json"
	"errors"
	"log/slog"
	"os"
	"path/filepath"
	"slices"
	"time"

	"github.com/avatarstudio/avatarstudio/server/internal/render/protocol"
	"github.com/avatarstudio/avatarstudio/server/internal/studio"
)

const (
	voicesLifetime = time.Minute      // how long the voices of the program are reused
	voicesTimeout  = 30 * time.Second // for the program to list them; it may load models first
)

// knownVoices are the voices that the program has listed.
type knownVoices struct {
	list []studio.Voice
	read time.Time
}

// Voices returns the voices of the program, which it asks again after a minute. It returns none if the program does
// not list any. If the program fails, Voices returns those that it listed before. If the program could not be asked
// yet, because the working directory is full or unavailable, the error wraps [studio.ErrUnavailable].
func (e *Exec) Voices(ctx context.Context) ([]studio.Voice, error) {
	select {
	case <-ctx.Done():
		return nil, ctx.Err()
	case known := <-e.voices:
		defer func() { e.voices <- known }()
		if time.Since(known.read) < voicesLifetime {
			return known.list, nil
		}
		list, err := e.listVoices(ctx)
		if ctx.Err() != nil {
			return nil, ctx.Err()
		}
		if _, refused := errors.AsType[*protocol.Error](err); err == nil || refused {
			known.list = list
		} else {
			e.faults.Report(ctx, slog.LevelWarn, "voices", "the renderer does not list its voices", "err", err)
			if known.read.IsZero() && !errors.Is(err, errProgram) {
				return nil, studio.Unavailable(err)
			}
		}
		known.read = time.Now()
		return known.list, nil
	}
}

func (e *Exec) listVoices(ctx context.Context) (list []studio.Voice, err error) {
	ctx, cancel := context.WithTimeout(ctx, voicesTimeout)
	defer cancel()
	dir, remove, err := e.directory.makeWork()
	if err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(orDiskFull(err, dir), remove()) }()
	request := protocol.Request{
		Version: protocol.Version, Kind: protocol.Voices, ID: string(protocol.Voices), Attempt: 1,
		Request: []byte(`{}`), Inputs: map[string]string{}, OutputDir: filepath.Join(dir, "output"),
	}
	if err := errors.Join(os.Mkdir(request.OutputDir, 0o700), e.program.sandbox.give(dir)); err != nil {
		return nil, err
	}
	made, err := e.program.run(ctx, dir, request, func(float64, protocol.Stage) {})
	for _, v := range made.Voices {
		list = append(list, studio.Voice(v))
	}
	return list, err
}

// speaksLanguage is the name of the check whether a voice speaks the language of a text. The check of a program, which
// knows the text, counts unless the request names a language that the voice does not speak.
const speaksLanguage = "speaks_language"

// chooseVoice returns the id of the voice that speaks the text of a video, or "" if the program chooses it, and the
// check that fails with this voice, if there is one.
func (e *Exec) chooseVoice(ctx context.Context, subject studio.Subject) (id string, failed []studio.Check, err error) {
	var wanted struct {
		Voice    string `json:"voice"`
		Language string `json:"language"`
	}
	if err := json.Unmarshal(subject.Request, &wanted); err != nil || wanted.Voice == "" && wanted.Language == "" {
		return "", nil, err
	}
	voices, err := e.Voices(ctx)
	if err != nil {
		return "", nil, err
	}
	chosen, err := studio.ChooseVoice(voices, wanted.Voice, wanted.Language)
	if err != nil {
		return "", nil, &studio.RenderError{Reason: "The voice does not exist any more. Choose another one and create the video again."}
	}
	if wanted.Language != "" && !chosen.Speaks(wanted.Language) {
		failed = []studio.Check{{Name: speaksLanguage, Message: "The voice speaks " + chosen.Name + ", which is not the language of the text. Choose another voice, or correct the language."}}
	}
	return chosen.ID, failed, nil
}

// addFailed adds checks that failed to those of a program, instead of those with the same name.
func addFailed(checks, failed []studio.Check) []studio.Check {
	checks = slices.DeleteFunc(checks, func(c studio.Check) bool {
		return slices.ContainsFunc(failed, func(f studio.Check) bool { return f.Name == c.Name })
	})
	return append(checks, failed...)
}
