package measure_test

import (
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"github.com/avatarstudio/avatarstudio/api/tools/harness"
	"github.com/avatarstudio/avatarstudio/server/bench/measure"
)

// The client reads bodies of both kinds and replaces connections that the server has closed.
func TestClient_readsEveryResponse(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		close bool
		body  string
		flush bool
	}{
		"with a length":       {body: "short"},
		"in chunks":           {body: strings.Repeat("long ", 50_000), flush: true},
		"without a body":      {},
		"on a new connection": {close: true, body: "short"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
				if c.close {
					w.Header().Set("Connection", "close")
				}
				w.WriteHeader(http.StatusTeapot)
				if c.flush {
					w.(http.Flusher).Flush()
				}
				_, _ = w.Write([]byte(c.body))
			}))
			defer server.Close()
			client := measure.NewClient(server.URL, 2)
			defer client.Close()
			for range 5 {
				response, err := client.Send(measure.Request(http.MethodGet, "/", "", ""))
				harness.Check(t, err)
				if response.Status != http.StatusTeapot || string(response.Body) != c.body {
					t.Fatalf("status %d with %d bytes", response.Status, len(response.Body))
				}
			}
		})
	}
}
