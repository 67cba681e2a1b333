package webhook

import (
	"crypto/sha256"
	"crypto/subtle"
	"errors"
	"fmt"
	"net/http"
	"net/url"
	"time"
)

// ErrCredentials is returned by the verifiers of [TokenInURL] and [BasicAuth].
var ErrCredentials = errors.New("webhook: the credentials are missing or wrong")

// errBasicAuth is the ErrCredentials of [BasicAuth]. The response to it has a WWW-Authenticate header.
var errBasicAuth = fmt.Errorf("%w", ErrCredentials)

// Notification is the input of a [Verifier].
type Notification struct {
	// URL is the URL of the request, or nil if the notification did not arrive through
	// [Receiver.ServeHTTP].
	URL *url.URL

	Header http.Header

	// Body is the body as received.
	Body []byte
}

// Verifier decides whether a notification comes from the service. Implementations must be safe for
// concurrent use. They must not modify the notification or return an error that contains a secret.
type Verifier interface {
	Verify(Notification) error
}

// VerifierFunc adapts a function to a [Verifier].
type VerifierFunc func(Notification) error

// Verify calls f.
func (f VerifierFunc) Verify(n Notification) error { return f(n) }

// StandardWebhooks returns a Verifier that calls [Verify] with the current time. During a rotation, pass
// both the old and the new secret. Without secrets it refuses every notification.
func StandardWebhooks(secrets ...Secret) Verifier {
	secrets = append([]Secret(nil), secrets...)
	return VerifierFunc(func(n Notification) error {
		return Verify(n.Header, n.Body, time.Now(), secrets...)
	})
}

// TokenInURL returns a Verifier for services that do not sign notifications. It accepts a request if the
// query parameter occurs once and its value is one of tokens. During a rotation, pass both the old and the
// new token. Empty tokens are ignored. It refuses notifications that arrive through [Receiver.Handle],
// which have no URL. The error is [ErrCredentials].
//
// A token should have at least 128 random bits. It authenticates the sender but not the content: anyone
// who sees the URL, for example in the log of a proxy, can forge notifications.
func TokenInURL(parameter string, tokens ...string) Verifier {
	known := digests(tokens)
	return VerifierFunc(func(n Notification) error {
		if n.URL == nil {
			return ErrCredentials
		}
		values := n.URL.Query()[parameter]
		if len(values) != 1 || !matches(values[0], known) {
			return ErrCredentials
		}
		return nil
	})
}

// BasicAuth returns a Verifier that accepts the username with one of passwords in the Authorization header
// (RFC 7617). During a rotation, pass both the old and the new password. Empty passwords are ignored. The
// error is [ErrCredentials], and [Receiver.ServeHTTP] adds a WWW-Authenticate header to the 401, for
// senders that expect a challenge. Like a token, a password authenticates the sender but not the content.
func BasicAuth(username string, passwords ...string) Verifier {
	user, known := []digest{sha256.Sum256([]byte(username))}, digests(passwords)
	return VerifierFunc(func(n Notification) error {
		name, password, _ := (&http.Request{Header: n.Header}).BasicAuth()
		nameMatches, passwordMatches := matches(name, user), matches(password, known)
		if !nameMatches || !passwordMatches {
			return errBasicAuth
		}
		return nil
	})
}

// Unverified returns a Verifier that accepts everything. Anyone who knows the URL of such a receiver can
// forge notifications, and can use up ids and sequences so that the receiver drops genuine ones.
func Unverified() Verifier {
	return VerifierFunc(func(Notification) error { return nil })
}

type digest = [sha256.Size]byte

// digests returns the digests of the texts that are not empty.
func digests(texts []string) []digest {
	var all []digest
	for _, text := range texts {
		if text != "" {
			all = append(all, sha256.Sum256([]byte(text)))
		}
	}
	return all
}

// matches compares text with all known digests in constant time.
func matches(text string, known []digest) bool {
	sum, found := sha256.Sum256([]byte(text)), 0
	for i := range known {
		found |= subtle.ConstantTimeCompare(sum[:], known[i][:])
	}
	return found == 1
}
