package deliver_test

import (
	"slices"
	"testing"
	"time"

	"github.com/avatarstudio/avatarstudio/server/internal/deliver"
	"github.com/avatarstudio/avatarstudio/server/internal/studio"
	"github.com/avatarstudio/avatarstudio/server/sender"
)

// A pause stops the deliveries that were read before it within a second, the retries and the new events. After it, each
// event is sent once, and those of a subject in order.
func TestDeliverer_Run_pausesAndResumesDeliveries(t *testing.T) {
	t.Parallel()
	for name, url := range map[string]string{"service": "", "endpoint": hookURL} {
		t.Run(name, func(t *testing.T) {
			onEachDatabase(t, func(s *fixture) {
				s.config = deliver.Config{InFlight: 1}
				var all []studio.Subject
				s.receiver.answer = func(sender.Message, int) sender.Attempt {
					time.Sleep(100 * time.Millisecond)
					if len(s.receiver.deliveries()) == 1 {
						return failed(500)
					}
					return sender.Attempt{Status: 200}
				}
				var paused, resumed time.Time
				s.workWhile(20*time.Minute, func() {
					for range 20 {
						all = append(all, s.create())
					}
					time.Sleep(500 * time.Millisecond) // deliveries are in memory
					paused = s.now()
					for range 2 { // the second one changes nothing
						since, err := paused, error(nil)
						if url != "" {
							err = s.db.PauseEndpoint(s.t.Context(), s.user.ID, url, s.now())
						} else {
							since, err = s.db.Pause(s.t.Context(), s.now())
						}
						if err != nil || since.Sub(paused).Abs() > time.Millisecond {
							s.t.Errorf("paused at %v, %v", since, err)
						}
						time.Sleep(time.Minute)
					}
					all = append(all, s.create(), s.createFor(hookURL+"other"))
					time.Sleep(10 * time.Minute)
					if sent, want := len(s.receiver.statuses(all[21].ID)) > 0, url != ""; sent != want {
						s.t.Errorf("events to another URL are sent: %t, want %t", sent, want)
					}
					resumed = s.now()
					err := error(nil)
					if url != "" {
						err = s.db.EnableEndpoint(s.t.Context(), s.user.ID, url)
					} else {
						err = s.db.Resume(s.t.Context())
					}
					if err != nil {
						s.t.Error(err)
					}
				})
				for _, d := range s.receiver.deliveries() {
					if d.At.After(paused.Add(time.Second)) && d.At.Before(resumed) && d.URL == hookURL {
						s.t.Errorf("an attempt %v after the pause", d.At.Sub(paused))
					}
				}
				repeated := 0
				for i, subject := range all {
					want := []string{"processing", "consent_pending", "published"}
					sent := s.receiver.statuses(subject.ID)
					got := slices.Compact(slices.Clone(sent))
					repeated += len(sent) - len(got)
					if !slices.Equal(got, want) {
						s.t.Errorf("subject %d: %v are sent, want %v", i, got, want)
					}
				}
				if repeated != 1 {
					s.t.Errorf("%d attempts are repeated, want the first one that failed", repeated)
				}
			})
		})
	}
}
