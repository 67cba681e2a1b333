package rest_test

import (
	"net/http"
	"net/netip"
	"testing"
	"time"
)

// Deleted records are 404 in all operations, including the videos of an avatar, but they can be deleted
// again.
func TestDelete_isIdempotent(t *testing.T) {
	inMemory(t, func(s *setup) {
		avatar := s.record("POST", "/v1/avatars/create_avatar", `{}`, nil).AvatarID
		s.publish(avatar)
		avatarID := `{"avatar_id":"` + avatar + `"}`
		video := s.record("POST", "/v1/avatars/create_video", avatarID, nil).InferenceID
		videoID := `{"inference_id":"` + video + `"}`
		lipsync := s.record("POST", "/v1/lipsync/create_lipsync", `{}`, nil).InferenceID
		lipsyncID := `{"inference_id":"` + lipsync + `"}`
		want := func(status int, method, target, body string) {
			s.t.Helper()
			got, answer := s.do(method, target, body, nil)
			if got != status || status == http.StatusNoContent && answer != "" {
				s.t.Errorf("%s %s: %d %s, want %d", method, target, got, answer, status)
			}
		}
		want(http.StatusNotFound, "POST", "/v1/avatars/delete_avatar", `{"avatar_id":"`+video+`"}`)
		want(http.StatusNotFound, "POST", "/v1/lipsync/delete_lipsync", videoID)
		want(http.StatusNoContent, "POST", "/v1/avatars/delete_avatar", avatarID)
		want(http.StatusNoContent, "POST", "/v1/lipsync/delete_lipsync", lipsyncID)
		want(http.StatusNotFound, "GET", "/v1/lipsync/inference_details?inference_id="+lipsync, "")
		for _, id := range []string{avatar, video, lipsync} {
			want(http.StatusNotFound, "POST", "/v1/projects/update", `{"project_id":"`+id+`","title":"Again"}`)
		}
		want(http.StatusNotFound, "GET", "/v1/avatars/avatar_details?avatar_id="+avatar, "")
		want(http.StatusNotFound, "GET", "/v1/avatars/inference_details?inference_id="+video, "")
		want(http.StatusNotFound, "POST", "/v1/avatars/create_video", avatarID)
		want(http.StatusNotFound, "POST", "/v1/avatars/submit_consent", `{"avatar_id":"`+avatar+`","granted":true}`)
		for _, list := range []string{"/v1/lipsync/list", "/v1/avatars/list", "/v1/avatars/list_inferences", "/v1/avatars/list_inferences?avatar_id=" + avatar} {
			if _, answer := s.do("GET", list, "", nil); answer != `{"data":[]}`+"\n" {
				s.t.Errorf("%s answers %s", list, answer)
			}
		}
		for later, again := range map[time.Duration]int{24*time.Hour - time.Second: http.StatusNoContent, 24 * time.Hour: http.StatusNotFound} {
			s.clock.Add(later)
			pair, err := s.studio.Login(s.t.Context(), netip.Addr{}, s.user.Email, "password")
			s.check(err)
			s.token = pair.Access
			want(again, "POST", "/v1/avatars/delete_avatar", avatarID)
			want(again, "POST", "/v1/avatars/delete_video", videoID)
			want(again, "POST", "/v1/lipsync/delete_lipsync", lipsyncID)
			s.clock.Add(-later)
		}
	})
}
