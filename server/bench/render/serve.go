package main

import (
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"time"

	"github.com/avatarstudio/avatarstudio/server"
	"github.com/avatarstudio/avatarstudio/server/internal/media"
)

// served is the minimum time to serve a file, by the media store behind server.New and by http.FileServer.
type served struct{ media, fileServer time.Duration }

// serve requests a file over loopback, alternately from both servers.
func (s setup) serve(ctx context.Context, size int64, rounds int) (best served, err error) {
	const key = "results/1/out.mp4"
	directory := s.path("media")
	store, err := media.Open(ctx, media.Config{Bucket: "file:" + directory, Key: []byte("key")})
	if err != nil {
		return best, err
	}
	defer func() { err = errors.Join(err, store.Close()) }()
	if err := store.Write(ctx, key, io.LimitReader(rand.Reader, size)); err != nil {
		return best, err
	}
	handler, err := server.New(server.Unimplemented{}, server.Config{
		Authenticator: server.AuthenticatorFunc(func(context.Context, string) (server.Principal, error) {
			return server.Principal{}, os.ErrPermission
		}),
		Wrap: func(http.Handler) http.Handler { return store },
	})
	if err != nil {
		return best, err
	}
	service, plain := httptest.NewServer(handler), httptest.NewServer(http.FileServer(http.Dir(directory)))
	defer service.Close()
	defer plain.Close()
	address, _ := store.URL(key) //nolint:contextcheck // URLs of a directory need no request
	for range rounds {
		for _, server := range []struct {
			from *httptest.Server
			path string
			best *time.Duration
		}{{service, address, &best.media}, {plain, "/" + key, &best.fileServer}} {
			took, err := read(ctx, server.from, server.path, size)
			if err != nil {
				return best, err
			}
			if *server.best == 0 || took < *server.best {
				*server.best = took
			}
		}
	}
	return best, nil
}

func read(ctx context.Context, from *httptest.Server, path string, size int64) (time.Duration, error) {
	request, err := http.NewRequestWithContext(ctx, http.MethodGet, from.URL+path, nil)
	if err != nil {
		return 0, err
	}
	began := time.Now()
	response, err := from.Client().Do(request)
	if err != nil {
		return 0, err
	}
	defer response.Body.Close()
	n, err := io.Copy(io.Discard, response.Body)
	if err == nil && n != size {
		err = fmt.Errorf("status %s, %d bytes of %d", response.Status, n, size)
	}
	return time.Since(began), err
}

// row returns a row of the report's table.
func (s served) row(name string, size int64) string {
	rate := func(took time.Duration) float64 { return float64(size) / 1e6 / took.Seconds() }
	return fmt.Sprintf("| %s | %.0f MB/s | %.0f MB/s | %.2f |\n", name, rate(s.media), rate(s.fileServer), rate(s.media)/rate(s.fileServer))
}
