package memstore

import (
	"context"
	"slices"
	"strings"
	"time"

	"github.com/avatarstudio/avatarstudio/server/internal/studio"
)

// endpoints returns the endpoints of a user, ordered by URL. s.mu must be held.
func (s *Store) endpoints(userID string) (all []studio.Endpoint) {
	byURL := make(map[string]*studio.Endpoint)
	for _, subject := range s.subjects {
		if subject.UserID != userID || subject.WebhookURL == "" {
			continue
		}
		e := byURL[subject.WebhookURL]
		if e == nil {
			e = &studio.Endpoint{UserID: userID, URL: subject.WebhookURL, SubjectID: subject.ID, PausedAt: s.pauses[pair{userID, subject.WebhookURL}]}
			byURL[e.URL] = e
		}
		e.SubjectID = min(e.SubjectID, subject.ID)
	}
	for _, event := range s.events {
		e := byURL[event.URL]
		if e == nil || event.UserID != userID {
			continue
		}
		if event.State == studio.EventPending {
			e.Waiting++
		}
		if event.Last.At.After(e.LastSuccessAt) { // also while it is pending again
			e.Last, e.LastSuccessAt = event.Last, event.Last.At
		}
	}
	for _, e := range byURL {
		all = append(all, *e)
	}
	slices.SortFunc(all, func(a, b studio.Endpoint) int { return strings.Compare(a.URL, b.URL) })
	return all
}

func (s *Store) Endpoints(_ context.Context, userID string, after studio.Position, limit int) (page []studio.Endpoint, more bool, err error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	all := s.endpoints(userID)
	if after.ID != "" {
		last, ok := s.subjects[after.ID]
		if !ok || last.UserID != userID {
			return nil, false, studio.ErrCursor
		}
		all = slices.DeleteFunc(all, func(e studio.Endpoint) bool { return e.URL <= last.WebhookURL })
	}
	return all[:min(limit, len(all))], len(all) > limit, nil
}

func (s *Store) Endpoint(_ context.Context, userID, url string) (studio.Endpoint, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	all := s.endpoints(userID)
	i := slices.IndexFunc(all, func(e studio.Endpoint) bool { return e.URL == url })
	if i < 0 {
		return studio.Endpoint{}, studio.ErrNotFound
	}
	return all[i], nil
}

func (s *Store) EndpointURLs(_ context.Context, userID, after string, limit int) (urls []string, err error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, e := range s.endpoints(userID) {
		if e.URL > after && len(urls) < limit {
			urls = append(urls, e.URL)
		}
	}
	return urls, nil
}

func (s *Store) PauseEndpoint(_ context.Context, userID, url string, now time.Time) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	if name := (pair{userID, url}); s.pauses[name].IsZero() {
		s.pauses[name] = now
	}
	return nil
}

func (s *Store) EnableEndpoint(_ context.Context, userID, url string) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	delete(s.pauses, pair{userID, url})
	return nil
}
