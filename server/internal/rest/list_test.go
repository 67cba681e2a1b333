package rest_test

import (
	"encoding/json"
	"fmt"
	"net/http"
	"net/netip"
	"net/url"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/avatarstudio/avatarstudio/gen"
	"github.com/avatarstudio/avatarstudio/server/internal/studio"
	"github.com/avatarstudio/avatarstudio/server/internal/studiotest"
)

// lipsyncs creates n lip-syncs and returns their ids, oldest first.
func (s *setup) lipsyncs(n int) (ids []string) {
	s.t.Helper()
	for range n {
		lipsync, err := s.studio.CreateLipsync(s.t.Context(), studio.Creation{UserID: s.user.ID, Request: []byte(`{}`)})
		s.check(err)
		ids = append(ids, lipsync.ID)
		s.clock.Add(time.Second)
	}
	return ids
}

// page returns a page of the list of lip-syncs.
func (s *setup) page(query url.Values) (ids []string, next string) {
	s.t.Helper()
	status, answer := s.do(http.MethodGet, "/v1/lipsync/list?"+query.Encode(), "", nil)
	if status != http.StatusOK {
		s.t.Fatal(answer)
	}
	var list gen.LipsyncList
	s.check(json.Unmarshal([]byte(answer), &list))
	for _, lipsync := range list.Data {
		ids = append(ids, lipsync.InferenceID)
	}
	if list.NextCursor != nil {
		next = *list.NextCursor
	}
	return ids, next
}

// Users choose the length of a title, so a page of long ones has fewer records, and at least one.
func TestList_limitsTheBytesOfAPage(t *testing.T) {
	eachSetup(t, func(s *setup) {
		var want []string
		for _, length := range []int{10, 100 << 10, 100 << 10, 100 << 10, 600 << 10, 10} {
			title := strings.Repeat("a", length)
			lipsync, err := s.studio.CreateLipsync(s.t.Context(), studio.Creation{UserID: s.user.ID, Title: &title, Request: []byte(`{}`)})
			s.check(err)
			want = append(want, lipsync.ID)
			s.clock.Add(time.Second)
		}
		slices.Reverse(want)
		var got []string
		var sizes []int
		for next, more := "", true; more; more = next != "" {
			var page []string
			page, next = s.page(url.Values{"limit": {"100"}, "cursor": nonEmpty(next)})
			got, sizes = append(got, page...), append(sizes, len(page))
		}
		if !slices.Equal(got, want) || !slices.Equal(sizes, []int{1, 1, 2, 2}) {
			s.t.Errorf("pages of %v records list %v, want %v", sizes, got, want)
		}
	})
}

// nonEmpty returns the values of a parameter that is left out if text is empty.
func nonEmpty(text string) []string {
	if text == "" {
		return nil
	}
	return []string{text}
}

// A record that exists all the time is listed exactly once, even if other records are created and deleted
// between two pages.
func TestList_isStableUnderChanges(t *testing.T) {
	eachSetup(t, func(s *setup) {
		ids := s.lipsyncs(7)
		slices.Reverse(ids)
		first, next := s.page(url.Values{"limit": {"3"}})
		s.lipsyncs(2)
		s.check(s.studio.Delete(s.t.Context(), s.user.ID, studio.Lipsync, ids[2])) // the last record of that page
		s.check(s.studio.Delete(s.t.Context(), s.user.ID, studio.Lipsync, ids[3])) // the first record of the next page
		second, last := s.page(url.Values{"limit": {"3"}, "cursor": {next}})
		if want := ids[:3]; !slices.Equal(first, want) {
			s.t.Errorf("first page %v, want %v", first, want)
		}
		if want := ids[4:7]; !slices.Equal(second, want) || last != "" {
			s.t.Errorf("second page %v and then %q, want %v and no more", second, last, want)
		}
		if again, _ := s.page(url.Values{"limit": {"3"}, "cursor": {next}}); !slices.Equal(again, second) {
			s.t.Errorf("the cursor then leads to %v", again)
		}
	})
}

func TestList_hasTwentyRecordsByDefault(t *testing.T) {
	inMemory(t, func(s *setup) {
		s.lipsyncs(21)
		if ids, next := s.page(nil); len(ids) != 20 || next == "" {
			s.t.Errorf("%d records and then %q", len(ids), next)
		}
		if ids, next := s.page(url.Values{"limit": {"21"}}); len(ids) != 21 || next != "" {
			s.t.Errorf("%d records and then %q", len(ids), next)
		}
	})
}

func TestList_filtersByStatus(t *testing.T) {
	eachSetup(t, func(s *setup) {
		ids := s.lipsyncs(4)
		for _, id := range ids[1:3] {
			_, err := s.studio.Rendered(s.t.Context(), id, studio.Rendering{}, nil)
			s.check(err)
		}
		succeeded, next := s.page(url.Values{"limit": {"1"}, "status": {"succeeded"}})
		rest, last := s.page(url.Values{"limit": {"1"}, "status": {"succeeded"}, "cursor": {next}})
		if !slices.Equal(append(succeeded, rest...), []string{ids[2], ids[1]}) || last != "" {
			s.t.Errorf("succeeded are %v and %v", succeeded, rest)
		}
		if processing, _ := s.page(url.Values{"status": {"processing"}}); !slices.Equal(processing, []string{ids[3], ids[0]}) {
			s.t.Errorf("processing are %v", processing)
		}
	})
}

// A cursor is only valid unmodified, and for the list, the filters and the user that it was created for.
func TestList_rejectsCursorsOfOtherLists(t *testing.T) {
	inMemory(t, func(s *setup) {
		s.lipsyncs(3)
		_, cursor := s.page(url.Values{"limit": {"1"}})
		refused := func(what, path, cursor, token string) {
			s.t.Helper()
			status, answer := s.do(http.MethodGet, path+url.QueryEscape(cursor), "", map[string]string{"Authorization": "Bearer " + token})
			if status != http.StatusBadRequest || !strings.Contains(answer, `"pointer":"query:cursor"`) {
				s.t.Errorf("%s: %d %s", what, status, answer)
			}
		}
		for i := range cursor {
			changed := []byte(cursor)
			changed[i] = "AB"[len(cursor[i:])%2]
			if changed[i] != cursor[i] {
				refused(fmt.Sprintf("changed at %d", i), "/v1/lipsync/list?cursor=", string(changed), s.token)
			}
		}
		refused("cut", "/v1/lipsync/list?cursor=", cursor[:len(cursor)-4], s.token)
		refused("of another list", "/v1/avatars/list?cursor=", cursor, s.token)
		refused("of another filter", "/v1/lipsync/list?status=failed&cursor=", cursor, s.token)
		studiotest.AddUser(s.t, s.studio, "bob@example.com")
		bob, err := s.studio.Login(s.t.Context(), netip.Addr{}, "bob@example.com", "password")
		s.check(err)
		refused("of another user", "/v1/lipsync/list?cursor=", cursor, bob.Access)
	})
}
