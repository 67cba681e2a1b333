package talkinghead

import (
	"context"
	"errors"
	"fmt"
	"image"
	"image/color"
	"image/png"
	"math"
	"os"
	"path/filepath"
	"strconv"
	"strings"

	"github.com/avatarstudio/avatarstudio/server/internal/render/protocol"
)

// Names of the previews and of the voice in the output directory.
const (
	stillName         = "still.png"
	stillPlayName     = "still-play.png"
	animationName     = "animation.gif"
	animationPlayName = "animation-play.gif"
	voiceName         = "voice.m4a"
)

// Limits on previews.
const (
	stillWidth       = 640       // pixels
	animationWidth   = 320       // pixels
	animationArea    = 320 * 180 // pixels
	animationRate    = 10        // frames per second
	animationSeconds = 2
	animationBytes   = 1_400_000 // ffmpeg may write one more frame
)

// A previewer makes the thumbnail and the previews of a video from some of its frames. The still pictures show the
// first of them.
type previewer struct {
	made    protocol.Previews
	from    int     // the first frame that is shown
	frames  int     // how many are shown
	step    float64 // from one to the next
	written int
	input   *os.File // of the process
	process *process
}

// preview starts making the thumbnail and the previews of a video of total frames, which has the size and colours of m.
// They show it from a frame on, or from an earlier one if it is too short. The caller must show all frames, and call
// close and then stop. work is a directory for temporary files.
func (m *media) preview(ctx context.Context, from, total int, work, dir string) (*previewer, error) {
	p := &previewer{step: max(m.rate.float()/animationRate, 1), made: protocol.Previews{
		Still: filepath.Join(dir, stillName), StillPlay: filepath.Join(dir, stillPlayName),
		Animation: filepath.Join(dir, animationName), AnimationPlay: filepath.Join(dir, animationPlayName),
	}}
	p.frames = min(max(int(float64(total)/p.step), 1), animationSeconds*animationRate)
	p.from = max(min(from, total-int(math.Ceil(float64(p.frames)*p.step))), 0)

	fit := func(scale float64) (width, height int) {
		return max(int(float64(m.width)*min(scale, 1)), 1), max(int(float64(m.height)*min(scale, 1)), 1)
	}
	width, height := fit(stillWidth / float64(m.width))
	smallWidth, smallHeight := fit(min(animationWidth/float64(m.width), math.Sqrt(animationArea/float64(m.width*m.height))))
	var err error
	if p.input, err = os.Create(filepath.Join(work, "previews.yuv")); err != nil {
		return nil, err
	}
	button, smallButton := filepath.Join(work, "button.png"), filepath.Join(work, "small-button.png")
	if err := errors.Join(writeButton(button, min(width, height)), writeButton(smallButton, min(smallWidth, smallHeight))); err != nil {
		return nil, errors.Join(err, p.input.Close())
	}
	rgb := ":in_color_matrix=" + m.tags.matrix() + ":in_range=tv:flags=bicubic+" + exactColors + ",format=gbrp"
	const play, colors = "overlay=(W-w)/2:(H-h)/2:format=gbrp", "paletteuse=dither=bayer:bayer_scale=4:diff_mode=rectangle"
	graph := strings.Join([]string{
		"[0]split=3[thumbnail][still][moving]",
		"[thumbnail]trim=end_frame=1," + m.thumbnailFilter() + "[jpeg]",
		fmt.Sprintf("[still]trim=end_frame=1,scale=%d:%d%s,split[png][under]", width, height, rgb),
		"[under][1]" + play + "[pngplay]",
		fmt.Sprintf("[moving]scale=%d:%d%s,split[plain][below]", smallWidth, smallHeight, rgb),
		"[below][2]" + play + ",split[covered][seen]",
		"[seen]select=not(mod(n\\,4)),palettegen,split[palette][samepalette]",
		"[plain][palette]" + colors + "[gif]",
		"[covered][samepalette]" + colors + "[gifplay]",
	}, ";")
	args := []string{
		"-f", "rawvideo", "-pix_fmt", "yuv420p", "-s", fmt.Sprintf("%dx%d", m.width, m.height), "-framerate", strconv.Itoa(animationRate),
		"-i", "file:" + p.input.Name(), "-i", "file:" + button, "-i", "file:" + smallButton, "-filter_complex_threads", "1", "-filter_complex", graph,
		"-map", "[jpeg]", "-frames:v", "1", "-q:v", "4", "-f", "mjpeg", "file:" + filepath.Join(dir, thumbnailName),
	}
	for name, path := range map[string]string{"[png]": p.made.Still, "[pngplay]": p.made.StillPlay} {
		args = append(args, "-map", name, "-frames:v", "1", "-c:v", "png", "-pix_fmt", "rgb24", "-f", "image2", "-update", "1", "file:"+path)
	}
	for name, path := range map[string]string{"[gif]": p.made.Animation, "[gifplay]": p.made.AnimationPlay} {
		args = append(args, "-map", name, "-fs", strconv.Itoa(animationBytes), "-f", "gif", "file:"+path)
	}
	p.process = ffmpeg(ctx, args...)
	return p, nil
}

// shows reports whether the pictures show frame i of the video, after those that have been shown.
func (p *previewer) shows(i int) bool {
	return p.written < p.frames && i >= p.from+int(float64(p.written)*p.step)
}

// show shows frame i of the video. Frames must be shown in order.
func (p *previewer) show(i int, f *frame) error {
	if !p.shows(i) {
		return nil
	}
	p.written++
	_, err := p.input.Write(f.pix)
	return err
}

// close makes the files. It comes last, because the process takes as much memory as that which encodes the video.
func (p *previewer) close() error { return p.process.run() }

// stop gives what show has used back.
func (p *previewer) stop() { _ = p.input.Close() }

// previewAvatar makes the thumbnail and the previews of an avatar in dir. They show the beginning of its video. A
// picture moves its head and blinks.
func (m *media) previewAvatar(ctx context.Context, t *track, work, dir string) (protocol.Previews, error) {
	total := len(t.Places)
	if m.picture {
		total = int(animationSeconds * m.rate.float())
	}
	p, err := m.preview(ctx, 0, total, work, dir)
	if err != nil {
		return protocol.Previews{}, err
	}
	defer p.stop()
	var next func(i int) (*frame, error)
	if m.picture {
		still, err := m.firstFrame(ctx)
		if err != nil {
			return protocol.Previews{}, err
		}
		h, f := newHead(still, t.Places[0].Face, t.Scenes[0].Eyes, animationSeconds), newFrame(m.width, m.height)
		next = func(i int) (*frame, error) {
			if p.shows(i) {
				seconds := float64(i) / m.rate.float()
				h.blink(f, h.move(f, h.turn(seconds, 0)), h.closed(seconds))
			}
			return f, nil
		}
	} else {
		d, err := m.decode(ctx)
		if err != nil {
			return protocol.Previews{}, err
		}
		defer d.stop()
		next = func(int) (*frame, error) { return d.next() }
	}
	for i := 0; p.written < p.frames; i++ {
		f, err := next(i)
		if err != nil {
			return protocol.Previews{}, err
		}
		if err := p.show(i, f); err != nil {
			return protocol.Previews{}, err
		}
	}
	return p.made, p.close()
}

// writeButton writes a picture of a play button for a picture whose shorter side is given. The button is visible on
// light and dark ground.
func writeButton(path string, side int) error {
	size := max(side*3/10, 4)
	button := image.NewNRGBA(image.Rect(0, 0, size, size))
	radius := float64(size) / 2
	covered := func(inside float64) float64 { return min(max(inside+0.5, 0), 1) } // the part of a pixel that is inside an edge
	for y := range size {
		for x := range size {
			dx, dy := float64(x)+0.5-radius, float64(y)+0.5-radius
			edge := radius - 0.5 - math.Hypot(dx, dy)
			ring := min(covered(edge), covered(radius*0.1-edge))
			triangle := covered(radius*0.26 + min(dx, -0.5*dx-0.866*math.Abs(dy)))
			white := max(ring, triangle)
			alpha := white + (1-white)*0.5*covered(edge)
			level := toByte(255 * white / max(alpha, 0.01))
			button.SetNRGBA(x, y, color.NRGBA{level, level, level, toByte(255 * alpha)})
		}
	}
	file, err := os.Create(path)
	if err != nil {
		return err
	}
	return errors.Join(png.Encode(file, button), file.Close())
}
