package talkinghead

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
)

// framesAhead is the length of the queue of decoded frames. It lets ffmpeg work while frames are painted.
const framesAhead = 3

// A process is a program that this package runs.
type process struct {
	*exec.Cmd
	problems tail
}

func newProcess(ctx context.Context, name string, args ...string) *process {
	p := &process{Cmd: exec.CommandContext(ctx, name, args...)} //nolint:gosec // no shell reads the arguments
	p.Stderr = &p.problems
	p.Env = append(os.Environ(), "MALLOC_TRIM_THRESHOLD_=131072") // glibc then returns the memory of frames
	return p
}

func ffmpeg(ctx context.Context, args ...string) *process {
	return newProcess(ctx, "ffmpeg", append([]string{"-v", "error", "-nostdin", "-y"}, args...)...)
}

// run runs the process until it exits.
func (p *process) run() error {
	if err := p.Start(); err != nil {
		return err
	}
	return p.wait()
}

// wait waits until the process exits. The error contains the end of its standard error.
func (p *process) wait() error {
	if err := p.Wait(); err != nil {
		return fmt.Errorf("%s: %w: %s", filepath.Base(p.Path), err, p.problems.text)
	}
	return nil
}

// stop kills the process.
func (p *process) stop() {
	_ = p.Process.Kill()
	_ = p.Wait()
}

// tail is a writer that keeps the last 2 KiB.
type tail struct{ text []byte }

func (t *tail) Write(data []byte) (int, error) {
	const most = 2048
	t.text = append(t.text, data...)
	t.text = t.text[max(len(t.text)-most, 0):]
	return len(data), nil
}

// A decoder reads the frames of a media file in order.
type decoder struct {
	process *process
	frames  chan *frame
	free    chan *frame
	current *frame // that next returned
	err     error  // may be read once frames is closed
}

// decode starts reading the frames. The caller must call stop.
func (m *media) decode(ctx context.Context) (*decoder, error) {
	args := append([]string{"-threads", "2"}, m.pictureArgs("-vf", m.filter(), "-f", "rawvideo", "pipe:1")...)
	d := &decoder{process: ffmpeg(ctx, args...), frames: make(chan *frame, framesAhead), free: make(chan *frame, framesAhead+2)}
	output, err := d.process.StdoutPipe()
	if err != nil {
		return nil, err
	}
	if err := d.process.Start(); err != nil {
		return nil, err
	}
	for range cap(d.free) {
		d.free <- newFrame(m.width, m.height)
	}
	go d.read(output)
	return d, nil
}

// pictureArgs returns arguments for ffmpeg that read the pictures of m.
func (m *media) pictureArgs(args ...string) []string {
	limit := maxDuration.Seconds() + 1
	if m.limit > 0 {
		limit = m.limit
	}
	return slices.Concat(m.inputArgs(), []string{"-map", "0:v:0", "-t", fmt.Sprint(limit)}, args)
}

// filter returns the ffmpeg filter that converts frames to the size, rate and colours of m.
func (m *media) filter() string {
	filter := m.scale() + ":out_range=tv"
	if m.tags == rgbTags {
		filter += ":out_color_matrix=bt709"
	}
	if !m.picture {
		filter = "fps=" + m.rate.String() + ":start_time=0," + filter
	}
	return filter + ",format=yuv420p,setsar=1"
}

// exactColors are flags of the filter scale, which otherwise rounds most values down when it converts colours.
const exactColors = "accurate_rnd+full_chroma_int"

// scale returns the ffmpeg filter that converts frames to the size of m.
func (m *media) scale() string {
	scale := fmt.Sprintf("scale=%d:%d:flags=bicubic", m.width, m.height)
	if m.picture { // the colours of videos are not converted
		scale += "+" + exactColors
	}
	return scale
}

func (d *decoder) read(output io.Reader) {
	defer close(d.frames)
	for f := range d.free {
		if _, err := io.ReadFull(output, f.pix); err != nil {
			d.err = d.process.wait()
			return
		}
		d.frames <- f
	}
	d.process.stop()
}

// next returns the next frame, or [io.EOF] after the last one. The frame is valid until the next call.
func (d *decoder) next() (*frame, error) {
	if d.current != nil {
		d.free <- d.current
	}
	if d.current = <-d.frames; d.current == nil {
		return nil, cmp.Or(d.err, io.EOF)
	}
	return d.current, nil
}

// stop ends the decoding. The last frame stays valid.
func (d *decoder) stop() {
	_ = d.process.Process.Kill()
	close(d.free)
	for range d.frames {
		continue // until the goroutine that reads has ended
	}
}

// firstFrame returns the first frame of a media file.
func (m *media) firstFrame(ctx context.Context) (*frame, error) {
	if m.still != nil {
		return m.still, nil
	}
	d, err := m.decode(ctx)
	if err != nil {
		return nil, err
	}
	defer d.stop()
	f, err := d.next()
	if err == nil && m.picture {
		m.still = f
	}
	return f, err
}

// samples calls each with overlapping windows of the sound of a media file, one per hop. It returns the
// length of the sound in seconds.
func (m *media) samples(ctx context.Context, each func(window []int16)) (float64, error) {
	args := append(m.inputArgs(), "-map", "0:a:0", "-af", fmt.Sprintf("aresample=%d:async=1:first_pts=0", soundRate),
		"-ac", "1", "-t", fmt.Sprint(maxDuration.Seconds()+1), "-f", "s16le", "pipe:1")
	p := ffmpeg(ctx, args...)
	output, err := p.StdoutPipe()
	if err != nil {
		return 0, err
	}
	if err := p.Start(); err != nil {
		return 0, err
	}
	var raw [soundHop * 2]byte
	var window [soundWindow]int16
	total := 0
	for {
		n, err := io.ReadFull(output, raw[:])
		clear(raw[n:])
		total += n / 2
		if n > 0 {
			copy(window[:], window[soundHop:])
			for i := range soundHop {
				window[soundWindow-soundHop+i] = int16(uint16(raw[2*i]) | uint16(raw[2*i+1])<<8)
			}
			each(window[:])
		}
		if err != nil {
			break
		}
	}
	if err := p.wait(); err != nil {
		return 0, err
	}
	return float64(total) / soundRate, nil
}

// An encoder writes a video. It needs no queue, because ffmpeg reads several inputs ahead.
type encoder struct {
	process *process
	input   io.WriteCloser
}

// A clip describes a video to encode.
type clip struct {
	path          string
	voice         string // the path of an M4A file with the sound
	width, height int
	rate          rate
	tags          colorTags
	frames        int
	sound         *media
}

// encode starts writing the video. The caller must call close or stop.
func (c *clip) encode(ctx context.Context) (*encoder, error) {
	args := []string{
		"-f", "rawvideo", "-pix_fmt", "yuv420p", "-s", fmt.Sprintf("%dx%d", c.width, c.height),
		"-framerate", c.rate.String(), "-i", "pipe:0",
	}
	args = append(args, c.sound.inputArgs()...)
	args = append(args,
		"-map", "0:v:0", "-map", "1:a:0", "-map_metadata", "-1", "-map_chapters", "-1",
		"-af", "aresample=48000:async=1:first_pts=0,aformat=channel_layouts=mono|stereo,apad",
		"-t", strconv.FormatFloat(float64(c.frames)/c.rate.float(), 'f', 6, 64))
	args = append(args, encoding...)
	args = append(args, c.tags.args()...)
	escape := strings.NewReplacer(`\`, `\\`, `'`, `\'`, `|`, `\|`).Replace
	args = append(args, "-c:a", "aac", "-b:a", "160k", "-metadata", "comment="+generated,
		"-flags", "+global_header", // which tee does not ask for
		"-f", "tee", "[f=mp4:movflags=+faststart]file:"+escape(c.path)+"|[f=ipod:movflags=+faststart:select=a]file:"+escape(c.voice))
	e := &encoder{process: ffmpeg(ctx, args...)}
	var err error
	if e.input, err = e.process.StdinPipe(); err != nil {
		return nil, err
	}
	return e, e.process.Start()
}

// encoding is the list of arguments for encoding the pictures of a video.
//
//nolint:gochecknoglobals // a list of arguments
var encoding = []string{
	"-c:v", "libx264", "-preset", "veryfast", "-crf", "20", "-profile:v", "high", "-pix_fmt", "yuv420p",
	"-threads", "2", "-x264-params", "sync-lookahead=0", // saves memory
}

func (t colorTags) args() (args []string) {
	for _, tag := range [][2]string{{"-colorspace", t.space}, {"-color_trc", t.transfer}, {"-color_primaries", t.primaries}} {
		if tag[1] != "" && tag[1] != "unknown" && tag[1] != "reserved" {
			args = append(args, tag[0], tag[1])
		}
	}
	return append(args, "-color_range", "tv")
}

// matrix returns the name of the colour matrix for the filter scale of ffmpeg.
func (t colorTags) matrix() string {
	switch t.space {
	case "bt709", "smpte240m", "fcc":
		return t.space
	case "bt2020nc", "bt2020c":
		return "bt2020"
	}
	return "bt601" // also if it is unknown, as in ffmpeg
}

// write encodes a frame. If it fails, the encoder has ended.
func (e *encoder) write(f *frame) error {
	_, err := e.input.Write(f.pix)
	if err != nil {
		err = cmp.Or(e.process.wait(), err)
	}
	return err
}

// close finishes the video.
func (e *encoder) close() error { return errors.Join(e.input.Close(), e.process.wait()) }

// thumbnailFilter returns the filter that makes a JPEG picture, whose colours have the matrix of BT.601, of a frame of m.
func (m *media) thumbnailFilter() string {
	return "scale='min(640,iw)':-2:in_color_matrix=" + m.tags.matrix() + ":out_color_matrix=bt601:out_range=pc:flags=bicubic+" + exactColors + ",format=yuvj420p"
}
