package client_test

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"maps"
	"net/http"
	"net/http/httptest"
	"net/url"
	"strings"
	"testing"

	"github.com/avatarstudio/avatarstudio/api/tools/harness"
	"github.com/avatarstudio/avatarstudio/client"
	"github.com/avatarstudio/avatarstudio/gen"
)

// canned is a service that responds to every request with the same avatar, at almost no cost.
type canned struct {
	header http.Header
	body   []byte
}

func newCanned() canned {
	body, _ := json.Marshal(gen.Avatar{AvatarID: avatarID, Status: gen.AvatarStatusPublished, Title: new("Ada"), CreatedAt: &moment, UpdatedAt: &moment})
	return canned{http.Header{"Content-Type": {"application/json"}}, body}
}

func (c canned) RoundTrip(r *http.Request) (*http.Response, error) {
	if r.Body != nil {
		_, _ = io.Copy(io.Discard, r.Body)
		_ = r.Body.Close()
	}
	return &http.Response{
		StatusCode: http.StatusOK, Header: c.header, Request: r,
		ContentLength: int64(len(c.body)), Body: io.NopCloser(bytes.NewReader(c.body)),
	}, nil
}

func (c canned) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	_, _ = io.Copy(io.Discard, r.Body)
	maps.Copy(w.Header(), c.header)
	_, _ = w.Write(c.body)
}

// runCanned serves a canned response until the end of its input. It is a process of its own, so that the client can be
// measured alone.
func runCanned(_ context.Context, _ []string, in io.Reader, out io.Writer) error {
	server := httptest.NewServer(newCanned())
	defer server.Close()
	fmt.Fprintln(out, server.URL)
	_, err := io.Copy(io.Discard, in)
	return err
}

// bare calls the service without this package, with http.Client and encoding/json.
func bare(ctx context.Context, c *http.Client, method, address string, body any) (*gen.Avatar, error) {
	content, err := json.Marshal(body)
	if err != nil {
		return nil, err
	}
	request, err := http.NewRequestWithContext(ctx, method, address, nil)
	if err != nil {
		return nil, err
	}
	request.Header.Set("Authorization", "Bearer static-1")
	if body != nil {
		request.Header.Set("Content-Type", "application/json")
		request.Body, request.ContentLength = io.NopCloser(bytes.NewReader(content)), int64(len(content))
	}
	response, err := c.Do(request)
	if err != nil {
		return nil, err
	}
	defer response.Body.Close()
	var avatar gen.Avatar
	return &avatar, json.NewDecoder(response.Body).Decode(&avatar)
}

// raceEnabled is true under the race detector, where sync.Pool drops items at random.
var raceEnabled bool

func TestAllocations_areCloseToPlainHTTP(t *testing.T) {
	const most = 13
	if raceEnabled {
		t.Skip("the race detector adds allocations; make test runs this without it too")
	}
	own := &http.Client{Transport: &http.Transport{}}
	t.Cleanup(own.CloseIdleConnections)
	service, err := harness.StartChild(context.Background())
	check(t, err)
	t.Cleanup(func() { check(t, service.Close()) })
	base, err := service.Out.ReadString('\n')
	check(t, err)
	base = strings.TrimSpace(base)
	c, err := client.New(client.Config{BaseURL: base, Token: "static-1", HTTPClient: own})
	check(t, err)
	request := gen.CreateAvatarRequest{Title: gen.Value("Ada"), Webhook: gen.Value(gen.WebhookSwitch{Enabled: gen.Value(true)})}
	for name, calls := range map[string][2]func() (*gen.Avatar, error){
		"read": {
			func() (*gen.Avatar, error) {
				query := "?" + url.Values{"avatar_id": {avatarID}}.Encode()
				return bare(t.Context(), own, http.MethodGet, base+"/v1/avatars/avatar_details"+query, nil)
			},
			func() (*gen.Avatar, error) { return c.GetAvatar(t.Context(), avatarID) },
		},
		"create": {
			func() (*gen.Avatar, error) {
				return bare(t.Context(), own, http.MethodPost, base+"/v1/avatars/create_avatar", request)
			},
			func() (*gen.Avatar, error) { return c.CreateAvatar(t.Context(), request) },
		},
	} {
		var allocations [2]float64
		for i, call := range calls {
			allocations[i] = testing.AllocsPerRun(100, func() {
				if avatar, err := call(); err != nil || avatar.AvatarID != avatarID {
					t.Fatal(avatar, err)
				}
			})
		}
		if alone, with := allocations[0], allocations[1]; with-alone > most {
			t.Errorf("%s: %v allocations more than the %v of http.Client, want at most %d", name, with-alone, alone, most)
		}
	}
}
