package talkinghead

import (
	"bytes"
	"context"
	_ "embed"
	"encoding/gob"
	"errors"
	"os"
	"path/filepath"

	"github.com/avatarstudio/avatarstudio/server/internal/render/protocol"
)

// Names of the files of an avatar.
const (
	trackName   = "track.gob"
	pictureName = "face.png"
	footageName = "face.mp4"
)

// maxFootage is how much of its video an avatar stores. Longer videos of the avatar play it back and forth.
const maxFootage = 120 // seconds

// analysedAvatar is the progress of an avatar when its face has been found. Most of the time, its video is encoded.
const analysedAvatar = 0.2

// MakeAvatar prepares the face in a video or picture for [Config.MakeVideo]. If input is empty, the face is
// that of a presenter. Of a video, MakeAvatar uses the first two minutes. It writes its
// files to dir. If a check fails, the error is a [*protocol.Error], and the result has the checks.
func (c Config) MakeAvatar(ctx context.Context, input, dir string) (protocol.Result, error) {
	work, err := os.MkdirTemp(dir, "work-")
	if err != nil {
		return protocol.Result{}, err
	}
	defer os.RemoveAll(work)
	name := "The file of base_video_url"
	if input == "" {
		name = "The picture of a presenter, instead of the missing base_video_url,"
	}
	if input, err = orPresenter(input, work); err != nil {
		return protocol.Result{}, err
	}
	source, err := open(ctx, input, name)
	if err != nil {
		return protocol.Result{Checks: unreadable(err)}, err
	}
	source.limit = maxFootage
	track, checks, err := c.analyse(ctx, source, name, 0, analysedAvatar)
	avatar := protocol.Result{Checks: checks}
	if err != nil {
		return avatar, err
	}
	return c.writeAvatar(ctx, source, track, avatar, work, dir)
}

// presenter is a drawing of a person who does not exist. It has the noise of a camera, without which smooth areas would
// show bands after encoding.
//
//go:embed presenter.webp
var presenter []byte

// orPresenter returns the path of a file, or if it is empty, that of a picture of the presenter, written to dir.
func orPresenter(path, dir string) (string, error) {
	if path != "" {
		return path, nil
	}
	path = filepath.Join(dir, "presenter.webp")
	return path, os.WriteFile(path, presenter, 0o600)
}

// writeAvatar writes the files of an avatar to dir. work is a directory for temporary files.
func (c Config) writeAvatar(ctx context.Context, source *media, t *track, avatar protocol.Result, work, dir string) (protocol.Result, error) {
	var data bytes.Buffer
	if err := gob.NewEncoder(&data).Encode(t); err != nil {
		return avatar, err
	}
	if err := os.WriteFile(filepath.Join(dir, trackName), data.Bytes(), 0o600); err != nil {
		return avatar, err
	}
	c.progress(protocol.Finishing, analysedAvatar, 1, 0)
	name := footageName
	if source.picture {
		name = pictureName
	}
	if err := source.copy(ctx, filepath.Join(dir, name)); err != nil {
		return avatar, err
	}
	c.progress(protocol.Finishing, analysedAvatar, 1, 0.9)
	avatar.Files, avatar.Thumbnail = []string{trackName, name}, filepath.Join(dir, thumbnailName)
	defer c.progress(protocol.Finishing, 0, 1, 1)
	var err error
	avatar.Previews, err = source.previewAvatar(ctx, t, work, dir)
	return avatar, err
}

// copy encodes the frames of a media file to another file, without sound.
func (m *media) copy(ctx context.Context, path string) error {
	args := []string{"-vf", m.filter(), "-c:v", "libx264", "-preset", "veryfast", "-crf", "15", "-pix_fmt", "yuv420p", "-threads", "2", "-f", "mp4"}
	if m.picture { // a PNG has neither a range nor a matrix of colours
		args = []string{"-vf", m.scale() + ",format=rgb24,setsar=1", "-c:v", "png", "-f", "image2", "-update", "1"}
	} else {
		args = append(args, m.tags.args()...)
	}
	return ffmpeg(ctx, m.pictureArgs(append(args, "-map_metadata", "-1", "file:"+path)...)...).run()
}

// readAvatar reads the files that writeAvatar wrote.
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
	if err := gob.NewDecoder(f).Decode(&t); err != nil {
		return nil, nil, err
	}
	source, err := open(ctx, path, name)
	if err != nil {
		return nil, nil, err
	}
	if source.noPictures != nil || source.width != t.Width || source.height != t.Height || source.picture != t.Picture {
		return nil, nil, errors.New("files of the avatar do not match")
	}
	source.limit = maxFootage
	return source, &t, nil
}
