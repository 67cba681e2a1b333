package talkinghead

import (
	"math"
	"slices"
)

// A track is the position of the face in each frame of a source, with the data needed to paint its mouth.
// Avatars store it.
type track struct {
	Width   int
	Height  int
	Picture bool
	Places  []place
	Scenes  []scene
}

// A place is the position of the face in one frame.
type place struct {
	Face  pose
	Mouth point // in face coordinates
	// Strength is the opacity of the painted mouth, from 0 to 1. It is 0 where the face is lost, turned
	// away or covered.
	Strength float64
	Scene    int
}

// A scene is a part of a source in which a face is tracked without interruption. Its mouth is taken from
// the frame in which it is most closed.
type scene struct {
	Pose  pose // in Pix; the origin is the middle of the mouth
	Eyes  [2]point
	Lips  lips
	Tones tones
	// Width, Height and Pix are the part of the frame around the mouth.
	Width, Height int
	Pix           []byte
}

// Parameters of the tracking.
const (
	looksPerSecond = 5    // how often landmarks are detected
	bridge         = 1.0  // seconds for which a face may be undetected
	fade           = 0.2  // seconds over which a mouth fades in and out
	steady         = 0.45 // width of the average over landmarks, in seconds
	minLikeness    = 0.55
	coverLikeness  = 0.55
	maxScenes      = 200
	analysed       = 640 // maximum size of the frames for detection, in pixels of the longer side
)

// A look is the result of one detection of landmarks.
type look struct {
	frame int
	face  pose // derived from the eyes
	mouth point
}

// A tracker tracks a face through frames.
type tracker struct {
	detector *detector
	rate     float64
	factor   int // by which frames are scaled down
	gray     []byte

	track    track
	faces    int // number of faces in the first frame with a face
	measures faceMeasures

	last   *patch
	lower  *patch // the surroundings of the mouth
	face   pose   // in the scaled frame; valid while last is not nil
	size   float64
	offset point // from the origin of the pose to the middle of the sighting, in face coordinates
	start  int   // first frame of the scene
	recent int   // last frame in which the face was detected, even if covered
	looks  []look
}

// faceMeasures are the inputs of the checks.
type faceMeasures struct {
	size     float64 // eye distance in pixels
	light    float64 // mean luma of the face
	contrast float64
}

func newTracker(source *media) *tracker {
	width, height := source.width, source.height
	factor := 1
	for max(width, height)/(factor+1) >= analysed*3/4 {
		factor++
	}
	return &tracker{
		detector: newDetector(), rate: source.rate.float(), factor: factor, gray: make([]byte, (width/factor)*(height/factor)),
		track: track{Width: width, Height: height, Picture: source.picture},
	}
}

// add tracks the face into the next frame.
func (t *tracker) add(f *frame) {
	gray := f.reduce(t.factor, t.gray)
	n := len(t.track.Places)
	due := n%max(int(math.Round(t.rate/looksPerSecond)), 1) == 0
	if t.last != nil {
		face, like := t.last.follow(gray, t.face)
		if like < minLikeness {
			t.end()
			due = true
		} else {
			t.face, t.last = face, newPatch(gray, face)
		}
	}
	t.track.Places = append(t.track.Places, place{Scene: -1})
	if due {
		t.look(f, gray, n)
	}
	if t.last != nil {
		p := &t.track.Places[n]
		p.Face, p.Scene = t.face.times(float64(t.factor)), len(t.track.Scenes)-1
		if float64(n-t.recent)/t.rate > bridge {
			t.end()
		}
	}
}

// look detects the landmarks of the tracked face, or searches the frame for a face.
func (t *tracker) look(f *frame, gray plane, n int) {
	var s sighting
	if t.last != nil {
		var ok bool
		if s, ok = t.detector.near(gray, t.face.inFrame(t.offset), t.size); !ok {
			return
		}
	} else {
		faces := t.detector.find(gray)
		if len(faces) == 0 {
			return
		}
		s = faces[0]
		count := 1
		for _, other := range faces[1:] {
			// Noise may look like a face, but hardly has landmarks. A turned face may be seen twice.
			apart := other.middle.minus(s.middle).length() > s.size/2
			if _, ok := t.detector.landmarks(gray, other, false); ok && apart && other.size > s.size*0.5 {
				count++
			}
		}
		t.faces = max(t.faces, count)
	}
	// A more closed mouth is a better source.
	seeking := t.last == nil || t.track.Scenes[len(t.track.Scenes)-1].Lips.Gap > 0
	marks, ok := t.detector.landmarks(gray, s, seeking)
	if !ok {
		return
	}
	face := poseOf(marks.LeftEye, marks.RightEye)
	mouth := face.inFace(middle(marks.LeftCorner, marks.RightCorner))
	around := face.at(mouth)
	around.Scale *= 0.8
	covering := newPatch(gray, around) // by which a hand in front of the mouth is detected
	t.recent = n
	if t.last != nil && t.lower.likeness(covering) < coverLikeness {
		return
	}
	t.size = s.size
	large := marks.times(float64(t.factor))
	if t.last == nil {
		if len(t.track.Scenes) == maxScenes {
			return
		}
		t.face, t.start, t.lower = face, n, covering
		t.last, t.offset = newPatch(gray, face), face.inFace(s.middle)
		t.track.Scenes = append(t.track.Scenes, newScene(f, large))
		if len(t.track.Scenes) == 1 {
			t.measures = measureFace(f, large)
		}
	} else if seeking {
		current := &t.track.Scenes[len(t.track.Scenes)-1]
		if better := newScene(f, large); better.Lips.Gap < current.Lips.Gap-0.005 {
			*current = better
		}
	}
	t.looks = append(t.looks, look{n, face.times(float64(t.factor)), mouth})
}

// end ends the scene and averages its landmarks over time.
func (t *tracker) end() {
	if t.last == nil {
		return
	}
	t.last = nil
	places := t.track.Places
	corrections := make([]correction, len(t.looks))
	for i, l := range t.looks {
		followed := places[l.frame].Face
		shift := followed.inFace(point{l.face.X, l.face.Y})
		corrections[i] = correction{l.frame, [6]float64{
			shift.X, shift.Y, math.Log(l.face.Scale / followed.Scale), l.face.Angle - followed.Angle, l.mouth.X, l.mouth.Y,
		}}
	}
	for i := t.start; i < len(places); i++ {
		p := &places[i]
		if p.Scene < 0 {
			continue
		}
		c := smoothed(corrections, i, steady*t.rate)
		moved := p.Face.at(point{c[0], c[1]})
		moved.Scale *= math.Exp(c[2])
		moved.Angle += c[3]
		p.Face, p.Mouth = moved, point{c[4], c[5]}
	}
	// The mouth fades in and out with the face, except at cuts.
	for i, l := range t.looks {
		to := min(l.frame+int(t.rate/looksPerSecond)+1, len(places)-1)
		if i+1 < len(t.looks) && float64(t.looks[i+1].frame-l.frame)/t.rate <= bridge/2 {
			to = t.looks[i+1].frame
		}
		for n := l.frame; n <= to && places[n].Scene >= 0; n++ {
			places[n].Strength = 1
		}
	}
	t.looks = t.looks[:0]
}

// finish ends the last scene and returns the track.
func (t *tracker) finish() track {
	t.end()
	t.track.fade(max(int(fade*t.rate), 1))
	return t.track
}

// fade makes the strength rise and fall over the given number of frames.
func (t *track) fade(frames int) {
	step := 1 / float64(frames)
	soften := func(i, neighbour int) {
		if neighbour >= 0 && neighbour < len(t.Places) && t.Places[i].Scene == t.Places[neighbour].Scene {
			t.Places[i].Strength = min(t.Places[i].Strength, t.Places[neighbour].Strength+step)
		}
	}
	for i := range t.Places {
		soften(i, i-1)
	}
	for i := range slices.Backward(t.Places) {
		soften(i, i+1)
	}
}

// A correction is the difference between detected landmarks and the tracked pose in one frame, with the
// position of the mouth.
type correction struct {
	frame  int
	values [6]float64
}

// smoothed returns the mean of corrections around a frame, weighted by a Gaussian.
func smoothed(corrections []correction, frame int, width float64) (mean [6]float64) {
	var total float64
	first, _ := slices.BinarySearchFunc(corrections, frame-int(4*width), func(c correction, frame int) int { return c.frame - frame })
	for _, c := range corrections[min(first, len(corrections)-1):] {
		away := float64(c.frame-frame) / width
		if away > 4 && total > 0 {
			break
		}
		weight := math.Exp(-away*away/2) + 1e-9
		total += weight
		for i, v := range c.values {
			mean[i] += weight * v
		}
	}
	for i := range mean {
		mean[i] /= total
	}
	return mean
}

// newScene returns a scene with the mouth of a frame.
func newScene(f *frame, marks landmarks) scene {
	face := poseOf(marks.LeftEye, marks.RightEye)
	mouth := face.at(face.inFace(middle(marks.LeftCorner, marks.RightCorner)))
	s := scene{Pose: mouth, Eyes: [2]point{marks.LeftEye, marks.RightEye}, Lips: measureLips(f, mouth, marks)}
	s.Tones = measureTones(f, mouth, s.Lips)
	left, top, right, bottom := f.luma().around(mouth)
	left, top = left/2*2, top/2*2
	right, bottom = min((right+5)/2*2, f.width), min((bottom+5)/2*2, f.height)
	part := f.crop(left, top, max(right-left, 2), max(bottom-top, 2))
	s.Width, s.Height, s.Pix = part.width, part.height, part.pix
	s.Pose.X -= float64(left)
	s.Pose.Y -= float64(top)
	return s
}

// measureFace measures the inputs of the checks.
func measureFace(f *frame, marks landmarks) faceMeasures {
	face := poseOf(marks.LeftEye, marks.RightEye)
	luma := f.luma()
	var p patch
	for i := range p {
		q := patchPoint(i)
		place := face.inFrame(point{q.X, q.Y * 2})
		p[i] = luma.at(place.X, place.Y)
	}
	mean, deviation := p.normalize()
	return faceMeasures{face.Scale, mean, deviation}
}

// mouth returns the mouth of the scene for painting. picture reports whether the source is a picture.
func (s *scene) mouth(picture bool) *mouth {
	return &mouth{scene: s, frame: &frame{s.Width, s.Height, s.Pix}, picture: picture}
}
