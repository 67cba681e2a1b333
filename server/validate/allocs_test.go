package validate_test

import (
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
)

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
	_, v := compileSpec(t)
	o, _ := v.Operation("POST", "/v1/lipsync/create_lipsync")
	for name, body := range map[string]string{"small": lipsyncBody, "large": largeBody()} {
		handler := o.Handler(
			http.HandlerFunc(func(http.ResponseWriter, *http.Request) {}),
			func(_ http.ResponseWriter, _ *http.Request, err error) { t.Error(err) },
		)
		reader := strings.NewReader("")
		r := jsonRequest(o.Method(), o.Path(), body)
		r.Body = io.NopCloser(reader)
		rw := httptest.NewRecorder()
		allocs := minAllocs(func() {
			reader.Reset(body)
			handler.ServeHTTP(rw, r)
		})
		t.Logf("%s, %d bytes: %v allocations", name, len(body), allocs)
		if allocs > 1 {
			t.Errorf("%s: %v allocations", name, allocs)
		}
	}
}
