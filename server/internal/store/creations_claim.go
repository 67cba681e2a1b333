package store

import "github.com/avatarstudio/avatarstudio/server/internal/studio"

// claimer claims the renderings of new subjects for a process.
type claimer struct {
	processID string
	reserve   func(id string) (begin func(created *studio.Subject))
}

// creationClaim is the claim of the rendering of a subject in the transaction that creates it.
type creationClaim struct {
	by    *claimer
	begin func(created *studio.Subject)
}

// ClaimCreations makes the process with the ID by claim renderings in the transactions that create their subjects, which
// saves the transaction of [Store.ClaimRenderings]. For each subject, by its ID, reserve reserves a worker, or returns nil if
// the subject must wait for one. Otherwise, begin is called once when the transaction has ended: with the subject, or with nil
// after an error, after which the subject may have been created and claimed; see [Store.ReleaseRenderings]. reserve must not
// block, and is not called after stop.
func (s *Store) ClaimCreations(by string, reserve func(id string) (begin func(created *studio.Subject))) (stop func()) {
	s.mu.Lock()
	defer s.mu.Unlock()
	current := &claimer{by, reserve}
	s.claimer = current
	return func() {
		s.mu.Lock()
		defer s.mu.Unlock()
		if s.claimer == current {
			s.claimer = nil
		}
	}
}

// claimCreation claims the rendering of a subject that is being created, if a worker is free for it.
func (s *Store) claimCreation(id string) *creationClaim {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.claimer == nil {
		return nil
	}
	if begin := s.claimer.reserve(id); begin != nil {
		return &creationClaim{s.claimer, begin}
	}
	return nil
}

// processID returns the process that has claimed the rendering, as a value of the database.
func (c *creationClaim) processID() *string {
	if c == nil {
		return nil
	}
	return &c.by.processID
}

// end begins the rendering, or frees its worker after an error.
func (c *creationClaim) end(subject *studio.Subject, created bool) {
	switch {
	case c == nil:
	case created:
		subject.Started = true
		c.begin(subject)
	default:
		c.begin(nil)
	}
}
