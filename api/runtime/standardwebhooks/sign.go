// Package standardwebhooks signs webhooks and verifies their signatures according to the [Standard
// Webhooks] specification. A signature is an HMAC-SHA256 of the webhook's id, timestamp and body under a
// secret that sender and receiver share.
//
// The service signs its notifications with this package, and package client/webhook verifies them with it.
// Programs that receive notifications use package client/webhook.
//
// [Standard Webhooks]: https://www.standardwebhooks.com
package standardwebhooks

import (
	"crypto/hmac"
	"encoding/base64"
	"errors"
	"net/http"
	"strconv"
	"strings"
	"time"
)

// Headers of a signed webhook: its id, the time of signing in Unix seconds, and the signatures.
const (
	HeaderID        = "Webhook-Id"
	HeaderTimestamp = "Webhook-Timestamp"
	HeaderSignature = "Webhook-Signature"
)

// HeaderSequence is the header with the position of an event among the events of the same avatar, video or
// lip-sync. It is an extension of this service, and signatures do not cover it.
const HeaderSequence = "Webhook-Sequence"

// Tolerance is the largest accepted difference between the timestamp of a webhook and the clock of the
// receiver.
const Tolerance = 5 * time.Minute

// ErrUnsignable is returned by [Sign] for an id or secrets that [Verify] would refuse.
var ErrUnsignable = errors.New("standardwebhooks: signing needs an id without dots, spaces and control characters, and 1 to 16 secrets")

// Errors that [Verify] returns.
var (
	ErrUnsigned  = errors.New("standardwebhooks: a signature header is missing or malformed")
	ErrTimestamp = errors.New("standardwebhooks: the timestamp is more than 5 minutes off")
	ErrSignature = errors.New("standardwebhooks: no signature matches")
)

const (
	signatureVersion = "v1,"
	maxSignatures    = 16
)

// Sign sets the id, timestamp and signature headers for body. It adds one signature for each of 1 to 16
// secrets, so that a receiver that knows any of them accepts the webhook. The id must not be empty or
// contain dots, spaces or control characters. Sign returns [ErrUnsignable], and leaves header unchanged,
// if the id is invalid, a secret is zero, or there are too few or too many secrets.
func Sign(header http.Header, id string, at time.Time, body []byte, secrets ...Secret) error {
	if !validID(id) || len(secrets) == 0 || len(secrets) > maxSignatures {
		return ErrUnsignable
	}
	timestamp := strconv.FormatInt(at.Unix(), 10)
	signatures := make([]string, len(secrets))
	for i, secret := range secrets {
		if secret.key == nil {
			return ErrUnsignable
		}
		signatures[i] = string(secret.sign(nil, id, timestamp, body))
	}
	header.Set(HeaderID, id)
	header.Set(HeaderTimestamp, timestamp)
	header.Set(HeaderSignature, strings.Join(signatures, " "))
	return nil
}

// Verify returns nil if body was signed with one of the secrets within [Tolerance] of now. The body must
// be the bytes as received, before any parsing. Verify compares signatures in constant time. It reads the
// first 16 signatures of the header and ignores the rest, and it ignores zero secrets. The error is
// [ErrUnsigned], [ErrTimestamp] or [ErrSignature].
func Verify(header http.Header, body []byte, now time.Time, secrets ...Secret) error {
	id, timestamp, signatures := header.Get(HeaderID), header.Get(HeaderTimestamp), header.Get(HeaderSignature)
	seconds, err := strconv.ParseInt(timestamp, 10, 64)
	if err != nil || !validID(id) || signatures == "" || signatures[0] == ' ' {
		return ErrUnsigned
	}
	if age := now.Sub(time.Unix(seconds, 0)); age > Tolerance || age < -Tolerance {
		return ErrTimestamp
	}
	for _, secret := range secrets {
		if secret.key == nil {
			continue
		}
		var room [64]byte
		expected := secret.sign(room[:0], id, timestamp, body)
		n := 0
		for signature := range strings.SplitSeq(signatures, " ") {
			if n++; n > maxSignatures {
				break
			}
			if hmac.Equal([]byte(signature), expected) {
				return nil
			}
		}
	}
	return ErrSignature
}

// validID reports whether a header can carry id unchanged and the signed text tells where it ends. If an
// id contained a dot, part of it could be taken for the timestamp, and the timestamp for part of the body.
func validID(id string) bool {
	return id != "" && !strings.ContainsFunc(id, func(r rune) bool { return r <= ' ' || r == '.' || r == 0x7f })
}

// sign appends the signature to b.
func (s Secret) sign(b []byte, id, timestamp string, body []byte) []byte {
	hash := s.hmac()
	hash.Write([]byte(id + "." + timestamp + "."))
	hash.Write(body)
	return base64.StdEncoding.AppendEncode(append(b, signatureVersion...), hash.Sum(nil))
}
