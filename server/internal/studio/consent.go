package studio

import "context"

// SubmitConsent records the decision for an avatar. It takes effect at once when the avatar
// waits for it and otherwise when it begins to wait; [ErrFinal] when it does so no more.
func (s *Service) SubmitConsent(ctx context.Context, userID, avatarID string, granted bool) (Subject, error) {
	return s.Store.UpdateSubject(ctx, avatarID, func(avatar *Subject) error {
		switch {
		case avatar.UserID != userID || avatar.Kind != Avatar:
			return ErrNotFound
		case avatar.Final():
			return ErrFinal
		}
		avatar.Consent = Refused
		if granted {
			avatar.Consent = Granted
		}
		return s.applyConsent(avatar)
	})
}

// applyConsent ends the waiting of an avatar whose consent is decided.
func (s *Service) applyConsent(avatar *Subject) error {
	if avatar.Status != ConsentPending {
		return nil
	}
	switch avatar.Consent {
	case Granted:
		return avatar.enter(Published, s.now(), s.NewID)
	case Refused:
		avatar.FailureReason = "Consent was refused."
		return avatar.enter(ConsentFailed, s.now(), s.NewID)
	default:
		return nil
	}
}
