package media_test

import (
	"context"
	"encoding/json"
	"errors"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"testing/iotest"
	"time"

	"github.com/avatarstudio/avatarstudio/api/tools/harness"
	"github.com/avatarstudio/avatarstudio/server/internal/media"
	"github.com/avatarstudio/avatarstudio/server/internal/studio"
	"github.com/avatarstudio/avatarstudio/server/internal/testing/studiotest"
)

const key = "results/01936f3e-7c00-7a3b-8c44-2f6f1f0a9d10/out.mp4"

// fixture is a Store with a clock and, if the bucket is a directory, an HTTP server.
type fixture struct {
	*media.Store
	t     *testing.T
	clock *studiotest.Clock
	dir   string
	url   string
}

func setup(t *testing.T) *fixture {
	t.Helper()
	b := &fixture{t: t, clock: studiotest.NewClock(), dir: filepath.Join(t.TempDir(), "media")}
	web := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) { b.ServeHTTP(w, r) }))
	t.Cleanup(web.Close)
	b.url = web.URL
	b.Store = try(open(t, media.Config{Bucket: "file:" + b.dir, PublicURL: web.URL, Key: []byte("key"), Now: b.clock.Now}))(t)
	return b
}

var check = harness.Check

func try[T any](result T, err error) func(t testing.TB) T { return harness.Try(result, err) }

func (b *fixture) write(key, content string) {
	b.t.Helper()
	check(b.t, b.Write(b.t.Context(), key, strings.NewReader(content)))
}

// files returns the files, after it has checked that others have no access.
func (b *fixture) files() (all []string) {
	b.t.Helper()
	check(b.t, filepath.WalkDir(b.dir, func(path string, entry os.DirEntry, err error) error {
		check(b.t, err)
		if info := try(entry.Info())(b.t); info.Mode().Perm()&0o077 != 0 {
			b.t.Errorf("others have access to %s: %v", path, info.Mode())
		}
		if !entry.IsDir() {
			all = append(all, filepath.ToSlash(try(filepath.Rel(b.dir, path))(b.t)))
		}
		return nil
	}))
	return all
}

// directories returns the directories of results.
func (b *fixture) directories() []string {
	b.t.Helper()
	return try(filepath.Glob(filepath.Join(b.dir, "*", "*")))(b.t)
}

// do sends a request. header is a list of names and values.
func (b *fixture) do(method, url string, header ...string) (*http.Response, string) {
	b.t.Helper()
	request := try(http.NewRequestWithContext(b.t.Context(), method, url, nil))(b.t)
	for i := 0; i < len(header); i += 2 {
		request.Header.Set(header[i], header[i+1])
	}
	response := try(http.DefaultTransport.RoundTrip(request))(b.t)
	defer func() { _ = response.Body.Close() }()
	body := try(io.ReadAll(response.Body))(b.t)
	return response, string(body)
}

// A failed write leaves the previous content unchanged, and neither a temporary file nor a directory.
func TestStore_Write_isAtomic(t *testing.T) {
	t.Parallel()
	b := setup(t)
	b.write(key, "first")
	broken := iotest.TimeoutReader(io.MultiReader(strings.NewReader("half"), iotest.ErrReader(io.ErrUnexpectedEOF)))
	if err := b.Write(t.Context(), key, broken); !errors.Is(err, io.ErrUnexpectedEOF) && !errors.Is(err, iotest.ErrTimeout) {
		t.Errorf("error %v", err)
	}
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if err := b.Write(ctx, "results/x/out.mp4", strings.NewReader("late")); err == nil {
		t.Error("a write whose context has ended succeeds")
	}
	file := try(b.Open(t.Context(), key))(t)
	defer func() { _ = file.Close() }()
	if content, _ := io.ReadAll(file); string(content) != "first" {
		t.Errorf("content %q", content)
	}
	if all := b.files(); len(all) != 1 {
		t.Errorf("files %v", all)
	}
	if left := b.directories(); len(left) != 1 {
		t.Errorf("directories %v", left)
	}
	b.write(key, "second")
	check(t, b.Erase(t.Context(), key+".jpg")) // which is no name of it
	try(os.Stat(filepath.Join(b.dir, key)))(t)
	check(t, b.Erase(t.Context(), "results/"))
	_, err := b.Open(t.Context(), key)
	if _, left := os.Stat(filepath.Dir(filepath.Join(b.dir, key))); !errors.Is(err, studio.ErrNotFound) || !os.IsNotExist(left) {
		t.Errorf("the erased file is %v, and its directory %v", err, left)
	}
}

func TestStore_ServeHTTP_servesRangesAndConditions(t *testing.T) {
	t.Parallel()
	b := setup(t)
	b.write(key, "0123456789")
	url, expires := b.URL(key)
	if want := b.clock.Now().Add(24 * time.Hour); !expires.Equal(want) {
		t.Errorf("expires %v, want %v", expires, want)
	}
	response, body := b.do("GET", url)
	etag := response.Header.Get("ETag")
	if response.StatusCode != 200 || body != "0123456789" || response.Header.Get("Content-Type") != "video/mp4" ||
		response.Header.Get("X-Content-Type-Options") != "nosniff" || etag == "" || response.Header.Get("Cache-Control") != "private, max-age=3600" ||
		!strings.HasPrefix(response.Header.Get("Content-Security-Policy"), "default-src 'none'; ") {
		t.Errorf("%s %q %v", response.Status, body, response.Header)
	}
	for _, test := range []struct {
		method, name, value string
		status              int
		body                string
	}{
		{"GET", "Range", "bytes=7-", 206, "789"},
		{"GET", "Range", "bytes=20-", 416, ""},
		{"GET", "Range", "here", 416, ""},
		{"GET", "If-None-Match", etag, 304, ""},
		{"GET", "If-Match", `"other"`, 412, ""},
		{"HEAD", "Accept", "*/*", 200, ""},
		{"PUT", "Accept", "*/*", 405, ""},
	} {
		response, body := b.do(test.method, url, test.name, test.value)
		isProblem := response.Header.Get("Content-Type") == "application/problem+json" && json.Valid([]byte(body)) &&
			response.Header.Get("Cache-Control") == ""
		if failed := test.status >= 400; response.StatusCode != test.status || failed != isProblem || !failed && test.body != body ||
			(response.Header.Get("Allow") == "GET, HEAD") != (test.status == 405) || strings.Contains(body, "have this range") != (test.status == 416) {
			t.Errorf("%s with %s: %s: %s %q", test.method, test.name, test.value, response.Status, body)
		}
	}
	found, signed := b.Key(url)
	if found != key || !signed {
		t.Errorf("the key is %q, signed %t", found, signed)
	}
	for name, want := range map[string]string{"out.srt": "application/x-subrip", "out.vtt": "text/vtt", "out.html": "application/octet-stream"} {
		b.write("results/1/"+name, "<script>") // a browser never takes subtitles for a page
		url, _ := b.URL("results/1/" + name)
		if response, _ := b.do("GET", url); response.Header.Get("Content-Type") != want || response.Header.Get("X-Content-Type-Options") != "nosniff" ||
			(response.Header.Get("Content-Disposition") == "attachment") != (name == "out.html") {
			t.Errorf("%s is served as %v", name, response.Header)
		}
	}
}

// URLs that are expired, changed or made up are refused.
func TestStore_ServeHTTP_refusesOtherURLs(t *testing.T) {
	t.Parallel()
	b := setup(t)
	b.write(key, "x")
	url, _ := b.URL(key)
	query := url[strings.Index(url, "?"):]
	gone, _ := b.URL("results/1/none.mp4")
	for url, status := range map[string]int{
		b.url + media.Path + key:                          403,
		b.url + media.Path + "results/2/out.bin" + query:  403,
		b.url + media.Path + "results/" + query:           403,
		b.url + media.Path + query:                        403,
		b.url + media.Path + "../" + key + query:          403,
		strings.Replace(url, "expires=1", "expires=2", 1): 403,
		url + "0": 403,
		gone:      404,
	} {
		if response, _ := b.do("GET", url); response.StatusCode != status {
			t.Errorf("%s: %s, want %d", url, response.Status, status)
		}
	}
	b.clock.Add(24 * time.Hour)
	if response, _ := b.do("GET", url); response.StatusCode != 403 {
		t.Errorf("an expired address: %s", response.Status)
	}
	if _, signed := b.Key(url); signed {
		t.Error("Key reports an expired URL as signed")
	}
}

// Sweep erases files that are old enough and not needed, and what a crash leaves: temporary files, empty directories
// and uploads in several parts. What may be somebody else's is kept.
func TestStore_Sweep_erasesOldUnneededFiles(t *testing.T) {
	t.Parallel()
	inDirectory := setup(t)
	inDirectory.clock.Add(time.Since(inDirectory.clock.Now())) // modification times come from the system clock
	inBucket, store := setupS3(t)
	_, _ = store.BeginUpload(t, key), store.BeginUpload(t, "others/1")
	inDirectory.write(media.Mark+".123.tmp", "")
	check(t, errors.Join(os.MkdirAll(filepath.Join(inDirectory.dir, "results", "empty"), 0o700), os.MkdirAll(filepath.Join(inDirectory.dir, "others", "empty"), 0o700)))
	for b, test := range map[*fixture]struct {
		young int // what a crash has left, and what is not needed
		left  func() int
	}{
		inDirectory: {4, func() int { return len(inDirectory.files()) + len(inDirectory.directories()) - 3 }},
		inBucket:    {1, func() int { return store.Uploads(t) - 1 }},
	} {
		b.write(key, "x")
		b.write("results/1/out.mp4", "x")
		for _, old := range []bool{false, true} {
			check(t, b.Sweep(t.Context(), time.Hour, func(_ context.Context, k string) (bool, error) { return k == key || k[:7] != "results", nil }))
			_, found := b.content(key)
			if _, needless := b.content("results/1/out.mp4"); !found || needless == old || test.left() != test.young {
				t.Errorf("old %t: the file that is needed is there: %t, the other: %t, and %d others", old, found, needless, test.left())
			}
			test.young = 0
			b.clock.Add(2 * time.Hour)
		}
	}
}
