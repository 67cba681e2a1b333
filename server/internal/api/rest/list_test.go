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

	"github.com/avatarstudio/avatarstudio/server/internal/studio"
	"github.com/avatarstudio/avatarstudio/server/internal/testing/studiotest"
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
	return s.pageOf(kind{list: "/v1/lipsync/list"}, query)
}

// pageOf returns a page of the list of a kind.
func (s *setup) pageOf(kind kind, query url.Values) (ids []string, next string) {
	s.t.Helper()
	status, answer := s.do(http.MethodGet, kind.list+"?"+query.Encode(), "", nil)
	if status != http.StatusOK {
		s.t.Fatal(answer)
	}
	var list struct {
		Data       []record `json:"data"`
		NextCursor string   `json:"next_cursor"`
	}
	s.check(json.Unmarshal([]byte(answer), &list))
	for _, record := range list.Data {
		ids = append(ids, kind.id(record))
	}
	return ids, list.NextCursor
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
		for _, kind := range s.kinds() {
			create := func(n int) (ids []string) {
				for range n {
					ids = append(ids, kind.id(s.record("POST", kind.create, kind.body, nil)))
					s.clock.Add(time.Second)
				}
				return ids
			}
			page := func(cursor string) (ids []string, next string) {
				return s.pageOf(kind, url.Values{"limit": {"3"}, "status": {"processing"}, "cursor": nonEmpty(cursor)})
			}
			ids := create(7)
			slices.Reverse(ids)
			first, next := page("")
			create(2)
			for _, id := range ids[2:4] { // the last record of that page, and the first one of the next
				s.check(s.studio.Delete(s.t.Context(), s.user.ID, kind.of, id))
			}
			second, last := page(next)
			if want := ids[:3]; !slices.Equal(first, want) {
				s.t.Errorf("%s: first page %v, want %v", kind.list, first, want)
			}
			if want := ids[4:7]; !slices.Equal(second, want) || last != "" {
				s.t.Errorf("%s: second page %v and then %q, want %v and no more", kind.list, second, last, want)
			}
			if again, _ := page(next); !slices.Equal(again, second) {
				s.t.Errorf("%s: the cursor then leads to %v", kind.list, again)
			}
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
		for _, kind := range s.kinds() {
			for range 2 {
				s.record("POST", kind.create, kind.body, nil)
			}
			_, cursor := s.pageOf(kind, url.Values{"limit": {"1"}})
			refused("of another status", kind.list+"?status=failed&cursor=", cursor, s.token)
			if kind.of == studio.Video {
				refused("of another avatar", kind.list+"?avatar_id=a&cursor=", cursor, s.token)
			}
		}
		studiotest.AddUser(s.t, s.studio, "bob@example.com")
		bob, err := s.studio.Login(s.t.Context(), netip.Addr{}, "bob@example.com", "password")
		s.check(err)
		refused("of another user", "/v1/lipsync/list?cursor=", cursor, bob.Access)
	})
}
