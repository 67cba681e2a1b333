package talkinghead

import (
	"cmp"
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"iter"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"time"
)

// framesAhead is the length of the queue of decoded frames. It lets ffmpeg work while frames are painted.
const framesAhead = 3

// waitDelay is how long the pipes of a program may be open after its end.
const waitDelay = 5 * time.Second

// A process is a program that this package runs.
type process struct {
	*exec.Cmd
	problems tail
}

func newProcess(ctx context.Context, name string, args ...string) *process {
	p := &process{Cmd: exec.CommandContext(ctx, name, args...)} //nolint:gosec // no shell reads the arguments
	p.Stderr = &p.problems
	p.WaitDelay = waitDelay                                       // a process that it has started may keep its pipes open
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

// open starts the process and returns its standard output.
func (p *process) open() (io.Reader, error) {
	output, err := p.StdoutPipe()
	if err != nil {
		return nil, err
	}
	return output, p.Start()
}

// output returns what ffprobe writes. After maxProbed bytes it kills the process.
func (p *process) output() ([]byte, error) {
	output, err := p.open()
	if err != nil {
		return nil, err
	}
	data, err := io.ReadAll(io.LimitReader(output, maxProbed))
	if err != nil || len(data) == maxProbed {
		p.stop()
		return data, err
	}
	return data, p.wait()
}

// says reports whether a text is in the end of its standard error, after the process has exited.
func (p *process) says(text string) bool { return strings.Contains(string(p.problems.text), text) }

// noThread is what ffmpeg says if it cannot start a thread, as at a limit of processes: for an encoder, it gives no
// reason. ffprobe starts no threads, and its warnings quote what is in the file.
var noThread = regexp.MustCompile("(?s)^ffmpeg: .*(Resource temporarily unavailable|opening encoder)")

// badInput reports whether ffmpeg or ffprobe failed because of its input, and was not killed by a signal.
func badInput(err error) bool {
	exit, ok := errors.AsType[*exec.ExitError](err)
	return ok && exit.Exited() && !noThread.MatchString(err.Error())
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

// rawArgs returns arguments for ffmpeg that write the frames to its standard output.
func (m *media) rawArgs() []string {
	return append([]string{"-threads", "2"}, m.pictureArgs("-vf", m.filter(), "-f", "rawvideo", "pipe:1")...)
}

// frames reads the frames of a media file in order. A frame is valid until the next one.
func (m *media) frames(ctx context.Context) iter.Seq2[*frame, error] {
	return func(yield func(*frame, error) bool) {
		p := ffmpeg(ctx, m.rawArgs()...)
		output, err := p.open()
		if err != nil {
			yield(nil, err)
			return
		}
		ahead, free := make(chan *frame, framesAhead), make(chan *frame, framesAhead+2)
		for range cap(free) {
			free <- newFrame(m.width, m.height)
		}
		go func() {
			defer close(ahead)
			for f := range free {
				if _, err := io.ReadFull(output, f.pix); err != nil {
					return
				}
				ahead <- f
			}
		}()
		defer func() {
			_ = p.Process.Kill()
			close(free)
			for range ahead {
				continue // until nothing is read any more
			}
			_ = p.Wait()
		}()
		for f := range ahead {
			if !yield(f, nil) {
				return
			}
			free <- f
		}
		if err := p.wait(); err != nil {
			yield(nil, err)
		}
	}
}

// firstFrame returns the first frame of a media file.
func (m *media) firstFrame(ctx context.Context) (*frame, error) {
	if m.still != nil {
		return m.still, nil
	}
	for f, err := range m.frames(ctx) {
		return f, err
	}
	return nil, io.EOF
}

// heard is the sound of a media file as a listener hears it.
type heard struct {
	seconds float64
	// loud is the power of the louder channel of each hop, and mono that of the mean of the channels.
	loud, mono float64
}

// soundFilter returns the ffmpeg filter that converts the sound of a file to what is heard: one or two channels,
// without gaps.
func soundFilter(rate int) string {
	return fmt.Sprintf("aresample=%d:async=1:first_pts=0,aformat=channel_layouts=mono|stereo", rate)
}

// samples calls each with overlapping windows of the sound of a media file, one per hop. Each is that of the channel
// that is louder, because the mean of two channels may be silent.
func (m *media) samples(ctx context.Context, each func(window []int16)) (heard, error) {
	channels := min(max(m.sound.Channels, 1), 2)
	args := append(m.inputArgs(), "-map", fmt.Sprintf("0:%d", m.sound.Index), "-af", soundFilter(soundRate),
		"-ac", strconv.Itoa(channels), "-t", fmt.Sprint(maxDuration.Seconds()+1), "-f", "s16le", "pipe:1")
	p := ffmpeg(ctx, args...)
	output, err := p.open()
	if err != nil {
		return heard{}, err
	}
	var found heard
	raw := make([]byte, soundHop*2*channels)
	windows := make([][soundWindow]int16, channels)
	total := 0
	for {
		n, err := io.ReadFull(output, raw)
		clear(raw[n:])
		total += n / 2 / channels
		if n > 0 {
			var power [2]float64
			for c := range windows {
				copy(windows[c][:], windows[c][soundHop:])
			}
			for i := range soundHop {
				sum := 0.0
				for c := range windows {
					v := int16(binary.LittleEndian.Uint16(raw[2*(i*channels+c):]))
					windows[c][soundWindow-soundHop+i] = v
					sum += float64(v) / float64(channels)
					power[c] += float64(v) * float64(v)
				}
				found.mono += sum * sum
			}
			found.loud += max(power[0], power[1])
			louder := 0
			if power[1] > power[0] {
				louder = 1
			}
			each(windows[louder][:])
		}
		if err != nil {
			break
		}
	}
	found.seconds = float64(total) / soundRate
	return found, p.wait()
}

// An encoder writes a video. It needs no queue, because ffmpeg reads several inputs ahead.
type encoder struct {
	process *process
	input   io.WriteCloser
}

// encode starts writing a video of some frames to one file, and its sound to another. The caller must call close or
// stop.
func (p *performance) encode(ctx context.Context, video, voice string, frames int) (*encoder, error) {
	m := p.source
	args := []string{
		"-f", "rawvideo", "-pix_fmt", "yuv420p", "-s", fmt.Sprintf("%dx%d", m.width, m.height),
		"-framerate", m.rate.String(), "-i", "pipe:0",
	}
	args = append(args, p.sound.inputArgs()...)
	args = append(args,
		"-map", "0:v:0", "-map", fmt.Sprintf("1:%d", p.sound.sound.Index), "-map_metadata", "-1", "-map_chapters", "-1",
		"-af", soundFilter(48000)+",apad",
		"-t", strconv.FormatFloat(float64(frames)/m.rate.float(), 'f', 6, 64))
	args = append(args,
		"-c:v", "libx264", "-preset", "veryfast", "-crf", "20", "-profile:v", "high", "-pix_fmt", "yuv420p",
		"-threads", "2", "-x264-params", "sync-lookahead=0") // saves memory
	args = append(args, m.tags.args()...)
	escape := strings.NewReplacer(`\`, `\\`, `'`, `\'`, `|`, `\|`).Replace
	args = append(args, "-c:a", "aac", "-b:a", "160k", "-metadata", "comment="+generated,
		"-flags", "+global_header", // which tee does not ask for
		"-f", "tee", "[f=mp4:movflags=+faststart]file:"+escape(video)+"|[f=ipod:movflags=+faststart:select=a]file:"+escape(voice))
	e := &encoder{process: ffmpeg(ctx, args...)}
	var err error
	if e.input, err = e.process.StdinPipe(); err != nil {
		return nil, err
	}
	return e, e.process.Start()
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
