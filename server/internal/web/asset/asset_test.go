package asset_test

import (
	"bytes"
	"compress/gzip"
	"net/http"
	"net/http/httptest"
	"runtime"
	"testing"

	"github.com/avatarstudio/avatarstudio/api/tools/harness"
	"github.com/avatarstudio/avatarstudio/server/internal/web/asset"
)

func get(a *asset.Asset, method, etag string) *httptest.ResponseRecorder {
	request := httptest.NewRequest(method, "/", nil)
	request.Header.Set("If-None-Match", etag)
	answer := httptest.NewRecorder()
	a.ServeHTTP(answer, request)
	return answer
}

// Clients that do not accept gzip share one decompressed copy. Answers without a body need none.
func TestAsset_decompressesOnce(t *testing.T) {
	const size = 16 << 20
	var compressed bytes.Buffer
	w := gzip.NewWriter(&compressed)
	if _, err := w.Write(make([]byte, size)); err != nil {
		t.Fatal(err)
	}
	harness.Check(t, w.Close())
	a := asset.NewCompressed("text/plain", compressed.Bytes())
	allocated := func(do func()) uint64 {
		var before, after runtime.MemStats
		runtime.ReadMemStats(&before)
		do()
		runtime.ReadMemStats(&after)
		return after.TotalAlloc - before.TotalAlloc
	}
	var etag string
	if n := allocated(func() {
		head := get(a, http.MethodHead, "")
		etag = head.Header().Get("ETag")
		if head.Code != http.StatusOK || head.Result().ContentLength != size {
			t.Errorf("HEAD: %d %v", head.Code, head.Header())
		}
		if answer := get(a, http.MethodGet, etag); answer.Code != http.StatusNotModified {
			t.Errorf("with the ETag: %d", answer.Code)
		}
	}); n > size/10 {
		t.Errorf("answers without a body take %d bytes", n)
	}
	request := httptest.NewRequest(http.MethodGet, "/", nil)
	request.Header.Set("Range", "bytes=1-1000")
	part := func() {
		answer := httptest.NewRecorder()
		a.ServeHTTP(answer, request)
		if answer.Code != http.StatusPartialContent || answer.Body.Len() != 1000 {
			t.Errorf("a part: %d, %d bytes", answer.Code, answer.Body.Len())
		}
	}
	part()
	if n := allocated(func() {
		for range 10 {
			part()
		}
	}); n > size/2 {
		t.Errorf("ten further responses take %d bytes", n)
	}
}
