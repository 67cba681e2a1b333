package talkinghead

import (
	"math"
	"testing"

	"github.com/avatarstudio/avatarstudio/api/tools/harness"
)

// formants returns the sound of a voice of 110 Hz. Each resonance is a frequency and its height in dB, by
// which vowels differ.
func formants(seconds float64, resonances ...[2]float64) []int16 {
	samples := make([]int16, int(seconds*soundRate))
	for harmonic := 1; harmonic*110 < soundRate/2; harmonic++ {
		frequency, height := float64(harmonic)*110, -70.0
		for _, r := range resonances {
			away := (frequency - r[0]) / 90
			height = max(height, r[1]-20*math.Log10(1+away*away))
		}
		for i := range samples {
			samples[i] += int16(6000 * math.Pow(10, height/20) * math.Sin(2*math.Pi*frequency*float64(i)/soundRate+float64(harmonic*harmonic)))
		}
	}
	return samples
}

func TestMouthShapes_closedInSilence(t *testing.T) {
	t.Parallel()
	vowel := formants(0.4, [2]float64{750, 0}, [2]float64{1200, -4})
	quiet := make([]int16, soundRate/2)
	for i := range quiet {
		quiet[i] = int16(i*7919%31 - 15) // a noise of -66 dB
	}
	said := shapesOf(soundsOf(append(append(append([]int16{}, quiet...), vowel...), quiet...)))
	if s := said.at(0.7); s.open < 0.6 {
		t.Errorf("while it speaks, the mouth is open by %v", s.open)
	}
	for _, at := range []float64{-1, 0, 0.2, 0.4, 1.1, 1.3, 9} {
		if s := said.at(at); s.open != 0 {
			t.Errorf("in silence, at %v s, the mouth is open by %v", at, s.open)
		}
	}
	for _, s := range append(shapesOf(soundsOf(nil)), shapesOf(soundsOf(make([]int16, soundRate)))...) {
		if s.open > 0 {
			t.Errorf("of nothing, the mouth is open by %v", s.open)
		}
	}
}

func TestSyncMode_ordersFrames(t *testing.T) {
	t.Parallel()
	for mode, want := range map[SyncMode]struct {
		longer, shorter int
		source          []int
	}{
		"":      {7, 2, []int{0, 1, 2, 1, 0, 1, 2}},
		Bounce:  {7, 2, []int{0, 1, 2, 1, 0, 1, 2}},
		Loop:    {7, 2, []int{0, 1, 2, 0, 1, 2, 0}},
		CutOff:  {3, 2, []int{0, 1, 2}},
		Silence: {7, 3, []int{0, 1, 2, 2, 2, 2, 2}},
		Remap:   {7, 2, []int{0, 0, 0, 1, 1, 2, 2}},
	} {
		if longer, shorter := mode.frames(3, 7), mode.frames(3, 2); longer != want.longer || shorter != want.shorter {
			t.Errorf("%s: 3 frames with a sound of 7 or 2 become %d or %d", mode, longer, shorter)
		}
		for i, source := range want.source {
			if got := mode.source(i, 3, want.longer); got != source {
				t.Errorf("%s: frame %d is that of %d, want %d", mode, i, got, source)
			}
		}
		if got := mode.source(5, 1, 9); got != 0 {
			t.Errorf("%s: of one frame it shows %d", mode, got)
		}
	}
}

func TestPlayer_readsFramesInAnyOrder(t *testing.T) {
	t.Parallel()
	harness.SkipShort(t, "it starts many processes")
	harness.Need(t, "ffmpeg", "ffprobe")
	dir := t.TempDir()
	path := dir + "/clip.mp4"
	// Frame n has the luma 20 + n.
	harness.Check(t, ffmpeg(t.Context(), "-f", "lavfi", "-i", "color=black:s=160x120:r=25,format=yuv420p,geq=lum=20+N:cb=128:cr=128",
		"-frames:v", "150", "-c:v", "libx264", "-preset", "ultrafast", path).run())
	m := harness.Try(open(t.Context(), path, "The video"))(t)
	p := m.play(dir)
	defer p.close()
	f, last := newFrame(m.width, m.height), -1
	for i := range 420 {
		want := Bounce.source(i, 150, 420)
		harness.Check(t, p.read(t.Context(), want, f))
		if got := f.pix[160*60+80]; math.Abs(float64(got)-float64(20+want)) > 1 {
			t.Fatalf("frame %d, of %d after %d, has the luma %d", i, want, last, got)
		}
		last = want
	}
}
