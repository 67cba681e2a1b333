package client_test

import (
	"fmt"
	"io"
	"net/http"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"testing/synctest"

	"github.com/avatarstudio/avatarstudio/client"
)

// An upload reports the bytes sent, and the total if the length is known.
func TestWithProgress_reportsUploads(t *testing.T) {
	t.Parallel()
	name := filepath.Join(t.TempDir(), "a.wav")
	check(t, os.WriteFile(name, make([]byte, 100_000), 0o600))
	file, err := os.Open(name)
	check(t, err)
	for _, test := range []struct {
		body   io.Reader
		total  int64
		length string
	}{
		{file, 100_000, "100000"},
		{strings.NewReader(strings.Repeat("x", 100_000)), 100_000, "100000"},
		{io.LimitReader(strings.NewReader(strings.Repeat("x", 100_000)), 100_000), -1, "-1"},
	} {
		s := newService()
		var length string
		s.before = func(w http.ResponseWriter, r *http.Request) bool {
			length = fmt.Sprint(r.ContentLength)
			return answerJSON(w, http.StatusCreated, `{"media_id":"id","url":"https://media.example.com/a","content_type":"audio/wav","size":100000,"expires_at":"2026-01-12T09:30:00Z"}`)
		}
		var last int64
		_, err := s.start(t, static).UploadMedia(t.Context(), "audio/wav", test.body, client.WithProgress(func(done, total int64) {
			if done < last || total != test.total {
				t.Errorf("%d of %d after %d", done, total, last)
			}
			last = done
		}))
		if err != nil || last != 100_000 || length != test.length {
			t.Errorf("error %v, %d reported, length %s", err, last, length)
		}
	}
}

// A wait reports each progress once.
func TestWithProgress_reportsWaits(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		s := newService()
		answers := []string{`"processing"`, `"processing","progress":0`, `"processing","progress":0`, `"processing","progress":40.7`, `"succeeded","progress":100`}
		s.before = func(w http.ResponseWriter, _ *http.Request) bool {
			answer := answers[0]
			answers = answers[1:]
			return answerJSON(w, http.StatusOK, fmt.Sprintf(`{"inference_id":"id","status":%s}`, answer))
		}
		var shown []int64
		_, err := s.direct(t, static).WaitLipsync(t.Context(), "id", client.WithProgress(func(done, _ int64) { shown = append(shown, done) }))
		if err != nil || !slices.Equal(shown, []int64{0, 40, 100}) {
			t.Errorf("error %v, progress %v", err, shown)
		}
	})
}
