package main

import (
	"context"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"github.com/avatarstudio/avatarstudio/gen"
	"github.com/avatarstudio/avatarstudio/server/internal/studiotest"
)

// The request id of a creation is in the log lines from its response to its delivery, and in no others.
func TestDaemon_logsRequestIDUpToDelivery(t *testing.T) {
	t.Parallel()
	studiotest.EachDSN(t, func(t *testing.T, dsn string) {
		d := startDaemon(t, func(cfg *daemonConfig) { cfg.Database = dsn })
		received := make(chan string, 1)
		receiver := httptest.NewServer(http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) {
			body, _ := io.ReadAll(r.Body)
			received <- fmt.Sprint(r.Header, string(body))
		}))
		t.Cleanup(receiver.Close)
		created, err := d.client.Raw().CreateLipsyncWithResponse(t.Context(), nil, lipsyncRequest("Hello", receiver.URL),
			func(_ context.Context, r *http.Request) error {
				r.Header.Set("X-Request-Id", "creation-1")
				return nil
			})
		check(t, err)
		for _, line := range []string{"msg=request request_id=creation-1", "msg=rendered ", `msg="delivery attempted"`} {
			eventually(t, line, func() bool {
				for logged := range strings.Lines(d.log.String()) {
					if strings.Contains(logged, line) && strings.Contains(logged, "request_id=creation-1") {
						return true
					}
				}
				return false
			})
		}
		if sent := <-received; strings.Contains(sent, "creation-1") {
			t.Errorf("the receiver was sent %s", sent)
		}
		read, err := d.client.Raw().GetLipsyncWithResponse(t.Context(), &gen.GetLipsyncParams{InferenceID: created.JSON200.InferenceID})
		check(t, err)
		if answer := fmt.Sprint(read.HTTPResponse.Header, string(read.Body)); strings.Contains(answer, "creation-1") {
			t.Errorf("another request is answered %s", answer)
		}
	})
}
