// Package talkinghead animates faces to speech. It finds the face in a picture or video, derives the shapes of a
// mouth from sound, and paints that mouth into each frame. A text is spoken by espeak-ng, and gets subtitles. It needs
// no GPU. The programs ffmpeg and ffprobe decode and encode. The package uses neither HTTP nor a database.
//
// Input may be a picture (JPEG, PNG, WebP), a video (MP4, MOV, WebM, MKV, AVI) or a sound (WAV, MP3, M4A, OGG,
// FLAC). It is limited to 10 minutes, videos to 4K, and pictures to 25 million pixels. Both need at least
// 64 × 64 pixels. A sound to be spoken lasts at least 0.1 seconds. Everything that is made shows an input as a player
// does; what is transparent is white.
//
// The files of a [protocol.Result] are paths here. Frames and samples are streamed through pipes, so memory use does
// not depend on the length of a video. An error that wraps a [*protocol.Error] is permanent and about the input. Any
// other error may be transient.
package talkinghead

import (
	"context"
	"os"

	"github.com/avatarstudio/avatarstudio/server/internal/render/protocol"
)

// Config configures how videos are made. Its zero value works. Its methods are safe for concurrent use if
// Progress is.
type Config struct {
	// Progress is called with the part that is done, from 0 to 1, and what is done now. The part never decreases.
	// Nil is allowed.
	Progress func(done float64, stage protocol.Stage)
}

// Lipsync describes a lip-sync. Audio is required unless UseAudioFromVideo is set.
type Lipsync struct {
	// Video is the path of a video or picture. Defaults to a picture of a presenter.
	Video string
	// Audio is the path of the sound to speak.
	Audio string
	// UseAudioFromVideo means that the sound of Video is spoken.
	UseAudioFromVideo bool
	// Mode applies if the pictures and the sound differ in length. Defaults to Bounce.
	Mode SyncMode
}

// Names of the files in the output directory.
const (
	videoName     = "out.mp4"
	thumbnailName = "out.jpg"
	subtitlesName = "out.srt"
	captionsName  = "out.vtt"
)

func (c Config) progress(stage protocol.Stage, from, to, done float64) {
	if c.Progress != nil {
		c.Progress(from+(to-from)*min(max(done, 0), 1), stage)
	}
}

// MakeLipsync makes a video in which the face of l.Video speaks. It writes the video and its thumbnail to
// dir. It fails with a [*protocol.Error] if the input cannot be used.
func (c Config) MakeLipsync(ctx context.Context, l Lipsync, dir string) (protocol.Result, error) {
	work, err := os.MkdirTemp(dir, "work-")
	if err != nil {
		return protocol.Result{}, err
	}
	defer os.RemoveAll(work)
	if l.Video == "" && l.UseAudioFromVideo {
		return protocol.Result{}, unusable("The video_url is missing. The sound of the video is used.")
	}
	if l.Audio == "" && !l.UseAudioFromVideo {
		return protocol.Result{}, unusable("The audio_url is missing.")
	}
	p := performance{Config: c, mode: l.Mode, dir: dir, work: work}
	c.progress(protocol.Analysing, 0, 0, 0)
	if l.Video, err = orPresenter(l.Video, work); err == nil {
		p.source, err = open(ctx, l.Video, "The video")
	}
	switch {
	case err != nil:
	case l.UseAudioFromVideo:
		p.sound = p.source
		err = p.analyseSound(ctx)
	default:
		err = p.hear(ctx, l.Audio, "The file of audio_url")
	}
	if err != nil {
		return protocol.Result{}, err
	}
	if p.drawFrom = openedPart; !p.source.picture {
		p.drawFrom = analysedPart
	}
	if p.track, _, err = c.analyse(ctx, p.source, "The video", openedPart, p.drawFrom); err != nil {
		return protocol.Result{}, err
	}
	return p.render(ctx)
}

// MakeVideo makes a video in which an avatar speaks. files maps the Files of the avatar to paths.
// MakeVideo writes the video, its thumbnail and the subtitles of a text to dir. It fails with a [*protocol.Error] if
// the text or sound cannot be used.
func (c Config) MakeVideo(ctx context.Context, files map[string]string, speech Speech, dir string) (protocol.Result, error) {
	work, err := os.MkdirTemp(dir, "work-")
	if err != nil {
		return protocol.Result{}, err
	}
	defer os.RemoveAll(work)
	p := performance{Config: c, mode: Bounce, dir: dir, work: work}
	if p.source, p.track, err = readAvatar(ctx, files); err != nil {
		return protocol.Result{}, err
	}
	spoken, name := speaking{path: speech.Audio}, "The file of audio_url"
	if speech.Audio == "" {
		c.progress(protocol.Speaking, 0, 0, 0)
		if spoken, err = c.speak(ctx, speech, work); err != nil {
			return protocol.Result{}, err
		}
		name = "The speech"
		p.said, p.words = spoken.said, wordsOf(cleanText(speech.Text))
	}
	if err := p.hear(ctx, spoken.path, name); err != nil {
		return protocol.Result{}, err
	}
	made, err := p.render(ctx)
	if err != nil || len(p.words) == 0 {
		return made, err
	}
	made.Language, made.Checks = spoken.language, append(spoken.checks, made.Checks...)
	made.Subtitles, made.Captions, err = writeSubtitles(cuesOf(p.words), dir)
	return made, err
}
