package studio_test

import (
	"strings"
	"testing"

	"github.com/avatarstudio/avatarstudio/server/internal/store"
	"github.com/avatarstudio/avatarstudio/server/internal/studio"
	"github.com/avatarstudio/avatarstudio/server/internal/studiotest"
)

// Deleting an avatar erases its files and those of its videos, and a rendering that ends after it
// leaves none.
func TestDelete_erasesFiles(t *testing.T) {
	t.Parallel()
	studiotest.EachDatabase(t, func(t *testing.T, db *store.Store) {
		clock := studiotest.NewClock()
		cfg := studiotest.Config(db, clock.Now)
		cfg.AutoConsent = func(studio.Subject) bool { return true }
		service, media := studio.New(cfg), cfg.Media.(*studiotest.Media)
		user := studiotest.AddUser(t, service, "ada@example.com")
		write := func(id string) {
			check(t, media.Write(t.Context(), studio.ResultKey(id, "out.mp4"), strings.NewReader("x")))
		}
		avatar, err := service.CreateAvatar(t.Context(), studio.Creation{UserID: user.ID, Request: []byte("{}")})
		check(t, err)
		write(avatar.ID)
		_, err = service.Rendered(t.Context(), avatar.ID, studio.Rendering{Files: []string{"out.mp4"}}, nil)
		check(t, err)
		video, err := service.CreateVideo(t.Context(), avatar.ID, studio.Creation{UserID: user.ID, Request: []byte("{}")})
		check(t, err)
		write(video.ID)
		other, err := service.CreateLipsync(t.Context(), studio.Creation{UserID: user.ID, Request: []byte("{}")})
		check(t, err)
		write(other.ID)

		check(t, service.Delete(t.Context(), user.ID, studio.Avatar, avatar.ID))
		want := studio.ResultKey(other.ID, "out.mp4")
		if keys := media.Keys(); len(keys) != 1 || keys[0] != want {
			t.Errorf("files that are left: %v, want %s", keys, want)
		}
		write(video.ID)
		_, err = service.Rendered(t.Context(), video.ID, studio.Rendering{Video: "out.mp4"}, nil)
		wantError(t, err, studio.ErrNotFound)
		if keys := media.Keys(); len(keys) != 1 {
			t.Errorf("files that are left: %v", keys)
		}
	})
}

// Progress never falls, and ends at 100.
func TestProgressed(t *testing.T) {
	t.Parallel()
	studiotest.EachDatabase(t, func(t *testing.T, db *store.Store) {
		clock := studiotest.NewClock()
		service := studio.New(studiotest.Config(db, clock.Now))
		user := studiotest.AddUser(t, service, "ada@example.com")
		lipsync, err := service.CreateLipsync(t.Context(), studio.Creation{UserID: user.ID, Request: []byte("{}")})
		check(t, err)
		shows := func(want int) {
			t.Helper()
			found, err := service.Find(t.Context(), user.ID, studio.Lipsync, lipsync.ID)
			check(t, err)
			if found.Progress != want {
				t.Errorf("progress %d, want %d", found.Progress, want)
			}
		}
		check(t, service.Progressed(t.Context(), lipsync.ID, 0.4))
		shows(40)
		check(t, service.Progressed(t.Context(), lipsync.ID, 0.2))
		shows(40)
		_, err = service.Rendered(t.Context(), lipsync.ID, studio.Rendering{Video: "out.mp4"}, nil)
		check(t, err)
		shows(100)
		check(t, service.Progressed(t.Context(), lipsync.ID, 0.5))
		shows(100)
	})
}
