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

// Clients that do not accept gzip share one decompressed copy.
func TestAsset_decompressesOnce(t *testing.T) {
	const size = 16 << 20
	var compressed bytes.Buffer
	w := gzip.NewWriter(&compressed)
	if _, err := w.Write(make([]byte, size)); err != nil {
		t.Fatal(err)
	}
	harness.Check(t, w.Close())
	a := asset.NewCompressed("text/plain", compressed.Bytes())
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
	var before, after runtime.MemStats
	runtime.ReadMemStats(&before)
	for range 10 {
		part()
	}
	if runtime.ReadMemStats(&after); after.TotalAlloc-before.TotalAlloc > size/2 {
		t.Errorf("ten further responses take %d bytes", after.TotalAlloc-before.TotalAlloc)
	}
}
