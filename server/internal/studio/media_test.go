package studio_test

import (
	"slices"
	"strings"
	"testing"

	"github.com/avatarstudio/avatarstudio/server/internal/memstore"
	"github.com/avatarstudio/avatarstudio/server/internal/studio"
	"github.com/avatarstudio/avatarstudio/server/internal/testing/studiotest"
)

// Deleting an avatar erases its files and those of its videos. A rendering that ends later leaves no files.
func TestDelete_erasesFiles(t *testing.T) {
	t.Parallel()
	each(t, func(t *testing.T, service *studio.Service, _ *studiotest.Clock) {
		service.AutoConsent = func(studio.Subject) bool { return true }
		media := service.Media.(*memstore.Media)
		user := studiotest.AddUser(t, service, "ada@example.com")
		write := func(id string) {
			check(t, media.Write(t.Context(), studio.ResultKey(id, "out.mp4"), strings.NewReader("x")))
		}
		avatar := try(service.CreateAvatar(t.Context(), studio.Creation{UserID: user.ID, Request: []byte("{}")}))(t)
		write(avatar.ID)
		try(service.Rendered(t.Context(), avatar.ID, studio.Rendering{Files: []string{"out.mp4"}}, nil))(t)
		video := try(service.CreateVideo(t.Context(), avatar.ID, studio.Creation{UserID: user.ID, Request: []byte("{}")}))(t)
		write(video.ID)
		other := try(service.CreateLipsync(t.Context(), studio.Creation{UserID: user.ID, Request: []byte("{}")}))(t)
		write(other.ID)

		check(t, service.Delete(t.Context(), user.ID, studio.Avatar, avatar.ID))
		want := studio.ResultKey(other.ID, "out.mp4")
		if keys := media.Keys(); len(keys) != 1 || keys[0] != want {
			t.Errorf("files that are left: %v, want %s", keys, want)
		}
		write(video.ID)
		_, err := service.Rendered(t.Context(), video.ID, studio.Rendering{Video: "out.mp4"}, nil)
		wantError(t, err, studio.ErrNotFound)
		if keys := media.Keys(); len(keys) != 1 {
			t.Errorf("files that are left: %v", keys)
		}
	})
}

// The files of a rendering are needed, and no others are after it.
func TestMediaNeeded_filesOfTheRendering(t *testing.T) {
	t.Parallel()
	each(t, func(t *testing.T, service *studio.Service, _ *studiotest.Clock) {
		user := studiotest.AddUser(t, service, "ada@example.com")
		lipsync := try(service.CreateLipsync(t.Context(), studio.Creation{UserID: user.ID, Request: []byte("{}")}))(t)
		_, err := service.Rendered(t.Context(), lipsync.ID, studio.Rendering{
			Video: "out.mp4", Thumbnail: "out.jpg", Voice: "out.m4a", Subtitles: "out.srt", Captions: "out.vtt", Language: "en",
			Previews: studio.Previews{Still: "a.png", StillPlay: "b.png", Animation: "a.gif", AnimationPlay: "b.gif"}, Files: []string{"face.bin"},
		}, nil)
		check(t, err)
		for name, want := range map[string]bool{
			"out.mp4": true, "out.jpg": true, "out.m4a": true, "out.srt": true, "out.vtt": true, "face.bin": true,
			"a.png": true, "b.png": true, "a.gif": true, "b.gif": true, "": false, "en": false, "old.png": false,
		} {
			needed := try(service.MediaNeeded(t.Context(), studio.ResultKey(lipsync.ID, name)))(t)
			if needed != want {
				t.Errorf("need of %q: %t", name, needed)
			}
		}
		for _, key := range []string{"notes.txt", "1.tmp", "results/old.png", "other/" + studio.ResultKey(lipsync.ID, "old.png")} {
			if needed := try(service.MediaNeeded(t.Context(), key))(t); !needed {
				t.Errorf("%s, which is somebody else's, is not needed", key)
			}
		}
	})
}

// Deleting a subject erases its uploads that no other subject of the user uses, and no uploads of other
// users.
func TestDelete_erasesUnusedUploads(t *testing.T) {
	t.Parallel()
	each(t, func(t *testing.T, service *studio.Service, _ *studiotest.Clock) {
		media := service.Media.(*memstore.Media)
		ada, bob := studiotest.AddUser(t, service, "ada@example.com"), studiotest.AddUser(t, service, "bob@example.com")
		upload := func(user studio.User) (key, url string) {
			made, url, err := service.Upload(t.Context(), user.ID, "audio/wav", strings.NewReader("x"))
			check(t, err)
			return made.Key, url
		}
		create := func(user studio.User, urls ...string) string {
			made := try(service.CreateLipsync(t.Context(), studio.Creation{UserID: user.ID, Request: []byte(`{"video_url":"` + strings.Join(urls, `","audio_url":"`) + `"}`)}))(t)
			return made.ID
		}
		_, own := upload(ada)
		shared, sharedURL := upload(ada)
		foreign, foreignURL := upload(bob)
		unused, _ := upload(ada)
		first, second, _ := create(ada, own, sharedURL), create(ada, sharedURL, foreignURL), create(bob, own, sharedURL)

		wantKeys := func(want ...string) {
			t.Helper()
			slices.Sort(want)
			if keys := media.Keys(); !slices.Equal(keys, want) {
				t.Errorf("files that are left: %v, want %v", keys, want)
			}
		}
		check(t, service.Delete(t.Context(), ada.ID, studio.Lipsync, first))
		wantKeys(shared, foreign, unused)
		for range 2 { // idempotent
			check(t, service.Delete(t.Context(), ada.ID, studio.Lipsync, second))
			wantKeys(foreign, unused)
		}
		_, err := service.Store.Upload(t.Context(), strings.Split(shared, "/")[1])
		wantError(t, err, studio.ErrNotFound)
	})
}
