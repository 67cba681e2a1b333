package daemon_test

import (
	"encoding/json"
	"fmt"
	"time"

	"github.com/avatarstudio/avatarstudio/server/internal/studio"
)

const (
	replayedPerSubject = 10
	// replayRounds is how many times as many events are paced as in a round of other rows.
	replayRounds = 4
)

// replayLoad measures the replay of all events of a user, and the events of another user meanwhile.
func replayLoad(s *setup) []figure {
	owner := s.addUsers("owner", 1)[0]
	receiver := startReceiver(s.t, receiverConfig{Secrets: []string{owner.secret.Reveal()}, Ports: ports{accepts: s.ports}})
	s.seed(owner, receiver.urls[accepts], s.replayed/replayedPerSubject, replayedPerSubject)
	// The events of the origins alternate, and those of a subject stay together.
	s.exec(`UPDATE events SET state = 'exhausted', reason = $1, ended_at = $2,
		created_at = $3 + (created_at - $3) / $4 * 7919 % 100003 * $4 + (created_at - $3) % $4`,
		string(studio.ReasonSchedule), time.Now().UnixMicro(), s.number(`SELECT MIN(created_at) FROM events`), replayedPerSubject)
	s.exec(`DELETE FROM deliveries`)
	s.analyze()

	s.start(highRate)
	s.login(owner)
	_, without := s.paceCreations(pacedRate, replayRounds*s.paced, 0)
	s.d.ResetPeak()
	before, _ := s.d.Memory()
	began := time.Now()
	body, err := s.client.SendOK(owner.post("/v1/events/replay", `{"since":"2026-01-01T00:00:00Z"}`))
	took := time.Since(began)
	check(s.t, err)
	var replay struct {
		Events int `json:"events"`
	}
	check(s.t, json.Unmarshal(body, &replay))
	if replay.Events != s.replayed {
		s.t.Fatalf("%d events are replayed, want %d", replay.Events, s.replayed)
	}
	receiver.ask(query{Accepted: 1, MaxWait: maxWait})
	_, with := s.paceCreations(pacedRate, replayRounds*s.paced, 0)
	rate := receiver.await(s.replayed, maxWait).rate()
	_, peak := s.d.Memory()

	name := fmt.Sprintf("replay of %s events to %d origins: ", thousands(s.replayed), s.ports)
	return []figure{
		{name + "time of the response", "", milliseconds(took), true},
		{
			fmt.Sprintf("%slatency from the response to a creation of another user, at %d/s", name, pacedRate), "p99 ≤ 100 ms",
			fmt.Sprintf("%v; without it %v", with, without), with.p99 <= maxBeside,
		},
		{name + "deliveries", "", perSecond(rate), true},
		{name + "memory", "growth < 64 MiB", mebibytes(peak - before), peak-before < 64<<20},
	}
}
