package render_test

import (
	"context"
	"errors"
	"io"
	"syscall"
	"testing"

	"github.com/avatarstudio/avatarstudio/server/internal/render"
	"github.com/avatarstudio/avatarstudio/server/internal/studio"
	"github.com/avatarstudio/avatarstudio/server/internal/studiotest"
)

// brokenMedia is a Media that keeps nothing.
type brokenMedia struct{ studio.Media }

func (brokenMedia) Write(context.Context, string, io.Reader) error { return syscall.ENOSPC }

// A result that cannot be kept is no failure of the renderer, or of its user.
func TestExec_cannotKeepTheResult(t *testing.T) {
	t.Parallel()
	s := setup(t, "works", render.Limits{})
	subject := s.lipsync(`{"audio_url":"https://example.com/a"}`)
	s.studio.Media = brokenMedia{s.media}
	if _, err := s.Render(t.Context(), subject); !errors.Is(err, studio.ErrUnavailable) || errors.As(err, new(*studio.RenderError)) {
		t.Errorf("error %v", err)
	}
	s.nothingIsLeft()
}

// A program that finds the disk full may say anything; the rendering works once there is room.
func TestExec_diskFull(t *testing.T) {
	t.Parallel()
	s := setupIn(t, studiotest.SmallDisk(t), "fills the disk when it is told", render.Limits{})
	subject := s.lipsync(`{"audio_url":"https://example.com/full"}`)
	if _, err := s.Render(t.Context(), subject); !errors.Is(err, studio.ErrUnavailable) || errors.As(err, new(*studio.RenderError)) {
		t.Errorf("error %v", err)
	}
	s.nothingIsLeft()
	if _, err := s.Render(t.Context(), s.lipsync(`{"audio_url":"https://example.com/a"}`)); err != nil {
		t.Errorf("with room on the disk: %v", err)
	}
}
