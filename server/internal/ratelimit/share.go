package ratelimit

import (
	"context"
	"encoding/json"
	"time"

	"golang.org/x/time/rate"
)

const (
	// announceInterval is the interval of announcements. peerLifetime is how long a daemon counts after its
	// last announcement.
	announceInterval = time.Second
	peerLifetime     = 5 * time.Second
	// bucketLifetime is how long an unused bucket is kept. It is full by then.
	bucketLifetime = time.Minute
	// announceThreshold is the fraction of the fair share below which a rate is not announced.
	announceThreshold = 0.1
	// extraThreshold is the fraction of the fair share above which a user can get more than the fair share.
	// It bounds bursts: if a user sends a burst to all daemons at once, they admit no more than the limit in
	// total.
	extraThreshold = 0.8
	// maxUsers limits the users in a message, because PostgreSQL limits a notification to 8000 bytes.
	maxUsers = 80
)

// peer is another daemon.
type peer struct {
	heard time.Time
	used  map[string][classes]int // by user
}

// announcement is a message of a daemon about its users. Announcements that are too long for a message are
// split into parts.
type announcement struct {
	Daemon string                  `json:"daemon"`
	Part   int                     `json:"part"`
	Used   map[string][classes]int `json:"used"` // requests per second, by user
}

// Run shares the limits with other daemons and removes unused buckets, until ctx ends. Call it once.
func (l *Limiter) Run(ctx context.Context) {
	interval := bucketLifetime
	if l.publish != nil {
		interval = announceInterval
	}
	ticker := time.NewTicker(interval)
	defer ticker.Stop()
	last := time.Now()
	for {
		now := time.Now()
		used := l.adjust(now.Sub(last))
		last = now
		if l.publish != nil {
			l.sendAnnouncement(ctx, used)
		}
		select {
		case <-ticker.C:
		case <-ctx.Done():
			return
		}
	}
}

// Receive processes an announcement. It ignores those of this daemon and those that it cannot read. A daemon whose
// announcements stop counts for five more seconds.
func (l *Limiter) Receive(message string) {
	var received announcement
	if err := json.Unmarshal([]byte(message), &received); err != nil || received.Daemon == "" || received.Daemon == l.daemon {
		return // daemons of other versions may use another format
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	p := l.peers[received.Daemon]
	if p == nil {
		p = new(peer)
		l.peers[received.Daemon] = p
	}
	p.heard = time.Now()
	if received.Part == 0 {
		p.used = nil
	}
	for user, used := range received.Used {
		if p.used == nil {
			p.used = make(map[string][classes]int)
		}
		p.used[user] = used
	}
}

// left returns the rate that the other daemons leave of a limit, in requests per second.
func (l *Limiter) left(k key) float64 {
	left := l.limits[k.class]
	for _, p := range l.peers {
		left -= float64(p.used[k.userID][k.class])
	}
	return left
}

// fairShare returns the rate that a daemon may always admit, in requests per second.
func (l *Limiter) fairShare(class class) float64 { return l.limits[class] / float64(1+len(l.peers)) }

// adjust updates the rate of each bucket according to the announcements, and returns the rates to publish.
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
		if perSecond > extraThreshold*fair {
			share = max(share, l.left(k))
		}
		if rate.Limit(share) != b.Limit() {
			b.SetLimitAt(now, rate.Limit(share))
			b.SetBurstAt(now, burst(share))
		}
		if perSecond > announceThreshold*fair {
			all := used[k.userID]
			all[k.class] = int(perSecond)
			used[k.userID] = all
		}
	}
	return used
}

// sendAnnouncement announces this daemon and its rates. If it fails, the other daemons assume the last
// announcement until peerLifetime has passed.
func (l *Limiter) sendAnnouncement(ctx context.Context, used map[string][classes]int) {
	limited, cancel := context.WithTimeout(ctx, announceInterval)
	defer cancel()
	own := announcement{Daemon: l.daemon, Used: make(map[string][classes]int)}
	send := func() {
		message, err := json.Marshal(own)
		if err == nil {
			_ = l.publish(limited, string(message))
		}
		own.Part++
		clear(own.Used)
	}
	for user, n := range used {
		if own.Used[user] = n; len(own.Used) == maxUsers {
			send()
		}
	}
	if own.Part == 0 || len(own.Used) > 0 {
		send()
	}
}
