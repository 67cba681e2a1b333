package main

import (
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"github.com/avatarstudio/avatarstudio/api/tools/harness"
	"github.com/avatarstudio/avatarstudio/client"
	"github.com/avatarstudio/avatarstudio/gen"
	"github.com/avatarstudio/avatarstudio/server/internal/testing/studiotest"
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
		pair, err := d.client.Login(t.Context(), gen.LoginRequest{Email: testEmail, Password: testPassword})
		check(t, err)
		named := newClient(t, client.Config{BaseURL: d.url(), Token: client.Credential(pair.AccessToken)}, [2]string{"X-Request-Id", "creation-1"})
		created, err := named.CreateLipsync(t.Context(), lipsyncRequest("Hello", receiver.URL))
		check(t, err)
		for _, line := range []string{"msg=request request_id=creation-1", "msg=rendered ", `msg="delivery attempted"`} {
			harness.Eventually(t, line, func() bool {
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
		var read client.Response
		_, err = d.client.GetLipsync(t.Context(), created.InferenceID, client.WithResponse(&read))
		check(t, err)
		if answer := fmt.Sprint(read.Header, string(read.Body)); strings.Contains(answer, "creation-1") {
			t.Errorf("another request is answered %s", answer)
		}
	})
}
