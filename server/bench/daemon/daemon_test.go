package daemon_test

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/avatarstudio/avatarstudio/client/webhook"
	"github.com/avatarstudio/avatarstudio/server/bench/measure"
)

// The receiver must detect every kind of wrong event, because a run fails only if it does.
func TestReceiver_detectsWrongEvents(t *testing.T) {
	t.Parallel()
	secret, other := webhook.NewSecret(), webhook.NewSecret()
	type event struct {
		sequence int
		secret   webhook.Secret
		status   string
	}
	receiver := startReceiver(t, receiverConfig{Secrets: []string{secret.Reveal()}, Ports: ports{accepts: 1}})
	client := measure.NewClient(receiver.urls[accepts][0], 1)
	defer client.Close()
	first, second := event{1, secret, "succeeded"}, event{2, secret, "succeeded"}
	for name, c := range map[string]struct {
		events     []event
		want       string // in the error
		duplicates int
	}{
		"last event again":   {[]event{first, first, second}, "", 1},
		"lost event":         {[]event{first}, "1 events of 2", 0},
		"second event first": {[]event{second, first}, "out of order", 0},
		"first event again":  {[]event{first, second, first}, "out of order", 1},
		"wrong signature":    {[]event{first, second, {2, other, "succeeded"}}, "wrong signature", 0},
		"failed lip-sync":    {[]event{first, {2, secret, "failed"}}, "wrong signature or body", 0},
	} {
		t.Run(name, func(t *testing.T) {
			receiver.reset()
			for _, e := range c.events {
				_, _, err := client.Send(signedEvent(fmt.Sprint(e.sequence), "subject", e.status, e.sequence, e.secret))
				check(t, err)
			}
			tally := receiver.ask(query{Accepted: 2, MaxWait: 10 * time.Millisecond})
			if err := tally.verify(2); (err == nil) != (c.want == "") || err != nil && !strings.Contains(err.Error(), c.want) || tally.Duplicates != c.duplicates {
				t.Errorf("the error is %v with %d duplicates, want %q", err, tally.Duplicates, c.want)
			}
		})
	}
}
