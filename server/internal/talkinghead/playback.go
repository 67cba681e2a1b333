package talkinghead

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strconv"
)

// SyncMode tells what happens when pictures and sound are not equally long.
type SyncMode string

// The modes. In all but CutOff and Silence the video is as long as the sound.
const (
	Bounce  SyncMode = "bounce"  // the pictures play back and forth
	Loop    SyncMode = "loop"    // the pictures start again
	CutOff  SyncMode = "cut_off" // what is longer is cut
	Silence SyncMode = "silence" // what is shorter is filled up: silence, or the last picture
	Remap   SyncMode = "remap"   // the pictures play faster or slower
)

// frames is how many frames a video has that shows n frames of a source to a sound that
// lasts as long as heard frames.
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

// source is which of n frames is shown as frame i of total.
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

// A player shows the frames of a media file in an order.
type player struct {
	media *media
	dir   string // for files of its own

	decoder *decoder
	current *frame
	index   int

	pieces *pieces
}

func (m *media) play(dir string) *player { return &player{media: m, dir: dir, index: -1} }

// frame returns a frame by its number in the file, which is valid until the next call.
func (p *player) frame(ctx context.Context, index int) (*frame, error) {
	if index == p.index {
		return p.current, nil
	}
	if index < p.index && index > 0 || p.pieces != nil {
		if p.pieces == nil {
			p.close()
			pieces, err := p.media.cut(ctx, filepath.Join(p.dir, "pieces"))
			if err != nil {
				return nil, err
			}
			p.pieces = pieces
		}
		f, err := p.pieces.frame(ctx, index)
		p.current, p.index = f, index
		return f, err
	}
	if index < p.index {
		p.close()
	}
	if p.decoder == nil {
		var err error
		if p.decoder, err = p.media.decode(ctx); err != nil {
			return nil, err
		}
	}
	for p.index < index {
		if p.current != nil {
			p.decoder.release(p.current)
			p.current = nil
		}
		f, err := p.decoder.next()
		if err != nil {
			return nil, err
		}
		p.current, p.index = f, p.index+1
	}
	return p.current, nil
}

func (p *player) close() {
	if p.decoder != nil {
		p.decoder.stop()
	}
	p.decoder, p.current, p.index = nil, nil, -1
}

// Pieces are a video cut into short files, so that it can play backwards without being held
// in memory.
type pieces struct {
	source *media
	dir    string
	length int // frames of each piece but the last
	loaded int // the number of the piece in frames
	frames []*frame
	spare  []*frame // that frames are of
}

// pieceBytes is how much memory the frames of a piece may take.
const pieceBytes = 40 << 20

// cut cuts a video into pieces of a new directory.
func (m *media) cut(ctx context.Context, dir string) (*pieces, error) {
	if err := os.Mkdir(dir, 0o700); err != nil {
		return nil, err
	}
	length := min(max(pieceBytes/frameBytes(m.width, m.height), 4), 50)
	seconds := func(frames float64) string { return strconv.FormatFloat(frames/m.rate.float(), 'f', 6, 64) }
	group := strconv.Itoa(length)
	args := append(m.inputArgs(), "-map", "0:v:0",
		"-vf", m.filter(), "-t", m.most(),
		"-c:v", "libx264", "-preset", "ultrafast", "-crf", "12", "-threads", "2",
		"-g", group, "-keyint_min", group, "-sc_threshold", "0",
		"-f", "segment", "-segment_format", "matroska", "-reset_timestamps", "1",
		"-segment_time", seconds(float64(length)), "-segment_time_delta", seconds(0.5), "file:"+filepath.Join(dir, "%06d.mkv"))
	p := ffmpeg(ctx, args...)
	if err := p.command.Start(); err != nil {
		p.cancel()
		return nil, err
	}
	if err := p.wait(); err != nil {
		return nil, err
	}
	return &pieces{source: m, dir: dir, length: length, loaded: -1}, nil
}

func (p *pieces) frame(ctx context.Context, index int) (*frame, error) {
	if piece := index / p.length; piece != p.loaded {
		if err := p.load(ctx, piece); err != nil {
			return nil, err
		}
	}
	if i := index % p.length; i < len(p.frames) {
		return p.frames[i], nil
	}
	return nil, fmt.Errorf("frame %d is in no piece", index)
}

func (p *pieces) load(ctx context.Context, piece int) error {
	file := *p.source
	file.path, file.demuxer = filepath.Join(p.dir, fmt.Sprintf("%06d.mkv", piece)), "matroska"
	d, err := file.decode(ctx)
	if err != nil {
		return err
	}
	defer d.stop()
	spare := p.spare
	defer func() { p.spare = spare }()
	p.frames, p.loaded = p.frames[:0], piece
	for {
		f, err := d.next()
		if errors.Is(err, io.EOF) {
			return nil
		}
		if err != nil {
			return err
		}
		if len(p.frames) == p.length {
			return fmt.Errorf("piece %d has more than %d frames", piece, p.length)
		}
		if len(p.frames) == len(spare) {
			spare = append(spare, newFrame(f.width, f.height))
		}
		keep := spare[len(p.frames)]
		copy(keep.pix, f.pix)
		d.release(f)
		p.frames = append(p.frames, keep)
	}
}
