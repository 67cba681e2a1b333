// Package talkinghead makes faces speak: it finds the face in a picture or a video, turns
// sound into the shapes of a mouth, and paints that mouth into each frame. It works on any
// CPU; ffmpeg and ffprobe decode and encode. It knows neither HTTP nor a database.
//
// Frames and samples go through pipes, so that memory does not grow with the length of a
// video. An [*InputError] error is about the input; any other error may pass.
package talkinghead

import (
	"context"
	"os"
	"os/exec"
)

// Config tells how videos are made. Its zero value works.
type Config struct {
	// Speech is the program, with its arguments, that reads text from its standard input and
	// writes it spoken, as WAV, to its standard output. Defaults to espeak-ng.
	Speech []string
	// Label is written into the corner of each frame, for people to see. Defaults to none.
	Label string
	// Progress is called with how much is done, from 0 to 1. Defaults to nothing.
	Progress func(done float64)
}

// A Video is a file that was made.
type Video struct {
	Path      string
	Thumbnail string
	Seconds   float64
}

// Lipsync is what a lip-sync is made of.
type Lipsync struct {
	// Video is the path of a video or a picture. Defaults to the presenter.
	Video string
	// Audio is the path of what is said.
	Audio string
	// UseAudioFromVideo takes the sound of Video for what is said.
	UseAudioFromVideo bool
	// Mode defaults to Bounce.
	Mode SyncMode
}

// Speech is what an avatar says: Audio, a path, or else Text.
type Speech struct{ Text, Audio string }

// Names of files in the directory that results are written to.
const (
	videoName     = "out.mp4"
	thumbnailName = "out.jpg"
)

func (c Config) progress(from, to, done float64) {
	if c.Progress != nil {
		c.Progress(from + (to-from)*min(max(done, 0), 1))
	}
}

// Missing returns the programs that are not installed, of those that nothing works without.
func Missing() (programs []string) {
	for _, program := range []string{"ffmpeg", "ffprobe"} {
		if _, err := exec.LookPath(program); err != nil {
			programs = append(programs, program)
		}
	}
	return programs
}

// MakeLipsync makes the face in a video say a sound. Its files are written to dir.
func (c Config) MakeLipsync(ctx context.Context, l Lipsync, dir string) (Video, error) {
	work, err := os.MkdirTemp(dir, "work-")
	if err != nil {
		return Video{}, err
	}
	defer os.RemoveAll(work)
	if !l.Mode.known() {
		return Video{}, unusable("The sync_mode must be one of bounce, loop, cut_off, silence and remap.")
	}
	if l.Video == "" && l.UseAudioFromVideo {
		return Video{}, unusable("There is no video to take the sound from: video_url is missing.")
	}
	if l.Audio == "" && !l.UseAudioFromVideo {
		return Video{}, unusable("There is nothing to say: audio_url is missing.")
	}
	p := performance{Config: c, mode: l.Mode, dir: dir, work: work}
	if l.Video == "" {
		if p.source, p.track, err = presenterSource(ctx, work); err != nil {
			return Video{}, err
		}
	} else if p.source, err = open(ctx, l.Video, "The video"); err != nil {
		return Video{}, err
	}
	if p.source.picture || !p.source.video {
		if l.UseAudioFromVideo && !p.source.sound {
			return Video{}, unusable("The picture has no sound.")
		}
	}
	if p.sound = p.source; !l.UseAudioFromVideo {
		if p.sound, err = open(ctx, l.Audio, "The sound"); err != nil {
			return Video{}, err
		}
	}
	if err := p.listen(ctx); err != nil {
		return Video{}, err
	}
	if p.track == nil {
		found, err := c.analyse(ctx, p.source, "The video", 0, 0.3)
		if err != nil {
			return Video{}, err
		}
		if failed := found.failed(); failed != nil {
			return Video{}, failed
		}
		p.track = &found.track
	}
	return p.render(ctx)
}

// MakeVideo makes an avatar speak. The files are those that [Config.MakeAvatar] left.
func (c Config) MakeVideo(ctx context.Context, files map[string]string, speech Speech, dir string) (Video, error) {
	work, err := os.MkdirTemp(dir, "work-")
	if err != nil {
		return Video{}, err
	}
	defer os.RemoveAll(work)
	p := performance{Config: c, mode: Bounce, dir: dir, work: work}
	if p.source, p.track, err = readAvatar(ctx, files); err != nil {
		return Video{}, err
	}
	audio := speech.Audio
	if audio == "" {
		if audio, err = c.speak(ctx, speech.Text, work); err != nil {
			return Video{}, err
		}
	}
	if p.sound, err = open(ctx, audio, "The sound"); err != nil {
		return Video{}, err
	}
	if err := p.listen(ctx); err != nil {
		return Video{}, err
	}
	return p.render(ctx)
}
