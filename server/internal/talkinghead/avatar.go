package talkinghead

import (
	"bytes"
	"context"
	"encoding/gob"
	"errors"
	"io"
	"os"
	"path/filepath"
	"strconv"
)

// Files of an avatar.
const (
	trackName   = "track.gob"
	pictureName = "face.png"
	footageName = "face.mp4"
)

// footage is how much of a video an avatar keeps; its videos play it back and forth.
const footage = 120 // seconds

// maxTrack bounds what is read of a track.
const maxTrack = 256 << 20

// An Avatar is a face that can speak.
type Avatar struct {
	// Files are the names of the files that [Config.MakeVideo] needs.
	Files     []string
	Thumbnail string
	// Checks are what was found about the input, also when there is an error.
	Checks []Check
}

// MakeAvatar prepares the face in a video or picture, or, without input, the presenter. Its
// files are written to dir. When a check fails the error is [*InputError].
func (c Config) MakeAvatar(ctx context.Context, input, dir string) (Avatar, error) {
	if input == "" {
		return c.presenterAvatar(ctx, dir)
	}
	source, err := open(ctx, input, "The file of base_video_url")
	if err == nil && !source.video {
		err = unusable("The file of base_video_url has no pictures.")
	}
	if err != nil {
		return Avatar{Checks: unreadable(err)}, err
	}
	source.limit = footage
	found, err := c.analyse(ctx, source, "The file of base_video_url", 0, 0.6)
	if err != nil {
		return Avatar{Checks: unreadable(err)}, err
	}
	avatar := Avatar{Checks: found.checks}
	if failed := found.failed(); failed != nil {
		return avatar, failed
	}
	return c.keep(ctx, source, &found.track, avatar, dir)
}

// keep writes the files of an avatar.
func (c Config) keep(ctx context.Context, source *media, t *track, avatar Avatar, dir string) (Avatar, error) {
	var data bytes.Buffer
	if err := gob.NewEncoder(&data).Encode(t); err != nil {
		return avatar, err
	}
	if err := os.WriteFile(filepath.Join(dir, trackName), data.Bytes(), 0o600); err != nil {
		return avatar, err
	}
	name := footageName
	if source.picture {
		name = pictureName
	}
	if err := source.copy(ctx, filepath.Join(dir, name)); err != nil {
		return avatar, err
	}
	c.progress(0.6, 1, 0.9)
	d, err := source.decode(ctx)
	if err != nil {
		return avatar, err
	}
	defer d.stop()
	first, err := d.next()
	if err != nil {
		return avatar, err
	}
	avatar.Files, avatar.Thumbnail = []string{trackName, name}, filepath.Join(dir, thumbnailName)
	defer c.progress(0, 1, 1)
	return avatar, first.thumbnail(ctx, avatar.Thumbnail)
}

// copy writes the frames of a file to another, without sound.
func (m *media) copy(ctx context.Context, path string) error {
	args := append(m.inputArgs(), "-map", "0:v:0", "-map_metadata", "-1", "-vf", m.filter(), "-t", m.most())
	if m.picture {
		args = append(args, "-frames:v", "1", "-c:v", "png", "-pix_fmt", "rgb24", "-f", "image2", "-update", "1")
	} else {
		args = append(args, "-c:v", "libx264", "-preset", "veryfast", "-crf", "15", "-pix_fmt", "yuv420p", "-threads", "2")
		args = append(append(args, m.tags.args()...), "-f", "mp4")
	}
	p := ffmpeg(ctx, append(args, "file:"+path)...)
	if err := p.command.Start(); err != nil {
		p.cancel()
		return err
	}
	return p.wait()
}

// readAvatar reads the files of an avatar; without any it is the presenter.
func readAvatar(ctx context.Context, files map[string]string) (*media, *track, error) {
	path, name := files[pictureName], "The avatar's picture"
	if path == "" {
		path, name = files[footageName], "The avatar's video"
	}
	if path == "" || files[trackName] == "" {
		return nil, nil, errors.New("files of the avatar are missing")
	}
	f, err := os.Open(files[trackName])
	if err != nil {
		return nil, nil, err
	}
	defer f.Close()
	var t track
	if err := gob.NewDecoder(io.LimitReader(f, maxTrack)).Decode(&t); err != nil {
		return nil, nil, err
	}
	source, err := open(ctx, path, name)
	if err != nil {
		return nil, nil, err
	}
	if source.width != t.Width || source.height != t.Height || source.picture != t.Picture || !t.valid() {
		return nil, nil, errors.New("files of the avatar do not belong together")
	}
	source.limit = footage
	return source, &t, nil
}

// valid reports whether a track can be painted.
func (t *track) valid() bool {
	if len(t.Places) == 0 {
		return false
	}
	for _, p := range t.Places {
		if p.Scene >= len(t.Scenes) {
			return false
		}
	}
	for _, s := range t.Scenes {
		if s.Width <= 0 || s.Height <= 0 || len(s.Pix) != frameBytes(s.Width, s.Height) {
			return false
		}
	}
	return !t.Picture || len(t.Places) == 1 && t.Places[0].Scene == 0
}

// most is how much of the file is read, in seconds.
func (m *media) most() string {
	limit := maxDuration.Seconds() + 1
	if m.limit > 0 {
		limit = m.limit
	}
	return strconv.FormatFloat(limit, 'f', -1, 64)
}
