package media_test

import (
	"context"
	"crypto/rand"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"testing"

	"github.com/avatarstudio/avatarstudio/server"
	"github.com/avatarstudio/avatarstudio/server/internal/media"
)

// BenchmarkServeHTTP serves a file through all of the daemon's middleware, and the same file with
// http.FileServer for comparison.
func BenchmarkServeHTTP(b *testing.B) {
	dir := b.TempDir()
	store, err := media.Open(b.Context(), media.Config{Bucket: "file:" + dir, Key: []byte("key")})
	check(b, err)
	defer func() { check(b, store.Close()) }()
	deny := server.AuthenticatorFunc(func(context.Context, string) (server.Principal, error) { return server.Principal{}, os.ErrPermission })
	handler, err := server.New(server.Unimplemented{}, server.Config{
		Authenticator: deny, Wrap: func(http.Handler) http.Handler { return store },
	})
	check(b, err)
	for _, size := range []int64{32 << 20, 64 << 10} {
		check(b, store.Write(b.Context(), key, io.LimitReader(rand.Reader, size)))
		address, _ := store.URL(key)
		for _, server := range []struct {
			name    string
			handler http.Handler
			path    string
		}{
			{"media", handler, address},
			{"http.FileServer", http.FileServer(http.Dir(dir)), "/" + key},
		} {
			b.Run(server.name+"/"+map[bool]string{true: "video", false: "picture"}[size > 1<<20], func(b *testing.B) {
				web := httptest.NewServer(server.handler)
				defer web.Close()
				b.SetBytes(size)
				for b.Loop() {
					response, err := web.Client().Get(web.URL + server.path)
					check(b, err)
					n, err := io.Copy(io.Discard, response.Body)
					if err != nil || n != size {
						b.Fatalf("%d bytes, %v", n, err)
					}
					_ = response.Body.Close()
				}
			})
		}
	}
}
