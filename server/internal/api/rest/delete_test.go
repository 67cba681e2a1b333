package rest_test

import (
	"net/http"
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
		unknown := lipsync
		unknown.body = video.body
		s.wantStatus(unknown, http.StatusNotFound, "")
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
				s.wantStatus(c, http.StatusNotFound, "")
			case c.reach == lists && c.method == http.MethodGet && c.path != "/v1/events":
				s.wantStatus(c, http.StatusOK, `{"data":[]`)
			}
		}
		for later, again := range map[time.Duration]int{24*time.Hour - time.Second: http.StatusNoContent, 24 * time.Hour: http.StatusNotFound} {
			s.clock.Add(later)
			s.token = s.login(s.user.Email).Access
			for _, deletion := range []operation{avatar, video, lipsync} {
				s.wantStatus(deletion, again, "")
			}
			s.clock.Add(-later)
		}
	})
}
