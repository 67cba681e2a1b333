// Package ratelimit limits the rate of requests of each user, and the concurrent requests with large bodies.
//
// Each user has a token bucket for each class of operations; see [New]. [Bodies] bounds the requests with large
// bodies. Requests without a user are not limited. The limits are those of one daemon: a user of several daemons has
// those of each.
package ratelimit

import (
	"cmp"
	"fmt"
	"maps"
	"math"
	"net/http"
	"strings"
	"sync"
	"time"

	"golang.org/x/time/rate"

	"github.com/avatarstudio/avatarstudio/server"
)

// DefaultRate is the default of [New].
const DefaultRate = 10_000

type class int

const (
	reads class = iota
	changes
	creations
	uploads
	classes // number of classes
)

// classOf returns the class of an operation of the document, whose ID begins with what it does.
func classOf(method, operationID string) class {
	switch {
	case method == http.MethodGet, method == http.MethodHead:
		return reads
	case strings.HasPrefix(operationID, "create"):
		return creations
	case strings.HasPrefix(operationID, "upload"):
		return uploads
	default:
		return changes
	}
}

// Limiter limits the request rates of users. It is safe for concurrent use.
type Limiter struct {
	limits [classes]limit

	mu      sync.Mutex
	buckets map[key]*rate.Limiter
	swept   time.Time // when full buckets were last removed
}

// sweepInterval is how long buckets of users who are away are kept at least.
const sweepInterval = time.Minute

// limit is the limit of a class.
type limit struct {
	name string
	n    int // requests per second
}

type key struct {
	userID string
	class  class
}

// New returns a Limiter. perSecond limits the requests of a user, separately for each class: creations of avatars,
// videos and lip-syncs; and other changes. Operations that change nothing, which are those with GET, are limited to
// twice the rate, because they are cheaper, and uploads of files to a tenth of it. A request that is repeated with its
// idempotency key counts, too. Each limit is also the burst. 0 means DefaultRate.
func New(perSecond int) *Limiter {
	perSecond = cmp.Or(perSecond, DefaultRate)
	return &Limiter{buckets: make(map[key]*rate.Limiter), limits: [classes]limit{
		reads:     {"reads", 2 * perSecond},
		changes:   {"changes", perSecond},
		creations: {"creations", perSecond},
		uploads:   {"uploads", max(1, perSecond/10)},
	}}
}

// Admit responds with 429, Retry-After and RateLimit headers if the user has exceeded the rate limit for the
// operation. It is for [server.Config].Admit.
func (l *Limiter) Admit(next http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if caller, ok := server.PrincipalFrom(r.Context()); ok {
			if err := l.admit(caller.UserID, classOf(r.Method, server.OperationID(r.Context()))); err != nil {
				server.WriteProblem(w, r, err)
				return
			}
		}
		next.ServeHTTP(w, r)
	})
}

// AdmitPage is like Admit for requests that are not operations of the document: it returns the response, or nil. change
// reports whether the request changes anything.
func (l *Limiter) AdmitPage(userID string, change bool) *server.Error {
	if change {
		return l.admit(userID, changes)
	}
	return l.admit(userID, reads)
}

func (l *Limiter) admit(userID string, class class) *server.Error {
	wait := l.take(userID, class)
	if wait == 0 {
		return nil
	}
	return &server.Error{
		Status: http.StatusTooManyRequests, Code: "too_many_requests", Detail: "Too many requests. Try again later.", RetryAfter: wait,
		Header: http.Header{ // as defined by draft-ietf-httpapi-ratelimit-headers
			"Ratelimit-Policy": {fmt.Sprintf("%q;q=%d;w=1", l.limits[class].name, l.limits[class].n)},
			"Ratelimit":        {fmt.Sprintf("%q;r=0;t=%.0f", l.limits[class].name, math.Ceil(wait.Seconds()))},
		},
	}
}

// take removes a token from the bucket. If the bucket is empty, it returns the time until the next token.
func (l *Limiter) take(userID string, class class) (wait time.Duration) {
	now := time.Now()
	k := key{userID, class}
	l.mu.Lock()
	defer l.mu.Unlock()
	b := l.buckets[k]
	if b == nil {
		if now.Sub(l.swept) >= sweepInterval {
			maps.DeleteFunc(l.buckets, func(_ key, b *rate.Limiter) bool { return b.TokensAt(now) >= float64(b.Burst()) })
			l.swept = now
		}
		n := l.limits[class].n
		b = rate.NewLimiter(rate.Limit(n), n)
		l.buckets[k] = b
	}
	if b.AllowN(now, 1) {
		return 0
	}
	missing := (1 - b.TokensAt(now)) / float64(b.Limit())
	return max(1, time.Duration(missing*float64(time.Second)))
}
