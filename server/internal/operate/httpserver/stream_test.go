package httpserver_test

import (
	"io"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/avatarstudio/avatarstudio/api/runtime/stream"
	"github.com/avatarstudio/avatarstudio/server/internal/operate/httpserver"
)

// A stream without items outlives the timeouts of the server, and is not closed to make room while there are idle
// connections.
func TestListener_keepsSilentStreams(t *testing.T) {
	t.Parallel()
	handler := func(w http.ResponseWriter, r *http.Request) {
		if r.URL.Path != "/stream" {
			return
		}
		w, r, stop := stream.Open(w, r)
		defer stop()
		_ = stream.SendEvents(w, http.StatusOK, "text/event-stream", func(func(stream.Event[string], error) bool) { <-r.Context().Done() }, nil)
	}
	serveHandler(t, httpserver.Config{MaxConnections: 4}, handler, func(t *testing.T, p *pipes) {
		closed := make(chan struct{}, 2)
		for range 2 {
			c := p.dial("192.0.2.1")
			go func() {
				_, _ = io.WriteString(c, strings.Replace(get, "/", "/stream", 1))
				_, _ = io.Copy(io.Discard, c)
				closed <- struct{}{}
			}()
		}
		time.Sleep(10*time.Minute - time.Second)                                  // most of an interval between heartbeats
		for _, address := range []string{"192.0.2.2", "192.0.2.3", "192.0.2.4"} { // the third takes the place of the first
			p.dial(address).get(t)
		}
		if len(closed) > 0 {
			t.Error("a silent stream is closed")
		}
	})
}
