package client_test

import (
	"errors"
	"io"
	"net/http"
	"slices"
	"strings"
	"testing"

	"github.com/avatarstudio/avatarstudio/client"
	"github.com/avatarstudio/avatarstudio/client/clienttest"
	"github.com/avatarstudio/avatarstudio/gen"
)

func TestOptions_rejectInvalidValues(t *testing.T) {
	t.Parallel()
	const canary = "canary\n"
	for name, options := range map[string][]client.CallOption{
		"Retry.Attempts:": {client.WithRetry(client.Retry{Attempts: -1})},
		"WithTimeout:":    {client.WithTimeout(0)},
		"WithIdempotencyKey: must": {
			client.WithIdempotencyKey(canary), client.WithIdempotencyKey(""), client.WithIdempotencyKey(strings.Repeat("canary", 43)),
			client.WithIdempotencyKey("canary 1"), client.WithIdempotencyKey("canary-ä"), client.WithIdempotencyKey("canary\x7f"),
		},
		"WithIdempotencyKey: the operation": {client.WithIdempotencyKey("canary-1")},
		"WithWorkspace:":                    {client.WithWorkspace(canary)},
	} {
		for _, option := range options {
			s := newService()
			_, err := s.direct(t).GetAvatar(t.Context(), avatarID, option)
			if err == nil || !strings.HasPrefix(err.Error(), "client: "+name) || strings.Contains(err.Error(), "canary") || len(s.seen) > 0 {
				t.Errorf("%s: %v", name, err)
			}
		}
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
// other conflict is about the record. An unknown outcome stays unknown when a later attempt fails for certain. A
// transport that gave up before it read the body cannot read it afterwards.
func TestWithIdempotencyKey_retriesConflictsOfItsOwnAttempts(t *testing.T) {
	t.Parallel()
	for name, test := range map[string]struct {
		meets   []int
		class   error // nil if the creation succeeds
		unknown bool
	}{
		"on the first attempt":                {[]int{409}, client.ErrConflict, false},
		"after an attempt without a response": {[]int{lost, 409, carriedOut}, nil, false},
		"after 500":                           {[]int{500, 409, 409, carriedOut}, nil, false},
		"after 408":                           {[]int{408, 409, carriedOut}, nil, false},
		"until the last attempt":              {[]int{504, 409, 409, 409}, client.ErrConflict, true},
		"after 503 with Retry-After":          {[]int{waitAsked, 409}, client.ErrConflict, false},
		"after too many":                      {[]int{429, 409}, client.ErrConflict, false},
		"after an attempt that was not sent":  {[]int{unsent, 409}, client.ErrConflict, false},
		"unauthorized after an unknown one":   {[]int{lost, 401}, client.ErrUnauthorized, true},
		"never sent":                          {[]int{unsent, unsent, unsent, unsent}, io.ErrUnexpectedEOF, false},
	} {
		inBubble(t, name, func(t *testing.T) {
			s, attempts, late := newService(), 0, []io.Reader(nil)
			c := newClient(t, static, func(config *client.Config) {
				config.Transport = roundTripper(func(r *http.Request) (*http.Response, error) {
					attempts++
					switch meets := test.meets[attempts-1]; meets {
					case lost:
						_, _ = io.ReadAll(r.Body)
						return nil, io.ErrUnexpectedEOF
					case unsent:
						late = append(late, r.Body)
						return nil, io.ErrUnexpectedEOF
					case waitAsked:
						return respond(http.StatusServiceUnavailable, http.Header{"Retry-After": {"1"}}, ""), nil
					case carriedOut:
						return s.RoundTrip(r)
					default:
						return respond(meets, http.Header{}, ""), nil
					}
				})
			})
			err := errorOf(c.CreateAvatar(t.Context(), gen.CreateAvatarRequest{}, client.WithIdempotencyKey("k")))
			if attempts != len(test.meets) || !errors.Is(err, test.class) || errors.Is(err, client.ErrOutcomeUnknown) != test.unknown {
				t.Errorf("%d attempts, error %v", attempts, err)
			}
			for _, body := range late {
				if content, err := io.ReadAll(body); len(content) > 0 || err == nil {
					t.Errorf("read %s", content)
				}
			}
		})
	}
}

// Each call of a creation has its own idempotency key, and all its attempts have the same key. Other operations have
// none, and neither have creations with NoAutoKey.
func TestAutoKey_isTheSameForAllAttempts(t *testing.T) {
	t.Parallel()
	s := clienttest.New(t)
	s.Fail("createAvatar", 1, clienttest.Status(http.StatusBadGateway))
	s.Fail("createAvatar", 1, clienttest.Status(http.StatusServiceUnavailable))
	c, without := newClient(t, of(s), fast), newClient(t, of(s), func(c *client.Config) { c.NoAutoKey = true })
	var told [2]client.Response
	for i := range told {
		check(t, errorOf(c.CreateAvatar(t.Context(), gen.CreateAvatarRequest{}, client.WithResponse(&told[i]))))
	}
	check(t, errorOf(without.CreateAvatar(t.Context(), gen.CreateAvatarRequest{})))
	check(t, errorOf(without.CreateAvatar(t.Context(), gen.CreateAvatarRequest{}, client.WithIdempotencyKey("!mine~"))))
	check(t, errorOf(c.ListVoices(t.Context())))
	var keys []string
	for _, request := range s.Requests("createAvatar", "listVoices") {
		keys = append(keys, request.Header.Get("Idempotency-Key"))
	}
	first, second := told[0].IdempotencyKey, told[1].IdempotencyKey
	if want := []string{first, first, first, second, "", "!mine~", ""}; !slices.Equal(keys, want) || first == second || len(first) < 22 {
		t.Errorf("keys %q", keys)
	}
}
