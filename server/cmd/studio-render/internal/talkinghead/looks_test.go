package talkinghead

import (
	"math"
	"math/rand/v2"
	"testing"

	"github.com/avatarstudio/avatarstudio/api/tools/harness"
)

// A sitter is a made face on which shapes of the mouth are drawn.
type sitter struct {
	source *media
	place  place
	scene  *scene
	still  *frame
	head   *head
	mouth  *mouth
}

func sit(t testing.TB, i int) *sitter {
	t.Helper()
	source := harness.Try(open(t.Context(), makeFace(t, i), "The picture"))(t)
	found, _, err := Config{}.analyse(t.Context(), source, "The picture", 0, 1)
	harness.Check(t, err)
	s := &sitter{source: source, place: found.Places[0], scene: &found.Scenes[0]}
	s.still = harness.Try(source.firstFrame(t.Context()))(t)
	s.head = newHead(s.still, s.place.Face, s.scene.Eyes, 1)
	s.mouth = s.scene.mouth(true)
	return s
}

// frame returns the picture with a turned head, closed eyes and a shape of the mouth.
func (s *sitter) frame(turned turn, closed float64, mouth shape) *frame {
	f := newFrame(s.source.width, s.source.height)
	face := s.head.move(f, turned)
	s.head.blink(f, face, closed)
	s.mouth.paint(f, face.at(s.place.Mouth), mouth, 1)
	return f
}

// nodding is as far as a head turns.
var nodding = turn{0.03, 0.04, 0.015}

// changed calls each with the place in the face, whose origin is at the middle of the mouth, of each pixel of luma in
// which two frames differ visibly.
func (s *sitter) changed(a, b *frame, each func(q point)) {
	face := s.place.Face.at(s.place.Mouth)
	for i, v := range a.luma().pix {
		if d := int(v) - int(b.pix[i]); max(d, -d) > 3 {
			each(face.inFace(point{float64(i % a.width), float64(i / a.width)}))
		}
	}
}

// open returns how much of a mouth is inside of it, or so dark or bright as if it were: in the middle of the mouth, and
// near its corners.
func (s *sitter) open(f *frame) (middle, corners float64) {
	face, skin := s.place.Face.at(s.place.Mouth), s.scene.Tones.Skin[0]-16
	var n float64
	for u := -0.34; u <= 0.34; u += 0.01 {
		for v := -0.05; v <= 0.30; v += 0.01 {
			q := face.inFrame(point{u, v})
			n++
			switch value := f.luma().at(q.X, q.Y) - 16; {
			case value > 0.25*skin && value < 1.35*skin:
			case math.Abs(u) < 0.22:
				middle++
			default:
				corners++
			}
		}
	}
	return middle / n, corners / n
}

// TestFaces_onlyWhatSpeaksMoves checks for each face that visemes move the mouth and the jaw, a blink the eyes, and a
// turn the head, and that nothing else moves.
func TestFaces_onlyWhatSpeaksMoves(t *testing.T) {
	t.Parallel()
	harness.Need(t, "ffmpeg", "ffprobe")
	for i, made := range madeFaces {
		t.Run(made.name, func(t *testing.T) {
			t.Parallel()
			if testing.Short() && made.name != "open mouth" {
				t.Skip("not in the short form: one face shows it")
			}
			s := sit(t, i)
			eyes := [2]point{s.place.Face.inFace(s.scene.Eyes[0]), s.place.Face.inFace(s.scene.Eyes[1])}
			rest := s.frame(turn{}, 0, shape{})
			s.changed(rest, s.still, func(q point) {
				if s.scene.Lips.Gap == 0 || math.Abs(q.X) > 0.65 || q.Y < -0.25 || q.Y > 0.75 {
					t.Fatalf("silence moves the face at %.2f", q)
				}
			})
			shown := map[string]*frame{}
			for _, viseme := range visemeTable {
				f := s.frame(turn{}, 0, viseme.shape)
				shown[viseme.name] = f
				s.changed(f, s.still, func(q point) {
					if math.Abs(q.X) > mouthSide+0.01 || q.Y < mouthTop || q.Y > mouthBottom {
						t.Fatalf("%s moves the face at %.2f", viseme.name, q)
					}
				})
			}
			original, _ := s.open(s.still)
			closed, _ := s.open(rest)
			aa, _ := s.open(shown["aa"])
			_, oo := s.open(shown["U"])
			_, ee := s.open(shown["I"])
			t.Logf("the mouth is open by %.3f, at rest by %.3f, for aa by %.3f; its corners by %.3f for oo, by %.3f for ee", original, closed, aa, oo, ee)
			if aa < closed+0.1 || made.name == "open mouth" && (original < 0.1 || closed > original/4) {
				t.Error("the mouth does not open and close")
			}
			if ee < oo+0.008 {
				t.Error("the mouth is not narrower for oo than for ee")
			}
			s.changed(s.frame(turn{}, 1, shape{}), rest, func(q point) {
				q = q.plus(s.place.Mouth)
				for _, eye := range eyes {
					if near := q.minus(eye); math.Abs(near.X) < eyeSide+0.02 && near.Y > 2*upperLid && near.Y < lowerLid+0.06 {
						return
					}
				}
				t.Fatalf("a blink moves the face at %.2f", q)
			})
			s.changed(s.frame(nodding, 0, shape{}), rest, func(q point) {
				q = q.plus(s.place.Mouth)
				if math.Hypot(q.X/headWidth, (q.Y-headMiddle)/headHeight) > headFading {
					t.Fatalf("a turn of the head moves the scenery at %.2f", q)
				}
			})
		})
	}
}

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
