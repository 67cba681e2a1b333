package studio_test

import (
	"errors"
	"reflect"
	"testing"
	"time"

	"github.com/avatarstudio/avatarstudio/server/internal/memstore"
	"github.com/avatarstudio/avatarstudio/server/internal/studio"
	"github.com/avatarstudio/avatarstudio/server/internal/testing/studiotest"
)

// What a version gives to clients works in the next one, which may run beside it during an update: a cursor of each
// list, a position in a stream, the ID of an endpoint, and the link to a video. Each text is frozen. A new filter of a
// list therefore becomes a part of its cursors only if it is set. The cursors belong to one filter.
func TestService_acceptsWhatEarlierVersionsGaveToClients(t *testing.T) {
	t.Parallel()
	db := memstore.New()
	s := studio.New(studiotest.Config(db, studiotest.NewClock().Now))
	check(t, db.CreateUser(t.Context(), studio.User{ID: "ada", Email: "ada@example.com"}))
	try(db.CreateSubject(t.Context(), studio.Subject{ID: "one", UserID: "ada", Kind: studio.Lipsync}, studio.IdempotencyKey{}))(t)
	at := time.Date(2026, 1, 2, 3, 4, 5, 6000, time.UTC)
	subjects := func(filter studio.SubjectFilter, cursor string) error {
		return wantOnly(t, filter, func(filter studio.SubjectFilter) error {
			_, err := s.List(studio.OnlyWorkspace(t.Context(), filter.WorkspaceID), filter, cursor, 1)
			return err
		})
	}
	events := func(filter studio.EventFilter, order studio.EventOrder, cursor string) error {
		if _, err := s.Events(t.Context(), filter, order+"x", cursor, 1, false); !errors.Is(err, studio.ErrCursor) {
			t.Errorf("a cursor of the order %q lists another: %v", order, err)
		}
		return wantOnly(t, filter, func(filter studio.EventFilter) error {
			_, err := s.Events(studio.OnlyWorkspace(t.Context(), filter.WorkspaceID), filter, order, cursor, 1, false)
			return err
		})
	}
	draft := studio.ProjectFilter{WorkspaceID: "films", Status: "draft", Tag: "new", Title: "Hello"}
	projects := wantOnly(t, draft, func(filter studio.ProjectFilter) error {
		_, err := s.ProjectPage(t.Context(), "ada", filter, "dKeGiM_hzQ9WanvqJIlTBAAGR172TPNGb25l", 1)
		return err
	})
	_, endpoints := s.Endpoints(t.Context(), "ada", "wc0cEx0ZzudiC74d8WWNs_8jQAEA1EAAb25l", 1)
	_, stream := s.StreamEvents(t.Context(), "ada", "b9jaWtBnMf4kVCJrdrcT5QAGR172TPNGb25l")
	for file, err := range map[string]error{
		"list.go": errors.Join(
			subjects(studio.SubjectFilter{UserID: "ada", Kind: studio.Avatar}, "Kr12iqoU56PVsHyzd1lENAAGR172TPNGb25l"),
			subjects(studio.SubjectFilter{WorkspaceID: "films", UserID: "ada", Kind: studio.Video, Status: studio.Failed, AvatarID: "face", Title: "Hello"},
				"Ayp6vtZdPwFn3YRZbuBDxgAGR172TPNGb25l"),
		),
		"event_list.go": errors.Join(
			events(studio.EventFilter{UserID: "ada"}, "", "5xtoR3DV34Aq5KJnha9gpwAGR172TPNGb25l"),
			events(studio.EventFilter{
				WorkspaceID: "films", ID: "e", UserID: "ada", SubjectID: "one", Kind: studio.Video, State: studio.EventPending, From: at, To: at.Add(time.Hour),
			}, studio.OldestFirst, "-hHmQms-5uUkljZLwrL9ZQAGR172TPNGb25l"),
		),
		"project.go": projects, "endpoint.go": endpoints, "feed_stream.go": stream,
	} {
		if errors.Is(err, studio.ErrCursor) || errors.Is(err, studio.ErrPosition) {
			t.Errorf("server/internal/studio/%s: a client that reads a list during an update gets 400: %v", file, err)
		}
	}
	if id := studio.EndpointID([]byte("cursors"), "ada", "https://hooks.example.com/?a=1"); id != "ccae78633aeadcdc25defad7d33f05e7" {
		t.Errorf("server/internal/studio/endpoint.go: the ID of an endpoint has become %s", id)
	}
	shared := studio.Subject{ID: "one", Project: studio.ProjectDetails{SharedAt: at}}
	if url := s.ShareURL(&shared); url != "https://studio.example.com"+studio.SharePath+"one.YzXR3sk4IuOhS2eFBXO7ag" {
		t.Errorf("server/internal/studio/share.go: the link to a video has become %s", url)
	}
}

// wantOnly returns the error of a list with a filter. With another value of any of its members, the list must refuse
// the cursor.
func wantOnly[F any](t *testing.T, filter F, list func(F) error) error {
	t.Helper()
	for i := range reflect.TypeFor[F]().NumField() {
		other := filter
		if member := reflect.ValueOf(&other).Elem().Field(i); member.Kind() == reflect.String {
			member.SetString(member.String() + "x")
		} else {
			member.Set(reflect.ValueOf(time.Date(2026, 1, 2, 3, 30, 0, 0, time.UTC)))
		}
		if err := list(other); !errors.Is(err, studio.ErrCursor) {
			t.Errorf("a cursor of another filter lists %+v: %v", other, err)
		}
	}
	return list(filter)
}
