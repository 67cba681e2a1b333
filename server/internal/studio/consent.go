package studio

import "context"

// SubmitConsent records the decision about an avatar of the user. If the avatar is waiting for consent, the
// decision takes effect immediately, and otherwise when it starts waiting. The error is [ErrFinal] if the
// avatar is in a final state.
func (s *Service) SubmitConsent(ctx context.Context, userID, avatarID string, granted bool) (Subject, error) {
	return s.Store.UpdateSubject(ctx, avatarID, func(avatar *Subject) error {
		switch {
		case !avatar.visible(ctx, userID) || avatar.Kind != Avatar:
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

// applyConsent moves an avatar that is waiting for consent to its next state, if consent has been decided.
func (s *Service) applyConsent(avatar *Subject) error {
	if avatar.Status != ConsentPending {
		return nil
	}
	switch avatar.Consent {
	case Granted:
		return avatar.enter(Published, s.now())
	case Refused:
		avatar.FailureReason = "Consent was refused."
		return avatar.enter(ConsentFailed, s.now())
	default:
		return nil
	}
}
