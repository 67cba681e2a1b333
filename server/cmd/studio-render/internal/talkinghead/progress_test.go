package talkinghead

import (
	"math"
	"testing"
)

// The progress at the end of each stage is about the part of the time that studio-render has taken then, at 720p.
func TestProgress_isInProportionToTime(t *testing.T) {
	t.Parallel()
	for name, test := range map[string]struct {
		analysed                bool
		source, seconds         float64 // length of the video, 0 of a picture, and of the sound
		opened, analysis, drawn float64
	}{
		"a picture speaks for 2 s":      {false, 0, 2.2, 0, 0, 0.56},
		"a picture speaks for 10 s":     {false, 0, 10, 0, 0, 0.96},
		"a picture speaks for a minute": {false, 0, 60, 0, 0, 0.99},
		"a picture that is new":         {true, 0, 10, 0.06, 0.06, 0.96},
		"a video of 3 s":                {true, 3, 3, 0.16, 0.36, 0.79},
		"a video of 10 s":               {true, 10, 10, 0.06, 0.29, 0.955},
	} {
		film := rate{25, 1}
		p := performance{source: &media{rate: film, picture: test.source == 0, duration: test.source}, seconds: test.seconds, mode: CutOff}
		if test.source < test.seconds {
			p.mode = Bounce
		}
		n := max(int(test.source*film.float()), 1)
		p.track = &track{Places: make([]place, n)}
		var opened float64
		if test.analysed {
			opened, p.drawFrom = p.analysisParts()
		}
		total := p.frames(n)
		drawn := p.drawFrom + (1-p.drawFrom)*p.encoded(total, total)
		for stage, parts := range map[string][2]float64{"opened": {opened, test.opened}, "analysed": {p.drawFrom, test.analysis}, "drawn": {drawn, test.drawn}} {
			if math.Abs(parts[0]-parts[1]) > 0.08 || math.Abs(parts[0]-parts[1]) > (1-parts[1])/2 {
				t.Errorf("%s: %.3f when it is %s, want %.3f", name, parts[0], stage, parts[1])
			}
		}
	}
}
