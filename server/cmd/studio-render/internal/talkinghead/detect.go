package talkinghead

import (
	"cmp"
	"embed"
	"math"
	"slices"

	pigo "github.com/esimov/pigo/core"
)

// The cascades are copies of those in the module pigo, which does not export them.
//
//go:embed cascade
var cascades embed.FS

// perturbations is the number of positions at which a landmark search starts. Pigo takes the median, which
// is correct for 63 positions only.
const perturbations = 63

// A detector finds faces and their landmarks in gray frames.
type detector struct {
	faces                                  *pigo.Pigo
	pupil, nose, corner, lipTop, lipBottom *pigo.PuplocCascade
}

func newDetector() *detector {
	read := func(name string) []byte {
		data, err := cascades.ReadFile("cascade/" + name)
		if err != nil {
			panic(err) // the file is embedded, as those below are
		}
		return data
	}
	mark := func(name string) *pigo.PuplocCascade {
		cascade, err := pigo.NewPuplocCascade().UnpackCascade(read(name))
		if err != nil {
			panic(err)
		}
		return cascade
	}
	faces, err := pigo.NewPigo().Unpack(read("facefinder"))
	if err != nil {
		panic(err)
	}
	return &detector{faces, mark("puploc"), mark("lp93"), mark("lp84"), mark("lp81"), mark("lp82")}
}

// A sighting is a detected face.
type sighting struct {
	middle point
	size   float64 // side of the square around the face
	score  float64
}

// minScore is the minimum score of a sighting.
const minScore = 20

// find returns the faces in a frame, largest first.
func (d *detector) find(gray plane) []sighting {
	side := min(gray.width, gray.height)
	return d.search(gray, 0, 0, gray.width, gray.height, max(side/10, 24), side)
}

// near returns the best face of about the given size near a point.
func (d *detector) near(gray plane, middle point, size float64) (sighting, bool) {
	reach := size * 0.9
	left, top := max(int(middle.X-reach), 0), max(int(middle.Y-reach), 0)
	right, bottom := min(int(middle.X+reach), gray.width), min(int(middle.Y+reach), gray.height)
	if right-left < int(size) || bottom-top < int(size) {
		return sighting{}, false
	}
	seen := d.search(gray, left, top, right, bottom, int(size*0.8), int(size*1.3))
	if len(seen) == 0 {
		return sighting{}, false
	}
	return slices.MaxFunc(seen, func(a, b sighting) int { return cmp.Compare(a.score, b.score) }), true
}

func (d *detector) search(gray plane, left, top, right, bottom, smallest, largest int) []sighting {
	found := d.faces.RunCascade(pigo.CascadeParams{
		MinSize: smallest, MaxSize: largest, ShiftFactor: 0.08, ScaleFactor: 1.1,
		ImageParams: pigo.ImageParams{Pixels: gray.pix[top*gray.width+left:], Rows: bottom - top, Cols: right - left, Dim: gray.width},
	}, 0)
	var seen []sighting
	for _, f := range d.faces.ClusterDetections(found, 0.2) {
		if f.Q >= minScore {
			seen = append(seen, sighting{point{float64(f.Col + left), float64(f.Row + top)}, float64(f.Scale), float64(f.Q)})
		}
	}
	slices.SortFunc(seen, func(a, b sighting) int { return cmp.Compare(b.size, a.size) })
	return seen
}

// landmarks are the landmarks of a face. Left and right are as seen in the picture.
type landmarks struct {
	LeftEye, RightEye       point
	Nose                    point
	LeftCorner, RightCorner point // corners of the mouth
	LipTop, LipBottom       point
}

// landmarks finds the landmarks of a sighting. It returns false if they are not those of a face seen from
// the front. The lips take as long as all others, so they are found only if needed.
func (d *detector) landmarks(gray plane, s sighting, lips bool) (landmarks, bool) {
	image := pigo.ImageParams{Pixels: gray.pix, Rows: gray.height, Cols: gray.width, Dim: gray.width}
	eye := func(side float64) *pigo.Puploc {
		return d.pupil.RunDetector(pigo.Puploc{
			Row: int(s.middle.Y - 0.075*s.size), Col: int(s.middle.X + side*0.175*s.size),
			Scale: float32(s.size * 0.25), Perturbs: perturbations,
		}, image, 0, false)
	}
	left, right := eye(-1), eye(1)
	if right.Col-left.Col < int(s.size*0.2) || right.Col-left.Col > int(s.size*0.6) {
		return landmarks{}, false
	}
	mark := func(cascade *pigo.PuplocCascade, mirrored bool) point {
		p := cascade.GetLandmarkPoint(left, right, image, perturbations, mirrored)
		return point{float64(p.Col), float64(p.Row)}
	}
	// The cascade of a landmark in the middle of the face is biased to one side, and its mirror image to
	// the other.
	central := func(cascade *pigo.PuplocCascade) point {
		return middle(mark(cascade, false), mark(cascade, true))
	}
	found := landmarks{
		LeftEye: point{float64(left.Col), float64(left.Row)}, RightEye: point{float64(right.Col), float64(right.Row)},
		Nose:       central(d.nose),
		LeftCorner: mark(d.corner, false), RightCorner: mark(d.corner, true),
	}
	if !found.plausible() {
		return landmarks{}, false
	}
	if lips {
		found.LipTop, found.LipBottom = central(d.lipTop), central(d.lipBottom)
	}
	return found, true
}

// plausible reports whether the landmarks are arranged like those of a face that looks into the camera.
func (l landmarks) plausible() bool {
	face := poseOf(l.LeftEye, l.RightEye)
	left, right := face.inFace(l.LeftCorner), face.inFace(l.RightCorner)
	nose, mouth := face.inFace(l.Nose), middle(left, right)
	width := right.X - left.X
	return math.Abs(face.Angle) < 0.6 &&
		width > 0.45 && width < 1.5 &&
		mouth.Y > 0.7 && mouth.Y < 1.7 && math.Abs(mouth.X) < 0.3 &&
		math.Abs(nose.X-mouth.X/2) < 0.3 && nose.Y > 0.2 && nose.Y < mouth.Y &&
		math.Abs(left.Y-right.Y) < 0.3
}

// times returns the landmarks in a frame that is larger by factor.
func (l landmarks) times(factor float64) landmarks {
	for _, p := range []*point{&l.LeftEye, &l.RightEye, &l.Nose, &l.LeftCorner, &l.RightCorner, &l.LipTop, &l.LipBottom} {
		*p = p.times(factor).plus(point{(factor - 1) / 2, (factor - 1) / 2})
	}
	return l
}
