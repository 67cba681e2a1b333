package render

import (
	"bytes"
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"os"
	"path/filepath"

	"github.com/avatarstudio/avatarstudio/server/internal/render/protocol"
	"github.com/avatarstudio/avatarstudio/server/internal/render/simulate"
	"github.com/avatarstudio/avatarstudio/server/internal/studio"
	"github.com/avatarstudio/avatarstudio/server/internal/telemetry/faultlog"
)

// ExecConfig configures an [Exec]. Program, Studio and Fetch are required.
type ExecConfig struct {
	// Program is the program and its arguments.
	Program []string
	// Limits are the resource limits of each process of the program.
	Limits Limits
	// Paths are absolute paths of files, directories and devices that the program may use in its sandbox, in addition
	// to /usr, the directories of PATH, and the paths in Program. It can write to devices only.
	Paths []string
	// Directory is the parent of the working directories. Default [os.TempDir].
	Directory string
	// Studio reads avatars, stores media and records progress.
	Studio *studio.Service
	// Fetch copies the content at url, which the user of subject gave, to file, as [Inputs.Fetch] does. It
	// must return a [*studio.RenderError] without Retry if the user has to change the input. The Reason of
	// that error completes a sentence that begins with the member of the request, such as "The audio_url".
	Fetch func(ctx context.Context, subject studio.Subject, url string, file *os.File) error
	// Logger logs errors, and what programs write to their standard error. Nil discards both.
	Logger *slog.Logger
}

// Exec is a renderer that runs a program, which speaks the protocol of package protocol. On Linux with bubblewrap, the
// program runs in a sandbox: it has no network, sees no other process, can write to its working directory only, and all
// of its processes end with it. Exec is safe for concurrent use.
type Exec struct {
	ExecConfig
	program   *program
	directory *directory
	voices    chan knownVoices // holds one value
	faults    faultlog.Log
}

var _ studio.Renderer = (*Exec)(nil)

// NewExec returns an Exec. It removes working directories that killed processes left in cfg.Directory. It
// returns an error if the program does not exist, and logs a warning if the program cannot run in a sandbox.
func NewExec(ctx context.Context, cfg ExecConfig) (*Exec, error) {
	cfg.Logger = cmp.Or(cfg.Logger, slog.New(slog.DiscardHandler))
	program, err := newProgram(cfg.Program, cfg.Limits, cfg.Logger)
	if err != nil {
		return nil, err
	}
	directory, err := openDirectory(cmp.Or(cfg.Directory, os.TempDir()))
	if err != nil {
		return nil, fmt.Errorf("the directory of temporary files: %w", err)
	}
	dir, remove, err := directory.makeWork()
	if err != nil {
		return nil, errors.Join(err, directory.close())
	}
	defer func() { _ = remove() }()
	if err := program.openSandbox(ctx, dir, cfg.Paths); err != nil {
		cfg.Logger.WarnContext(ctx, "the renderer has no sandbox: a fault in it exposes the database, its keys and the network of this machine", "cause", err)
	}
	voices := make(chan knownVoices, 1)
	voices <- knownVoices{}
	return &Exec{ExecConfig: cfg, program: program, directory: directory, voices: voices, faults: faultlog.Log{Logger: cfg.Logger}}, nil
}

// Close removes the working directories of e. No rendering may be running.
func (e *Exec) Close() error { return e.directory.close() }

// Render fetches the inputs of subject, runs the program and stores the files that it makes. An error that
// users may see is a [*studio.RenderError]. After a failure of the program that it does not report itself, that
// is a fixed text with Retry. If the service itself is at fault, such as after a full disk, the error wraps
// [studio.ErrUnavailable].
func (e *Exec) Render(ctx context.Context, subject studio.Subject) (studio.Rendering, error) {
	result, err := e.render(ctx, subject)
	if ctx.Err() != nil || err == nil || errors.As(err, new(*studio.RenderError)) {
		return result, err
	}
	e.Logger.ErrorContext(ctx, "rendering failed", "kind", subject.Kind, "id", subject.ID, "attempt", subject.RenderTries+1, "err", err)
	if errors.Is(err, errProgram) || errors.Is(err, studio.ErrNotFound) { // ErrNotFound is about a file of the avatar
		return result, &studio.RenderError{Reason: "The renderer failed.", Retry: true}
	}
	return result, studio.Unavailable(err)
}

// errDiskFull replaces any other error when the disk is full, because a program that cannot write may
// report that its input is broken.
var errDiskFull = errors.New("the disk of the working directory is full")

// orDiskFull returns err, or errDiskFull instead.
func orDiskFull(err error, dir string) error {
	if err != nil && diskFull(dir) {
		err = fmt.Errorf("%w: %v", errDiskFull, err) //nolint:errorlint // the class of err must not show
	}
	return err
}

func (e *Exec) render(ctx context.Context, subject studio.Subject) (result studio.Rendering, err error) {
	dir, remove, err := e.directory.makeWork()
	if err != nil {
		return result, err
	}
	defer func() { err = errors.Join(orDiskFull(err, dir), remove()) }()
	request := protocol.Request{
		Version: protocol.Version, Kind: protocol.Kind(subject.Kind), ID: subject.ID, Attempt: subject.RenderTries + 1,
		Request: subject.Request, OutputDir: filepath.Join(dir, "output"),
	}
	if err := os.Mkdir(request.OutputDir, 0o700); err != nil {
		return result, err
	}
	e.recordProgress(ctx, subject.ID, studio.Progress{Stage: string(protocol.Fetching)})
	if request.Inputs, err = e.inputs(ctx, subject, dir); err != nil {
		return result, err
	}
	var failed []studio.Check
	if subject.Kind == studio.Video && request.Inputs["audio_url"] == "" {
		if request.Voice, failed, err = e.chooseVoice(ctx, subject); err != nil {
			return result, err
		}
	}
	if request.AvatarFiles, err = e.avatarFiles(ctx, subject, dir); err != nil {
		return result, err
	}
	if err := e.program.sandbox.give(dir); err != nil {
		return result, err
	}
	progress, wait := e.progress(ctx, subject.ID)
	made, err := e.program.run(ctx, dir, request, progress)
	wait()
	if reported, ok := errors.AsType[*protocol.Error](err); ok {
		return result, &studio.RenderError{Reason: reported.Reason, Checks: checks(reported.Checks), Retry: !reported.Permanent}
	}
	if err != nil {
		return result, err
	}
	result, err = e.storeResult(ctx, subject, request.OutputDir, made)
	result.Checks = addFailed(result.Checks, failed)
	return result, err
}

// inputs fetches the files that the request names into dir. It returns their paths by member.
func (e *Exec) inputs(ctx context.Context, subject studio.Subject, dir string) (map[string]string, error) {
	var members map[string]any
	request := json.NewDecoder(bytes.NewReader(subject.Request))
	request.UseNumber() // a member that the document does not have may have a number that no float64 holds
	if err := request.Decode(&members); err != nil {
		return nil, err
	}
	paths := make(map[string]string)
	for _, name := range subject.Kind.Rules().Inputs {
		url, _ := members[name].(string)
		if url == "" || name == "audio_url" && members["use_audio_from_video"] == true {
			continue
		}
		file, err := os.OpenFile(filepath.Join(dir, name), os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o600)
		if err != nil {
			return nil, err
		}
		err = errors.Join(e.Fetch(ctx, subject, url, file), file.Close())
		if reason, ok := errors.AsType[*studio.RenderError](err); ok {
			return nil, &studio.RenderError{Reason: "The " + name + " " + reason.Reason, Retry: reason.Retry}
		}
		if err != nil {
			return nil, err
		}
		paths[name] = file.Name()
	}
	return paths, nil
}

// avatarFiles copies the files of a video's avatar into dir. It returns their paths by name.
func (e *Exec) avatarFiles(ctx context.Context, subject studio.Subject, dir string) (map[string]string, error) {
	if subject.Kind != studio.Video {
		return nil, nil
	}
	avatar, err := e.Studio.Store.Subject(ctx, subject.AvatarID)
	if err != nil {
		return nil, err
	}
	if reason := simulate.NoVideo(avatar); reason != "" {
		return nil, &studio.RenderError{Reason: reason}
	}
	into := filepath.Join(dir, "avatar")
	if err := os.Mkdir(into, 0o700); err != nil {
		return nil, err
	}
	paths := make(map[string]string)
	for _, name := range avatar.Rendering.Files {
		paths[name] = filepath.Join(into, name)
		if err := e.copyMedia(ctx, studio.ResultKey(avatar.ID, name), paths[name]); err != nil {
			return nil, fmt.Errorf("avatar file %s: %w", name, err)
		}
	}
	return paths, nil
}

// copyMedia copies a stored file to a new local file.
func (e *Exec) copyMedia(ctx context.Context, key, path string) (err error) {
	content, err := e.Studio.Media.Open(ctx, key)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, content.Close()) }()
	file, err := os.OpenFile(path, os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o600)
	if err != nil {
		return err
	}
	_, err = io.Copy(file, content)
	return errors.Join(err, file.Close())
}

// storeResult copies the files of a result from dir to the media store.
func (e *Exec) storeResult(ctx context.Context, subject studio.Subject, dir string, made protocol.Result) (studio.Rendering, error) {
	result := studio.Rendering{
		Video: made.Video, Thumbnail: made.Thumbnail, Previews: studio.Previews(made.Previews), Voice: made.Voice,
		Subtitles: made.Subtitles, Captions: made.Captions, Language: made.Language, Seconds: made.DurationSeconds,
		Files: made.Files, Checks: checks(made.Checks),
	}
	if result.Video == "" && subject.Kind != studio.Avatar {
		return studio.Rendering{}, fmt.Errorf("%w: its result has no video", errProgram)
	}
	for _, name := range result.FileNames() {
		if err := e.storeFile(ctx, dir, name, studio.ResultKey(subject.ID, name)); err != nil {
			return studio.Rendering{}, err
		}
	}
	return result, nil
}

// errNotResult is returned by openResult for a file that cannot be a result.
var errNotResult = errors.New("not a file of its own, or empty")

func (e *Exec) storeFile(ctx context.Context, dir, name, key string) error {
	file, err := openResult(dir, name, e.program.user())
	if err != nil {
		return fmt.Errorf("%w: its result contains %s: %w", errProgram, name, err)
	}
	defer func() { _ = file.Close() }()
	return e.Studio.Media.Write(ctx, key, file)
}

func checks(found []protocol.Check) (list []studio.Check) {
	for _, c := range found {
		list = append(list, studio.Check{Name: c.Name, OK: c.Status == protocol.Succeeded, Message: c.Message})
	}
	return list
}
