package webhook

import (
	"net/http"
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
