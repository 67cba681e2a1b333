package webhook

import (
	"net/http"
	"slices"
	"time"

	"github.com/avatarstudio/avatarstudio/api/runtime/standardwebhooks"
)

// Headers of a notification.
const (
	HeaderID        = standardwebhooks.HeaderID
	HeaderTimestamp = standardwebhooks.HeaderTimestamp
	HeaderSignature = standardwebhooks.HeaderSignature
	HeaderSequence  = standardwebhooks.HeaderSequence
)

// Secret is a signing key: 24 to 64 random bytes, written as "whsec_" and the base64 of the bytes. A
// Secret that is printed, logged or marshalled shows a placeholder. Only the method Reveal returns the
// key.
type Secret = standardwebhooks.Secret

// NewSecret returns a Secret of 32 random bytes.
func NewSecret() Secret { return standardwebhooks.NewSecret() }

// ParseSecret parses a Secret. See [standardwebhooks.ParseSecret].
func ParseSecret(text string) (Secret, error) { return standardwebhooks.ParseSecret(text) }

// Sign signs body as the service does. See [standardwebhooks.Sign].
func Sign(header http.Header, id string, at time.Time, body []byte, secrets ...Secret) error {
	return standardwebhooks.Sign(header, id, at, body, secrets...)
}

// Verify returns nil if body was signed with one of the secrets. See [standardwebhooks.Verify].
func Verify(header http.Header, body []byte, now time.Time, secrets ...Secret) error {
	return standardwebhooks.Verify(header, body, now, secrets...)
}

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
