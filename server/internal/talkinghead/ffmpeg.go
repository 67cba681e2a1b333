package talkinghead

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"os/exec"
	"strconv"
)

// framesAhead is the length of the queue of decoded frames, and that of frames to encode. It lets ffmpeg
// work while frames are painted.
const framesAhead = 3

// A process is a running ffmpeg.
type process struct {
	command *exec.Cmd
	cancel  context.CancelFunc
	errors  tail
}

func ffmpeg(ctx context.Context, args ...string) *process {
	ctx, cancel := context.WithCancel(ctx)
	p := &process{cancel: cancel}
	p.command = exec.CommandContext(ctx, "ffmpeg", append([]string{"-v", "error", "-nostdin", "-y"}, args...)...) //nolint:gosec // no shell reads the arguments
	p.command.Stderr = &p.errors
	return p
}

// wait waits until the process exits. The error contains the end of its standard error.
func (p *process) wait() error {
	defer p.cancel()
	err := p.command.Wait()
	if err != nil {
		return fmt.Errorf("ffmpeg: %w: %s", err, p.errors.text)
	}
	return nil
}

// stop kills the process.
func (p *process) stop() {
	p.cancel()
	_ = p.command.Wait()
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
	err     error // may be read once frames is closed
}

// decode starts reading the frames. The caller must call stop.
func (m *media) decode(ctx context.Context) (*decoder, error) {
	args := append([]string{"-threads", "2"}, m.inputArgs()...)
	args = append(args, "-map", "0:v:0", "-vf", m.filter(), "-t", m.maxSeconds(), "-f", "rawvideo", "pipe:1")
	d := &decoder{process: ffmpeg(ctx, args...), frames: make(chan *frame, framesAhead), free: make(chan *frame, framesAhead+2)}
	output, err := d.process.command.StdoutPipe()
	if err != nil {
		return nil, err
	}
	if err := d.process.command.Start(); err != nil {
		d.process.cancel()
		return nil, err
	}
	for range cap(d.free) {
		d.free <- newFrame(m.width, m.height)
	}
	go d.read(output)
	return d, nil
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

// next returns the next frame, or [io.EOF] after the last one. The caller owns the frame until it calls
// release.
func (d *decoder) next() (*frame, error) {
	f, ok := <-d.frames
	switch {
	case ok:
		return f, nil
	case d.err != nil:
		return nil, d.err
	}
	return nil, io.EOF
}

func (d *decoder) release(f *frame) { d.free <- f }

// stop ends the decoding. Frames that were not released stay valid.
func (d *decoder) stop() {
	d.process.cancel()
	close(d.free)
	for range d.frames {
		continue // until the goroutine that reads has ended
	}
}

// samples calls each with overlapping windows of the sound of a media file, one per hop. It returns the
// length of the sound in seconds.
func (m *media) samples(ctx context.Context, each func(window []int16)) (float64, error) {
	args := append(m.inputArgs(), "-map", "0:a:0", "-af", "aresample="+strconv.Itoa(soundRate)+":async=1:first_pts=0",
		"-ac", "1", "-t", strconv.FormatFloat(maxDuration.Seconds()+1, 'f', -1, 64), "-f", "s16le", "pipe:1")
	p := ffmpeg(ctx, args...)
	output, err := p.command.StdoutPipe()
	if err != nil {
		return 0, err
	}
	if err := p.command.Start(); err != nil {
		p.cancel()
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

// An encoder writes a video.
type encoder struct {
	process *process
	input   io.WriteCloser
	frames  chan *frame
	free    chan *frame
	done    chan error
}

// A clip describes a video to encode.
type clip struct {
	path          string
	width, height int
	rate          rate
	tags          colorTags
	frames        int
	sound         *media
}

// generated is the comment in the metadata of each video.
const generated = "This video was generated by a machine: what the person in it says, and how the face moves, is synthetic. " +
	"(IPTC digital source type: compositeSynthetic)"

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
	args = append(args, "-c:a", "aac", "-b:a", "160k", "-movflags", "+faststart", "-metadata", "comment="+generated,
		"-f", "mp4", "file:"+c.path)
	e := &encoder{
		process: ffmpeg(ctx, args...),
		frames:  make(chan *frame, framesAhead), free: make(chan *frame, framesAhead+2), done: make(chan error, 1),
	}
	for range cap(e.free) {
		e.free <- newFrame(c.width, c.height)
	}
	var err error
	if e.input, err = e.process.command.StdinPipe(); err != nil {
		return nil, err
	}
	if err := e.process.command.Start(); err != nil {
		e.process.cancel()
		return nil, err
	}
	go e.write()
	return e, nil
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

func (e *encoder) write() {
	var failed error
	for f := range e.frames {
		if failed == nil {
			_, failed = e.input.Write(f.pix)
		}
		e.free <- f
	}
	failed = errors.Join(failed, e.input.Close())
	if err := e.process.wait(); err != nil {
		failed = err
	}
	e.done <- failed
}

// blank returns a frame to draw into. It blocks while the queue is full.
func (e *encoder) blank() *frame { return <-e.free }

// send queues a frame that blank returned.
func (e *encoder) send(f *frame) { e.frames <- f }

// close finishes the video and returns the first error.
func (e *encoder) close() error {
	close(e.frames)
	return <-e.done
}

// stop aborts the encoding.
func (e *encoder) stop() {
	e.process.cancel()
	_ = e.close()
}

// thumbnail writes a frame of m as a JPEG picture, whose colours have the matrix of BT.601.
func (m *media) thumbnail(ctx context.Context, f *frame, path string) error {
	p := ffmpeg(ctx, "-f", "rawvideo", "-pix_fmt", "yuv420p", "-s", fmt.Sprintf("%dx%d", f.width, f.height), "-i", "pipe:0",
		"-vf", "scale='min(640,iw)':-2:in_color_matrix="+m.tags.matrix()+":out_color_matrix=bt601:out_range=pc:flags=bicubic+"+exactColors+",format=yuvj420p", "-frames:v", "1", "-q:v", "4", "-f", "mjpeg", "file:"+path)
	p.command.Stdin = bytes.NewReader(f.pix)
	if err := p.command.Start(); err != nil {
		p.cancel()
		return err
	}
	return p.wait()
}
