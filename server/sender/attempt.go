package sender

import (
	"errors"
	"net/http"
	"strconv"
	"time"
)

const maxRetryAfter = 24 * time.Hour

// Attempt is the result of one [Sender.Send]. It contains no query of the URL, no secret and no signature,
// unless the receiver wrote them into Excerpt.
type Attempt struct {
	At         time.Time     // when the attempt began, which is also the time of the signature
	Duration   time.Duration // until the response was read
	Address    string        // ip:port of the connection; "" if none was tried
	Status     int           // 0 if there was no response
	RetryAfter time.Duration // 0 if the receiver sent no Retry-After; at most 24 hours
	Excerpt    []byte        // first 4 KiB of the response body, as sent
	Failure    Failure       // "" if delivered
	// NotPublic reports that the host name has an address that the guard blocked. It is for the log. A user who can see
	// it learns which names exist in a private network.
	NotPublic bool
}

// Delivered reports whether the receiver accepted the event, which means that it sent the headers of a 2xx
// response before the deadline. The response body has no effect: if it stalls or is truncated after a 2xx,
// the event is delivered, because a retry would only duplicate it.
func (a Attempt) Delivered() bool { return a.Status/100 == 2 }

// Failure is the reason why an attempt failed. The constants below are all of its values.
type Failure string

// Failures of an attempt.
const (
	FailureInvalid  Failure = "invalid"  // the message has no valid id or no secret; nothing was sent
	FailureBlocked  Failure = "blocked"  // the guard blocked the URL
	FailureDNS      Failure = "dns"      // the host name has no address, or none that the guard permits
	FailureConnect  Failure = "connect"  // no connection could be opened
	FailureTLS      Failure = "tls"      // the handshake failed or the certificate is not trusted
	FailureTimeout  Failure = "timeout"  // a deadline passed before the response headers were complete
	FailureReset    Failure = "reset"    // the connection ended without a response
	FailureProtocol Failure = "protocol" // the response headers are not HTTP, too large or truncated; Status is 0
	FailureStatus   Failure = "status"   // the status of the response is not 2xx
	FailureCanceled Failure = "canceled" // the context of the caller ended before there was a response
)

// retryAfter parses a Retry-After header, which has seconds or a date. It returns 0 for any other value.
func retryAfter(value string, now time.Time) time.Duration {
	// For seconds out of range, ParseUint returns the largest number.
	seconds, err := strconv.ParseUint(value, 10, 64)
	if err == nil || errors.Is(err, strconv.ErrRange) {
		return time.Duration(min(seconds, uint64(maxRetryAfter/time.Second))) * time.Second
	}
	date, _ := http.ParseTime(value) // the zero time if it is no date
	return min(max(date.Sub(now), 0), maxRetryAfter)
}
