package media_test

import (
	"errors"
	"io"
	"net/http"
	"net/http/httptest"
	"net/url"
	"runtime"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/avatarstudio/avatarstudio/server/internal/media/bucket"
	"github.com/avatarstudio/avatarstudio/server/internal/studio"
)

// Answers that are cut, or that no object store gives, are errors: no other content, no file that does not exist, no
// write, and no listing of what the caller may delete. That a deleted file did not exist is none.
func TestS3_trustsNoAnswer(t *testing.T) { //nolint:paralleltest // it sets the environment of the process
	t.Setenv("AWS_ACCESS_KEY_ID", "studio")
	t.Setenv("AWS_SECRET_ACCESS_KEY", "secret")
	read := func(offset int64) func(bucket.Bucket) error {
		return func(b bucket.Bucket) error {
			file, err := b.Open(t.Context(), "file")
			if err == nil {
				try(file.Seek(offset, io.SeekStart))(t)
				_, err = io.ReadAll(file)
				_ = file.Close()
			}
			return err
		}
	}
	write := func(b bucket.Bucket) error { return b.Write(t.Context(), "file", "", strings.NewReader("content")) }
	list := func(b bucket.Bucket) (err error) {
		b.List(t.Context(), "mine/")(func(_ bucket.Object, failed error) bool { err = failed; return err == nil })
		return err
	}
	clean := func(b bucket.Bucket) error { return b.Clean(t.Context(), time.Now(), nil) }
	del := func(b bucket.Bucket) error { return b.Delete(t.Context(), "file") }
	const xml, page = "Content-Type: text/xml\n", "<L><Contents><Key>studio/mine/1</Key></Contents>"
	const more = "<IsTruncated>true</IsTruncated><NextContinuationToken>1</NextContinuationToken><NextKeyMarker>1</NextKeyMarker></L>"
	for name, answer := range map[string]struct {
		do           func(bucket.Bucket) error
		status       int
		header, body string
		isRight      bool
	}{
		"no length":                         {read(0), 200, "", "0123456789", false},
		"cut":                               {read(0), 200, "Content-Length: 20\n", "0123456789", false},
		"no range":                          {read(5), 200, "Content-Length: 10\n", "0123456789", false},
		"a range":                           {read(0), 206, "Content-Length: 10\nContent-Range: bytes 0-9/20\n", "0123456789", false},
		"a write to another server":         {write, 200, "Etag:\n", "<html>welcome</html>", false},
		"a listing of another server":       {list, 200, "Content-Type: text/html\n", "<html></html>", false},
		"a listing that ignores the prefix": {list, 200, xml, "<L><Contents><Key>studio/others/1</Key></Contents></L>", false},
		"a listing without end":             {list, 200, xml, page + more, false},
		"uploads that are those of others":  {clean, 200, xml, "<L><Upload><Key>others/1</Key></Upload></L>", false},
		"uploads without end":               {clean, 200, xml, "<L>" + more, false},
		"uploads that nobody may list":      {clean, 403, xml, "<Error><Code>AccessDenied</Code></Error>", false},
		"a file that did not exist":         {del, 404, xml, "<Error><Code>NoSuchKey</Code></Error>", true},
		"another protocol":                  {read(0), 101, "Connection: Upgrade\nUpgrade: x\n", "", false},
		"a proxy without a backend":         {read(0), 404, "Content-Type: text/plain\n", "404 page not found", false},
	} {
		store := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
			for line := range strings.Lines("Etag: \"tag\"\nLast-Modified: Thu, 01 Jan 2026 00:00:00 GMT\n" + answer.header) {
				name, value, _ := strings.Cut(strings.TrimSpace(line), ":")
				w.Header().Set(name, strings.TrimSpace(value))
			}
			w.WriteHeader(answer.status)
			_, _ = io.WriteString(w, answer.body)
			_ = http.NewResponseController(w).Flush()
		}))
		b := try(bucket.Open("s3://studio/studio?endpoint=" + url.QueryEscape(store.URL)))(t)
		if err := answer.do(b); (err == nil) != answer.isRight || errors.Is(err, studio.ErrNotFound) {
			t.Errorf("%s: %v", name, err)
		}
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
	t.Setenv("AWS_ACCESS_KEY_ID", "")
	t.Setenv("AWS_SECRET_ACCESS_KEY", "")
	t.Setenv("AWS_SHARED_CREDENTIALS_FILE", t.TempDir()+"/none")
	t.Setenv("AWS_CONFIG_FILE", t.TempDir()+"/none")
	t.Setenv("AWS_CONTAINER_CREDENTIALS_FULL_URI", store.URL+"/role")
	b := try(bucket.Open("s3://studio/folder?endpoint=" + url.QueryEscape(store.URL)))(t)
	zeros := readerFunc(func(p []byte) (int, error) { clear(p); return len(p), nil })
	_, before := inUse(), inUse() // the first collection leaves what other tests have put into pools
	check(t, b.Write(t.Context(), "large.mp4", "video/mp4", io.LimitReader(zeros, size)))
	if used := most.Load() - before; received.Load() != size || used < part-part/4 || used > part+part/4 {
		t.Errorf("%d of %d bytes are sent, with %d bytes of memory at a time", received.Load(), size, used)
	}
	check(t, b.Close())
}

func TestOpen_refusesOtherLocations(t *testing.T) {
	t.Parallel()
	for _, location := range []string{
		"", "files", "file:", "file://host/dir", "gs://studio", "s3://", "s3:///prefix?region=eu-central-1", "s3://no?region=x", "s3://user@studio?region=eu-central-1",
		"s3://studio?region=eu-central-1&acl=public", "s3://studio?endpoint=localhost", "s3://studio?endpoint=https://host/path",
	} {
		if b, err := bucket.Open(location); !errors.Is(err, bucket.ErrLocation) {
			t.Errorf("%q: %v, %v", location, b, err)
		}
	}
	for i, location := range []string{"file:dir", "s3://studio?region=eu-central-1", "s3://studio/a/b/?endpoint=https://localhost:9000"} {
		b := try(bucket.Open(location))(t)
		if !strings.Contains(b.Location(), []string{"/dir/", "studio", "/b/"}[i]) {
			t.Errorf("%q has the location %q", location, b.Location())
		}
	}
}
