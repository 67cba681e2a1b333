package talkinghead

import (
	"math"
	"math/rand/v2"
	"testing"
)

func TestPlane_fixedIsSample(t *testing.T) {
	t.Parallel()
	p := plane{pix: make([]byte, 19*11), width: 19, height: 11}
	chance := rand.New(rand.NewPCG(1, 1))
	for i := range p.pix {
		p.pix[i] = byte(chance.IntN(256))
	}
	for range 20_000 {
		x, y := chance.Float64()*(19+6)-3, chance.Float64()*(11+6)-3
		got, want := p.fixed(int(x*fixedOne), int(y*fixedOne)), p.sample(x, y)
		if math.Abs(float64(got)-want) > 3 { // the fractions of a point have eight bits
			t.Fatalf("at (%.3f, %.3f) it is %d, want %.1f", x, y, got, want)
		}
	}
}
