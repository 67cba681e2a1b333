package webhook

import (
	"net/http"
	"time"

	"github.com/avatarstudio/avatarstudio/api/standardwebhooks"
)

// Names of the headers of a notification.
const (
	HeaderID        = standardwebhooks.HeaderID
	HeaderTimestamp = standardwebhooks.HeaderTimestamp
	HeaderSignature = standardwebhooks.HeaderSignature
	HeaderSequence  = standardwebhooks.HeaderSequence
)

// Tolerance is how far the timestamp of a notification may lie before or after the
// receiver's clock.
const Tolerance = standardwebhooks.Tolerance

// Errors of [Sign], [Verify] and [ParseSecret].
var (
	ErrUnsignable = standardwebhooks.ErrUnsignable
	ErrUnsigned   = standardwebhooks.ErrUnsigned
	ErrTimestamp  = standardwebhooks.ErrTimestamp
	ErrSignature  = standardwebhooks.ErrSignature
	ErrSecret     = standardwebhooks.ErrSecret
)

// Secret is a key that signs events: 24 to 64 random bytes, written as "whsec_" and their base64.
// Printing, logging or marshalling a Secret shows a placeholder; only Reveal returns the key.
type Secret = standardwebhooks.Secret

// NewSecret makes a Secret of 32 random bytes.
func NewSecret() Secret { return standardwebhooks.NewSecret() }

// ParseSecret reads a Secret; the prefix "whsec_" may be missing. The error is [ErrSecret].
func ParseSecret(text string) (Secret, error) { return standardwebhooks.ParseSecret(text) }

// Sign signs body as the service does: see [standardwebhooks.Sign].
func Sign(header http.Header, id string, at time.Time, body []byte, secrets ...Secret) error {
	return standardwebhooks.Sign(header, id, at, body, secrets...)
}

// Verify reports whether body was signed with one of secrets: see [standardwebhooks.Verify].
func Verify(header http.Header, body []byte, now time.Time, secrets ...Secret) error {
	return standardwebhooks.Verify(header, body, now, secrets...)
}
