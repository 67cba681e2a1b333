package validate_test

import (
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"github.com/avatarstudio/avatarstudio/api"
	"github.com/avatarstudio/avatarstudio/server/validate"
)

const lipsyncBody = `{"title":"Greeting","video_url":"https://m.example.com/a.mp4",` +
	`"audio_url":"https://m.example.com/a.wav","webhook":{"enabled":true}}`

// largeBody returns a body of 52 KB.
func largeBody() string { return `{"more":[` + strings.Repeat(lipsyncBody+",", 394) + `0]}` }

// poster returns a function that posts body to an operation of the service.
func poster(tb testing.TB, path, body string, fail func(http.ResponseWriter, *http.Request, error)) func() {
	tb.Helper()
	_, v := compileSpec(tb)
	o, ok := v.Operation("POST", path)
	if !ok {
		tb.Fatalf("there is no operation %s", path)
	}
	handler := o.Handler(http.HandlerFunc(func(http.ResponseWriter, *http.Request) {}), fail)
	reader, w := strings.NewReader(body), httptest.NewRecorder()
	r := jsonRequest("POST", path, body)
	r.Body = io.NopCloser(reader)
	return func() {
		reader.Reset(body)
		handler.ServeHTTP(w, r)
	}
}

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
	for name, body := range map[string]string{"small": lipsyncBody, "large": largeBody()} {
		post := poster(t, "/v1/lipsync/create_lipsync", body, func(_ http.ResponseWriter, _ *http.Request, err error) { t.Error(err) })
		allocs := minAllocs(post)
		t.Logf("%s, %d bytes: %v allocations", name, len(body), allocs)
		if allocs > 1 {
			t.Errorf("%s: %v allocations", name, allocs)
		}
	}
}

func BenchmarkHandler_createLipsync(b *testing.B) {
	for name, body := range map[string]string{"small": lipsyncBody, "large": largeBody()} {
		b.Run(name, func(b *testing.B) {
			post := poster(b, "/v1/lipsync/create_lipsync", body, func(_ http.ResponseWriter, _ *http.Request, err error) { b.Fatal(err) })
			b.SetBytes(int64(len(body)))
			b.ReportAllocs()
			for b.Loop() {
				post()
			}
		})
	}
}

func BenchmarkLoad(b *testing.B) {
	b.ReportAllocs()
	for b.Loop() {
		if _, err := validate.Load(api.Spec, validate.Config{}); err != nil {
			b.Fatal(err)
		}
	}
}
