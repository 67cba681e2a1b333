package webhook

import (
	"net/http"
	"slices"
	"time"
)

// Verifier decides whether a notification comes from the service: it returns an error if it does not. The body is as
// received. A Verifier must be safe for concurrent use, and must not modify the header or the body, or return an error
// that contains a secret.
type Verifier func(header http.Header, body []byte) error

// StandardWebhooks returns a Verifier that calls [Verify] with the current time. During a rotation, pass
// both the old and the new secret. Without secrets it refuses every notification.
func StandardWebhooks(secrets ...Secret) Verifier {
	secrets = slices.Clone(secrets)
	return func(header http.Header, body []byte) error {
		return Verify(header, body, time.Now(), secrets...)
	}
}

// Unverified returns a Verifier that accepts everything. Anyone who knows the URL of such a receiver can
// forge notifications, and can use up ids and sequences so that the receiver drops genuine ones.
func Unverified() Verifier {
	return func(http.Header, []byte) error { return nil }
}
