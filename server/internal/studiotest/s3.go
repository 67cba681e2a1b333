package studiotest

import (
	"net/http"
	"net/http/httptest"
	"net/url"
	"os"
	"sync"
	"sync/atomic"
	"testing"

	"github.com/johannesboyne/gofakes3"
	"github.com/johannesboyne/gofakes3/backend/s3mem"
)

// S3 is an object store with one bucket, on a server of its own.
type S3 struct {
	// Bucket is the URL of the bucket.
	Bucket string
	// Down makes every request fail.
	Down atomic.Bool
	// Cut makes every upload fail after half of it.
	Cut atomic.Bool
}

// NewS3 starts an object store that ends with the test. Processes that the test starts can use it too.
func NewS3(t testing.TB) *S3 {
	t.Helper()
	setCredentials()
	backend := s3mem.New()
	if err := backend.CreateBucket("studio"); err != nil {
		t.Fatal(err)
	}
	s := new(S3)
	handler := gofakes3.New(backend).Server()
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		switch {
		case s.Down.Load():
			w.WriteHeader(http.StatusServiceUnavailable)
		case s.Cut.Load() && r.Method == http.MethodPut:
			_, _ = r.Body.Read(make([]byte, r.ContentLength/2+1))
			panic(http.ErrAbortHandler)
		default:
			handler.ServeHTTP(w, r)
		}
	}))
	t.Cleanup(server.Close)
	s.Bucket = "s3://studio?" + url.Values{
		"region": {"eu-central-1"}, "endpoint": {server.URL}, "use_path_style": {"true"},
	}.Encode()
	return s
}

// setCredentials gives this process, and those that it starts, what an object store wants to see.
var setCredentials = sync.OnceFunc(func() {
	for name, value := range map[string]string{
		"AWS_ACCESS_KEY_ID": "studio", "AWS_SECRET_ACCESS_KEY": "secret", "AWS_EC2_METADATA_DISABLED": "true",
	} {
		_ = os.Setenv(name, value) // fails for no such name
	}
})
