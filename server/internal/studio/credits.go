package studio

import "context"

// CreditsLeft returns the credits that remain of MaxVideoSeconds after used ones. ok is false without a limit.
func (s *Service) CreditsLeft(used int64) (left int64, ok bool) {
	return max(0, s.MaxVideoSeconds-used), s.MaxVideoSeconds > 0
}

// checkCredits returns [ErrCreditsExhausted] if a user has no credits left. Creations in progress do not count, because
// the lengths of their videos are not known yet.
func (s *Service) checkCredits(ctx context.Context, userID string) error {
	if s.MaxVideoSeconds == 0 {
		return nil
	}
	used, err := s.Store.VideoSeconds(ctx, userID)
	if left, _ := s.CreditsLeft(used); err == nil && left == 0 {
		err = ErrCreditsExhausted
	}
	return err
}
