package rest_test

import (
	"bytes"
	"encoding/json"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/avatarstudio/avatarstudio/gen"
	"github.com/avatarstudio/avatarstudio/server/internal/memstore"
	"github.com/avatarstudio/avatarstudio/server/internal/studio"
)

// An upload is stored for seven days and can be used as an input by its user. Files that are empty, too
// large, or not video, image or audio are rejected and not stored.
func TestUploadMedia_storesValidFiles(t *testing.T) {
	inMemory(t, func(s *setup) {
		post := func(contentType, body string) (int, string) {
			return s.do(http.MethodPost, "/v1/media", body, map[string]string{"Content-Type": contentType})
		}
		for _, test := range []struct {
			contentType, body string
			status            int
		}{
			{"application/json", `{}`, 415},
			{"text/plain", "text", 415},
			{"", "text", 415},
			{"video/mp4", "", 400},
			{"video/mp4", strings.Repeat("a", 1<<20+1), 413},
		} {
			if status, answer := post(test.contentType, test.body); status != test.status {
				s.t.Errorf("%s of %d bytes: %d %s, want %d", test.contentType, len(test.body), status, answer, test.status)
			}
		}
		if _, answer := post("video/mp4", ""); !strings.Contains(answer, "the body is empty") {
			s.t.Errorf("an empty file: %s", answer)
		}
		files := s.studio.Media.(*memstore.Media)
		if keys := files.Keys(); len(keys) != 0 {
			s.t.Errorf("files %v", keys)
		}
		status, answer := post("image/jpeg; a=b", "picture")
		var media gen.Media
		s.check(json.NewDecoder(bytes.NewReader([]byte(answer))).Decode(&media))
		expires := s.clock.Now().Add(7 * 24 * time.Hour)
		if status != 201 || media.Size != 7 || media.ContentType != "image/jpeg" || !media.ExpiresAt.Equal(expires) {
			s.t.Errorf("%d %s", status, answer)
		}
		key := strings.TrimPrefix(media.URL, "https://media.example.com/")
		check := func(what string, got bool, err error, want bool) {
			s.check(err)
			if got != want {
				s.t.Errorf("%s is %t", what, got)
			}
		}
		owns, err := s.studio.OwnsMedia(s.t.Context(), studio.Subject{UserID: s.user.ID}, key)
		check("the file of its user", owns, err, true)
		owns, err = s.studio.OwnsMedia(s.t.Context(), studio.Subject{UserID: "another"}, key)
		check("the file of another user", owns, err, false)
		needed, err := s.studio.MediaNeeded(s.t.Context(), key)
		check("the need of a new file", needed, err, true)
		s.clock.Add(7 * 24 * time.Hour)
		needed, err = s.studio.MediaNeeded(s.t.Context(), key)
		check("the need of an old file", needed, err, false)
	})
}
