package validate_test

import (
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"github.com/avatarstudio/avatarstudio/api"
	"github.com/avatarstudio/avatarstudio/api/tools/harness"
	"github.com/avatarstudio/avatarstudio/server/validate"
)

const lipsyncBody = `{"title":"Greeting","video_url":"https://m.example.com/a.mp4",` +
	`"audio_url":"https://m.example.com/a.wav","webhook":{"enabled":true}}`

// largeBody returns a body of 52 KB.
func largeBody() string { return `{"more":[` + strings.Repeat(lipsyncBody+",", 394) + `0]}` }

// minAllocs returns the smallest number of allocations of several calls of f, because a pool may be emptied
// at any time.
func minAllocs(f func()) float64 {
	least := testing.AllocsPerRun(1, f)
	for range 50 {
		least = min(least, testing.AllocsPerRun(1, f))
	}
	return least
}

// Checking a valid body allocates no more than reading it, whatever its size. AllocsPerRun must not run in
// parallel with other tests.
func TestOperation_Handler_allocatesLikeReadingTheBody(t *testing.T) {
	v, err := validate.Load(api.Spec, validate.Config{})
	harness.Check(t, err)
	o, _ := v.Operation("POST", "/v1/lipsync/create_lipsync")
	handler := o.Handler(http.HandlerFunc(func(http.ResponseWriter, *http.Request) {}), func(_ http.ResponseWriter, _ *http.Request, err error) { t.Error(err) })
	for name, body := range map[string]string{"small": lipsyncBody, "large": largeBody()} {
		reader, w := strings.NewReader(body), httptest.NewRecorder()
		r := jsonRequest("POST", "/v1/lipsync/create_lipsync", body)
		r.Body = io.NopCloser(reader)
		allocs := minAllocs(func() {
			reader.Reset(body)
			handler.ServeHTTP(w, r)
		})
		t.Logf("%s, %d bytes: %v allocations", name, len(body), allocs)
		if allocs > 1 {
			t.Errorf("%s: %v allocations", name, allocs)
		}
	}
}
