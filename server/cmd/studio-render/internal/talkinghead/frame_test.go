package talkinghead

import (
	"math"
	"math/rand/v2"
	"testing"
)

func TestPlane_runCopiesWhatIsThere(t *testing.T) {
	t.Parallel()
	p := plane{pix: make([]byte, 19*11), width: 19, height: 11}
	chance := rand.New(rand.NewPCG(1, 1))
	for i := range p.pix {
		p.pix[i] = byte(chance.IntN(256))
	}
	for range 20_000 {
		x, y := chance.Float64()*(19+6)-3, chance.Float64()*(11+6)-3
		run := make([]byte, 1+chance.IntN(runLength))
		p.run(run, int(x*fixedOne), int(y*fixedOne))
		for i, v := range run {
			// The fractions of a point have eight bits.
			if want := p.sample(x+float64(i), y); math.Abs(float64(v)-want) > 3 {
				t.Fatalf("%d at (%.3f, %.3f) of a run of %d is %d, want %.1f", i, x, y, len(run), v, want)
			}
		}
	}
}

func TestFrame_reduceAverages(t *testing.T) {
	t.Parallel()
	chance := rand.New(rand.NewPCG(2, 2))
	f := newFrame(38, 26)
	for i := range f.pix {
		f.pix[i] = byte(chance.IntN(256))
	}
	for factor := 1; factor <= 4; factor++ {
		p := f.reduce(factor, make([]byte, len(f.pix)))
		for row := range p.height {
			for column := range p.width {
				sum := 0
				for i := range factor * factor {
					sum += int(f.pix[(row*factor+i/factor)*f.width+column*factor+i%factor])
				}
				if got, want := int(p.pix[row*p.width+column]), sum/(factor*factor); got != want {
					t.Fatalf("by %d, (%d, %d) is %d, want %d", factor, column, row, got, want)
				}
			}
		}
	}
}
