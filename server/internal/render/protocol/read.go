package protocol

import (
	"bufio"
	"errors"
	"fmt"
	"io"
	"path/filepath"
	"regexp"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"
)

// What a reader takes at most.
const (
	maxRequest  = 4 << 20  // bytes; a client sends up to 1 MiB
	maxLine     = 64 << 10 // bytes
	maxMessages = 100_000
	maxFiles    = 32
	maxChecks   = 32
	maxDuration = 24 * 60 * 60 // seconds
)

// ErrProtocol is what every error wraps that is about a peer which does not keep to the
// protocol.
var ErrProtocol = errors.New("renderer protocol")

func broken(format string, args ...any) error {
	return fmt.Errorf("%w: %w", ErrProtocol, fmt.Errorf(format, args...))
}

// ReadRequest reads the request that a program is started with, up to the end of r.
func ReadRequest(r io.Reader) (Request, error) {
	data, err := io.ReadAll(io.LimitReader(r, maxRequest+1))
	if err != nil {
		return Request{}, err
	}
	if len(data) > maxRequest {
		return Request{}, broken("request of more than %d bytes", maxRequest)
	}
	var request Request
	if err := json.Unmarshal(data, &request); err != nil {
		return Request{}, broken("request: %w", err)
	}
	return request, request.check()
}

func (r *Request) check() error {
	switch {
	case r.Version != Version:
		return broken("version %d, want %d", r.Version, Version)
	case r.Kind != Avatar && r.Kind != Video && r.Kind != Lipsync:
		return broken("unknown kind %q", r.Kind)
	case r.ID == "":
		return broken("no id")
	case r.Attempt < 1:
		return broken("attempt %d", r.Attempt)
	case r.Request.Kind() != jsontext.KindBeginObject:
		return broken("request is no object")
	case !filepath.IsAbs(r.OutputDir):
		return broken("output_dir is not absolute")
	}
	for name, path := range r.Inputs {
		if !filepath.IsAbs(path) {
			return broken("path of input %q is not absolute", name)
		}
	}
	for name, path := range r.AvatarFiles {
		if !filepath.IsAbs(path) || !isFileName(name) {
			return broken("avatar file %q is not usable", name)
		}
	}
	return nil
}

// Read reads the output of a program to its end. It calls progress, from the goroutine of
// the caller, each time that more is done than ever before. A failure that the program
// reports is a [*Error]; output that breaks the protocol wraps [ErrProtocol]. What is returned
// is bounded and cleaned, and the files it names are plain names, which may not exist.
func Read(r io.Reader, progress func(done float64)) (Result, error) {
	scanner := bufio.NewScanner(r)
	scanner.Buffer(nil, maxLine)
	var last *Message
	best := 0.0
	for n := 1; scanner.Scan(); n++ {
		if last != nil {
			return Result{}, broken("line %d: comes after the last one", n)
		}
		if n > maxMessages {
			return Result{}, broken("more than %d lines", maxMessages)
		}
		message, err := parse(scanner.Bytes())
		switch {
		case err != nil:
			return Result{}, broken("line %d: %w", n, err)
		case message.Progress == nil:
			last = &message
		case *message.Progress > best:
			best = *message.Progress
			progress(best)
		}
	}
	switch err := scanner.Err(); {
	case errors.Is(err, bufio.ErrTooLong):
		return Result{}, broken("line of more than %d bytes", maxLine)
	case err != nil:
		return Result{}, err
	case last == nil:
		return Result{}, broken("neither a result nor an error")
	case last.Error != nil:
		return Result{}, last.Error
	}
	return *last.Result, nil
}

// parse reads one line.
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
	if failure := message.Error; failure != nil {
		if failure.Reason = Clean(failure.Reason); failure.Reason == "" {
			failure.Reason = "The renderer failed and did not say why."
		}
		return message, clean(failure.Checks)
	}
	if result := message.Result; result != nil {
		if result.DurationSeconds < 0 || result.DurationSeconds > maxDuration {
			return Message{}, errors.New("duration_seconds is impossible")
		}
		if len(result.Files) > maxFiles {
			return Message{}, errors.New("too many files")
		}
		for _, name := range append([]string{result.Video, result.Thumbnail}, result.Files...) {
			if name != "" && !isFileName(name) {
				return Message{}, fmt.Errorf("%q is no plain file name", name)
			}
		}
		return message, clean(result.Checks)
	}
	return message, nil
}

func clean(checks []Check) error {
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
	checkName = regexp.MustCompile(`^[a-z][a-z0-9_]{0,63}$`)
	fileName  = regexp.MustCompile(`^[A-Za-z0-9][A-Za-z0-9._-]{0,99}$`)
)

func isFileName(name string) bool { return fileName.MatchString(name) }
