package ratelimit

import (
	"context"
	"encoding/json"
	"time"

	"golang.org/x/time/rate"
)

const (
	// announceInterval is how often a daemon says what it has admitted, and peerLifetime how long
	// another one that says nothing counts.
	announceInterval = time.Second
	peerLifetime     = 5 * time.Second
	// bucketLifetime is how long a bucket is kept that nothing was taken from. It is full by then.
	bucketLifetime = time.Minute
	// negligible is the part of a fair share that a daemon does not announce.
	negligible = 0.1
	// needy is the part of a fair share of which a daemon that uses it may have more. One that does not
	// leaves a burst that comes to all daemons at once no more than the limit.
	needy = 0.8
	// maxUsers is how many users a message names: PostgreSQL takes 8000 bytes.
	maxUsers = 80
)

// peer is another daemon.
type peer struct {
	heard time.Time
	used  map[string][classes]int // by user
}

// announcement is what a daemon says of itself. One that does not fit into a message has several parts.
type announcement struct {
	Daemon string                  `json:"daemon"`
	Part   int                     `json:"part"`
	Used   map[string][classes]int `json:"used"` // requests in a second, by user
}

// Run shares the limits with other daemons, and forgets users who are away, until ctx ends.
func (l *Limiter) Run(ctx context.Context) {
	interval := bucketLifetime
	if l.announce != nil {
		interval = announceInterval
	}
	ticker := time.NewTicker(interval)
	defer ticker.Stop()
	last := time.Now()
	for {
		now := time.Now()
		used := l.adjust(now.Sub(last))
		last = now
		if l.announce != nil {
			l.tell(ctx, used)
		}
		select {
		case <-ticker.C:
		case <-ctx.Done():
			return
		}
	}
}

// Hear takes an announcement of another daemon, or of this one.
func (l *Limiter) Hear(message string) {
	var said announcement
	if err := json.Unmarshal([]byte(message), &said); err != nil || said.Daemon == "" || said.Daemon == l.daemon {
		return // a daemon of another version says it in another way
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	p := l.peers[said.Daemon]
	if p == nil {
		p = new(peer)
		l.peers[said.Daemon] = p
	}
	p.heard = time.Now()
	if said.Part == 0 {
		p.used = nil
	}
	for user, used := range said.Used {
		if p.used == nil {
			p.used = make(map[string][classes]int)
		}
		p.used[user] = used
	}
}

// left is how many requests of a class the other daemons leave in a second.
func (l *Limiter) left(k key) float64 {
	left := l.limits[k.class]
	for _, p := range l.peers {
		left -= float64(p.used[k.userID][k.class])
	}
	return left
}

// fairShare is what a daemon may admit in a second whatever the others do.
func (l *Limiter) fairShare(class class) float64 { return l.limits[class] / float64(1+len(l.peers)) }

// adjust follows what was heard, and returns what was admitted in a second that others must know.
func (l *Limiter) adjust(passed time.Duration) map[string][classes]int {
	l.mu.Lock()
	defer l.mu.Unlock()
	now := time.Now()
	for daemon, p := range l.peers {
		if now.Sub(p.heard) > peerLifetime {
			delete(l.peers, daemon)
		}
	}
	if daemons := 1 + len(l.peers); daemons != l.sharing {
		l.sharing = daemons
		l.logger.Info("sharing the limits of users", "daemons", daemons)
	}
	used := make(map[string][classes]int)
	for k, b := range l.buckets {
		admitted := b.admitted.Swap(0)
		if b.idle += passed; admitted > 0 {
			b.idle = 0
		}
		if b.idle >= bucketLifetime {
			delete(l.buckets, k)
			continue
		}
		perSecond := float64(admitted) / max(passed.Seconds(), announceInterval.Seconds()/2)
		fair := l.fairShare(k.class)
		share := fair
		if perSecond > needy*fair {
			share = max(share, l.left(k))
		}
		if rate.Limit(share) != b.Limit() {
			b.SetLimitAt(now, rate.Limit(share))
			b.SetBurstAt(now, burst(share))
		}
		if perSecond > negligible*fair {
			all := used[k.userID]
			all[k.class] = int(perSecond)
			used[k.userID] = all
		}
	}
	return used
}

// tell announces what was admitted, and that this daemon is there. When it fails, the others give this
// one a fair share for as long as they count it.
func (l *Limiter) tell(ctx context.Context, used map[string][classes]int) {
	limited, cancel := context.WithTimeout(ctx, announceInterval)
	defer cancel()
	said := announcement{Daemon: l.daemon, Used: make(map[string][classes]int)}
	say := func() {
		message, err := json.Marshal(said)
		if err == nil {
			_ = l.announce(limited, string(message))
		}
		said.Part++
		clear(said.Used)
	}
	for user, n := range used {
		if said.Used[user] = n; len(said.Used) == maxUsers {
			say()
		}
	}
	if said.Part == 0 || len(said.Used) > 0 {
		say()
	}
}
