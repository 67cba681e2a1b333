package talkinghead

import (
	"bytes"
	"context"
	"fmt"
	"io"
	"iter"
	"os"
	"path/filepath"
	"strconv"
)

// SyncMode is the handling of pictures and sound of different lengths.
type SyncMode string

// The modes. The video is as long as the sound, except with CutOff and Silence.
const (
	Bounce  SyncMode = "bounce"  // the pictures play back and forth
	Loop    SyncMode = "loop"    // the pictures start again
	CutOff  SyncMode = "cut_off" // the longer of the two is cut
	Silence SyncMode = "silence" // the shorter of the two is extended, with silence or the last picture
	Remap   SyncMode = "remap"   // the pictures play faster or slower
)

// frames returns the number of frames of a video that shows n source frames to a sound as long as heard
// frames.
func (s SyncMode) frames(n, heard int) int {
	switch s {
	case CutOff:
		return min(n, heard)
	case Silence:
		return max(n, heard)
	default:
		return heard
	}
}

// source returns which of n source frames is shown as frame i of total.
func (s SyncMode) source(i, n, total int) int {
	switch {
	case n == 1:
		return 0
	case s == Loop:
		return i % n
	case s == Remap:
		return i * n / total
	case s == CutOff || s == Silence:
		return min(i, n-1)
	}
	i %= 2*n - 2
	return min(i, 2*n-2-i)
}

// A player reads the frames of a media file in any order. It starts with plain decoding. When a frame before the
// current one is requested, it splits the file into segments, because not all frames may fit into memory.
type player struct {
	media *media
	dir   string // for the segments

	next    func() (*frame, error, bool) // reads a frame; nil before the first, and after the split
	stop    func()
	current *frame
	index   int // of current; -1 before the first

	length  int          // frames of each segment except the last; 0 before the split
	segment int          // the number of the segment in frames; -1 for none
	frames  bytes.Buffer // allocated once
}

func (m *media) play(dir string) *player {
	return &player{media: m, dir: filepath.Join(dir, "segments"), index: -1, segment: -1}
}

// read copies the frame with the given number in the file to f.
func (p *player) read(ctx context.Context, index int, f *frame) error {
	if index < p.index {
		p.close()
		if index > 0 {
			if err := p.split(ctx); err != nil {
				return err
			}
		}
	}
	if p.length > 0 {
		if segment := index / p.length; segment != p.segment {
			if err := p.load(ctx, segment); err != nil {
				return err
			}
		}
		size := len(f.pix)
		if from := index % p.length * size; copy(f.pix, p.frames.Bytes()[min(from, p.frames.Len()):]) < size {
			return fmt.Errorf("frame %d is in no segment", index)
		}
		return nil
	}
	if p.next == nil {
		p.next, p.stop = iter.Pull2(p.media.frames(ctx))
	}
	for ; p.index < index; p.index++ {
		f, err, ok := p.next()
		if !ok {
			err = io.EOF
		}
		if err != nil {
			return err
		}
		p.current = f
	}
	copy(f.pix, p.current.pix)
	return nil
}

func (p *player) close() {
	if p.next != nil {
		p.stop()
	}
	p.next, p.index = nil, -1
}

// segmentBytes is the maximum memory for the frames of a segment.
const segmentBytes = 40 << 20

// split splits the video into segments.
func (p *player) split(ctx context.Context) error {
	if err := os.Mkdir(p.dir, 0o700); err != nil {
		return err
	}
	p.length = min(max(segmentBytes/frameBytes(p.media.width, p.media.height), 4), 50)
	seconds := func(frames float64) string { return strconv.FormatFloat(frames/p.media.rate.float(), 'f', 6, 64) }
	group := strconv.Itoa(p.length)
	args := p.media.pictureArgs("-vf", p.media.filter(),
		"-c:v", "libx264", "-preset", "ultrafast", "-crf", "12", "-threads", "2",
		"-g", group, "-keyint_min", group, "-sc_threshold", "0",
		"-f", "segment", "-segment_format", "matroska", "-reset_timestamps", "1",
		"-segment_time", seconds(float64(p.length)), "-segment_time_delta", seconds(0.5), "file:"+filepath.Join(p.dir, "%06d.mkv"))
	return ffmpeg(ctx, args...).run()
}

// load reads the frames of a segment.
func (p *player) load(ctx context.Context, segment int) error {
	m := p.media
	file := media{ // in which the frames are as they are shown
		path: filepath.Join(p.dir, fmt.Sprintf("%06d.mkv", segment)), demuxer: "matroska",
		width: m.width, height: m.height, rate: m.rate,
	}
	p.segment = segment
	p.frames.Reset()
	p.frames.Grow(p.length*frameBytes(m.width, m.height) + bytes.MinRead)
	process := ffmpeg(ctx, file.rawArgs()...)
	process.Stdout = &p.frames
	return process.run()
}
