// Package s3test provides tests with an object store that ends with the test.
package s3test

import (
	"cmp"
	"io"
	"net/http"
	"net/http/httptest"
	"net/url"
	"os"
	"strings"
	"sync"
	"sync/atomic"
	"testing"

	"github.com/johannesboyne/gofakes3"
	"github.com/johannesboyne/gofakes3/backend/s3mem"

	"github.com/avatarstudio/avatarstudio/api/tools/harness"
)

// Bucket is an object store with one bucket, on its own HTTP server.
type Bucket struct {
	// URL is the URL of the bucket for package media.
	URL string
	// Down makes every request fail with 503.
	Down atomic.Bool
	// Status, if it is not 0, is the status of every response. If it is negative, there is no response.
	Status atomic.Int32
	// Cut aborts every upload halfway.
	Cut atomic.Bool
	// Hold decides whether an upload hangs, before it is stored, until its client is gone. Default: none hangs.
	Hold atomic.Pointer[func(path string) bool]

	address string // of the bucket, for plain requests
}

// New starts an object store that ends with the test. It sets credentials in the environment, so that
// processes of the test can use the store too.
func New(t testing.TB) *Bucket {
	t.Helper()
	setCredentials()
	backend := s3mem.New()
	harness.Check(t, backend.CreateBucket("studio"))
	b := new(Bucket)
	handler := gofakes3.New(backend).Server()
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		switch {
		case b.Status.Load() < 0:
			panic(http.ErrAbortHandler)
		case b.Down.Load() || b.Status.Load() > 0:
			w.WriteHeader(cmp.Or(int(b.Status.Load()), http.StatusServiceUnavailable))
		case r.Method == http.MethodPut && b.holds(r.URL.Path):
			_, _ = io.Copy(io.Discard, r.Body) // the server looks for the end of a connection only after the body
			<-r.Context().Done()
		case b.Cut.Load() && r.Method == http.MethodPut:
			_, _ = r.Body.Read(make([]byte, r.ContentLength/2+1))
			panic(http.ErrAbortHandler)
		default:
			handler.ServeHTTP(w, r)
		}
	}))
	t.Cleanup(server.Close)
	b.address = server.URL + "/studio"
	b.send(t, http.MethodDelete, "/first?uploadId="+b.BeginUpload(t, "first")) // gofakes3 lists uploads only after the first
	b.URL = "s3://studio?" + url.Values{"region": {"eu-central-1"}, "endpoint": {server.URL}}.Encode()
	return b
}

func (b *Bucket) holds(path string) bool {
	hold := b.Hold.Load()
	return hold != nil && (*hold)(path)
}

// Objects returns the number of objects whose keys begin with prefix.
func (b *Bucket) Objects(t testing.TB, prefix string) int {
	t.Helper()
	return strings.Count(b.send(t, http.MethodGet, "?list-type=2&prefix="+url.QueryEscape(prefix)), "<Key>")
}

// BeginUpload begins an upload in several parts and does not end it.
func (b *Bucket) BeginUpload(t testing.TB, key string) (id string) {
	t.Helper()
	_, id, _ = strings.Cut(b.send(t, http.MethodPost, "/"+key+"?uploads"), "<UploadId>")
	id, _, _ = strings.Cut(id, "<")
	return id
}

// Uploads returns the number of uploads in several parts that have not ended.
func (b *Bucket) Uploads(t testing.TB) int {
	t.Helper()
	return strings.Count(b.send(t, http.MethodGet, "?uploads"), "<Upload>")
}

func (b *Bucket) send(t testing.TB, method, target string) (answer string) {
	t.Helper()
	request := harness.Try(http.NewRequestWithContext(t.Context(), method, b.address+target, nil))(t)
	request.Close = true
	response, err := http.DefaultTransport.RoundTrip(request)
	harness.Check(t, err)
	defer func() { _ = response.Body.Close() }()
	text, err := io.ReadAll(response.Body)
	if err != nil || response.StatusCode >= http.StatusBadRequest {
		t.Fatal(response.Status, err)
	}
	return string(text)
}

// setCredentials sets the credentials of the object store in the environment of this process.
var setCredentials = sync.OnceFunc(func() {
	for name, value := range map[string]string{
		"AWS_ACCESS_KEY_ID": "studio", "AWS_SECRET_ACCESS_KEY": "secret",
	} {
		_ = os.Setenv(name, value) // these names are valid
	}
})
