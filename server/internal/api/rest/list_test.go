package rest_test

import (
	"cmp"
	"encoding/json"
	"fmt"
	"net/http"
	"net/http/httptest"
	"net/url"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/avatarstudio/avatarstudio/server"
	"github.com/avatarstudio/avatarstudio/server/internal/api/rest"
	"github.com/avatarstudio/avatarstudio/server/internal/studio"
	"github.com/avatarstudio/avatarstudio/server/internal/testing/studiotest"
)

// lipsyncs creates n lip-syncs, which have titles of this length, and returns their ids, oldest first.
func (s *setup) lipsyncs(lengths ...int) (ids []string) {
	s.t.Helper()
	for _, length := range lengths {
		lipsync, err := s.studio.CreateLipsync(s.t.Context(), studio.Creation{
			UserID: s.user.ID, Title: new(strings.Repeat("a", length)), Request: []byte(`{}`),
		})
		s.check(err)
		ids = append(ids, lipsync.ID)
		s.clock.Add(time.Second)
	}
	return ids
}

// page returns a page of a list.
func (s *setup) page(path string, query url.Values) (ids []string, next string) {
	s.t.Helper()
	status, answer := s.do(http.MethodGet, path+"?"+query.Encode(), "", nil)
	if status != http.StatusOK {
		s.t.Fatal(answer)
	}
	var list struct {
		Data []struct {
			record
			EventID    string `json:"event_id"`
			EndpointID string `json:"endpoint_id"`
		} `json:"data"`
		NextCursor string `json:"next_cursor"`
	}
	s.check(json.Unmarshal([]byte(answer), &list))
	for _, one := range list.Data {
		ids = append(ids, cmp.Or(one.EventID, one.EndpointID, one.id()))
	}
	return ids, list.NextCursor
}

// pages returns all pages of a list. between is called after the first one.
func (s *setup) pages(path string, query url.Values, between func()) (all []string, sizes []int) {
	s.t.Helper()
	for {
		page, next := s.page(path, query)
		if all, sizes = append(all, page...), append(sizes, len(page)); len(sizes) == 1 {
			between()
		}
		if next == "" {
			return all, sizes
		}
		query.Set("cursor", next)
	}
}

// Users choose the length of a title, so a page of long ones has fewer records, and at least one. A page has twenty by
// default.
func TestList_limitsAPage(t *testing.T) {
	inMemory(t, func(s *setup) {
		s.lipsyncs(make([]int, 21)...)
		if _, sizes := s.pages("/v1/lipsync/list", url.Values{}, func() {}); !slices.Equal(sizes, []int{20, 1}) {
			s.t.Errorf("pages have %v records", sizes)
		}
	})
	t.Run("bytes", func(t *testing.T) {
		eachSetup(t, func(s *setup) {
			want := s.lipsyncs(10, 100<<10, 100<<10, 100<<10, 600<<10, 10)
			slices.Reverse(want)
			got, sizes := s.pages("/v1/lipsync/list", url.Values{"limit": {"100"}}, func() {})
			if !slices.Equal(got, want) || !slices.Equal(sizes, []int{1, 1, 2, 2}) {
				s.t.Errorf("pages of %v records list %v, want %v", sizes, got, want)
			}
		})
	})
}

// A record that exists all the time is listed exactly once, even if other records are created and deleted
// between two pages.
func TestList_isStableUnderChanges(t *testing.T) {
	eachSetup(t, func(s *setup) {
		for _, kind := range s.kinds() {
			create := func(n int) (ids []string) {
				for range n {
					ids = append(ids, s.record("POST", kind.create, kind.body, nil).id())
					s.clock.Add(time.Second)
				}
				return ids
			}
			ids := create(7)
			slices.Reverse(ids)
			all, sizes := s.pages(kind.list, url.Values{"limit": {"3"}, "status": {"processing"}}, func() {
				create(2)
				for _, id := range ids[2:4] { // the last record of that page, and the first one of the next
					s.check(s.studio.Delete(s.t.Context(), s.user.ID, kind.of, id))
				}
			})
			if want := slices.Delete(slices.Clone(ids), 3, 4); !slices.Equal(all, want) || len(sizes) != 2 {
				s.t.Errorf("%s: pages of %v records list %v, want %v", kind.list, sizes, all, want)
			}
		}
		s.addEvents()
		for order, later := range map[string]int{"newest": 0, "oldest": 4} { // events that occur meanwhile
			before, _ := s.page("/v1/events", url.Values{"limit": {"100"}, "order": {order}})
			all, _ := s.pages("/v1/events", url.Values{"limit": {"3"}, "order": {order}}, func() { s.addEvents() })
			if len(all) != len(before)+later || !slices.Equal(all[:len(before)], before) {
				s.t.Errorf("%s: the pages list %v, want %v", order, all, before)
			}
		}
	})
}

func TestList_filters(t *testing.T) {
	eachSetup(t, func(s *setup) {
		ids := s.lipsyncs(1, 1, 1, 1)
		for _, id := range ids[1:3] {
			_, err := s.studio.Rendered(s.t.Context(), id, studio.Rendering{}, nil)
			s.check(err)
		}
		for status, want := range map[string][]string{"succeeded": {ids[2], ids[1]}, "processing": {ids[3], ids[0]}} {
			if got, _ := s.pages("/v1/lipsync/list", url.Values{"limit": {"1"}, "status": {status}}, func() {}); !slices.Equal(got, want) {
				s.t.Errorf("%s are %v, want %v", status, got, want)
			}
		}
		for _, create := range []kind{s.kinds()[1], s.kinds()[1]} {
			video := s.record("POST", create.create, create.body, nil)
			if got, _ := s.page(create.list, url.Values{"avatar_id": {video.AvatarID}}); !slices.Equal(got, []string{video.InferenceID}) {
				s.t.Errorf("the videos of %s are %v", video.AvatarID, got)
			}
		}
	})
}

// A cursor is only valid unmodified, and for the list and the user that it was created for.
func TestList_rejectsCursorsOfOtherLists(t *testing.T) {
	inMemory(t, func(s *setup) {
		s.operations() // records of all kinds
		s.addEvents()
		own := s.token
		bob := s.login(studiotest.AddUser(s.t, s.studio, "bob@example.com").Email).Access
		refused := func(path, cursor string) {
			s.t.Helper()
			status, answer := s.do(http.MethodGet, path+"?"+url.Values{"cursor": {cursor}, "limit": {"1"}}.Encode(), "", nil)
			if status != http.StatusBadRequest || !strings.Contains(answer, `"code":"cursor_invalid"`) || !strings.Contains(answer, `"pointer":"query:cursor"`) {
				s.t.Errorf("%s with the cursor %q: %d %s", path, cursor, status, answer)
			}
		}
		paths := []string{"/v1/avatars/list", "/v1/avatars/list_inferences", "/v1/lipsync/list", "/v1/events", "/v1/webhooks/endpoints"}
		for i, path := range paths {
			_, cursor := s.page(path, url.Values{"limit": {"1"}})
			refused(paths[(i+1)%len(paths)], cursor)
			for i := range cursor {
				if changed := cursor[:i] + string("AB"[len(cursor[i:])%2]) + cursor[i+1:]; changed != cursor {
					refused(path, changed)
				}
			}
			refused(path, cursor[:len(cursor)-4])
			s.token = bob
			refused(path, cursor)
			s.token = own
		}
	})
}

// A list consists of the documents as they were imported. A short one has a Content-Length, so that clients know how
// much they will read.
func TestListProjects_listsWhatWasImported(t *testing.T) {
	inMemory(t, func(s *setup) {
		const document = `{"project_id":"01936f3e-7d00-7c4d-8e55-3a7a2b1c0d20","title":"One","status":"draft","unknown":1}`
		_, err := s.studio.ImportProjects(t.Context(), []studio.Project{
			{ID: "1", WorkspaceID: s.workspace.ID, UserID: s.user.ID, Document: document},
			{ID: "0", WorkspaceID: s.workspace.ID, UserID: s.user.ID, Published: true, Document: `{"title":null}`},
		})
		s.check(err)
		_, answer := s.do("GET", "/projects/v2", "", map[string]string{"x-workspace-id": s.workspace.ID})
		if want := `{"data":[` + document + `,{"title":null}],"size":2,"unpublished_projects":1}` + "\n"; answer != want {
			t.Errorf("got  %s\nwant %s", answer, want)
		}
		s.serve(rest.New(s.studio), server.Config{}) // checked responses are buffered
		request := httptest.NewRequest(http.MethodGet, "/projects/v2", nil)
		request.Header.Set("Authorization", "Bearer "+s.token)
		request.Header.Set("X-Workspace-Id", s.workspace.ID)
		response := httptest.NewRecorder()
		if s.handler.ServeHTTP(response, request); response.Header().Get("Content-Length") != fmt.Sprint(len(answer)) {
			t.Errorf("a short list has the header %v", response.Header())
		}
	})
}
