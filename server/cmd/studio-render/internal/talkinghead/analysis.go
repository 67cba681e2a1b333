package talkinghead

import (
	"context"
	"errors"
	"fmt"
	"math"
	"slices"

	"github.com/avatarstudio/avatarstudio/server/internal/render/protocol"
)

// Requirements on a face.
const (
	minSeconds  = 1.0
	minEyes     = 20 // pixels between the eyes
	darkest     = 34 // mean luma of the face
	brightest   = 228
	minContrast = 7   // deviation of the luma
	minSeen     = 0.1 // of the frames
)

// check returns a finding about an input, with one of two sentences for the person who sent it.
func check(name string, ok bool, good, bad string) protocol.Check {
	if ok {
		return protocol.Check{Name: name, Status: protocol.Succeeded, Message: good}
	}
	return protocol.Check{Name: name, Status: protocol.Failed, Message: bad}
}

// unreadable returns the checks of an input that cannot be read.
func unreadable(err error) []protocol.Check {
	if reason, ok := errors.AsType[*protocol.Error](err); ok {
		return []protocol.Check{check("readable", false, "", reason.Reason)}
	}
	return nil
}

// analyse finds the face in each frame of source and checks it. It reports progress between from and to. The error of a
// check that fails is a [*protocol.Error].
func (c Config) analyse(ctx context.Context, source *media, name string, from, to float64) (*track, []protocol.Check, error) {
	t, err := c.follow(ctx, source, name, from, to)
	if err != nil {
		return nil, unreadable(err), err
	}
	found := t.finish()
	checks := t.check(name)
	if i := slices.IndexFunc(checks, func(c protocol.Check) bool { return c.Status == protocol.Failed }); i >= 0 {
		return nil, checks, unusable("%s", checks[i].Message)
	}
	return &found, checks, nil
}

// follow tracks the face through all frames of source.
func (c Config) follow(ctx context.Context, source *media, name string, from, to float64) (*tracker, error) {
	t := newTracker(source)
	if source.noPictures != nil {
		return t, source.noPictures
	}
	expected := source.duration * t.rate
	for f, err := range source.frames(ctx) {
		if badInput(err) {
			return t, damaged(name)
		}
		if err != nil {
			return t, err
		}
		t.add(f)
		if source.picture {
			source.still = f.crop(0, 0, f.width, f.height)
		}
		switch n := len(t.track.Places); {
		case float64(n)/t.rate > maxDuration.Seconds():
			return t, tooLong(name)
		case n%16 == 0:
			c.progress(protocol.Analysing, from, to, float64(n)/max(expected, 1))
		}
	}
	whole, err := source.whole(ctx, len(t.track.Places))
	if err == nil && !whole {
		err = damaged(name)
	}
	return t, err
}

// check returns the findings about a face.
func (t *tracker) check(name string) (checks []protocol.Check) {
	add := func(name string, ok bool, good, bad string) { checks = append(checks, check(name, ok, good, bad)) }
	seconds := float64(len(t.track.Places)) / t.rate
	add("readable", true, name+" can be read.", "")
	if t.track.Picture {
		add("long_enough", true, "A picture is long enough.", "")
	} else {
		add("long_enough", seconds >= minSeconds-0.05, fmt.Sprintf("The video lasts %.1f seconds.", seconds),
			fmt.Sprintf("The video is too short: it lasts %.1f seconds, and at least %.0f is needed.", seconds, minSeconds))
	}
	shown := 0
	for _, p := range t.track.Places {
		if p.Scene >= 0 && p.Strength > 0 {
			shown++
		}
	}
	switch {
	case shown == 0:
		add("one_face", false, "", "No face was found. It must look into the camera, and nothing may cover it.")
		return checks
	case t.faces > 1:
		add("one_face", false, "", fmt.Sprintf("There are %d faces, and only one can speak. Send a picture or video of one person.", t.faces))
	default:
		part := float64(shown) / float64(len(t.track.Places))
		add("one_face", part >= minSeen, fmt.Sprintf("There is one face, visible for %.0f %% of the time.", math.Round(part*100)),
			fmt.Sprintf("The face is visible for only %.0f %% of the time.", math.Round(part*100)))
	}
	m := t.measures
	add("large_enough", m.size >= minEyes, "The face is large enough.",
		fmt.Sprintf("The face is too small: the eyes are %.0f pixels apart, and at least %d are needed.", m.size, minEyes))
	switch {
	case m.light < darkest:
		add("lit", false, "", "The face is too dark.")
	case m.light > brightest:
		add("lit", false, "", "The face is too bright: it is overexposed.")
	default:
		add("lit", m.contrast >= minContrast, "The face is well lit.", "The face has too little contrast.")
	}
	return checks
}
