package client_test

import (
	"cmp"
	"context"
	"errors"
	"io"
	"net/http"
	"os"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/avatarstudio/avatarstudio/client"
	"github.com/avatarstudio/avatarstudio/gen"
)

// timed returns a service that responds with the statuses in order, and then succeeds. It records the time
// of each request.
func timed(header string, statuses ...int) (*service, *[]time.Time) {
	s, times := newService(), new([]time.Time)
	s.before = func(w http.ResponseWriter, _ *http.Request) bool {
		*times = append(*times, time.Now())
		if n := len(*times) - 1; n < len(statuses) {
			w.Header().Set("Retry-After", header)
			problem(w, statuses[n], "As the test wants it.")
			return true
		}
		return false
	}
	return s, times
}

// The delays double, and never exceed MaxDelay.
func TestRetry_delaysGrow(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		s, times := timed("", slices.Repeat([]int{500, 502, 503}, 33)...)
		mustGet(t, s.direct(t, static, func(c *client.Config) { c.Retry = client.Retry{Attempts: 100, MaxDelay: 4 * time.Second} }))
		longest := time.Duration(0)
		for i := range len(*times) - 1 {
			wait, bound := (*times)[i+1].Sub((*times)[i]), 250*time.Millisecond<<min(i, 4)
			if longest = max(longest, wait); wait > bound {
				t.Errorf("wait %d: %v, want at most %v", i, wait, bound)
			}
		}
		if len(*times) != 100 || longest < 2*time.Second {
			t.Errorf("%d attempts, longest wait %v", len(*times), longest)
		}
	})
}

func TestRetry_waitsForRetryAfter(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		s, times := timed("7", 429, 503)
		c := s.direct(t, static)
		check(t, errorOf(c.CreateAvatar(t.Context(), gen.CreateAvatarRequest{Title: gen.Value("Ada")})))
		for i := range 2 {
			if wait := (*times)[i+1].Sub((*times)[i]); wait != 7*time.Second {
				t.Errorf("wait %d: %v", i, wait)
			}
		}
		for _, sent := range s.requests(create) {
			if sent.body != `{"title":"Ada"}` {
				t.Errorf("sent %s", sent.body)
			}
		}
	})
}

// A call fails at once if the delay would outlast its context.
func TestRetry_failsAtOnceWhenTheContextWouldEnd(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		s, times := timed("5", 503)
		ctx, cancel := context.WithTimeout(t.Context(), 5*time.Second)
		defer cancel()
		start := time.Now()
		_, err := s.direct(t, static).GetAvatar(ctx, avatarID)
		if answer, ok := errors.AsType[*client.Error](err); !ok || answer.StatusCode != 503 || time.Since(start) != 0 || len(*times) != 1 {
			t.Errorf("error %v after %v", err, time.Since(start))
		}
	})
}

// Each attempt has the timeout, also those to log in and to download. The context limits all of them together. HTTP/2
// says that a request was canceled when its time is over.
func TestRetry_eachAttemptHasTheTimeout(t *testing.T) {
	t.Parallel()
	for name, test := range map[string]struct {
		call    func(context.Context, *client.Client) error
		took    time.Duration
		unknown bool
	}{
		"read, shorter": {func(ctx context.Context, c *client.Client) error {
			return errorOf(c.GetAvatar(ctx, avatarID, client.WithTimeout(time.Second)))
		}, 3 * time.Second, false},
		"login": {func(ctx context.Context, c *client.Client) error { return errorOf(c.GetAvatar(ctx, avatarID)) }, 90 * time.Second, false},
		"download": {func(ctx context.Context, c *client.Client) error {
			return c.Download(ctx, client.LipsyncFile("id"), io.Discard)
		}, 90 * time.Second, false},
		"creation": {func(ctx context.Context, c *client.Client) error {
			return errorOf(c.CreateAvatar(ctx, gen.CreateAvatarRequest{}))
		}, 90 * time.Second, true},
		"consent": {func(ctx context.Context, c *client.Client) error {
			return errorOf(c.SubmitConsent(ctx, gen.ConsentRequest{}))
		}, 30 * time.Second, true},
		"creation, canceled": {func(ctx context.Context, c *client.Client) error {
			ctx, cancel := context.WithTimeout(ctx, 2*time.Second)
			defer cancel()
			return errorOf(c.CreateAvatar(ctx, gen.CreateAvatarRequest{}, client.WithIdempotencyKey("k")))
		}, 2 * time.Second, true},
	} {
		inBubble(t, name, func(t *testing.T) {
			c := newClient(t, func(c *client.Config) {
				if name != "login" {
					static(c)
				}
				c.Retry = client.Retry{Attempts: 3, BaseDelay: 1}
				c.Transport = roundTripper(func(r *http.Request) (*http.Response, error) {
					if r.URL.Path == "/v1/lipsync/inference_details" {
						return respond(http.StatusOK, http.Header{"Content-Type": {"application/json"}}, `{"video_url":"http://localhost/file"}`), nil
					}
					_, _ = io.ReadAll(cmp.Or[io.ReadCloser](r.Body, http.NoBody))
					<-r.Context().Done()
					return nil, r.Context().Err()
				})
			})
			start := time.Now()
			err := test.call(t.Context(), c)
			took := time.Since(start).Truncate(time.Second)
			if !errors.Is(err, context.DeadlineExceeded) || took != test.took || errors.Is(err, client.ErrOutcomeUnknown) != test.unknown {
				t.Errorf("error %v after %v", err, took)
			}
		})
	}
}

// An upload may take any time. The timeout limits each write, and then the response, but not the source of the file.
func TestUploadMedia_hasTheTimeoutForEachWrite(t *testing.T) {
	t.Parallel()
	const size = 3 << 20
	for name, test := range map[string]struct {
		source, write, answer time.Duration // each time
		took                  time.Duration // until the timeout; 0 if there is none
	}{
		"slow network": {write: 25 * time.Second},
		"slow source":  {source: 10 * time.Minute},
		"slow answer":  {answer: 29 * time.Second},
		"no progress":  {write: time.Hour, took: 30 * time.Second},
		"no answer":    {write: time.Second, answer: time.Hour, took: (size>>15-1)*time.Second + 30*time.Second},
	} {
		inBubble(t, name, func(t *testing.T) {
			sent := 0
			c := newClient(t, static, once, func(c *client.Config) {
				c.Transport = roundTripper(func(r *http.Request) (*http.Response, error) {
					wait := func(d time.Duration) error {
						select {
						case <-r.Context().Done():
							return r.Context().Err()
						case <-time.After(d):
							return nil
						}
					}
					for part := make([]byte, 32<<10); sent < size; {
						n, err := io.ReadFull(r.Body, part)
						sent += n
						if err := cmp.Or(err, wait(test.write)); err != nil {
							return nil, err
						}
					}
					if err := wait(test.answer); err != nil {
						return nil, err
					}
					return respond(http.StatusCreated, http.Header{"Content-Type": {"application/json"}}, `{"media_id":"m","url":"https://h/m","content_type":"video/mp4","size":1,"expires_at":"2026-01-01T00:00:00Z"}`), nil
				})
			})
			began := time.Now()
			_, err := c.UploadMedia(t.Context(), "video/mp4", slowSource{test.source, strings.NewReader(strings.Repeat("x", size))})
			switch took := time.Since(began); {
			case test.took == 0 && (err != nil || sent != size):
				t.Errorf("%d bytes are sent, error %v after %v", sent, err, took)
			case test.took > 0 && (!errors.Is(err, context.DeadlineExceeded) || took != test.took):
				t.Errorf("error %v after %v, want %v", err, took, test.took)
			}
		})
	}
}

// An upload reports the bytes sent, and the total if the length is known.
func TestWithProgress_reportsUploads(t *testing.T) {
	t.Parallel()
	file := try(os.CreateTemp(t.TempDir(), "a.wav"))(t)
	check(t, file.Truncate(100_000))
	for _, test := range []struct {
		body  io.Reader
		total int64
	}{
		{file, 100_000},
		{strings.NewReader(strings.Repeat("x", 100_000)), 100_000},
		{io.LimitReader(strings.NewReader(strings.Repeat("x", 100_000)), 100_000), -1},
	} {
		s := newService()
		var length int64
		s.before = func(w http.ResponseWriter, r *http.Request) bool {
			length = r.ContentLength
			return answerJSON(w, http.StatusCreated, `{"media_id":"id","url":"https://media.example.com/a","content_type":"audio/wav","size":100000,"expires_at":"2026-01-12T09:30:00Z"}`)
		}
		var last int64
		_, err := s.start(t, static).UploadMedia(t.Context(), "audio/wav", test.body, client.WithProgress(func(done, total int64) {
			if done < last || total != test.total {
				t.Errorf("%d of %d after %d", done, total, last)
			}
			last = done
		}))
		if err != nil || last != 100_000 || length != test.total {
			t.Errorf("error %v, %d reported, length %d", err, last, length)
		}
	}
}

// slowSource waits before each read.
type slowSource struct {
	wait time.Duration
	io.Reader
}

func (s slowSource) Read(p []byte) (int, error) {
	time.Sleep(s.wait)
	return s.Reader.Read(p)
}
