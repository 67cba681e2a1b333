package rest_test

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/getkin/kin-openapi/openapi3"

	"github.com/avatarstudio/avatarstudio/api"
	"github.com/avatarstudio/avatarstudio/server"
	"github.com/avatarstudio/avatarstudio/server/internal/api/ratelimit"
	"github.com/avatarstudio/avatarstudio/server/internal/api/rest"
	"github.com/avatarstudio/avatarstudio/server/internal/memstore"
	"github.com/avatarstudio/avatarstudio/server/internal/store"
	"github.com/avatarstudio/avatarstudio/server/internal/studio"
	"github.com/avatarstudio/avatarstudio/server/internal/testing/studiotest"
	"github.com/avatarstudio/avatarstudio/server/sender"
)

// keyedOperations returns the paths of the operations of the document that accept an Idempotency-Key.
func keyedOperations(t *testing.T) (paths []string) {
	t.Helper()
	document, err := openapi3.NewLoader().LoadFromData(api.Spec)
	if err != nil {
		t.Fatal(err)
	}
	for path, item := range document.Paths.Map() {
		if item.Post != nil && item.Post.Parameters.GetByInAndName("header", "Idempotency-Key") != nil {
			paths = append(paths, path)
		}
	}
	slices.Sort(paths)
	return paths
}

// A repeated request with its key gets the first response, whatever has changed since, also if a request with a new key
// is refused. So a client whose response was lost never takes a refusal of the second request for one of the first.
func TestIdempotencyKey_getsTheFirstResponse(t *testing.T) {
	t.Parallel()
	const avatars, videos, lipsyncs, replays = "/v1/avatars/create_avatar", "/v1/avatars/create_video", "/v1/lipsync/create_lipsync", "/v1/events/replay"
	paths := keyedOperations(t)
	if tested := []string{avatars, videos, replays, lipsyncs}; !slices.Equal(paths, tested) {
		t.Fatalf("the document accepts a key for %v, and this test repeats %v", paths, tested)
	}
	studiotest.EachStore(t, func(t *testing.T, db studio.Store) {
		s, ctx := newSetup(t, db, server.ResponsesEnforced), t.Context()
		rules := s.studio.Config
		eachRecord := func(change func(id string) error) func(string, []string) {
			return func(_ string, made []string) {
				for _, id := range made {
					s.check(change(id))
				}
			}
		}
		for name, c := range map[string]struct {
			change  func(avatar string, made []string) // after the first requests, which have made records of the avatar
			refused map[string][]string                // codes of requests with a new key, with their paths
		}{
			"nothing": {func(string, []string) {}, nil},
			"rendering": {eachRecord(func(id string) error {
				return s.studio.Progressed(ctx, id, studio.Progress{Done: 0.5, Stage: "rendering", Left: time.Minute})
			}), nil},
			"failed": {eachRecord(func(id string) error {
				_, err := s.studio.Rendered(ctx, id, studio.Rendering{}, &studio.RenderError{Reason: "No face."})
				return err
			}), nil},
			"renamed": {func(avatar string, made []string) {
				eachRecord(func(id string) error {
					_, err := s.studio.UpdateProject(ctx, s.user.ID, id, studio.ProjectChange{Title: new("Another")})
					return err
				})("", append(made, avatar))
			}, nil},
			"deleted": {eachRecord(func(id string) error {
				subject, err := db.Subject(ctx, id)
				return errors.Join(err, s.studio.Delete(ctx, s.user.ID, subject.Kind, id))
			}), nil},
			"avatar deleted": {func(avatar string, _ []string) {
				s.check(s.studio.Delete(ctx, s.user.ID, studio.Avatar, avatar))
			}, map[string][]string{"not_found": {videos}}},
			"not a member": {func(string, []string) {
				s.check(s.studio.RemoveMember(ctx, s.workspace.ID, s.user.Email))
			}, map[string][]string{"not_a_member": {avatars, videos, lipsyncs}}},
			"webhook refused": {func(string, []string) {
				s.studio.Webhooks = refusing{}
			}, map[string][]string{"webhook_url_not_public": {avatars, lipsyncs}}},
			"voice removed": {func(string, []string) {
				s.studio.Voices = func(context.Context) ([]studio.Voice, error) { return []studio.Voice{{ID: "eo", Language: "eo"}}, nil }
			}, map[string][]string{"unknown_voice": {videos}}},
			"voices unavailable": {func(string, []string) {
				s.studio.Voices = func(context.Context) ([]studio.Voice, error) { return nil, errors.New("the program is missing") }
			}, nil},
			"credits used": {func(_ string, made []string) {
				_, err := s.studio.Rendered(ctx, made[len(made)-1], studio.Rendering{Video: "video.mp4", Seconds: 2}, nil)
				s.check(err)
				s.studio.MaxVideoSeconds = 1
			}, map[string][]string{"credits_exhausted": {videos, lipsyncs}}},
			"creations in progress": {func(string, []string) {
				s.studio.MaxInProgress = 1
			}, map[string][]string{"too_many_creations": {avatars, videos, lipsyncs}}},
			"replays in progress": {func(string, []string) {
				for i := range 10 {
					s.do("POST", replays, `{"since":"2026-01-01T00:00:00Z"}`, map[string]string{"Idempotency-Key": strings.Repeat("k", i+1)})
				}
			}, map[string][]string{"too_many_replays": {replays}}},
		} {
			avatar := s.record("POST", avatars, `{"title":"Ada"}`, map[string]string{"x-workspace-id": s.workspace.ID}).AvatarID
			s.publish(avatar)
			send := func(path, key string) (status int, answer string) {
				header := map[string]string{"Idempotency-Key": strings.ReplaceAll(key+path, " ", "-"), "x-workspace-id": s.workspace.ID}
				const webhook = `"webhook":{"enabled":true},"webhook_data":{"webhook_url":"https://hooks.example.com/a"}`
				return s.do("POST", path, map[string]string{
					avatars: `{"title":"Ada",` + webhook + `}`, lipsyncs: `{"title":"Hi",` + webhook + `}`,
					videos:  `{"title":"Hi","avatar_id":"` + avatar + `","text":"Hi.","voice":"en-gb"}`,
					replays: `{"since":"2026-01-01T00:00:00Z"}`,
				}[path], header)
			}
			first := map[string]string{}
			var made []string
			for _, path := range paths {
				status, answer := send(path, name)
				if status != 200 {
					t.Fatalf("%s: %s answers %s", name, path, answer)
				}
				first[path] = answer
				var r record
				s.check(json.Unmarshal([]byte(answer), &r))
				if id := cmp.Or(r.InferenceID, r.AvatarID); id != "" {
					made = append(made, id)
				}
			}
			c.change(avatar, made)
			for code, refused := range c.refused {
				for _, path := range refused {
					if _, inMemory := db.(*memstore.Store); inMemory && path == replays {
						continue // it ends replays at once
					}
					if _, answer := send(path, name+" new "); !strings.Contains(answer, `"code":"`+code+`"`) {
						t.Errorf("%s: a new request of %s is answered with %s, want %s", name, path, answer, code)
					}
				}
			}
			for _, path := range paths {
				if _, again := send(path, name); again != first[path] {
					t.Errorf("%s: %s answers first\n%sthen\n%s", name, path, first[path], again)
				}
			}
			s.studio.Webhooks, s.studio.Voices, s.studio.MaxVideoSeconds, s.studio.MaxInProgress = rules.Webhooks, rules.Voices, 0, 0
			s.check(s.studio.AddMember(ctx, s.workspace.ID, s.user.Email))
			if replayed, ok := db.(*store.Store); ok {
				studiotest.FinishReplays(t, replayed, s.clock.Now())
			}
		}
	})
}

// A repeated request is authenticated and counts against the limit of the rate like every other one.
func TestIdempotencyKey_doesNotReplaceTheTokenOrRaiseTheRate(t *testing.T) {
	inMemory(t, func(s *setup) {
		s.serve(rest.New(s.studio), server.Config{Admit: ratelimit.New(1).Admit})
		send := func(authorization string) (code string) {
			_, answer := s.do("POST", "/v1/lipsync/create_lipsync", `{}`, map[string]string{"Idempotency-Key": "key", "Authorization": authorization})
			_, code, _ = strings.Cut(answer, `"code":"`)
			code, _, _ = strings.Cut(code, `"`)
			return code
		}
		if code := send("Bearer " + s.token); code != "" {
			s.t.Error(code)
		}
		if code := send("Bearer " + s.token + "x"); code != "unauthorized" {
			s.t.Errorf("a repeated request with a bad token: %q", code)
		}
		code := ""
		for range 100 { // so that one of them is not a second later
			code = cmp.Or(code, send("Bearer "+s.token))
		}
		if code != "too_many_requests" {
			s.t.Errorf("101 requests: %q", code)
		}
	})
}

// refusing refuses all URLs.
type refusing struct{ studiotest.Webhooks }

func (refusing) CanonicalURL(string) (string, error) {
	return "", &sender.RefusedError{Reason: "must not be refused", NotPublic: true}
}
