package rest_test

import (
	"net/http"
	"net/netip"
	"strings"
	"testing"
	"time"

	"github.com/avatarstudio/avatarstudio/server/internal/studio"
)

// Whatever operation of the document refers to a deleted record, or to a video of a deleted avatar, responds with 404,
// and no list has the record. Its deletion can be repeated for a day.
func TestDelete_isIdempotent(t *testing.T) {
	inMemory(t, func(s *setup) {
		operations := s.operations()
		avatar, video, lipsync := operations["POST /v1/avatars/delete_avatar"], operations["POST /v1/avatars/delete_video"], operations["POST /v1/lipsync/delete_lipsync"]
		want := func(status int, c operation, target, body string) {
			s.t.Helper()
			got, answer := s.do(c.method, target, body, c.header)
			if got != status || status == http.StatusNoContent && answer != "" || status == http.StatusOK && !strings.HasPrefix(answer, `{"data":[]`) {
				s.t.Errorf("%s: %d %s, want %d", c.id, got, answer, status)
			}
		}
		want(http.StatusNotFound, avatar, avatar.path, strings.Replace(video.body, "inference_id", "avatar_id", 1))
		want(http.StatusNotFound, lipsync, lipsync.path, video.body)
		for _, kind := range []studio.Kind{studio.Avatar, studio.Lipsync} { // and the videos of the avatars
			page, err := s.studio.List(s.t.Context(), studio.SubjectFilter{UserID: s.user.ID, Kind: kind}, "", 100)
			s.check(err)
			for _, subject := range page.Subjects {
				s.check(s.studio.Delete(s.t.Context(), s.user.ID, kind, subject.ID))
			}
		}
		for _, c := range operations {
			switch {
			case c.reach == single && c.status != http.StatusNoContent:
				want(http.StatusNotFound, c, c.target, c.body)
			case c.reach == lists && c.method == http.MethodGet && c.path != "/v1/events":
				want(http.StatusOK, c, c.path, "")
			}
		}
		for later, again := range map[time.Duration]int{24*time.Hour - time.Second: http.StatusNoContent, 24 * time.Hour: http.StatusNotFound} {
			s.clock.Add(later)
			pair, err := s.studio.Login(s.t.Context(), netip.Addr{}, s.user.Email, "password")
			s.check(err)
			s.token = pair.Access
			for _, deletion := range []operation{avatar, video, lipsync} {
				want(again, deletion, deletion.path, deletion.body)
			}
			s.clock.Add(-later)
		}
	})
}
