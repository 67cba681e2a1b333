package memstore

import (
	"context"
	"time"

	"github.com/avatarstudio/avatarstudio/server/internal/studio"
)

// count counts failed logins since they were last reset, or sample notifications in a window.
type count struct {
	n  int
	at time.Time // of the last failure, or the begin of the window
}

// failures returns the failed logins of a throttle that count at now. s.mu must be held.
func (s *Store) failures(throttle studio.Throttle, now time.Time) count {
	failures := s.counts[throttle.Key]
	if !failures.at.After(now.Add(-studio.LoginMemory)) {
		return count{}
	}
	return failures
}

func (s *Store) LoginWait(_ context.Context, throttles []studio.Throttle, now time.Time) (wait time.Duration, err error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.loginWait(throttles, now), nil
}

func (s *Store) loginWait(throttles []studio.Throttle, now time.Time) (wait time.Duration) {
	for _, throttle := range throttles {
		failures := s.failures(throttle, now)
		wait = max(wait, throttle.Wait(failures.n, failures.at, now))
	}
	return wait
}

func (s *Store) CountLogin(_ context.Context, throttles []studio.Throttle, now time.Time) (time.Duration, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	wait := s.loginWait(throttles, now)
	if wait == 0 {
		for _, throttle := range throttles {
			s.counts[throttle.Key] = count{s.failures(throttle, now).n + 1, now}
		}
	}
	return wait, nil
}

func (s *Store) ReleaseLoginAttempt(_ context.Context, throttles []studio.Throttle, succeeded bool) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, throttle := range throttles {
		failures := s.counts[throttle.Key]
		failures.n = max(0, failures.n-1)
		s.counts[throttle.Key] = failures
		if succeeded && throttle.Forgets {
			delete(s.counts, throttle.Key)
		}
	}
	return nil
}

func (s *Store) KnowsAddress(_ context.Context, userID, address string, after time.Time) (bool, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.addresses[pair{userID, address}].After(after), nil
}

func (s *Store) SeeAddress(_ context.Context, userID, address string, now time.Time) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.addresses[pair{userID, address}] = now
	return nil
}
