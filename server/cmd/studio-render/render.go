package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"path/filepath"

	"github.com/avatarstudio/avatarstudio/server/cmd/studio-render/internal/talkinghead"
	"github.com/avatarstudio/avatarstudio/server/internal/render/protocol"
)

func run(ctx context.Context, args []string, stdin io.Reader, stdout, stderr io.Writer) (code int) {
	if len(args) > 0 {
		fmt.Fprintln(stderr, "usage: studio-render < request")
		return 2
	}
	request, err := protocol.ReadRequest(stdin)
	if err != nil {
		fmt.Fprintln(stderr, "studio-render:", err)
		return 2
	}
	r := renderer{output: stdout}
	r.Progress = r.progress
	message, err := r.render(ctx, request)
	if err != nil {
		fmt.Fprintln(stderr, "studio-render:", err)
		return 1
	}
	if err := errors.Join(r.failed, protocol.Write(stdout, message)); err != nil {
		fmt.Fprintln(stderr, "studio-render:", err)
		return 1
	}
	return 0
}

// A renderer renders one request.
type renderer struct {
	talkinghead.Config
	output io.Writer
	last   float64 // the progress that was written last
	stage  protocol.Stage
	failed error
}

// progress writes a message for each percent and each stage.
func (r *renderer) progress(done float64, stage protocol.Stage) {
	if r.failed == nil && (done >= r.last+0.01 || stage != r.stage) {
		r.last, r.stage = done, stage
		r.failed = protocol.Write(r.output, protocol.Message{Progress: &done, Stage: stage})
	}
}

// parameters are the members of a client's request that control the rendering. The service has validated
// them.
type parameters struct {
	Text              string               `json:"text"`
	Language          string               `json:"language"`
	Speed             float64              `json:"speed"`
	UseAudioFromVideo bool                 `json:"use_audio_from_video"`
	SyncMode          talkinghead.SyncMode `json:"sync_mode"`
}

// render returns the last message of the output: a result, or a failure that is the input's fault. Any
// other failure is returned as an error, and may be transient.
func (r *renderer) render(ctx context.Context, request protocol.Request) (protocol.Message, error) {
	if request.Kind == protocol.Voices {
		return r.voices(ctx)
	}
	var p parameters
	if err := json.Unmarshal(request.Request, &p); err != nil {
		return protocol.Message{}, err
	}
	var result protocol.Result
	var err error
	switch request.Kind { //nolint:exhaustive // Voices is no rendering
	case protocol.Avatar:
		result, err = r.MakeAvatar(ctx, request.Inputs["base_video_url"], request.OutputDir)
	case protocol.Video:
		result, err = r.MakeVideo(ctx, request.AvatarFiles,
			talkinghead.Speech{Text: p.Text, Audio: request.Inputs["audio_url"], Voice: request.Voice, Language: p.Language, Speed: p.Speed}, request.OutputDir)
	case protocol.Lipsync:
		result, err = r.MakeLipsync(ctx, talkinghead.Lipsync{
			Video: request.Inputs["video_url"], Audio: request.Inputs["audio_url"],
			UseAudioFromVideo: p.UseAudioFromVideo, Mode: p.SyncMode,
		}, request.OutputDir)
	}
	if failure, ok := errors.AsType[*protocol.Error](err); ok {
		failure.Checks = result.Checks
		return protocol.Message{Error: failure}, nil
	}
	previews := &result.Previews
	for _, path := range []*string{
		&result.Video, &result.Thumbnail, &result.Voice, &result.Subtitles, &result.Captions,
		&previews.Still, &previews.StillPlay, &previews.Animation, &previews.AnimationPlay,
	} {
		if *path != "" {
			*path = filepath.Base(*path)
		}
	}
	return protocol.Message{Result: &result}, err
}

func (r *renderer) voices(ctx context.Context) (protocol.Message, error) {
	voices, err := r.Voices(ctx)
	return protocol.Message{Result: &protocol.Result{Voices: voices}}, err
}
