package render_test

import (
	"context"
	"errors"
	"io"
	"os"
	"path/filepath"
	"syscall"
	"testing"

	"github.com/avatarstudio/avatarstudio/server/internal/render"
	"github.com/avatarstudio/avatarstudio/server/internal/studio"
	"github.com/avatarstudio/avatarstudio/server/internal/testing/studiotest"
)

// brokenMedia is a studio.Media whose writes fail.
type brokenMedia struct{ studio.Media }

func (brokenMedia) Write(context.Context, string, io.Reader) error { return syscall.ENOSPC }

// A failed write to the media store is reported as unavailable, not as a failure of the rendering.
func TestExec_mediaFailureIsUnavailable(t *testing.T) {
	t.Parallel()
	s := setup(t, "works", render.Limits{})
	subject := s.lipsync(`{"audio_url":"https://example.com/a"}`)
	s.studio.Media = brokenMedia{s.media}
	if _, err := s.Render(t.Context(), subject); !errors.Is(err, studio.ErrUnavailable) || errors.As(err, new(*studio.RenderError)) || err.Error() != syscall.ENOSPC.Error() {
		t.Errorf("error %v", err)
	}
	s.noWorkDirs()
}

// A disk without space or inodes is reported as unavailable, whatever the program reports. Rendering works again when
// the disk has room.
func TestExec_fullDiskIsUnavailable(t *testing.T) {
	t.Parallel()
	s := setupIn(t, studiotest.SmallDisk(t), "fills the disk on request", render.Limits{})
	for _, fills := range []string{"full", "files"} {
		subject := s.lipsync(`{"audio_url":"https://example.com/` + fills + `"}`)
		if _, err := s.Render(t.Context(), subject); !errors.Is(err, studio.ErrUnavailable) || errors.As(err, new(*studio.RenderError)) {
			t.Errorf("%s: %v", fills, err)
		}
		s.noWorkDirs()
	}
	if _, err := s.Render(t.Context(), s.lipsync(`{"audio_url":"https://example.com/a"}`)); err != nil {
		t.Errorf("with room on the disk: %v", err)
	}
}

// Voices that could not be listed yet because the working directory is gone are unavailable. Those that were listed
// stay.
func TestExec_Voices_withoutADirectoryAreUnavailable(t *testing.T) {
	t.Parallel()
	for _, listed := range []bool{false, true} {
		s := setup(t, "speaks", render.Limits{})
		if listed {
			try(s.Voices(t.Context()))(t)
		}
		found := try(filepath.Glob(filepath.Join(s.dir, "studiod-render-*")))(t)
		check(t, os.Rename(found[0], found[0]+".away"))
		for range 2 {
			if voices, err := s.Voices(t.Context()); errors.Is(err, studio.ErrUnavailable) == listed || len(voices) > 0 != listed {
				t.Errorf("listed before %t: %v, %v", listed, voices, err)
			}
		}
		check(t, os.Rename(found[0]+".away", found[0]))
	}
}
