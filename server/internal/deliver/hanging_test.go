package deliver_test

import (
	"context"
	"fmt"
	"testing"
	"time"

	"github.com/avatarstudio/avatarstudio/server/internal/testing/studiotest"
	"github.com/avatarstudio/avatarstudio/server/sender"
)

// New origins that hang delay neither a proven origin nor an untried one. They may belong to one user or to
// more users than there are workers.
func TestSQLite_untriedOriginsThatHangDelayNoOther(t *testing.T) {
	t.Parallel()
	crowds := []int{1, 300}
	if testing.Short() {
		crowds = []int{300} // more users than workers are the hardest case
	}
	for _, users := range crowds {
		t.Run(fmt.Sprint(users), func(t *testing.T) {
			onSQLite(t, func(s *fixture) {
				const origins, late = 1000, 100 * time.Millisecond
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
