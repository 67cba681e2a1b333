package rest_test

import (
	"context"
	"encoding/json"
	"errors"
	"slices"
	"strings"
	"testing"

	"github.com/avatarstudio/avatarstudio/api/tools/harness"
	"github.com/avatarstudio/avatarstudio/server/internal/memstore"
	"github.com/avatarstudio/avatarstudio/server/internal/studio"
	"github.com/avatarstudio/avatarstudio/server/internal/testing/studiotest"
	"github.com/avatarstudio/avatarstudio/server/sender"
)

// A repeated request with its key gets the first response, whatever has changed since, also if a request with a new key
// is refused. So a client whose response was lost never takes a refusal of the second request for one of the first.
func TestIdempotencyKey_getsTheFirstResponse(t *testing.T) {
	t.Parallel()
	const avatars, videos, lipsyncs, replays = "/v1/avatars/create_avatar", "/v1/avatars/create_video", "/v1/lipsync/create_lipsync", "/v1/events/replay"
	document := harness.Try(document())(t)
	paths := []string{avatars, videos, lipsyncs, replays}
	for path, item := range document.Paths.Map() {
		if item.Post != nil && item.Post.Parameters.GetByInAndName("header", "Idempotency-Key") != nil && !slices.Contains(paths, path) {
			t.Errorf("this test does not repeat %s", path)
		}
	}
	studiotest.EachStore(t, func(t *testing.T, db studio.Store) {
		s, ctx := newSetup(t, db), t.Context()
		avatar := s.record("POST", avatars, `{"title":"Ada"}`, map[string]string{"x-workspace-id": s.workspace.ID}).AvatarID
		s.publish(avatar)
		send := func(path, key string) (status int, answer string) {
			const webhook = `"webhook":{"enabled":true},"webhook_data":{"webhook_url":"https://hooks.example.com/a"}`
			return s.do("POST", path, map[string]string{
				avatars: `{"title":"Ada",` + webhook + `}`, lipsyncs: `{"title":"Hi",` + webhook + `}`,
				videos:  `{"title":"Hi","avatar_id":"` + avatar + `","text":"Hi.","voice":"en-gb"}`,
				replays: `{"since":"2026-01-01T00:00:00Z"}`,
			}[path], map[string]string{"Idempotency-Key": key + path, "x-workspace-id": s.workspace.ID})
		}
		first, made := map[string]string{}, map[string]string{}
		for _, path := range paths {
			status, answer := send(path, "")
			if status != 200 {
				t.Fatalf("%s answers %s", path, answer)
			}
			first[path] = answer
			var r record
			s.check(json.Unmarshal([]byte(answer), &r))
			made[path] = r.id()
		}
		for _, c := range []struct {
			name    string
			change  func() error
			refused []string // the code of a request with a new key, and its path
		}{
			{"nothing", func() error { return nil }, nil},
			{"a failure", func() error {
				_, err := s.studio.Rendered(ctx, made[avatars], studio.Rendering{}, &studio.RenderError{Reason: "No face."})
				return err
			}, nil},
			{"a new title", func() error {
				_, err := s.studio.UpdateProject(ctx, s.user.ID, made[videos], studio.ProjectChange{Title: new("Another")})
				return err
			}, nil},
			{"no membership", func() error {
				if database, ok := db.(studio.DatabaseStore); ok {
					return database.RemoveMember(ctx, s.workspace.ID, s.user.ID)
				}
				return nil
			}, []string{"not_a_member", lipsyncs}},
			{"credits used", func() error {
				s.check(s.studio.AddMember(ctx, s.workspace.ID, s.user.Email))
				_, err := s.studio.Rendered(ctx, made[lipsyncs], studio.Rendering{Video: "video.mp4", Seconds: 2}, nil)
				s.studio.MaxVideoSeconds = 1
				return err
			}, []string{"credits_exhausted", videos}},
			{"a refused webhook", func() error {
				s.studio.Webhooks = refusing{}
				return nil
			}, []string{"webhook_url_not_public", avatars}},
			{"no voices", func() error {
				s.studio.Voices = func(context.Context) ([]studio.Voice, error) { return nil, errors.New("the program is missing") }
				return nil
			}, nil},
			{"creations in progress", func() error {
				s.studio.Webhooks, s.studio.MaxInProgress = studiotest.Webhooks{}, 1
				return nil
			}, []string{"too_many_creations", avatars}},
			{"replays in progress", func() error {
				for i := range 10 {
					s.do("POST", replays, `{"since":"2026-01-01T00:00:00Z"}`, map[string]string{"Idempotency-Key": strings.Repeat("k", i+1)})
				}
				return nil
			}, []string{"too_many_replays", replays}},
			{"deletions", func() error {
				return errors.Join(s.studio.Delete(ctx, s.user.ID, studio.Avatar, avatar), s.studio.Delete(ctx, s.user.ID, studio.Lipsync, made[lipsyncs]))
			}, nil},
		} {
			s.check(c.change())
			// A store in memory ends replays at once, and keeps all members.
			_, inMemory := db.(*memstore.Store)
			if c.refused != nil && (!inMemory || c.refused[1] != replays && c.refused[1] != lipsyncs) {
				if _, answer := send(c.refused[1], "new"); !strings.Contains(answer, `"code":"`+c.refused[0]+`"`) {
					t.Errorf("after %s, a new request of %s is answered with %s, want %s", c.name, c.refused[1], answer, c.refused[0])
				}
			}
			for _, path := range paths {
				if _, again := send(path, ""); again != first[path] {
					t.Errorf("after %s, %s answers\n%swant\n%s", c.name, path, again, first[path])
				}
			}
		}
	})
}

// refusing refuses all URLs.
type refusing struct{ studiotest.Webhooks }

func (refusing) CanonicalURL(string) (string, error) {
	return "", &sender.RefusedError{Reason: "must not be refused", NotPublic: true}
}
