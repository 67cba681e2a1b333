package client_test

import (
	"bytes"
	"context"
	"crypto/rand"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"maps"
	"net/http"
	"net/http/httptest"
	"net/url"
	"runtime"
	"strings"
	"testing"
	"time"

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
type bare struct {
	http http.Client
	base string
	safe bool // with what every program needs: a timeout, a limit of the response, and an idempotency key for a creation
}

func (b *bare) do(ctx context.Context, method, path string, body any) (*gen.Avatar, error) {
	var content io.Reader
	if body != nil {
		encoded, err := json.Marshal(body)
		if err != nil {
			return nil, err
		}
		content = bytes.NewReader(encoded)
	}
	if b.safe {
		limited, cancel := context.WithTimeout(ctx, time.Minute)
		defer cancel()
		ctx = limited
	}
	request, err := http.NewRequestWithContext(ctx, method, b.base+path, content)
	if err != nil {
		return nil, err
	}
	request.Header.Set("Authorization", "Bearer static-1")
	if body != nil {
		request.Header.Set("Content-Type", "application/json")
		if b.safe {
			request.Header.Set("Idempotency-Key", rand.Text())
		}
	}
	response, err := b.http.Do(request)
	if err != nil {
		return nil, err
	}
	defer response.Body.Close()
	if response.StatusCode != http.StatusOK {
		return nil, errors.New(response.Status)
	}
	var avatar gen.Avatar
	read := io.Reader(response.Body)
	if b.safe {
		read = io.LimitReader(read, 64<<20)
	}
	return &avatar, json.NewDecoder(read).Decode(&avatar)
}

// calls returns the same calls made by bare, by bare with safe, and by the client.
func calls(tb testing.TB) map[string][3]func() {
	tb.Helper()
	own := http.Client{Transport: &http.Transport{}}
	tb.Cleanup(own.CloseIdleConnections)
	service, err := harness.StartChild(context.Background())
	check(tb, err)
	tb.Cleanup(func() { check(tb, service.Close()) })
	address, err := service.Out.ReadString('\n')
	check(tb, err)
	plain := &bare{http: own, base: strings.TrimSpace(address)}
	safe := &bare{http: own, base: plain.base, safe: true}
	c, err := client.New(client.Config{BaseURL: plain.base, Token: "static-1", HTTPClient: &own})
	check(tb, err)
	request := gen.CreateAvatarRequest{Title: gen.Value("Ada"), Webhook: gen.Value(gen.WebhookSwitch{Enabled: gen.Value(true)})}
	query := "?" + url.Values{"avatar_id": {avatarID}}.Encode()
	check := func(avatar *gen.Avatar, err error) {
		if err != nil || avatar.AvatarID != avatarID {
			tb.Fatal(avatar, err)
		}
	}
	bareRead := func(b *bare) func() {
		return func() { check(b.do(tb.Context(), http.MethodGet, "/v1/avatars/avatar_details"+query, nil)) }
	}
	bareCreate := func(b *bare) func() {
		return func() { check(b.do(tb.Context(), http.MethodPost, "/v1/avatars/create_avatar", request)) }
	}
	return map[string][3]func(){
		"read":   {bareRead(plain), bareRead(safe), func() { check(c.GetAvatar(tb.Context(), avatarID)) }},
		"create": {bareCreate(plain), bareCreate(safe), func() { check(c.CreateAvatar(tb.Context(), request)) }},
	}
}

// BenchmarkCall compares the client with net/http and encoding/json, each without the service: the CPU time as the
// median of the ratios of the rounds, in which all make calls alternately, and the allocations of a call.
func BenchmarkCall(b *testing.B) {
	const batch = 250
	for name, call := range calls(b) {
		b.Run(name, func(b *testing.B) {
			var ofBare, ofSafe []float64
			var allocations [3]float64
			for b.Loop() {
				var used [3]float64
				for _, i := range []int{0, 1, 2, 2, 1, 0} {
					var before, after runtime.MemStats
					runtime.ReadMemStats(&before)
					used[i] += cpuTime(func() {
						for range batch {
							call[i]()
						}
					})
					runtime.ReadMemStats(&after)
					allocations[i] += float64(after.Mallocs - before.Mallocs)
				}
				ofBare, ofSafe = append(ofBare, used[2]/used[0]), append(ofSafe, used[2]/used[1])
			}
			calls := float64(2 * batch * b.N)
			b.ReportMetric(median(ofBare), "x-bare")
			b.ReportMetric(median(ofSafe), "x-safe")
			b.ReportMetric(allocations[0]/calls, "bare-allocs/call")
			b.ReportMetric(allocations[1]/calls, "safe-allocs/call")
			b.ReportMetric(allocations[2]/calls, "allocs/call")
		})
	}
}

// raceEnabled is true under the race detector, where sync.Pool drops items at random.
var raceEnabled bool

func TestAllocations_areCloseToPlainHTTP(t *testing.T) {
	const most = 13
	if raceEnabled {
		t.Skip("the race detector adds allocations; make test runs this without it too")
	}
	for name, call := range calls(t) {
		alone, with := testing.AllocsPerRun(100, call[0]), testing.AllocsPerRun(100, call[2])
		if with-alone > most {
			t.Errorf("%s: %v allocations more than the %v of http.Client, want at most %d", name, with-alone, alone, most)
		}
	}
}
