package media_test

import (
	"bytes"
	"context"
	"errors"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"net/url"
	"strings"
	"testing"
	"testing/iotest"
	"time"

	"github.com/avatarstudio/avatarstudio/server/internal/media"
	"github.com/avatarstudio/avatarstudio/server/internal/studio"
	"github.com/avatarstudio/avatarstudio/server/internal/testing/studiotest"
	"github.com/avatarstudio/avatarstudio/server/internal/testing/studiotest/s3test"
)

func setupS3(t *testing.T) (*fixture, *s3test.Bucket) {
	t.Helper()
	bucket := s3test.New(t)
	b := &fixture{t: t, clock: studiotest.NewClock()}
	b.clock.Add(time.Since(b.clock.Now())) // signatures and modification times use the system clock
	b.Store = try(open(t, media.Config{Bucket: bucket.URL, PublicURL: "https://studio.example.com", Key: []byte("key"), Now: b.clock.Now}))(t)
	return b, bucket
}

// content returns the content of a key. found is false if there is no file.
func (b *fixture) content(key string) (content string, found bool) {
	b.t.Helper()
	file, err := b.Open(b.t.Context(), key)
	if errors.Is(err, studio.ErrNotFound) {
		return "", false
	}
	check(b.t, err)
	defer func() { check(b.t, file.Close()) }()
	all := try(io.ReadAll(file))(b.t)
	return string(all), true
}

// The object store serves files at the URLs that URL returns, with ranges and the right media type.
func TestS3_servesWrittenFiles(t *testing.T) {
	t.Parallel()
	b, _ := setupS3(t)
	b.write(key, "0123456789")
	address, expires := b.URL(key)
	if strings.HasPrefix(address, "https://studio.example.com") || !strings.Contains(address, "X-Amz-Expires=86400") ||
		time.Until(expires) < 23*time.Hour {
		t.Errorf("the address is %s until %v", address, expires)
	}
	response, body := b.do("GET", address)
	if response.StatusCode != 200 || body != "0123456789" || response.Header.Get("Content-Type") != "video/mp4" {
		t.Errorf("%s %q %v", response.Status, body, response.Header)
	}
	if found, _ := b.Key(address); found != key {
		t.Errorf("the key is %q", found)
	}
	for byteRange, want := range map[string]string{"": "0123456789", "bytes=7-": "789", "bytes=0-3": "0123", "bytes=-2": "89"} { // served by the service
		answer, request := httptest.NewRecorder(), httptest.NewRequest(http.MethodGet, "/", nil)
		request.Header.Set("Range", byteRange)
		if b.ServeFile(answer, request, key); answer.Body.String() != want {
			t.Errorf("range %q: %d %q", byteRange, answer.Code, answer.Body)
		}
	}
	b.write(key, "again")
	if content, _ := b.content(key); content != "again" {
		t.Errorf("content %q", content)
	}
	check(t, b.Erase(t.Context(), "results/"))
	if _, found := b.content(key); found {
		t.Error("the erased file still exists")
	}
	if response, _ := b.do("GET", address); response.StatusCode != 404 {
		t.Errorf("after it was erased: %s", response.Status)
	}
}

// A write that is interrupted leaves no partial file, whether it is one request or a multipart upload.
func TestS3_Write_isAtomic(t *testing.T) {
	t.Parallel()
	b, store := setupS3(t)
	large := bytes.Repeat([]byte("0123456789abcdef"), 1<<20) // several parts
	const mp4 = "results/large/out.mp4"
	broken := io.MultiReader(bytes.NewReader(large[:11<<20]), iotest.ErrReader(io.ErrUnexpectedEOF))
	if err := b.Write(t.Context(), mp4, broken); !errors.Is(err, io.ErrUnexpectedEOF) {
		t.Errorf("error %v", err)
	}
	ctx, cancel := context.WithCancel(t.Context())
	ends := readerFunc(func(p []byte) (int, error) {
		cancel()
		return len(p), nil
	})
	if err := b.Write(ctx, mp4, io.MultiReader(bytes.NewReader(large[:11<<20]), io.LimitReader(ends, 5<<20))); err == nil {
		t.Error("a write whose context ends succeeds")
	}
	store.Cut.Store(true)
	if err := b.Write(t.Context(), "results/small/out.mp4", strings.NewReader("0123456789")); err == nil {
		t.Error("a write that is cut succeeds")
	}
	store.Cut.Store(false)
	if left := store.Uploads(t); left != 0 {
		t.Errorf("parts of %d uploads are left", left)
	}
	for _, key := range []string{mp4, "results/small/out.mp4"} {
		if content, found := b.content(key); found {
			t.Errorf("%s is there, with %d bytes", key, len(content))
		}
	}
	check(t, b.Write(t.Context(), mp4, bytes.NewReader(large)))
	if content, _ := b.content(mp4); content != string(large) {
		t.Errorf("%d bytes", len(content))
	}
	if err := b.Write(t.Context(), mp4, iotest.ErrReader(io.ErrUnexpectedEOF)); !errors.Is(err, io.ErrUnexpectedEOF) {
		t.Errorf("error %v", err)
	}
	if content, _ := b.content(mp4); content != string(large) {
		t.Error("a write that fails replaces what was there")
	}
}

type readerFunc func(p []byte) (int, error)

func (f readerFunc) Read(p []byte) (int, error) { return f(p) }

// isUnavailable checks that files cannot be read, written or erased.
func (b *fixture) isUnavailable() {
	b.t.Helper()
	for name, do := range map[string]func() error{
		"a read": func() error {
			_, err := b.Open(b.t.Context(), key)
			return err
		},
		"a write":    func() error { return b.Write(b.t.Context(), key, strings.NewReader("other")) },
		"an erasure": func() error { return b.Erase(b.t.Context(), key) },
	} {
		if err := do(); !errors.Is(err, studio.ErrUnavailable) || errors.Is(err, studio.ErrNotFound) {
			b.t.Errorf("%s: %v", name, err)
		}
	}
}

// An object store that is down and a bucket that does not exist are not without files, and an object store that does
// not respond holds nobody up. URLs can still be signed.
func TestS3_outageIsUnavailable(t *testing.T) {
	t.Parallel()
	other, store := setupS3(t)
	other.write(key, "0123456789")
	store.Down.Store(true)
	other.isUnavailable()
	if err := other.Sweep(t.Context(), time.Hour, func(context.Context, string) (bool, error) { return false, nil }); err == nil {
		t.Error("a sweep succeeds")
	}
	signed, _ := other.URL(key)
	store.Down.Store(false)
	if _, body := other.do("GET", signed); body != "0123456789" {
		t.Errorf("content %q", body)
	}
	missing := try(media.Open(t.Context(), media.Config{Bucket: strings.Replace(store.URL, "s3://studio", "s3://missing", 1), Key: []byte("key")}))(t)
	other.Store = missing
	other.isUnavailable()

	silent := try(new(net.ListenConfig).Listen(t.Context(), "tcp", "127.0.0.1:0"))(t)
	defer func() { check(t, silent.Close()) }()
	address := try(url.Parse(store.URL))(t)
	query := address.Query()
	query.Set("endpoint", "http://"+silent.Addr().String())
	address.RawQuery = query.Encode()
	other.Store = try(media.Open(t.Context(), media.Config{Bucket: address.String(), Key: []byte("key")}))(t)
	other.SetStallTimeout(100 * time.Millisecond)
	other.isUnavailable() // and the test ends
}
