package deliver_test

import (
	"context"
	"fmt"
	"testing"
	"time"

	"github.com/avatarstudio/avatarstudio/server/internal/testing/studiotest"
	"github.com/avatarstudio/avatarstudio/server/sender"
)

// New origins that hang delay neither an untried origin nor a proven one, which has its concurrent attempts. They may
// belong to one user or to more users than there are workers.
func TestSQLite_untriedOriginsThatHangDelayNoOther(t *testing.T) {
	t.Parallel()
	crowds := []int{1, 300}
	if testing.Short() {
		crowds = []int{300} // more users than workers are the hardest case
	}
	for _, users := range crowds {
		t.Run(fmt.Sprint(users), func(t *testing.T) {
			onSQLite(t, func(s *fixture) {
				const origins, late, busyURL, busyTime = 1000, 100 * time.Millisecond, "https://busy.example.org/", 200 * time.Millisecond
				probes := max(100/loadDivisor, 20)
				sent := new(attemptTimes)
				answers := make(map[string]bool)
				healthy := make([]string, probes)
				for i := range healthy {
					healthy[i] = fmt.Sprintf("https://%d.example.org/", i%(len(healthy)/2)) // every URL is used twice
					answers[healthy[i]] = true
				}
				s.sender = senderFunc(func(ctx context.Context, message sender.Message) sender.Attempt {
					sent.add(message.URL)
					if message.URL == busyURL {
						time.Sleep(busyTime)
						return sender.Attempt{Status: 200}
					}
					if answers[message.URL] {
						return sender.Attempt{Status: 200}
					}
					select {
					case <-ctx.Done():
					case <-time.After(15 * time.Second):
					}
					return sender.Attempt{Failure: sender.FailureTimeout}
				})
				for user := range users {
					id := studiotest.AddUser(s.t, s.studio, fmt.Sprintf("%d@example.com", user)).ID
					var hanging []string
					for i := range origins / users {
						hanging = append(hanging, fmt.Sprintf("https://%d-%d.example.net/", user, i))
					}
					seed(s.t, s.dsn, id, 4, hanging...)
				}
				s.workWhile(time.Duration(probes+10)*time.Second, func() {
					time.Sleep(time.Second)
					s.createFor(busyURL)
					time.Sleep(time.Second)
					created := time.Now()
					for range 4 {
						s.createFor(busyURL)
					}
					time.Sleep(time.Second)
					if at := sent.of(busyURL); len(at) != 15 || at[14].Sub(created) > 4*busyTime {
						s.t.Errorf("a proven origin got %v after %v, want 4 attempts at once", at, created)
					}
					for _, url := range healthy {
						before, created := len(sent.of(url)), time.Now()
						s.createFor(url)
						time.Sleep(time.Second)
						if at := sent.of(url)[before:]; len(at) != 3 || at[2].Sub(created) > late {
							s.t.Errorf("%s got %v after %v", url, at, created)
						}
					}
				})
			})
		})
	}
}

// However many receivers of a user take their time, another user has concurrent attempts.
func TestSQLite_slowReceiversOfAUserDelayNoOtherUser(t *testing.T) {
	onSQLite(t, func(s *fixture) {
		const busyTime = 200 * time.Millisecond
		sent := new(attemptTimes)
		s.sender = senderFunc(func(_ context.Context, message sender.Message) sender.Attempt {
			sent.add(message.URL)
			took := 10 * time.Second
			if message.URL == hookURL {
				took = busyTime
			}
			time.Sleep(took)
			return sender.Attempt{Status: 200}
		})
		s.seed(20, urls(100)...)
		s.user = studiotest.AddUser(s.t, s.studio, "bob@example.com")
		s.workWhile(50*time.Second, func() {
			time.Sleep(30 * time.Second) // the first attempts prove the receivers, the next ones use all workers
			s.createFor(hookURL)
			time.Sleep(time.Second)
			created := time.Now()
			for range 4 {
				s.createFor(hookURL)
			}
			time.Sleep(time.Second)
			if at := sent.of(hookURL); len(at) != 15 || at[14].Sub(created) > 4*busyTime {
				s.t.Errorf("another user's receiver got %v after %v, want 4 attempts at once", at, created)
			}
		})
	})
}
