package bucket_test

import (
	"errors"
	"io"
	"maps"
	"net/http"
	"net/http/httptest"
	"net/url"
	"runtime"
	"strings"
	"sync/atomic"
	"testing"

	"github.com/avatarstudio/avatarstudio/api/tools/harness"
	"github.com/avatarstudio/avatarstudio/server/internal/media/bucket"
)

// zeros is an endless content.
type zeros struct{}

func (zeros) Read(p []byte) (int, error) {
	clear(p)
	return len(p), nil
}

// An answer without a length, one that is cut, and one with another part of the file are errors and no other file.
func TestS3_Open_trustsNoAnswer(t *testing.T) { //nolint:paralleltest // it sets the environment of the process
	t.Setenv("AWS_ACCESS_KEY_ID", "studio")
	t.Setenv("AWS_SECRET_ACCESS_KEY", "secret")
	answer := http.Header{"Etag": {`"tag"`}, "Last-Modified": {"Thu, 01 Jan 2026 00:00:00 GMT"}}
	for name, length := range map[string]string{"no length": "", "cut": "20", "no range": "10"} {
		store := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
			maps.Copy(w.Header(), answer)
			if length != "" {
				w.Header().Set("Content-Length", length)
			}
			_, _ = io.WriteString(w, "0123456789")
			_ = http.NewResponseController(w).Flush()
		}))
		b, err := bucket.Open("s3://studio?endpoint=" + url.QueryEscape(store.URL))
		harness.Check(t, err)
		file, err := b.Open(t.Context(), "file")
		if err == nil {
			if name == "no range" {
				harness.Try(file.Seek(5, io.SeekStart))(t)
			}
			var content []byte
			if content, err = io.ReadAll(file); err == nil {
				t.Errorf("%s: the content is %q", name, content)
			}
			_ = file.Close()
		}
		harness.Check(t, b.Close())
		store.Close()
	}
}

// A file of any size is sent in parts, with memory for one of them, and with the credentials of the machine's role if
// the environment has none.
func TestS3_Write_needsMemoryForOnePart(t *testing.T) { //nolint:paralleltest // it measures the memory of the process and sets its environment
	const size, part = 80 << 20, 8 << 20
	var received atomic.Int64
	var most atomic.Uint64
	inUse := func() uint64 {
		var memory runtime.MemStats
		runtime.GC()
		runtime.ReadMemStats(&memory)
		return memory.HeapAlloc
	}
	store := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.URL.Path == "/role" {
			_, _ = io.WriteString(w, `{"AccessKeyId": "of-the-role", "SecretAccessKey": "secret", "Token": "token", "Expiration": "2999-01-01T00:00:00Z"}`)
			return
		}
		if !strings.Contains(r.Header.Get("Authorization"), "Credential=of-the-role/") {
			w.WriteHeader(http.StatusForbidden)
			return
		}
		n, _ := io.Copy(io.Discard, r.Body)
		switch {
		case r.Method == http.MethodPut: // one after the other
			received.Add(n)
			most.Store(max(most.Load(), inUse()))
			w.Header().Set("ETag", `"tag"`)
		case r.URL.Query().Has("uploads"):
			_, _ = io.WriteString(w, "<InitiateMultipartUploadResult><UploadId>1</UploadId></InitiateMultipartUploadResult>")
		default:
			_, _ = io.WriteString(w, `<CompleteMultipartUploadResult><Bucket>studio</Bucket><ETag>"tag"</ETag></CompleteMultipartUploadResult>`)
		}
	}))
	defer store.Close()
	for _, name := range []string{"AWS_ACCESS_KEY_ID", "AWS_SECRET_ACCESS_KEY"} {
		t.Setenv(name, "")
	}
	t.Setenv("AWS_SHARED_CREDENTIALS_FILE", t.TempDir()+"/none")
	t.Setenv("AWS_CONFIG_FILE", t.TempDir()+"/none")
	t.Setenv("AWS_CONTAINER_CREDENTIALS_FULL_URI", store.URL+"/role")
	b := harness.Try(bucket.Open("s3://studio/folder?endpoint=" + url.QueryEscape(store.URL)))(t)
	before := inUse()
	harness.Check(t, b.Write(t.Context(), "large.mp4", "video/mp4", io.LimitReader(zeros{}, size)))
	if used := most.Load() - before; received.Load() != size || used < part || used > part+part/4 {
		t.Errorf("%d of %d bytes are sent, with %d bytes of memory at a time", received.Load(), size, used)
	}
	harness.Check(t, b.Close())
}

func TestOpen_refusesOtherLocations(t *testing.T) {
	t.Parallel()
	for _, location := range []string{
		"", "files", "file:", "file://host/dir", "gs://studio", "s3://", "s3:///prefix?region=eu-central-1", "s3://user@studio?region=eu-central-1",
		"s3://studio?region=eu-central-1&acl=public", "s3://studio?endpoint=localhost", "s3://studio?endpoint=https://host/path",
	} {
		if b, err := bucket.Open(location); !errors.Is(err, bucket.ErrLocation) {
			t.Errorf("%q: %v, %v", location, b, err)
		}
	}
	for i, location := range []string{"file:dir", "s3://studio?region=eu-central-1", "s3://studio/a/b/?endpoint=https://localhost:9000"} {
		b := harness.Try(bucket.Open(location))(t)
		if !strings.Contains(b.Location(), []string{"/dir/", "studio", "/b/"}[i]) {
			t.Errorf("%q has the location %q", location, b.Location())
		}
	}
}
