package sender

import (
	"errors"
	"net/http"
	"strconv"
	"time"
)

const maxRetryAfter = 24 * time.Hour

// Attempt is what came of one [Sender.Send]. Besides Excerpt, which the receiver wrote,
// it holds nothing of the URL's query, the secrets or the signature.
type Attempt struct {
	At         time.Time     // when it began; also the time of the signature
	Duration   time.Duration // until the answer was read
	Address    string        // ip:port that was dialled; "" when none
	Status     int           // 0 when there was no answer
	RetryAfter time.Duration // 0 when the receiver named none; at most 24 h
	Excerpt    []byte        // first 4 KiB of the answer's body, as sent
	Failure    Failure       // "" when delivered
}

// Delivered reports whether the receiver accepted the event: it answered 2xx, headers
// complete, before the deadline. The body decides nothing, so a 2xx whose body stalls or
// breaks off is delivered; sending it again would only repeat what was accepted.
func (a Attempt) Delivered() bool { return a.Status/100 == 2 }

// Failure says why an attempt delivered nothing. The list below is complete.
type Failure string

// Failures of an attempt.
const (
	FailureInvalid  Failure = "invalid"  // the message has no usable id or no secret; nothing was sent
	FailureBlocked  Failure = "blocked"  // the guard refused the URL or the address behind it
	FailureDNS      Failure = "dns"      // the host name has no address
	FailureConnect  Failure = "connect"  // the address took no connection
	FailureTLS      Failure = "tls"      // the handshake failed or the certificate is not trusted
	FailureTimeout  Failure = "timeout"  // a deadline passed before the headers were complete
	FailureReset    Failure = "reset"    // the connection ended without an answer
	FailureProtocol Failure = "protocol" // the answer's headers are not HTTP, too large or broke off
	FailureStatus   Failure = "status"   // the answer is not 2xx
	FailureCanceled Failure = "canceled" // the caller's context ended before there was an answer
)

// retryAfter reads a Retry-After header: seconds or a date. It is 0 for anything else.
func retryAfter(value string, now time.Time) time.Duration {
	// Seconds out of range come back as the largest number, which is what they mean.
	seconds, err := strconv.ParseUint(value, 10, 64)
	if err == nil || errors.Is(err, strconv.ErrRange) {
		return time.Duration(min(seconds, uint64(maxRetryAfter/time.Second))) * time.Second
	}
	date, err := http.ParseTime(value)
	if err != nil {
		return 0
	}
	return min(max(date.Sub(now), 0), maxRetryAfter)
}
