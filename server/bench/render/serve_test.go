package render_test

import (
	"context"
	"crypto/rand"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"time"

	"github.com/avatarstudio/avatarstudio/server"
	"github.com/avatarstudio/avatarstudio/server/internal/media"
)

// serve requests a file over loopback, alternately from the media store behind server.New and from http.FileServer. It
// returns a row of the table.
func (s setup) serve(name string, size int64, rounds int) string {
	s.t.Helper()
	const key = "results/1/out.mp4"
	directory := s.t.TempDir()
	store, err := media.Open(s.t.Context(), media.Config{Bucket: "file:" + directory, Key: []byte("key")})
	check(s.t, err)
	defer func() { check(s.t, store.Close()) }()
	check(s.t, store.Write(s.t.Context(), key, io.LimitReader(rand.Reader, size)))
	handler, err := server.New(server.Unimplemented{}, server.Config{
		Authenticator: server.AuthenticatorFunc(func(context.Context, string) (server.Principal, error) {
			return server.Principal{}, os.ErrPermission
		}),
		Wrap: func(http.Handler) http.Handler { return store },
	})
	check(s.t, err)
	service, plain := httptest.NewServer(handler), httptest.NewServer(http.FileServer(http.Dir(directory)))
	defer service.Close()
	defer plain.Close()
	address, _ := store.URL(key)
	ours, theirs := time.Hour, time.Hour // minimum times
	for range rounds {
		ours, theirs = min(ours, s.read(service, address, size)), min(theirs, s.read(plain, "/"+key, size))
	}
	rate := func(took time.Duration) float64 { return float64(size) / 1e6 / took.Seconds() }
	return fmt.Sprintf("| %s | %.0f MB/s | %.0f MB/s | %.2f |\n", name, rate(ours), rate(theirs), rate(ours)/rate(theirs))
}

// read returns the time of a GET.
func (s setup) read(from *httptest.Server, path string, size int64) time.Duration {
	s.t.Helper()
	began := time.Now()
	response, err := from.Client().Get(from.URL + path)
	check(s.t, err)
	defer response.Body.Close()
	if n, err := io.Copy(io.Discard, response.Body); err != nil || n != size {
		s.t.Fatalf("status %s, %d bytes of %d: %v", response.Status, n, size, err)
	}
	return time.Since(began)
}
