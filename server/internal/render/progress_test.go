package render_test

import (
	"testing"
	"time"

	"github.com/avatarstudio/avatarstudio/server/internal/render"
	"github.com/avatarstudio/avatarstudio/server/internal/render/protocol"
)

// From a tenth of the progress on, the estimated time left is right within a factor of two, or a second.
func TestEstimate_isRightWithinAFactorOfTwo(t *testing.T) {
	t.Parallel()
	type part struct {
		stage protocol.Stage
		to    float64 // progress at the end of the part
		takes time.Duration
	}
	const second = time.Second
	for name, parts := range map[string][]part{
		"a start that takes long": {{"", 0, 2 * second}, {"", 1, 8 * second}},
		"a slow voice":            {{protocol.Speaking, 0.05, 10 * second}, {protocol.Drawing, 0.98, 10 * second}, {protocol.Finishing, 1, second}},
		"fast, then slow":         {{protocol.Analysing, 0.3, second}, {protocol.Drawing, 0.98, 4 * second}, {protocol.Finishing, 1, second / 5}},
		"slow, then fast":         {{protocol.Analysing, 0.3, 6 * second}, {protocol.Drawing, 0.98, 8 * second}, {protocol.Finishing, 1, second / 5}},
		// as studio-render took for 10 s at 720p
		"a picture": {{protocol.Analysing, 0, 2260 * time.Millisecond}, {protocol.Drawing, 0.9, 5300 * time.Millisecond}, {protocol.Finishing, 1, 620 * time.Millisecond}},
		"a video":   {{protocol.Analysing, 0, 600 * time.Millisecond}, {protocol.Analysing, 0.3, 3260 * time.Millisecond}, {protocol.Drawing, 0.9, 9840 * time.Millisecond}, {protocol.Finishing, 1, 1320 * time.Millisecond}},
		"a text":    {{protocol.Speaking, 0, 2120 * time.Millisecond}, {protocol.Drawing, 0.9, 10310 * time.Millisecond}, {protocol.Finishing, 1, 850 * time.Millisecond}},
		"an hour":   {{protocol.Drawing, 0.99, time.Hour}, {protocol.Finishing, 1, time.Minute}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			now, end := time.Unix(0, 0), time.Unix(0, 0)
			for _, p := range parts {
				end = end.Add(p.takes)
			}
			left, done := render.EstimateLeft(now), 0.0
			for _, p := range parts {
				const steps = 50
				step := (p.to - done) / steps
				for range steps {
					now, done = now.Add(p.takes/steps), done+step
					if step == 0 {
						continue // the program reports nothing
					}
					got, want := left(done, p.stage, now), end.Sub(now)
					switch {
					case done < 0.099 && got != 0:
						t.Errorf("%v are left at %.2f, want no estimate", got, done)
					case done > 0.101 && (got > 2*want+time.Second || got < want/2-time.Second):
						t.Errorf("%v are left at %.2f, want %v", got, done, want)
					}
				}
			}
		})
	}
}
