// Package ratelimit limits the rate of requests of each user.
//
// Each user has a token bucket for each class of operations; see [Config]. Requests without a user are not
// limited. Daemons with the same database share the limits without communicating for each request. Every
// second, each daemon announces the rates of the users that use more than a tenth of its fair share, which is
// the limit divided by the number of daemons. A daemon admits its fair share. If a user needs more than four
// fifths of it, the daemon admits what the other daemons have announced to leave, if that is more.
package ratelimit

import (
	"cmp"
	"context"
	"fmt"
	"log/slog"
	"math"
	"net/http"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"github.com/google/uuid"
	"golang.org/x/time/rate"

	"github.com/avatarstudio/avatarstudio/server"
)

// DefaultRate is the default of [Config.Rate].
const DefaultRate = 10_000

// Config configures a [Limiter]. The zero value is valid.
type Config struct {
	// Rate limits the requests of a user per second, separately for each class: creations of avatars, videos and
	// lip-syncs; and other changes. Operations that change nothing, whose ids begin with get, list or stream, are limited to
	// twice the rate, because they are cheaper, and uploads of files to a tenth of it. Each limit is also the burst.
	// Defaults to DefaultRate.
	Rate int
	// Publish sends a message to [Limiter.Receive] of all other daemons with the same database. If nil, there
	// are no other daemons.
	Publish func(ctx context.Context, message string) error
	// Logger receives a record when the number of daemons that share the limits changes. If nil, nothing is
	// logged.
	Logger *slog.Logger
}

type class int

const (
	reads class = iota
	changes
	creations
	uploads
	classes // number of classes
)

// classOf returns the class of an operation of the document.
func classOf(operationID string) class {
	switch operationID {
	case "createAvatar", "createVideo", "createLipsync":
		return creations
	case "uploadMedia":
		return uploads
	}
	for _, verb := range []string{"get", "list", "stream"} {
		if strings.HasPrefix(operationID, verb) {
			return reads
		}
	}
	return changes
}

// Limiter limits the request rates of users. It is safe for concurrent use.
type Limiter struct {
	daemon   string
	publish  func(ctx context.Context, message string) error
	logger   *slog.Logger
	limits   [classes]float64
	names    [classes]string
	policies [classes]string // values of RateLimit-Policy

	mu      sync.RWMutex
	buckets map[key]*bucket
	peers   map[string]*peer
	sharing int // last logged number of daemons
}

type key struct {
	userID string
	class  class
}

type bucket struct {
	*rate.Limiter

	admitted atomic.Int64  // since the last adjustment
	idle     time.Duration // time since the last admitted request
}

// New returns a Limiter.
func New(cfg Config) *Limiter {
	cfg.Logger = cmp.Or(cfg.Logger, slog.New(slog.DiscardHandler))
	l := &Limiter{
		daemon: uuid.NewString(), publish: cfg.Publish, logger: cfg.Logger,
		buckets: make(map[key]*bucket), peers: make(map[string]*peer), sharing: 1,
	}
	cfg.Rate = cmp.Or(cfg.Rate, DefaultRate)
	for class, limit := range map[class]struct {
		name string
		n    int
	}{
		reads:     {"reads", 2 * cfg.Rate},
		changes:   {"changes", cfg.Rate},
		creations: {"creations", cfg.Rate},
		uploads:   {"uploads", max(1, cfg.Rate/10)},
	} {
		l.limits[class], l.names[class] = float64(limit.n), limit.name
		l.policies[class] = fmt.Sprintf("%q;q=%d;w=1", limit.name, limit.n)
	}
	return l
}

// Admit responds with 429, Retry-After and RateLimit headers if the user has exceeded the rate limit for the
// operation. It is for [server.Config].Admit.
func (l *Limiter) Admit(next http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if caller, ok := server.PrincipalFrom(r.Context()); ok {
			if err := l.admit(caller.UserID, classOf(server.OperationID(r.Context()))); err != nil {
				server.WriteProblem(w, r, err)
				return
			}
		}
		next.ServeHTTP(w, r)
	})
}

// AdmitPage is like Admit for requests that are not operations of the document: it returns the response as a
// [*server.Error]. change reports whether the request changes anything.
func (l *Limiter) AdmitPage(userID string, change bool) error {
	class := reads
	if change {
		class = changes
	}
	if err := l.admit(userID, class); err != nil {
		return err
	}
	return nil
}

func (l *Limiter) admit(userID string, class class) *server.Error {
	wait := l.take(userID, class)
	if wait == 0 {
		return nil
	}
	return &server.Error{
		Status: http.StatusTooManyRequests, Code: "too_many_requests", Detail: "Too many requests. Try again later.", RetryAfter: wait,
		Header: http.Header{ // as defined by draft-ietf-httpapi-ratelimit-headers
			"Ratelimit-Policy": {l.policies[class]},
			"Ratelimit":        {fmt.Sprintf("%q;r=0;t=%.0f", l.names[class], math.Ceil(wait.Seconds()))},
		},
	}
}

// take removes a token from the bucket. If the bucket is empty, it returns the time until the next token.
func (l *Limiter) take(userID string, class class) (wait time.Duration) {
	now := time.Now()
	k := key{userID, class}
	l.mu.RLock()
	b := l.buckets[k]
	l.mu.RUnlock()
	if b == nil {
		b = l.add(k)
	}
	if b.AllowN(now, 1) {
		b.admitted.Add(1)
		return 0
	}
	missing := (1 - b.TokensAt(now)) / float64(b.Limit())
	return max(1, time.Duration(missing*float64(time.Second)))
}

func (l *Limiter) add(k key) *bucket {
	l.mu.Lock()
	defer l.mu.Unlock()
	b := l.buckets[k]
	if b == nil {
		share := l.fairShare(k.class)
		b = &bucket{Limiter: rate.NewLimiter(rate.Limit(share), burst(share))}
		l.buckets[k] = b
	}
	return b
}

// burst returns the burst for a rate.
func burst(share float64) int { return max(1, int(share)) }
