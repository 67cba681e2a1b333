package studio

import (
	"context"
	"crypto/hmac"
	"encoding/hex"
	"time"
)

// Endpoint is a webhook URL of a user.
type Endpoint struct {
	ID             string // see [EndpointID]
	UserID         string
	Email          string // of the user; only package store sets it
	URL            string // its query may hold a secret
	State          EndpointState
	FailingSince   time.Time // when the first attempt after the last success failed; zero unless the last attempt failed
	LastSuccessAt  time.Time // of the last delivery that is known; zero if there is none
	DisabledAt     time.Time // zero unless it is disabled, like DisabledReason
	DisabledReason Reason
	PausedAt       time.Time // zero unless it is paused
	Waiting        int64     // pending events
	Exhausted      int64     // exhausted events, except those of deleted subjects

	SubjectID string    // the first subject whose events are sent to the URL
	OpenUntil time.Time // when the circuit breaker of the origin allows a probe, which may be past; zero if it is closed
	Last      Attempt   // the latest attempt, without its excerpt; zero if there is none
}

// EndpointState is what happens to the events of an endpoint.
type EndpointState string

// The states, in descending order of precedence.
const (
	EndpointPaused   EndpointState = "paused"   // events wait, in order
	EndpointDisabled EndpointState = "disabled" // events are exhausted without an attempt
	EndpointFailing  EndpointState = "failing"  // the last attempt failed
	EndpointOK       EndpointState = "ok"
)

// EndpointPage is a page of the endpoints of a user.
type EndpointPage struct {
	Endpoints []Endpoint
	Next      string // cursor of the next page; "" on the last page
}

// EndpointStore stores which endpoints are paused or disabled; see [Store].
type EndpointStore interface {
	// Endpoints returns up to limit endpoints of a user, each URL once, ordered by URL. It starts after the endpoint
	// whose SubjectID is after.ID, or at the first one if that is "". It sets all fields except ID and State. The error
	// is [ErrCursor] if there is no such endpoint. What attempts have told may be missing for a second.
	Endpoints(ctx context.Context, userID string, after Position, limit int) (page []Endpoint, more bool, err error)
	// Endpoint is Endpoints for one URL.
	Endpoint(ctx context.Context, userID, url string) (Endpoint, error)
	// EndpointURLs returns up to limit webhook URLs of a user that follow after, in order.
	EndpointURLs(ctx context.Context, userID, after string, limit int) ([]string, error)
	// PauseEndpoint makes all events for a URL wait until EnableEndpoint. It changes nothing if they do.
	PauseEndpoint(ctx context.Context, userID, url string, now time.Time) error
	// EnableEndpoint ends a pause by PauseEndpoint and makes the events for the URL due. If the URL is disabled, it
	// enables it.
	EnableEndpoint(ctx context.Context, userID, url string) error
}

// endpointURLPage is how many URLs SetEndpoint reads at once.
const endpointURLPage = 1000

// Endpoints returns up to limit endpoints of a user, ordered by URL, that follow the page with the given cursor. If
// cursor is "", it returns the first page. The error is [ErrCursor] if the cursor does not belong to this list.
func (s *Service) Endpoints(ctx context.Context, userID, cursor string, limit int) (EndpointPage, error) {
	endpoints, next, err := readPage(s, string(frame("endpoints", userID)), cursor, func(after Position) ([]Endpoint, bool, error) {
		return s.Store.Endpoints(ctx, userID, after, limit)
	}, func(e Endpoint) Position { return Position{ID: e.SubjectID} })
	s.complete(endpoints...)
	return EndpointPage{endpoints, next}, err
}

// SetEndpoint pauses or enables an endpoint of a user, and returns it. While it is paused, its events wait in order and
// keep their remaining attempts. enabled ends the pause of the endpoint, and a disablement. It does not end a pause of
// all deliveries: the state of the endpoint that it returns is then still paused. The error is [ErrNotFound] if the
// user has no such endpoint.
func (s *Service) SetEndpoint(ctx context.Context, userID, endpointID string, enabled bool) (Endpoint, error) {
	url, err := s.endpointURL(ctx, userID, endpointID)
	if err != nil {
		return Endpoint{}, err
	}
	if enabled {
		err = s.Store.EnableEndpoint(ctx, userID, url)
	} else {
		err = s.Store.PauseEndpoint(ctx, userID, url, s.now())
	}
	if err != nil {
		return Endpoint{}, err
	}
	endpoint := make([]Endpoint, 1)
	endpoint[0], err = s.Store.Endpoint(ctx, userID, url)
	s.complete(endpoint...)
	return endpoint[0], err
}

// endpointURL returns the URL of an endpoint. It compares the IDs of all URLs of the user, because an ID does not
// contain its URL.
func (s *Service) endpointURL(ctx context.Context, userID, endpointID string) (url string, err error) {
	for {
		urls, err := s.Store.EndpointURLs(ctx, userID, url, endpointURLPage)
		if err != nil {
			return "", err
		}
		for _, url = range urls {
			if hmac.Equal([]byte(EndpointID(s.Key, userID, url)), []byte(endpointID)) {
				return url, nil
			}
		}
		if len(urls) < endpointURLPage {
			return "", ErrNotFound
		}
	}
}

// complete sets the IDs and states of endpoints of the store.
func (s *Service) complete(endpoints ...Endpoint) {
	for i := range endpoints {
		e := &endpoints[i]
		e.ID = EndpointID(s.Key, e.UserID, e.URL)
		switch {
		case !e.PausedAt.IsZero():
			e.State = EndpointPaused
		case !e.DisabledAt.IsZero():
			e.State = EndpointDisabled
		case e.Last.Failure != "":
			e.State = EndpointFailing
		default:
			e.State = EndpointOK
		}
		if e.Last.Failure == "" {
			e.FailingSince = time.Time{}
		}
	}
}

// EndpointID returns the ID of a URL of a user. It uses the Key of the Config, because a query that is easy to guess
// could be recovered from a plain hash.
func EndpointID(key []byte, userID, url string) string {
	return hex.EncodeToString(mac(key, endpointUse, userID, url))
}
