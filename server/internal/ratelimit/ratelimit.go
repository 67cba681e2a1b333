// Package ratelimit limits how many requests each user makes in a second.
//
// A user has a token bucket for each class of operations. Daemons on one database share the limits
// without asking each other for a request: each announces once a second what it has admitted of the
// users that come near a limit, and admits its fair share, or what the others leave if that is more and it needs it.
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

// Config says how many requests a user may make in a second, and as many at once after a rest.
type Config struct {
	// Reads is for the operations that change nothing. Default 20,000.
	Reads int
	// Changes is for those that fit none of the others. Default 10,000.
	Changes int
	// Creations is for new avatars, videos and lip-syncs. Default 10,000.
	Creations int
	// Uploads is for files. Default 1,000.
	Uploads int
	// Announce gives a message to [Limiter.Hear] of every other daemon on the database. Default: there
	// is no other.
	Announce func(ctx context.Context, message string) error
	// Logger is told how many daemons share the limits when that changes. Default: none.
	Logger *slog.Logger
}

type class int

const (
	reads class = iota
	changes
	creations
	uploads
	classes // how many there are
)

// classOf returns the class of an operation of the document.
func classOf(operationID string) class {
	switch operationID {
	case "createAvatar", "createVideo", "createLipsync":
		return creations
	case "uploadMedia":
		return uploads
	}
	if strings.HasPrefix(operationID, "get") || strings.HasPrefix(operationID, "list") {
		return reads
	}
	return changes
}

// Limiter limits the requests of users. It is safe for concurrent use.
type Limiter struct {
	daemon   string
	announce func(ctx context.Context, message string) error
	logger   *slog.Logger
	limits   [classes]float64
	names    [classes]string
	policies [classes]string // RateLimit-Policy

	mu      sync.RWMutex
	buckets map[key]*bucket
	peers   map[string]*peer
	sharing int // daemons, as the log has them
}

type key struct {
	userID string
	class  class
}

type bucket struct {
	*rate.Limiter

	admitted atomic.Int64  // since the last adjustment
	idle     time.Duration // since something was admitted
}

// New makes a Limiter.
func New(cfg Config) *Limiter {
	if cfg.Logger == nil {
		cfg.Logger = slog.New(slog.DiscardHandler)
	}
	l := &Limiter{
		daemon: uuid.NewString(), announce: cfg.Announce, logger: cfg.Logger,
		buckets: make(map[key]*bucket), peers: make(map[string]*peer), sharing: 1,
	}
	for class, limit := range map[class]struct {
		name string
		n    int
	}{
		reads:     {"reads", cmp.Or(cfg.Reads, 20_000)},
		changes:   {"changes", cmp.Or(cfg.Changes, 10_000)},
		creations: {"creations", cmp.Or(cfg.Creations, 10_000)},
		uploads:   {"uploads", cmp.Or(cfg.Uploads, 1_000)},
	} {
		l.limits[class], l.names[class] = float64(limit.n), limit.name
		l.policies[class] = fmt.Sprintf("%q;q=%d;w=1", limit.name, limit.n)
	}
	return l
}

// Admit returns an error that is a 429 when the user who makes a request has made too many. It is for
// [server.Config].
func (l *Limiter) Admit(ctx context.Context, operationID string) error {
	caller, ok := server.PrincipalFrom(ctx)
	if !ok {
		return nil
	}
	class := classOf(operationID)
	wait := l.take(caller.UserID, class)
	if wait == 0 {
		return nil
	}
	return &server.Error{
		Status: http.StatusTooManyRequests, Code: "too_many_requests", Detail: "Too many requests. Try again later.", RetryAfter: wait,
		Header: http.Header{ // draft-ietf-httpapi-ratelimit-headers
			"Ratelimit-Policy": {l.policies[class]},
			"Ratelimit":        {fmt.Sprintf("%q;r=0;t=%.0f", l.names[class], math.Ceil(wait.Seconds()))},
		},
	}
}

// take admits a request, or returns how long to wait before the next one.
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

// burst is how many requests may come at once.
func burst(share float64) int { return max(1, int(share)) }
