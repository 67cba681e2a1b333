package main

import (
	"bufio"
	"context"
	"io"
	"net/http"
	"strings"
	"testing"

	"github.com/avatarstudio/avatarstudio/api/tools/harness"
	"github.com/avatarstudio/avatarstudio/gen"
	"github.com/avatarstudio/avatarstudio/server/internal/testing/studiotest"
)

// eventStream is a response of streamEvents.
type eventStream struct {
	*bufio.Reader

	body io.Closer
}

func openEvents(t *testing.T, url, token, after string) eventStream {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), harness.Timeout)
	t.Cleanup(cancel)
	request := try(http.NewRequestWithContext(ctx, http.MethodGet, url+"/v1/events/stream", http.NoBody))(t)
	request.Header.Set("Authorization", "Bearer "+token)
	if after != "" {
		request.Header.Set("Last-Event-ID", after)
	}
	response := try(http.DefaultClient.Do(request))(t)
	t.Cleanup(func() { _ = response.Body.Close() })
	if response.StatusCode != http.StatusOK {
		t.Fatal(response.Status)
	}
	return eventStream{bufio.NewReader(response.Body), response.Body}
}

// next returns the id and the data of the next event, or of an item that has only an id.
func (s eventStream) next(t *testing.T) (id, data string) {
	t.Helper()
	for {
		line := try(s.ReadString('\n'))(t)
		switch name, value, _ := strings.Cut(strings.TrimSuffix(line, "\n"), ": "); name {
		case "id":
			id = value
		case "data":
			data = value
		case "":
			if id != "" || data != "" {
				return id, data
			}
		}
	}
}

// Events are streamed by every daemon of a database. A stream ends when the daemon stops, also that of an open page.
func TestDaemon_streamsEvents(t *testing.T) {
	t.Parallel()
	d := startDaemon(t, func(cfg *daemonConfig) { cfg.Database, cfg.Console = studiotest.NewPostgres(t), true })
	other, stop := runDaemon(t, d.cfg)
	page := visit(t, other.url())(http.MethodGet, "/console/avatars/live", nil)
	token := login(t, d.url(), testEmail).AccessToken
	here, there := openEvents(t, d.url(), token, ""), openEvents(t, other.url(), token, "")
	here.next(t)
	there.next(t)
	for range 2 {
		created := try(d.client.CreateLipsync(t.Context(), gen.CreateLipsyncRequest{}))(t)
		id, data := here.next(t)
		other, same := there.next(t)
		if id != other || data != same || !strings.Contains(data, created.InferenceID) {
			t.Errorf("%s: %s\n%s: %s", id, data, other, same)
		}
	}
	go stop()
	if _, data := there.next(t); !strings.Contains(data, `"code":"service_busy"`) {
		t.Errorf("the stream ends with %s", data)
	}
	if text := readAll(t, page); !strings.HasPrefix(text, "event: state\n") {
		t.Errorf("the stream of a page ends after %q", text)
	}
	check(t, d.studio.SetPassword(t.Context(), testEmail, "another long password"))
	harness.Eventually(t, "the end of the stream", func() bool { return strings.Count(d.log.String(), `msg="stream cut"`) == 1 })
}
