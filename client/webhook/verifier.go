package webhook

import (
	"crypto/sha256"
	"crypto/subtle"
	"errors"
	"net/http"
	"net/url"
	"slices"
	"time"
)

// ErrCredentials is returned by the verifier of [TokenInURL].
var ErrCredentials = errors.New("webhook: the credentials are missing or wrong")

// Notification is the input of a [Verifier].
type Notification struct {
	// URL is the URL of the request, or nil if the notification did not arrive through
	// [Receiver.ServeHTTP].
	URL *url.URL

	Header http.Header

	// Body is the body as received.
	Body []byte
}

// Verifier decides whether a notification comes from the service: it returns an error if it does not. It must be safe
// for concurrent use, and must not modify the notification or return an error that contains a secret.
type Verifier func(Notification) error

// StandardWebhooks returns a Verifier that calls [Verify] with the current time. During a rotation, pass
// both the old and the new secret. Without secrets it refuses every notification.
func StandardWebhooks(secrets ...Secret) Verifier {
	secrets = slices.Clone(secrets)
	return func(n Notification) error {
		return Verify(n.Header, n.Body, time.Now(), secrets...)
	}
}

// TokenInURL returns a Verifier for services that do not sign notifications. It accepts a request if the
// query parameter occurs once and its value is one of tokens. During a rotation, pass both the old and the
// new token. Empty tokens are ignored. It refuses notifications that arrive through [Receiver.Handle],
// which have no URL. The error is [ErrCredentials].
//
// A token should have at least 128 random bits. It authenticates the sender but not the content: anyone
// who sees the URL, for example in the log of a proxy, can forge notifications.
func TokenInURL(parameter string, tokens ...string) Verifier {
	tokens = slices.Clone(tokens)
	return func(n Notification) error {
		if n.URL == nil {
			return ErrCredentials
		}
		values := n.URL.Query()[parameter]
		if len(values) != 1 || !matches(values[0], tokens) {
			return ErrCredentials
		}
		return nil
	}
}

// Unverified returns a Verifier that accepts everything. Anyone who knows the URL of such a receiver can
// forge notifications, and can use up ids and sequences so that the receiver drops genuine ones.
func Unverified() Verifier {
	return func(Notification) error { return nil }
}

type digest = [sha256.Size]byte

// matches compares text with all tokens in constant time. An empty token matches nothing.
func matches(text string, tokens []string) bool {
	sum, found := sha256.Sum256([]byte(text)), 0
	for _, token := range tokens {
		if token != "" {
			known := sha256.Sum256([]byte(token))
			found |= subtle.ConstantTimeCompare(sum[:], known[:])
		}
	}
	return found == 1
}
