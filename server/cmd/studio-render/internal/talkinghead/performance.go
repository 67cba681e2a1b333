package talkinghead

import (
	"cmp"
	"context"
	"errors"
	"math"
	"path/filepath"
	"slices"

	"github.com/avatarstudio/avatarstudio/server/internal/render/protocol"
)

// minSound is the minimum length of the sound, in seconds.
const minSound = 0.1

// A performance is a video of a speaking face that is being made.
type performance struct {
	Config
	source    *media
	track     *track
	sound     *media
	mode      SyncMode
	dir, work string

	said     transcript // the sound, if it is known
	words    []word     // of the text that is spoken
	shapes   shapes
	seconds  float64          // of the sound
	checks   []protocol.Check // of the sound
	drawFrom float64          // the progress before the first frame is drawn
}

// hear opens a sound and analyses it. name is the subject of a sentence about the file.
func (p *performance) hear(ctx context.Context, path, name string) (err error) {
	if p.sound, err = open(ctx, path, name); err != nil {
		return err
	}
	return p.analyseSound(ctx)
}

// analyseSound derives the shapes of the mouth from the sound.
func (p *performance) analyseSound(ctx context.Context) error {
	if p.sound.noSound != nil {
		return p.sound.noSound
	}
	var sounds []sound
	spectrum := newSpectrum()
	found, err := p.sound.samples(ctx, func(window []int16) { sounds = append(sounds, spectrum.measure(window)) })
	switch {
	case badInput(err):
		return damaged("The sound")
	case err != nil:
		return err
	case found.seconds > maxDuration.Seconds():
		return tooLong("The sound")
	case found.seconds < minSound:
		return unusable("The sound is too short: it lasts %.1f seconds.", found.seconds)
	case p.sound.sound.Channels > 1 && found.loud > 0: // of silence, there is nothing to say
		p.checks = append(p.checks, heardInMono(found))
	}
	var visemes []viseme
	var indexes []int
	p.shapes, visemes, indexes = mouthShapes(sounds, p.said)
	p.seconds = found.seconds
	p.words = timeWords(p.words, p.said, visemes, indexes)
	return nil
}

// quietMono is the part of the power of a sound that is heard from one speaker, below which the check fails: -20 dB.
const quietMono = 0.01

// heardInMono checks whether a sound is heard from one speaker, too, such as from that of a phone.
func heardInMono(found heard) protocol.Check {
	return check("heard_in_mono", found.mono >= quietMono*found.loud, "The sound can be heard from one speaker, too.",
		"One channel of the sound is the inverse of the other. From one speaker, such as that of a phone, it is silent.")
}

// frames returns the number of frames of a video that is made from n frames.
func (p *performance) frames(n int) int {
	heard := int(math.Ceil(p.seconds*p.source.rate.float() - 0.01))
	if p.source.picture {
		return heard
	}
	return p.mode.frames(n, heard)
}

// The progress is about in proportion to the time that a video of ten seconds takes.
const (
	openedPart   = 0.06 // when the first frame of the source is decoded
	analysedPart = 0.29 // when the face is found in a video
	drawnPart    = 0.95 // of the rest, when the last frame is drawn
)

// render draws and encodes the video.
func (p *performance) render(ctx context.Context) (_ protocol.Result, err error) {
	rate := p.source.rate.float()
	n := len(p.track.Places)
	total := p.frames(n)
	made := protocol.Result{
		Video: filepath.Join(p.dir, videoName), Thumbnail: filepath.Join(p.dir, thumbnailName), Voice: filepath.Join(p.dir, voiceName),
		DurationSeconds: float64(total) / rate, Checks: p.checks,
	}
	stage, err := p.stage(ctx)
	if err != nil {
		return protocol.Result{}, err
	}
	defer stage.player.close()
	output, err := p.encode(ctx, made.Video, made.Voice, total)
	if err != nil {
		return protocol.Result{}, err
	}
	defer output.process.stop()
	previews, err := p.source.preview(ctx, total/3, total, p.work, p.dir)
	if err != nil {
		return protocol.Result{}, err
	}
	defer previews.stop()
	f := newFrame(p.source.width, p.source.height)
	for i := range total {
		if err := stage.draw(ctx, f, i, total); err != nil {
			return protocol.Result{}, err
		}
		if err := cmp.Or(previews.show(i, f), output.write(f)); err != nil {
			return protocol.Result{}, cmp.Or(ctx.Err(), err)
		}
		if i%max(int(rate/2), 1) == 0 {
			p.progress(protocol.Drawing, p.drawFrom, 1, drawnPart*float64(i)/float64(total))
		}
	}
	p.progress(protocol.Finishing, p.drawFrom, 1, drawnPart)
	stage.player.close()
	if err := cmp.Or(output.close(), previews.close()); err != nil {
		return protocol.Result{}, cmp.Or(ctx.Err(), err)
	}
	made.Previews = previews.made
	if err := errors.Join(markVideo(made.Video), markPicture(made.Previews.Still), markPicture(made.Previews.StillPlay)); err != nil {
		return protocol.Result{}, err
	}
	p.progress(protocol.Finishing, 0, 1, 1)
	return made, nil
}

// A stage draws the frames of a performance.
type stage struct {
	*performance
	player *player
	mouths []*mouth
	head   *head // only of a picture
	nods   []float64
	scene  int
}

func (p *performance) stage(ctx context.Context) (*stage, error) {
	s := &stage{performance: p, player: p.source.play(p.work)}
	for i := range p.track.Scenes {
		s.mouths = append(s.mouths, p.track.Scenes[i].mouth(p.track.Picture))
	}
	if p.track.Picture {
		still, err := p.source.firstFrame(ctx)
		if err != nil {
			return nil, errors.Join(err, ctx.Err())
		}
		s.head = newHead(still, p.track.Places[0].Face, p.track.Scenes[0].Eyes, p.seconds)
		s.nods = p.shapes.emphasis()
	}
	return s, nil
}

// time returns the time of the middle of frame i, in seconds.
func (s *stage) time(i int) float64 { return (float64(i) + 0.5) / s.source.rate.float() }

// draw draws frame i of total into f.
func (s *stage) draw(ctx context.Context, f *frame, i, total int) error {
	seen, err := s.film(ctx, f, i, total)
	if err != nil || seen.Scene < 0 {
		return err
	}
	mouth := s.mouths[seen.Scene]
	mouth.lit = mouth.lit && seen.Scene == s.scene
	s.scene = seen.Scene
	mouth.paint(f, seen.Face.at(seen.Mouth), s.shapes.at(s.time(i)), seen.Strength)
	return nil
}

// film draws what the source shows in frame i of total, and returns where the face is.
func (s *stage) film(ctx context.Context, f *frame, i, total int) (place, error) {
	if s.head != nil {
		seen, seconds := s.track.Places[0], s.time(i)
		seen.Face = s.head.move(f, s.head.turn(seconds, at(s.nods, seconds*hopsPerSecond)))
		s.head.blink(f, seen.Face, s.head.closed(seconds))
		return seen, nil
	}
	index := s.mode.source(i, len(s.track.Places), total)
	return s.track.Places[index], s.player.read(ctx, index, f)
}

// emphasis returns, for each hop, how loudly the speaker talks, averaged over more than a syllable.
func (s shapes) emphasis() []float64 {
	const reach = 0.35 * hopsPerSecond
	levels, level := make([]float64, len(s)), 0.0
	for i, shape := range slices.Backward(s) {
		level += (shape.open - level) / reach
		levels[i] = level
	}
	level = 0
	for i := range levels {
		level += (levels[i] - level) / reach
		levels[i] = level
	}
	return levels
}

// at interpolates values at a position. It returns 0 outside the slice.
func at(values []float64, position float64) float64 {
	i := int(position)
	if i < 0 || i+1 >= len(values) {
		return 0
	}
	return values[i] + (values[i+1]-values[i])*(position-float64(i))
}
