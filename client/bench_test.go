package client_test

import (
	"bytes"
	"encoding/json"
	"io"
	"net/http"
	"net/http/httptest"
	"testing"

	"github.com/avatarstudio/avatarstudio/client"
	"github.com/avatarstudio/avatarstudio/gen"
)

// canned is a service that responds to every request with the same JSON, at almost no cost.
type canned struct {
	header http.Header
	body   []byte
}

func (c canned) RoundTrip(r *http.Request) (*http.Response, error) {
	return &http.Response{
		StatusCode: http.StatusOK, Header: c.header, Request: r,
		ContentLength: int64(len(c.body)), Body: io.NopCloser(bytes.NewReader(c.body)),
	}, nil
}

// A creation allocates little more than http.Client and encoding/json do for the same request and response.
func TestAllocations_areCloseToPlainHTTP(t *testing.T) { //nolint:paralleltest // AllocsPerRun counts for the process
	const most = 15
	body := try(json.Marshal(gen.Avatar{AvatarID: avatarID, Status: gen.AvatarStatusPublished, Title: new("Ada"), CreatedAt: &moment}))(t)
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		_, _ = io.Copy(io.Discard, r.Body)
		w.Header().Set("Content-Type", "application/json")
		_, _ = w.Write(body)
	}))
	defer server.Close()
	own := server.Client()
	c := newClient(t, static, func(c *client.Config) { c.BaseURL, c.Transport = server.URL, own.Transport })
	request := gen.CreateAvatarRequest{Title: gen.Value("Ada"), Webhook: gen.Value(gen.WebhookSwitch{Enabled: gen.Value(true)})}
	alone := testing.AllocsPerRun(100, func() {
		content := bytes.NewReader(try(json.Marshal(request))(t))
		bare := try(http.NewRequestWithContext(t.Context(), http.MethodPost, server.URL+"/v1/avatars/create_avatar", content))(t)
		for _, name := range []string{"Authorization", "Content-Type", "Accept", "User-Agent", "Idempotency-Key"} {
			bare.Header[name] = []string{"application/json"}
		}
		response := try(own.Do(bare))(t)
		check(t, json.NewDecoder(response.Body).Decode(new(gen.Avatar)))
		check(t, response.Body.Close())
	})
	with := testing.AllocsPerRun(100, func() { check(t, errorOf(c.CreateAvatar(t.Context(), request))) })
	if with-alone > most {
		t.Errorf("%v allocations more than the %v of http.Client, want at most %d", with-alone, alone, most)
	}
}
