package talkinghead

import (
	"cmp"
	"context"
	_ "embed"
	"errors"
	"fmt"
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

// button is the picture of a play button, which is visible on light and dark ground.
//
//go:embed button.png
var button []byte

// buttonSide returns the size of the play button in a picture.
func buttonSide(width, height int) int { return max(min(width, height)*3/10, 4) }

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
	buttonPath := filepath.Join(work, "button.png")
	if err := os.WriteFile(buttonPath, button, 0o600); err != nil {
		return nil, errors.Join(err, p.input.Close())
	}
	rgb := ":in_color_matrix=" + m.tags.matrix() + ":in_range=tv:flags=bicubic+" + exactColors + ",format=gbrp"
	const play, colors = "overlay=(W-w)/2:(H-h)/2:format=gbrp", "paletteuse=dither=bayer:bayer_scale=4:diff_mode=rectangle"
	graph := strings.Join([]string{
		"[0]split=3[thumbnail][still][moving]",
		fmt.Sprintf("[1]split[b][s];[b]scale=%d:-1:flags=area[big];[s]scale=%d:-1:flags=area[small]", buttonSide(width, height), buttonSide(smallWidth, smallHeight)),
		"[thumbnail]trim=end_frame=1," + m.thumbnailFilter() + "[jpeg]",
		fmt.Sprintf("[still]trim=end_frame=1,scale=%d:%d%s,split[png][under]", width, height, rgb),
		"[under][big]" + play + "[pngplay]",
		fmt.Sprintf("[moving]scale=%d:%d%s,split[plain][below]", smallWidth, smallHeight, rgb),
		"[below][small]" + play + ",split[covered][seen]",
		"[seen]select=not(mod(n\\,4)),palettegen,split[palette][samepalette]",
		"[plain][palette]" + colors + "[gif]",
		"[covered][samepalette]" + colors + "[gifplay]",
	}, ";")
	args := []string{
		"-f", "rawvideo", "-pix_fmt", "yuv420p", "-s", fmt.Sprintf("%dx%d", m.width, m.height), "-framerate", strconv.Itoa(animationRate),
		"-i", "file:" + p.input.Name(), "-i", "file:" + buttonPath, "-filter_complex_threads", "1", "-filter_complex", graph,
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

// previewAvatar makes the thumbnail and the previews of an avatar in dir. They show the beginning of its video, whose
// mouth is not painted. A picture moves its head and blinks.
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
	stage, err := (&performance{source: m, track: t, work: work, seconds: animationSeconds}).stage(ctx)
	if err != nil {
		return protocol.Previews{}, err
	}
	defer stage.player.close()
	f := newFrame(m.width, m.height)
	for i := 0; p.written < p.frames; i++ {
		if !p.shows(i) {
			continue
		}
		_, err := stage.film(ctx, f, i, total)
		if err := cmp.Or(err, p.show(i, f)); err != nil {
			return protocol.Previews{}, err
		}
	}
	return p.made, p.close()
}
