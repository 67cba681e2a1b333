// Package standardwebhooks signs webhooks and verifies their signatures, as the specification Standard
// Webhooks defines it: an HMAC-SHA256 of id, timestamp and body under a shared secret.
//
// The service signs with this package and package client/webhook verifies with it.
package standardwebhooks

import (
	"crypto/hmac"
	"crypto/sha256"
	"encoding/base64"
	"errors"
	"net/http"
	"strconv"
	"strings"
	"time"
)

// Names of the headers that carry a signature and what it covers.
const (
	HeaderID        = "Webhook-Id"
	HeaderTimestamp = "Webhook-Timestamp"
	HeaderSignature = "Webhook-Signature"
)

// HeaderSequence names the header with the position of an event among those of its subject. It is an
// extension of this service, which signatures do not cover.
const HeaderSequence = "Webhook-Sequence"

// Tolerance is how far the timestamp of a notification may lie before or after the
// receiver's clock.
const Tolerance = 5 * time.Minute

// ErrUnsignable is returned by [Sign] for what [Verify] would refuse.
var ErrUnsignable = errors.New("standardwebhooks: signing needs an id without dots, spaces and control characters, and 1 to 16 secrets")

// Errors of [Verify].
var (
	ErrUnsigned  = errors.New("standardwebhooks: a signature header is missing or malformed")
	ErrTimestamp = errors.New("standardwebhooks: the timestamp is more than 5 minutes off")
	ErrSignature = errors.New("standardwebhooks: no signature matches")
)

const (
	signatureVersion = "v1,"
	maxSignatures    = 16
)

// Sign sets the id, timestamp and signature headers of Standard Webhooks for body: one
// signature for each secret, so that a receiver that knows any of them accepts it. The error is
// [ErrUnsignable] if [Verify] would refuse the id or a secret is zero, and header is unchanged then.
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
		signatures[i] = string(secret.sign(id, timestamp, body))
	}
	header.Set(HeaderID, id)
	header.Set(HeaderTimestamp, timestamp)
	header.Set(HeaderSignature, strings.Join(signatures, " "))
	return nil
}

// Verify reports whether body was signed with one of secrets at a time within
// [Tolerance] of now. body must be the bytes as received, before any parsing. Signatures
// are compared in constant time; of more than 16 signatures only the first 16 count, and a
// zero Secret verifies nothing. The error is [ErrUnsigned], [ErrTimestamp] or [ErrSignature].
func Verify(header http.Header, body []byte, now time.Time, secrets ...Secret) error {
	id, timestamp := header.Get(HeaderID), header.Get(HeaderTimestamp)
	signatures := strings.SplitN(header.Get(HeaderSignature), " ", maxSignatures+1)
	seconds, err := strconv.ParseInt(timestamp, 10, 64)
	if err != nil || !validID(id) || signatures[0] == "" {
		return ErrUnsigned
	}
	if age := now.Sub(time.Unix(seconds, 0)); age > Tolerance || age < -Tolerance {
		return ErrTimestamp
	}
	for _, secret := range secrets {
		if secret.key == nil {
			continue
		}
		expected := secret.sign(id, timestamp, body)
		for _, signature := range signatures[:min(len(signatures), maxSignatures)] {
			if hmac.Equal([]byte(signature), expected) {
				return nil
			}
		}
	}
	return ErrSignature
}

// validID reports whether a header carries id as it is, and whether the end of id is certain in
// what is signed: with a dot in it, part of it could pass for the timestamp, and that for the body.
func validID(id string) bool {
	return id != "" && !strings.ContainsFunc(id, func(r rune) bool { return r <= ' ' || r == '.' || r == 0x7f })
}

func (s Secret) sign(id, timestamp string, body []byte) []byte {
	hash := hmac.New(sha256.New, s.bytes())
	hash.Write([]byte(id + "." + timestamp + "."))
	hash.Write(body)
	return base64.StdEncoding.AppendEncode([]byte(signatureVersion), hash.Sum(nil))
}
