package client_test

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"math/rand/v2"
	"net/http"
	"net/http/httptest"
	"net/url"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/avatarstudio/avatarstudio/api/tools/harness"
	"github.com/avatarstudio/avatarstudio/client"
)

// fileHost is a service whose lip-sync has a video on another host.
type fileHost struct {
	address string

	mu       sync.Mutex
	content  []byte
	etag     string
	breaks   []int // number of bytes after which each response breaks off
	expires  bool  // each URL works once
	refuse   int   // status of all responses, unless 0
	careless bool  // the host ignores If-Range
	requests []*http.Request
	located  int
}

func newFileHost(t *testing.T, size int) (*fileHost, *client.Client) {
	t.Helper()
	h := &fileHost{content: make([]byte, size), etag: `"one"`}
	_, _ = rand.NewChaCha8([32]byte{}).Read(h.content)
	files := httptest.NewServer(h)
	t.Cleanup(files.Close)
	h.address = files.URL
	s := newService()
	s.before = func(w http.ResponseWriter, _ *http.Request) bool {
		h.mu.Lock()
		defer h.mu.Unlock()
		h.located++
		return answerJSON(w, http.StatusOK, fmt.Sprintf(`{"inference_id":"id","status":"succeeded","video_url":"%s/out.mp4?signature=canary&n=%d"}`, h.address, h.located))
	}
	return h, s.start(t, static, fast)
}

func fast(c *client.Config) { c.Retry.BaseDelay = time.Nanosecond }

func (h *fileHost) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.requests = append(h.requests, r)
	current := r.URL.Query().Get("n") == fmt.Sprint(h.located)
	switch {
	case h.refuse != 0:
		w.WriteHeader(h.refuse)
		return
	case h.expires && (!current || slices.ContainsFunc(h.requests[:len(h.requests)-1], func(o *http.Request) bool { return o.RequestURI == r.RequestURI })):
		w.WriteHeader(http.StatusForbidden)
		return
	}
	if h.etag != "" {
		w.Header().Set("ETag", h.etag)
	}
	if h.careless {
		r.Header.Del("If-Range")
	}
	if len(h.breaks) > 0 {
		w = &breaking{w, h.breaks[0]}
		h.breaks = h.breaks[1:]
	}
	http.ServeContent(w, r, "", time.Time{}, bytes.NewReader(h.content))
}

// breaking is a ResponseWriter that breaks off a response.
type breaking struct {
	http.ResponseWriter
	left int
}

func (b *breaking) Write(p []byte) (int, error) {
	n, _ := b.ResponseWriter.Write(p[:min(len(p), b.left)])
	if b.left -= n; b.left == 0 {
		_ = http.NewResponseController(b.ResponseWriter).Flush()
		panic(http.ErrAbortHandler)
	}
	return n, nil
}

// An interrupted download resumes if the file is the same, and the host of the file gets no token. No response is
// compressed, because it could not be resumed.
func TestDownload_resumes(t *testing.T) {
	t.Parallel()
	h, c := newFileHost(t, 1_000_000)
	h.breaks = []int{1, 400_000, 1, 300_000, 1, 1, 1, 1}
	var written bytes.Buffer
	var last [2]int64
	err := c.Download(t.Context(), client.LipsyncFile("id"), &written, client.WithProgress(func(done, total int64) { last = [2]int64{done, total} }))
	if err != nil || !bytes.Equal(written.Bytes(), h.content) {
		t.Fatalf("%d bytes, error %v", written.Len(), err)
	}
	if last != [2]int64{1_000_000, 1_000_000} {
		t.Errorf("the last progress is %v", last)
	}
	if h.located != 1 || len(h.requests) != 9 {
		t.Errorf("%d addresses, %d requests", h.located, len(h.requests))
	}
	for _, r := range h.requests {
		if r.Header.Get("Authorization") != "" || r.Header.Get("X-Workspace-Id") != "" || r.Header.Get("Cookie") != "" ||
			r.Header.Get("Accept-Encoding") != "identity" || (r.Header.Get("If-Range") == h.etag) != (r.Header.Get("Range") != "") {
			t.Errorf("headers %v", r.Header)
		}
	}
}

// A URL that has expired is replaced by a new one, even in the middle of a download. The user in a URL is for its host.
func TestDownload_requestsANewURL(t *testing.T) {
	t.Parallel()
	h, c := newFileHost(t, 1000)
	h.expires, h.breaks, h.address = true, []int{100, 200}, strings.Replace(h.address, "://", "://ada:secret@", 1)
	var written bytes.Buffer
	if err := c.Download(t.Context(), client.LipsyncFile("id"), &written); err != nil || !bytes.Equal(written.Bytes(), h.content) {
		t.Fatalf("%d bytes, error %v", written.Len(), err)
	}
	if name, password, _ := h.requests[0].BasicAuth(); name != "ada" || password != "secret" || h.located != 3 {
		t.Errorf("%d addresses, headers %v", h.located, h.requests[0].Header)
	}
	h.refuse = http.StatusForbidden
	err := c.Download(t.Context(), client.LipsyncFile("id"), &written)
	if !errors.Is(err, client.ErrForbidden) || strings.Contains(err.Error(), "canary") || h.located != 5 {
		t.Errorf("error %v, %d addresses", err, h.located)
	}
}

// A download never mixes the content of two versions.
func TestDownload_startsOverWhenTheFileChanges(t *testing.T) {
	t.Parallel()
	h, c := newFileHost(t, 1000)
	h.breaks = []int{100}
	renews := writerFunc(func(p []byte) (int, error) {
		h.etag = `"two"` // the handler holds the lock
		return len(p), nil
	})
	if err := c.Download(t.Context(), client.LipsyncFile("id"), renews); err == nil {
		t.Error("no error")
	}
	name := filepath.Join(t.TempDir(), "out.mp4")
	h.breaks, h.etag = []int{100}, `"three"`
	changed := client.WithProgress(func(done, _ int64) {
		if done == 100 && h.etag == `"three"` {
			h.etag, h.content = `"four"`, bytes.Repeat([]byte("x"), 500)
		}
	})
	check(t, c.DownloadFile(t.Context(), client.LipsyncFile("id"), name, changed))
	wantFiles(t, name, h.content)
}

type writerFunc func(p []byte) (int, error)

func (f writerFunc) Write(p []byte) (int, error) { return f(p) }

// wantFiles checks that a download left the file and no other file.
func wantFiles(t *testing.T, name string, content []byte) {
	t.Helper()
	got, err := os.ReadFile(name)
	if err != nil || !bytes.Equal(got, content) {
		t.Errorf("the file has %d bytes, want %d, error %v", len(got), len(content), err)
	}
	if entries, err := os.ReadDir(filepath.Dir(name)); err != nil || len(entries) != 1 {
		t.Errorf("files %v, error %v", entries, err)
	}
}

// A file appears only when it is complete, and a later call resumes an interrupted download.
func TestDownloadFile_resumes(t *testing.T) {
	t.Parallel()
	once := client.WithRetry(client.Retry{Attempts: 1})
	for name, test := range map[string]struct {
		etag   string // initial entity tag of the host
		change func(t *testing.T, h *fileHost, part string)
		ranged string // Range of the second call
	}{
		"the same": {`"one"`, func(*testing.T, *fileHost, string) {}, "bytes=600-"},
		"changed":  {`"one"`, func(_ *testing.T, h *fileHost, _ string) { h.etag, h.content = `"two"`, h.content[:700] }, "bytes=600-"},
		"changed, on a host without If-Range": {`"one"`, func(_ *testing.T, h *fileHost, _ string) {
			h.careless, h.etag, h.content = true, `"two"`, h.content[:700]
		}, "bytes=600-"},
		"whole already": {`"one"`, func(t *testing.T, h *fileHost, part string) {
			t.Helper()
			check(t, os.WriteFile(part, h.content, 0o600))
		}, "bytes=1000-"},
		"without its tag": {`"one"`, func(t *testing.T, _ *fileHost, part string) { t.Helper(); check(t, os.Remove(part+".etag")) }, ""},
		"without itself":  {`"one"`, func(t *testing.T, _ *fileHost, part string) { t.Helper(); check(t, os.Remove(part)) }, ""},
		"a weak tag":      {`W/"one"`, func(*testing.T, *fileHost, string) {}, ""},
		"no tag":          {"", func(*testing.T, *fileHost, string) {}, ""},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			h, c := newFileHost(t, 1000)
			h.etag, h.breaks = test.etag, []int{600}
			name := filepath.Join(t.TempDir(), "out.mp4")
			check(t, os.WriteFile(name, []byte("old"), 0o600))
			harness.WantError(t, c.DownloadFile(t.Context(), client.LipsyncFile("id"), name, once), io.ErrUnexpectedEOF)
			if old, err := os.ReadFile(name); err != nil || string(old) != "old" {
				t.Errorf("the file is %q, %v", old, err)
			}
			test.change(t, h, name+".part")
			before := len(h.requests)
			check(t, c.DownloadFile(t.Context(), client.LipsyncFile("id"), name, once))
			if got := h.requests[before].Header.Get("Range"); got != test.ranged {
				t.Errorf("range %q, want %q", got, test.ranged)
			}
			wantFiles(t, name, h.content)
		})
	}
}

// A download that fails before its first byte leaves no file.
func TestDownloadFile_leavesNoFileAfterAnError(t *testing.T) {
	t.Parallel()
	h, c := newFileHost(t, 10)
	name := filepath.Join(t.TempDir(), "out.mp4")
	h.refuse = http.StatusNotFound
	harness.WantError(t, c.DownloadFile(t.Context(), client.LipsyncFile("id"), name), client.ErrNotFound)
	s := newService()
	s.state("processing")
	for _, file := range []client.File{
		client.AvatarThumbnail("id"), client.VideoFile("id"), client.VideoThumbnail("id"), client.LipsyncFile("id"), client.LipsyncThumbnail("id"),
	} {
		harness.WantError(t, s.start(t, static).DownloadFile(t.Context(), file, name), client.ErrNoFile)
	}
	for _, address := range []string{"http://files.example.com", "ftp://127.0.0.1", "file://", "://", "/relative"} {
		c := newClient(t, static, func(config *client.Config) {
			config.BaseURL = "https://studio.example.com"
			config.Transport = roundTripper(func(r *http.Request) (*http.Response, error) {
				if r.URL.Host != "studio.example.com" {
					t.Errorf("asked %s", r.URL)
				}
				w := httptest.NewRecorder()
				answerJSON(w, http.StatusOK, fmt.Sprintf(`{"inference_id":"id","status":"succeeded","video":%q}`, address+"/x"))
				return w.Result(), nil
			})
		})
		if err := c.DownloadFile(t.Context(), client.VideoFile("id"), name); err == nil || strings.Contains(err.Error(), "example") {
			t.Errorf("%s: error %v", address, err)
		}
	}
	if entries, err := os.ReadDir(filepath.Dir(name)); err != nil || len(entries) > 0 {
		t.Errorf("files %v, error %v", entries, err)
	}
}

// A download ends when its writer fails or its context ends.
func TestDownload_endsWithItsWriterOrContext(t *testing.T) {
	t.Parallel()
	h, c := newFileHost(t, 1000)
	full := errors.New("full")
	harness.WantError(t, c.Download(t.Context(), client.LipsyncFile("id"), writerFunc(func([]byte) (int, error) { return 0, full })), full)
	ctx, cancel := context.WithCancel(t.Context())
	h.breaks = []int{10}
	stops := writerFunc(func(p []byte) (int, error) { cancel(); return len(p), nil })
	harness.WantError(t, c.Download(ctx, client.LipsyncFile("id"), stops), context.Canceled)
	if len(h.requests) != 2 {
		t.Errorf("%d requests", len(h.requests))
	}
}

// A download fails when the host sends nothing for the timeout. The whole download may take longer.
func TestDownload_timesOutOnASilentHost(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		s := newService()
		s.before = func(w http.ResponseWriter, r *http.Request) bool {
			return answerJSON(w, http.StatusOK, `{"inference_id":"id","status":"succeeded","video_url":"http://localhost/file"}`)
		}
		c := s.direct(t, static, func(config *client.Config) {
			config.Transport = roundTripper(func(r *http.Request) (*http.Response, error) {
				if r.URL.Path != "/file" {
					return s.RoundTrip(r)
				}
				header := http.Header{"Etag": {`"one"`}}
				return &http.Response{StatusCode: 200, Header: header, ContentLength: 11, Body: &quiet{r.Context(), slices.Repeat([]string{"x"}, 10), 20 * time.Second}}, nil
			})
		})
		began := time.Now()
		err := c.Download(t.Context(), client.LipsyncFile("id"), io.Discard, client.WithRetry(client.Retry{Attempts: 1}))
		if failure, ok := errors.AsType[*url.Error](err); !ok || !failure.Timeout() {
			t.Errorf("error %v", err)
		}
		// Ten bytes arrive 20 seconds apart, and then none for 30 seconds.
		if took := time.Since(began); took != 230*time.Second {
			t.Errorf("it took %v", took)
		}
	})
}
