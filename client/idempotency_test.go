package client_test

import (
	"errors"
	"io"
	"net/http"
	"testing"
	"testing/synctest"

	"github.com/avatarstudio/avatarstudio/client"
	"github.com/avatarstudio/avatarstudio/gen"
)

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
