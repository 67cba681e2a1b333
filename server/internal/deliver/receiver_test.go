package deliver_test

import (
	"context"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/avatarstudio/avatarstudio/server/sender"
)

// receiver is a Sender that records its attempts. A test sets its answers.
type receiver struct {
	now    func() time.Time
	takes  time.Duration                                        // before the default answer
	hangs  func(url string) bool                                // until an attempt times out; default: at no URL
	answer func(message sender.Message, try int) sender.Attempt // default: 200

	mu    sync.Mutex
	sent  []*delivery
	tries map[string]int // by event
}

// delivery is an attempt. Only Message and began are set before its end.
type delivery struct {
	sender.Message
	sender.Attempt
	began time.Time // by the clock of the bubble, which a test cannot set
}

func (d *delivery) end() time.Time { return d.At.Add(d.Duration) }

func (r *receiver) Send(_ context.Context, message sender.Message) sender.Attempt {
	d := &delivery{Message: message, began: time.Now()}
	r.mu.Lock()
	r.sent = append(r.sent, d)
	r.tries[message.ID]++
	try := r.tries[message.ID]
	r.mu.Unlock()
	at, attempt := r.now(), sender.Attempt{Status: 200}
	switch {
	case message.URL == busyURL:
		time.Sleep(busyTime)
	case r.hangs != nil && r.hangs(message.URL):
		time.Sleep(hungTime)
		attempt = sender.Attempt{Failure: sender.FailureTimeout}
	case r.answer != nil:
		attempt = r.answer(message, try)
	default:
		time.Sleep(r.takes)
	}
	attempt.At, attempt.Duration = at, r.now().Sub(at)
	r.mu.Lock()
	defer r.mu.Unlock()
	d.Attempt = attempt
	return attempt
}

func (r *receiver) deliveries() []*delivery {
	r.mu.Lock()
	defer r.mu.Unlock()
	return slices.Clone(r.sent)
}

// times returns when the attempts for a URL began.
func (r *receiver) times(url string) (all []time.Time) {
	for _, d := range r.deliveries() {
		if d.URL == url {
			all = append(all, d.began)
		}
	}
	return all
}

// statuses returns the statuses in the events of a subject, in the order of the attempts.
func (r *receiver) statuses(subjectID string) (all []string) {
	for _, d := range r.deliveries() {
		if body := string(d.Body); strings.Contains(body, subjectID) {
			_, status, _ := strings.Cut(body, `"status":"`)
			all = append(all, strings.TrimSuffix(status, `"}}`))
		}
	}
	return all
}

// failed returns the attempt that a receiver answers with a status that is not 2xx.
func failed(status int) sender.Attempt {
	return sender.Attempt{Status: status, Failure: sender.FailureStatus}
}

// senderFunc is a Sender that calls a function.
type senderFunc func(ctx context.Context, message sender.Message) sender.Attempt

func (f senderFunc) Send(ctx context.Context, message sender.Message) sender.Attempt {
	attempt := f(ctx, message)
	attempt.At = time.Now()
	return attempt
}
