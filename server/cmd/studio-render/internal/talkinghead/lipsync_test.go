package talkinghead_test

import (
	"math"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/avatarstudio/avatarstudio/api/tools/harness"
	"github.com/avatarstudio/avatarstudio/server/cmd/studio-render/internal/talkinghead"
)

// sample returns the path of a picture of a face from the module pigo.
func sample(t testing.TB) string {
	t.Helper()
	return filepath.Join(talkinghead.PigoModule(t), "testdata", "sample.jpg")
}

func TestCascades_equalThoseOfPigo(t *testing.T) {
	t.Parallel()
	files, err := os.ReadDir("cascade")
	harness.Check(t, err)
	for _, file := range files {
		ours, err := os.ReadFile(filepath.Join("cascade", file.Name()))
		harness.Check(t, err)
		theirs, err := os.ReadFile(filepath.Join(talkinghead.PigoModule(t), "cascade", file.Name()))
		if err != nil {
			theirs, err = os.ReadFile(filepath.Join(talkinghead.PigoModule(t), "cascade", "lps", file.Name()))
		}
		if err != nil {
			theirs, err = os.ReadFile(filepath.Join(talkinghead.PigoModule(t), file.Name()))
		}
		if err != nil || string(ours) != string(theirs) {
			t.Errorf("%s is not the module's: %v", file.Name(), err)
		}
	}
}

// speech returns a sound file with a sentence between 0.6 s of silence.
func speech(t testing.TB, text string, format ...string) string {
	t.Helper()
	dir := t.TempDir()
	command(t, "espeak-ng", "-s", "150", "-w", filepath.Join(dir, "plain.wav"), text)
	path := filepath.Join(dir, "speech.wav")
	ffmpeg(t, append(append([]string{"-i", filepath.Join(dir, "plain.wav"), "-af", "adelay=600:all=1,apad=pad_dur=0.6"}, format...), path)...)
	return path
}

// newSound returns a sound file from a source of ffmpeg.
func newSound(t testing.TB, source, seconds string) string {
	t.Helper()
	path := filepath.Join(t.TempDir(), "sound.wav")
	ffmpeg(t, "-f", "lavfi", "-i", source, "-t", seconds, path)
	return path
}

// makeLipsync makes a video that must succeed.
func makeLipsync(t testing.TB, l talkinghead.Lipsync) talkinghead.Video {
	t.Helper()
	made, err := talkinghead.Config{}.MakeLipsync(t.Context(), l, t.TempDir())
	harness.Check(t, err)
	return made
}

// clip makes a video from the sample picture.
func clip(t testing.TB, rate, filter string) string {
	t.Helper()
	path := filepath.Join(t.TempDir(), "clip.mp4")
	ffmpeg(t, "-loop", "1", "-r", rate, "-i", sample(t), "-t", "1.2", "-vf", filter+",format=yuv420p",
		"-c:v", "libx264", "-preset", "ultrafast", "-crf", "16", path)
	return path
}

const (
	steady = "scale=-2:400,pad=640:ih:(ow-iw)/2:0:white,noise=alls=4:allf=t"
	moving = "scale=-2:460,pad=700:520:(ow-iw)/2:40:white,rotate=0.09*sin(2*PI*t/1.9):c=white,noise=alls=4:allf=t," +
		"crop=560:420:70+50*sin(2*PI*t/1.7):50+24*sin(2*PI*t/1.3)"
	upright = "scale=360:-2,pad=iw:640:0:80:white,noise=alls=4:allf=t"
)

func TestMakeLipsync_mouthFollowsSound(t *testing.T) {
	t.Parallel()
	harness.Need(t, "ffmpeg", "ffprobe", "espeak-ng")
	for name, test := range map[string]struct {
		rate, filter string // of a video; "" for the picture itself
		sound        []string
	}{
		"picture":         {sound: []string{"-ar", "44100"}},
		"steady 25 fps":   {"25", steady, []string{"-ar", "48000", "-ac", "2"}},
		"moving 30 fps":   {"30", moving, []string{"-ar", "22050"}},
		"upright 24 fps":  {"24000/1001", upright, []string{"-ar", "16000", "-ac", "1"}},
		"presenter alone": {sound: []string{"-ar", "16000"}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			if testing.Short() && test.rate != "25" {
				t.Skip("not in the short form: one video shows it")
			}
			lipsync := talkinghead.Lipsync{Audio: speech(t, "Hello! How are you?", test.sound...)}
			switch {
			case test.filter != "":
				lipsync.Video = clip(t, test.rate, test.filter)
			case name == "picture":
				lipsync.Video = filepath.Join(t.TempDir(), "picture.png")
				ffmpeg(t, "-i", sample(t), "-vf", "scale=560:-2", lipsync.Video)
			}
			var progress []float64
			made, err := talkinghead.Config{
				Progress: func(done float64, _ talkinghead.Stage) { progress = append(progress, done) },
			}.MakeLipsync(t.Context(), lipsync, t.TempDir())
			harness.Check(t, err)
			if !slices.IsSorted(progress) || len(progress) < 3 || progress[len(progress)-1] != 1 {
				t.Errorf("progress is %v", progress)
			}
			f := watch(t, made.Path)
			checkFormat(t, f, made)
			original := encoded(t, lipsync.Video)
			checkLips(t, f, closedLips(t, original))
			if test.filter != "" {
				checkRest(t, f, original)
			}
		})
	}
}

// encoded returns the film of an input, encoded as a made video is. Of a picture it has 15 frames.
func encoded(t *testing.T, input string) *film {
	t.Helper()
	if input == "" { // the presenter, whose lips are closed in silence
		silence := newSound(t, "anullsrc=r=16000", "0.2")
		made := makeLipsync(t, talkinghead.Lipsync{Audio: silence})
		return watch(t, made.Path)
	}
	source := []string{"-i", input}
	if filepath.Ext(input) != ".mp4" {
		source = []string{"-loop", "1", "-t", "0.6", "-i", input}
	}
	plain := filepath.Join(t.TempDir(), "plain.mp4")
	ffmpeg(t, append(source, "-an", "-c:v", "libx264", "-preset", "veryfast", "-crf", "20", "-pix_fmt", "yuv420p", plain)...)
	return watch(t, plain)
}

// closedLips measures the dark area between the closed lips of an input.
func closedLips(t *testing.T, input *film) float64 {
	t.Helper()
	first := *input
	first.frames = first.frames[:min(len(first.frames), 15)]
	dark := first.dark(t)
	slices.Sort(dark)
	return dark[len(dark)/2]
}

// checkFormat checks the properties that players need.
func checkFormat(t *testing.T, f *film, made talkinghead.Video) {
	t.Helper()
	frame := 1 / f.rate
	if math.Abs(f.video-f.audio) > frame || math.Abs(f.video-made.Seconds) > frame/2 {
		t.Errorf("pictures last %v s, the sound %v s, and it says %v s", f.video, f.audio, made.Seconds)
	}
	for _, s := range f.streams {
		switch {
		case s.Kind == "video" && (s.Codec != "h264" || s.Profile != "High" || s.Format != "yuv420p"),
			s.Kind == "audio" && s.Codec != "aac", s.FirstTime != "0.000000":
			t.Errorf("stream is %+v", s)
		}
	}
	if !strings.Contains(f.comment, "generated by a machine") {
		t.Errorf("comment is %q", f.comment)
	}
	data, err := os.ReadFile(made.Path)
	harness.Check(t, err)
	if index, media := strings.Index(string(data), "moov"), strings.Index(string(data), "mdat"); index < 0 || index > media {
		t.Error("the index comes after the media")
	}
	if size, err := os.Stat(made.Thumbnail); err != nil || size.Size() < 1000 {
		t.Errorf("thumbnail: %v, %v", size, err)
	}
}

// checkLips checks that the mouth opens with the sound.
func checkLips(t *testing.T, f *film, closed float64) {
	t.Helper()
	open, heard := f.opening(t, closed), f.loudness(t)
	largest := slices.Max(open)
	best, at := -1.0, 0
	for lag := -5; lag <= 5; lag++ {
		if c := correlation(heard, open, lag); c > best {
			best, at = c, lag
		}
	}
	if correlation(heard, open, 0) < 0.7 || at < -1 || at > 1 {
		t.Errorf("opening and loudness correlate by %.2f, and by %.2f at a lag of %d frames", correlation(heard, open, 0), best, at)
	}
	if largest < 0.02 {
		t.Errorf("the largest opening is %.3f squares of the distance of the eyes", largest)
	}
	silent := int(0.45 * f.rate)
	rest := max(steadyMost(open[:silent]), steadyMost(open[len(open)-silent/2:]))
	t.Logf("correlation %.2f, %.2f at a lag of %d; in silence %.1f %% of the largest opening, %.3f",
		correlation(heard, open, 0), best, at, 100*rest/largest, largest)
	if rest > 0.08*largest { // the sway of a picture is measured as up to 0.06
		t.Errorf("in silence the mouth is open by %.1f %%", 100*rest/largest)
	}
}

// steadyMost returns the largest median of three neighbours, because detected landmarks jitter from frame
// to frame.
func steadyMost(values []float64) (most float64) {
	for i := range len(values) - 2 {
		three := slices.Sorted(slices.Values(values[i : i+3]))
		most = max(most, three[1])
	}
	return most
}

// checkRest checks that everything except the lower face equals the input.
func checkRest(t *testing.T, f, original *film) {
	t.Helper()
	if f.width != original.width || f.height != original.height || f.rate != original.rate {
		t.Errorf("%d × %d at %v, of %d × %d at %v", f.width, f.height, f.rate, original.width, original.height, original.rate)
	}
	finder := newFinder(t)
	faces := make([]seen, len(original.frames))
	for i, luma := range original.frames {
		faces[i] = finder.find(t, luma, original.width, original.height)
	}
	psnr := difference(f, original, func(frame, x, y int) bool {
		face := faces[frame]
		unit := face.eyes()
		mouth := [2]float64{(face.mouthLeft[0] + face.mouthRight[0]) / 2, (face.mouthLeft[1] + face.mouthRight[1]) / 2}
		u, v := (float64(x)-mouth[0])/unit, (float64(y)-mouth[1])/unit
		return math.Abs(u) > 1 || v < -0.5 || v > 1.1
	})
	t.Logf("PSNR outside the lower face: %.1f dB", psnr)
	if psnr < 38 {
		t.Errorf("outside the lower face PSNR is %.1f dB", psnr)
	}
}
