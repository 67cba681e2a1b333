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

// errBasicAuth is the ErrCredentials of [BasicAuth], which alone has a scheme to ask for.
var errBasicAuth = fmt.Errorf("%w", ErrCredentials)

// Notification is what a [Verifier] judges.
type Notification struct {
	// URL is what the request asked for. Nil when the notification did not come through
	// [Receiver.ServeHTTP].
	URL *url.URL

	Header http.Header

	// Body is what was received, byte for byte.
	Body []byte
}

// Verifier tells whether a notification comes from the service. Its error must hold no
// secret. A Verifier must be safe for concurrent use, and change nothing that it is given.
type Verifier interface {
	Verify(Notification) error
}

// VerifierFunc is a function that serves as a [Verifier].
type VerifierFunc func(Notification) error

// Verify calls f.
func (f VerifierFunc) Verify(n Notification) error { return f(n) }

// StandardWebhooks returns a Verifier that accepts what [Verify] accepts now. During a
// rotation it is given the old and the new secret. Without any it refuses everything.
func StandardWebhooks(secrets ...Secret) Verifier {
	secrets = append([]Secret(nil), secrets...)
	return VerifierFunc(func(n Notification) error {
		return Verify(n.Header, n.Body, time.Now(), secrets...)
	})
}

// TokenInURL returns a Verifier that accepts a request whose query has parameter once, with
// one of tokens as its value. During a rotation it is given the old and the new token; an
// empty one counts for nothing. It refuses what comes through [Receiver.Handle], which sees
// no URL. The error is [ErrCredentials].
//
// Tokens should be random, of 128 bits or more. They prove who sends and not what: whoever
// sees the URL, in the log of a proxy for instance, can make up notifications and their ids.
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

// BasicAuth returns a Verifier that accepts username with one of passwords in the
// Authorization header, after RFC 7617. During a rotation it is given the old and the new
// password; an empty one counts for nothing. The error is [ErrCredentials], and the 401 of
// [Receiver.ServeHTTP] asks for them in WWW-Authenticate, for senders that wait to be asked. Like
// a token, a password proves who sends and not what.
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

// Unverified returns a Verifier that accepts everything. Anyone who learns the URL of such a
// receiver can make up notifications, and use up ids and sequences so that it drops true ones.
func Unverified() Verifier {
	return VerifierFunc(func(Notification) error { return nil })
}

type digest = [sha256.Size]byte

// digests leaves out empty texts.
func digests(texts []string) []digest {
	var all []digest
	for _, text := range texts {
		if text != "" {
			all = append(all, sha256.Sum256([]byte(text)))
		}
	}
	return all
}

// matches compares digests, which have one length, and always all of them.
func matches(text string, known []digest) bool {
	sum, found := sha256.Sum256([]byte(text)), 0
	for i := range known {
		found |= subtle.ConstantTimeCompare(sum[:], known[i][:])
	}
	return found == 1
}
