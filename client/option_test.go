package client_test

import (
	"errors"
	"io"
	"net/http"
	"strings"
	"testing"
	"testing/synctest"

	"github.com/avatarstudio/avatarstudio/api/tools/harness"
	"github.com/avatarstudio/avatarstudio/client"
	"github.com/avatarstudio/avatarstudio/gen"
)

func TestOptions_rejectInvalidValues(t *testing.T) {
	t.Parallel()
	const canary = "canary\n"
	for name, options := range map[string][]client.CallOption{
		"Retry.Attempts": {client.WithRetry(client.Retry{Attempts: -1})},
		"WithTimeout":    {client.WithTimeout(0)},
		"WithIdempotencyKey": {
			client.WithIdempotencyKey(canary), client.WithIdempotencyKey(""), client.WithIdempotencyKey(strings.Repeat("canary", 43)),
		},
		"WithWorkspace": {client.WithWorkspace(canary)},
	} {
		for _, option := range options {
			s := newService()
			_, err := s.direct(t).GetAvatar(t.Context(), avatarID, option)
			if err == nil || !strings.HasPrefix(err.Error(), "client: "+name+": ") || strings.Contains(err.Error(), "canary") || len(s.seen) > 0 {
				t.Errorf("%s: %v", name, err)
			}
		}
	}
}

func TestWithRetry_overridesConfig(t *testing.T) {
	t.Parallel()
	s, times := timed("", 500, 500)
	c := s.direct(t, static, once)
	harness.WantError(t, get(t, c), client.ErrServer)
	check(t, errorOf(c.GetAvatar(t.Context(), avatarID, client.WithRetry(client.Retry{Attempts: 2, BaseDelay: 1}))))
	if len(*times) != 3 {
		t.Errorf("%d attempts", len(*times))
	}
}

func TestWithResponse_returnsResponse(t *testing.T) {
	t.Parallel()
	s, _ := timed("", 500)
	var response client.Response
	c := s.direct(t, static, func(c *client.Config) { c.Retry.BaseDelay = 1 })
	avatar, err := c.GetAvatar(t.Context(), avatarID, client.WithResponse(&response))
	if err != nil || avatar.AvatarID != avatarID {
		t.Fatalf("avatar %+v, error %v", avatar, err)
	}
	if response.StatusCode != 200 || response.Attempts != 2 || response.Header.Get("Content-Type") != "application/json" || !strings.Contains(string(response.Body), avatarID) {
		t.Errorf("response %+v", response)
	}
	s.before = failing(details, 404)
	if _, err = c.GetAvatar(t.Context(), avatarID, client.WithResponse(&response)); err == nil || response.StatusCode != 404 || response.Attempts != 1 || !strings.Contains(string(response.Body), "As the test wants it.") {
		t.Errorf("response %+v", response)
	}
}

// Results of the attempts of a creation, in order. Positive numbers are statuses.
const (
	carriedOut = 200
	lost       = -1 // sent without a response
	unsent     = -2 // not sent
	waitAsked  = -3 // 503 with Retry-After
)

// A conflict that follows an attempt with an unknown outcome is caused by that attempt and is retried. Any
// other conflict is about the record.
func TestWithIdempotencyKey_retriesConflictsOfItsOwnAttempts(t *testing.T) {
	t.Parallel()
	for name, test := range map[string]struct {
		meets    []int
		unnamed  bool
		attempts int
		class    error // nil if the creation succeeds
		unknown  bool
	}{
		"on the first attempt":                {meets: []int{409}, attempts: 1, class: client.ErrConflict},
		"after an attempt without a response": {meets: []int{lost, 409, carriedOut}, attempts: 3},
		"after 500":                           {meets: []int{500, 409, 409, carriedOut}, attempts: 4},
		"after 408":                           {meets: []int{408, 409, carriedOut}, attempts: 3},
		"until the last attempt":              {meets: []int{504, 409, 409, 409}, attempts: 4, class: client.ErrConflict, unknown: true},
		"after 503 with Retry-After":          {meets: []int{waitAsked, 409}, attempts: 2, class: client.ErrConflict},
		"after too many":                      {meets: []int{429, 409}, attempts: 2, class: client.ErrConflict},
		"after an attempt that was not sent":  {meets: []int{unsent, 409}, attempts: 2, class: client.ErrConflict},
		"without a key":                       {meets: []int{waitAsked, 409}, unnamed: true, attempts: 2, class: client.ErrConflict},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				s := newService()
				attempts := 0
				s.before = func(w http.ResponseWriter, r *http.Request) bool {
					meets := test.meets[attempts-1]
					if meets == waitAsked {
						w.Header().Set("Retry-After", "1")
						meets = http.StatusServiceUnavailable
					}
					return meets != carriedOut && failing(create, meets)(w, r)
				}
				c := newClient(t, static, func(config *client.Config) {
					config.HTTPClient = &http.Client{Transport: roundTripper(func(r *http.Request) (*http.Response, error) {
						attempts++
						switch test.meets[attempts-1] {
						case lost:
							_, _ = io.ReadAll(r.Body)
							return nil, io.ErrUnexpectedEOF
						case unsent:
							return nil, io.ErrUnexpectedEOF
						}
						return s.RoundTrip(r)
					})}
				})
				var options []client.CallOption
				if !test.unnamed {
					options = append(options, client.WithIdempotencyKey("k"))
				}
				_, err := c.CreateAvatar(t.Context(), gen.CreateAvatarRequest{}, options...)
				if attempts != test.attempts || !errors.Is(err, test.class) || errors.Is(err, client.ErrOutcomeUnknown) != test.unknown {
					t.Errorf("%d attempts, error %v", attempts, err)
				}
			})
		})
	}
}

// Each call of a creation has its own idempotency key, and all its attempts have the same key.
func TestAutoKey_isTheSameForAllAttempts(t *testing.T) {
	t.Parallel()
	s := newService()
	s.before = failingFirst(create, answerStatus(http.StatusBadGateway), answerStatus(http.StatusServiceUnavailable))
	c := s.direct(t, static, func(c *client.Config) { c.Retry.BaseDelay = 1 })
	for range 2 {
		var response client.Response
		check(t, errorOf(c.CreateAvatar(t.Context(), gen.CreateAvatarRequest{}, client.WithResponse(&response))))
		sent := s.requests(create)
		if got := sent[len(sent)-1].header.Get("Idempotency-Key"); got == "" || got != response.IdempotencyKey {
			t.Errorf("sent the key %q, told of %q", got, response.IdempotencyKey)
		}
	}
	var keys []string
	for _, request := range s.requests(create) {
		keys = append(keys, request.header["Idempotency-Key"]...)
	}
	if len(keys) != 4 || keys[0] != keys[1] || keys[1] != keys[2] || keys[2] == keys[3] || len(keys[0]) < 22 {
		t.Errorf("keys %q", keys)
	}
}

// Other operations have no key, and neither have creations with NoAutoKey.
func TestAutoKey_isOnlyForCreations(t *testing.T) {
	t.Parallel()
	s := newService()
	c := s.direct(t, static, func(c *client.Config) { c.NoAutoKey = true })
	check(t, errorOf(c.CreateAvatar(t.Context(), gen.CreateAvatarRequest{})))
	check(t, errorOf(c.CreateAvatar(t.Context(), gen.CreateAvatarRequest{}, client.WithIdempotencyKey("mine"))))
	mustGet(t, s.direct(t, static))
	if sent := s.requests(create); sent[0].header["Idempotency-Key"] != nil || sent[1].header.Get("Idempotency-Key") != "mine" {
		t.Errorf("keys %q, %q", sent[0].header["Idempotency-Key"], sent[1].header["Idempotency-Key"])
	}
	if sent := s.requests(details); sent[0].header["Idempotency-Key"] != nil {
		t.Error("a read has a key")
	}
}
