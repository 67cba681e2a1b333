package protocol

import (
	"bufio"
	"cmp"
	"errors"
	"fmt"
	"io"
	"path/filepath"
	"regexp"
	"slices"
	"strings"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"
)

// Limits on input. Input beyond them is an error that wraps ErrProtocol.
const (
	maxRequest  = 4 << 20  // bytes; a client sends up to 1 MiB
	maxLine     = 64 << 10 // bytes
	maxMessages = 100_000
	maxFiles    = 32
	maxChecks   = 32
	maxVoices   = 1000
	maxDuration = 24 * 60 * 60 // seconds
)

// ErrProtocol is wrapped by every error about a peer that violates the protocol.
var ErrProtocol = errors.New("renderer protocol")

func protocolError(format string, args ...any) error {
	return fmt.Errorf("%w: %w", ErrProtocol, fmt.Errorf(format, args...))
}

// ReadRequest reads the request of a program from r until EOF. A request that violates the protocol is an
// error that wraps [ErrProtocol]. Renderers written in Go call it with [os.Stdin].
func ReadRequest(r io.Reader) (Request, error) {
	data, err := io.ReadAll(io.LimitReader(r, maxRequest+1))
	if err != nil {
		return Request{}, err
	}
	if len(data) > maxRequest {
		return Request{}, protocolError("request of more than %d bytes", maxRequest)
	}
	var request Request
	if err := json.Unmarshal(data, &request); err != nil {
		return Request{}, protocolError("request: %w", err)
	}
	return request, request.check()
}

func (r *Request) check() error {
	switch {
	case r.Version != Version:
		return protocolError("version %d, want %d", r.Version, Version)
	case !slices.Contains([]Kind{Avatar, Video, Lipsync, Voices}, r.Kind):
		return protocolError("unknown kind %q", r.Kind)
	case r.ID == "":
		return protocolError("no id")
	case r.Attempt < 1:
		return protocolError("attempt %d", r.Attempt)
	case r.Request.Kind() != jsontext.KindBeginObject:
		return protocolError("request is no object")
	case !filepath.IsAbs(r.OutputDir):
		return protocolError("output_dir is not absolute")
	}
	for name, path := range r.Inputs {
		if !filepath.IsAbs(path) {
			return protocolError("path of input %q is not absolute", name)
		}
	}
	for name, path := range r.AvatarFiles {
		if !filepath.IsAbs(path) || !isFileName(name) {
			return protocolError("avatar file %q is not usable", name)
		}
	}
	return nil
}

// Read reads the output of a program until EOF. It calls progress from the goroutine of the caller each
// time the program reports more progress than before or another stage. done never decreases. A failure that the program
// reports is a [*Error]. Output that violates the protocol is an error that wraps [ErrProtocol].
//
// The texts of the result or [*Error] have passed through [Clean], and its lists are of limited length. File
// names have no directory part, but the files may not exist.
func Read(r io.Reader, progress func(done float64, stage Stage)) (Result, error) {
	scanner := bufio.NewScanner(r)
	scanner.Buffer(nil, maxLine)
	var last *Message
	best, stage := 0.0, Stage("")
	for n := 1; scanner.Scan(); n++ {
		if last != nil {
			return Result{}, protocolError("line %d: comes after the last one", n)
		}
		if n > maxMessages {
			return Result{}, protocolError("more than %d lines", maxMessages)
		}
		message, err := parse(scanner.Bytes())
		switch {
		case err != nil:
			return Result{}, protocolError("line %d: %w", n, err)
		case message.Progress == nil:
			last = &message
		case *message.Progress > best || message.Stage != "" && message.Stage != stage:
			best, stage = max(best, *message.Progress), cmp.Or(message.Stage, stage)
			progress(best, stage)
		}
	}
	switch err := scanner.Err(); {
	case errors.Is(err, bufio.ErrTooLong):
		return Result{}, protocolError("line of more than %d bytes", maxLine)
	case err != nil:
		return Result{}, err
	case last == nil:
		return Result{}, protocolError("neither a result nor an error")
	case last.Error != nil:
		return Result{}, last.Error
	}
	return *last.Result, nil
}

// parse decodes and checks one line.
func parse(line []byte) (Message, error) {
	var message Message
	if err := json.Unmarshal(line, &message, json.RejectUnknownMembers(true)); err != nil {
		return Message{}, err
	}
	set := 0
	for _, is := range []bool{message.Progress != nil, message.Result != nil, message.Error != nil} {
		if is {
			set++
		}
	}
	if set != 1 {
		return Message{}, errors.New("must have exactly one of progress, result and error")
	}
	if p := message.Progress; p != nil && (*p < 0 || *p > 1) {
		return Message{}, errors.New("progress must be from 0 to 1")
	}
	switch message.Stage {
	case "", Fetching, Analysing, Speaking, Drawing, Finishing:
	default:
		return Message{}, fmt.Errorf("unknown stage %q", message.Stage)
	}
	if message.Stage != "" && message.Progress == nil {
		return Message{}, errors.New("a stage needs a progress")
	}
	if failure := message.Error; failure != nil {
		if failure.Reason = Clean(failure.Reason); failure.Reason == "" {
			failure.Reason = "The renderer failed without a reason."
		}
		return message, cleanChecks(failure.Checks)
	}
	if message.Result != nil {
		return message, message.Result.clean()
	}
	return message, nil
}

// clean checks a result, and cleans its texts.
func (r *Result) clean() error {
	switch {
	case r.DurationSeconds < 0 || r.DurationSeconds > maxDuration:
		return errors.New("duration_seconds is out of range")
	case len(r.Files) > maxFiles:
		return errors.New("too many files")
	case r.Language != "" && !languageTag.MatchString(r.Language):
		return errors.New("language is no BCP 47 tag")
	}
	for extension, names := range map[string][]string{
		"":     append([]string{r.Video, r.Thumbnail, r.Voice}, r.Files...),
		".png": {r.Previews.Still, r.Previews.StillPlay},
		".gif": {r.Previews.Animation, r.Previews.AnimationPlay},
		".srt": {r.Subtitles},
		".vtt": {r.Captions},
	} {
		for _, name := range names {
			if name != "" && (!isFileName(name) || !strings.HasSuffix(name, extension)) {
				return fmt.Errorf("%q is not a plain file name, or does not end in %q", name, extension)
			}
		}
	}
	return errors.Join(cleanChecks(r.Checks), cleanVoices(r.Voices))
}

func cleanVoices(voices []Voice) error {
	if len(voices) > maxVoices {
		return errors.New("too many voices")
	}
	for i := range voices {
		v := &voices[i]
		if !voiceID.MatchString(v.ID) || !languageTag.MatchString(v.Language) {
			return errors.New("a voice needs an id and a language")
		}
		v.Name, v.Gender = cmp.Or(Clean(v.Name), v.ID), Clean(v.Gender)
	}
	return nil
}

func cleanChecks(checks []Check) error {
	if len(checks) > maxChecks {
		return errors.New("too many checks")
	}
	for i := range checks {
		c := &checks[i]
		if !checkName.MatchString(c.Name) || c.Status != Succeeded && c.Status != Failed {
			return errors.New("a check needs a name in snake case and a status")
		}
		c.Message = Clean(c.Message)
	}
	return nil
}

var (
	checkName   = regexp.MustCompile(`^[a-z][a-z0-9_]{0,63}$`)
	languageTag = regexp.MustCompile(`^[A-Za-z]{2,8}(-[A-Za-z0-9]{1,8}){0,7}$`)
	voiceID     = regexp.MustCompile(`^[!-~]{1,128}$`)
	fileName    = regexp.MustCompile(`^[A-Za-z0-9][A-Za-z0-9._-]{0,99}$`)
)

func isFileName(name string) bool { return fileName.MatchString(name) }
