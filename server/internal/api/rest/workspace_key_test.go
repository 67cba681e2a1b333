package rest_test

import (
	"fmt"
	"net/http"
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/avatarstudio/avatarstudio/server/internal/store"
	"github.com/avatarstudio/avatarstudio/server/internal/studio"
	"github.com/avatarstudio/avatarstudio/server/internal/testing/studiotest"
)

// A key for a workspace knows the records and events of this workspace only, may not do what concerns the whole
// account, and nothing while its user is not a member.
func TestWorkspaceKey_staysInItsWorkspace(t *testing.T) {
	t.Parallel()
	studiotest.EachDatabase(t, func(t *testing.T, db *store.Store) {
		s := newSetup(t, db)
		avatar, _ := s.addEvents()
		_, err := db.ExhaustEvents(t.Context(), avatar, s.clock.Now(), studio.ReasonSchedule)
		s.check(err)
		cases := s.operations() // whose records are in the only workspace
		replay := cases["POST /v1/events/replay"]
		replay.body = `{"since":"2026-01-01T00:00:00Z","states":["exhausted","delivered"],"dry_run":true}`
		cases["POST /v1/events/replay"] = replay
		key := func(workspaceID string) string {
			_, secret, err := s.studio.AddAPIKey(t.Context(), studio.APIKey{UserID: s.user.ID, Name: "batch", WorkspaceID: workspaceID})
			s.check(err)
			return secret
		}
		other, err := s.studio.AddWorkspace(t.Context(), "", "Ads")
		s.check(err)
		s.check(s.studio.AddMember(t.Context(), other.ID, s.user.Email))
		_, err = s.studio.ImportProjects(t.Context(), []studio.Project{{ID: "imported", WorkspaceID: s.workspace.ID, UserID: s.user.ID, Document: `{}`}})
		s.check(err)
		here, there := key(s.workspace.ID), key(other.ID)
		each := func(token string, want func(c operation) (status int, shows string)) {
			s.token = token
			for _, c := range cases {
				if c.reach == public || c.reach == follows {
					continue
				}
				status, shows := want(c)
				if c.reach == lists && token == there {
					c.header = nil
				}
				s.wantStatus(c, status, shows)
			}
		}
		each(there, func(c operation) (status int, shows string) {
			switch c.reach {
			case single:
				return http.StatusNotFound, `"code":"not_found"`
			case account:
				return http.StatusForbidden, `"code":"api_key_workspace"`
			case lists:
				return http.StatusOK, ""
			default:
				return c.status, ""
			}
		})
		// Nothing of the first workspace is in a list of the other one: the records that were created there are the
		// only ones.
		var ids []string
		for _, c := range cases {
			if c.reach == single {
				ids = append(ids, regexp.MustCompile(`[0-9a-f]{8}-[0-9a-f-]{27}`).FindAllString(c.target+c.body, -1)...)
			}
		}
		for _, list := range []string{"/v1/avatars/list", "/v1/avatars/list_inferences", "/v1/lipsync/list", "/v1/events", "/projects/v2"} {
			_, answer := s.do("GET", list, "", nil)
			for _, id := range ids {
				if strings.Contains(answer, id) {
					t.Errorf("%s has %s of another workspace: %s", list, id, answer)
				}
			}
		}
		s.wantCode("", `"events":0}`, "POST", "/v1/events/replay", replay.body, nil)
		s.wantCode("not_found", "", "POST", "/v1/projects/update", `{"project_id":"imported"}`, nil)
		for _, create := range []string{"/v1/avatars/create_avatar", "/v1/lipsync/create_lipsync"} {
			s.wantCode("api_key_workspace", "", "POST", create, `{}`, map[string]string{"X-Workspace-Id": s.workspace.ID})
		}
		each(here, func(c operation) (status int, shows string) {
			if c.reach == account {
				return http.StatusForbidden, `"code":"api_key_workspace"`
			}
			return c.status, map[string]string{replay.id: `"events":3}`}[c.id]
		})

		// What is deleted stays in its workspace.
		deleted := cases["POST /v1/lipsync/delete_lipsync"].body
		s.token = there
		s.wantCode("not_found", "", "POST", "/v1/lipsync/delete_lipsync", deleted, nil)
		s.token = here
		if status, answer := s.do("POST", "/v1/lipsync/delete_lipsync", deleted, nil); status != http.StatusNoContent {
			t.Errorf("the deletion again: %d %s", status, answer)
		}

		// A deletion of an avatar would delete the videos that others made of it.
		s.token = key("")
		ofAvatar := fmt.Sprintf(`{"avatar_id":%q}`, avatar)
		video := s.record("POST", "/v1/avatars/create_video", ofAvatar, map[string]string{"X-Workspace-Id": other.ID})
		s.record("POST", "/v1/avatars/create_video", ofAvatar, map[string]string{"X-Workspace-Id": s.workspace.ID})
		s.token = here
		s.wantCode("api_key_workspace", "", "POST", "/v1/avatars/delete_avatar", ofAvatar, nil)
		s.check(s.studio.Delete(t.Context(), s.user.ID, studio.Video, video.id()))
		if status, answer := s.do("POST", "/v1/avatars/delete_avatar", ofAvatar, nil); status != http.StatusNoContent {
			t.Errorf("the deletion of an avatar with a video in its workspace: %d %s", status, answer)
		}

		s.check(db.RemoveMember(t.Context(), s.workspace.ID, s.user.ID))
		s.clock.Add(time.Second)
		each(here, func(operation) (status int, shows string) {
			return http.StatusUnauthorized, `"code":"unauthorized"`
		})
	})
}

// A stream with a key for a workspace has the past and the new events of this workspace.
func TestWorkspaceKey_streamsItsWorkspace(t *testing.T) {
	t.Parallel()
	studiotest.EachDatabase(t, func(t *testing.T, db *store.Store) {
		s := newSetup(t, db)
		other, err := s.studio.AddWorkspace(t.Context(), "", "Ads")
		s.check(err)
		s.check(s.studio.AddMember(t.Context(), other.ID, s.user.Email))
		avatar := func(workspaceID string) string {
			made, err := s.studio.CreateAvatar(t.Context(), studio.Creation{UserID: s.user.ID, WorkspaceID: workspaceID, Request: []byte(`{}`)})
			s.check(err)
			return made.ID
		}
		begin := s.position()
		avatar(s.workspace.ID)
		wanted := []string{avatar(other.ID)}
		avatar(s.workspace.ID)
		items, err := s.studio.StreamEvents(studio.OnlyWorkspace(t.Context(), other.ID), s.user.ID, begin)
		s.check(err)
		for item, err := range items {
			s.check(err)
			switch {
			case item.Event == nil: // only a position
			case item.Event.SubjectID != wanted[len(wanted)-1]:
				t.Fatalf("the stream has %+v, want %s", item.Event, wanted)
			case len(wanted) == 2:
				return
			default:
				avatar(s.workspace.ID)
				wanted = append(wanted, avatar(other.ID))
			}
		}
	})
}
