package daemon_test

import (
	"bytes"
	"fmt"
	"net/http"
	"time"

	"github.com/avatarstudio/avatarstudio/server/bench/measure"
)

const (
	hostilePorts = 64
	deadline     = 15 * time.Second // timeout of an attempt
	// The targets for the memory of a daemon, in bytes.
	maxIdleMemory = 45 << 20
	maxListMemory = 128 << 20 // while it lists 100,000 projects
)

// hostileResponses sends one event to each of many receivers that send hostile responses.
func hostileResponses(s *setup) []figure {
	s.warm(hostilePorts) // the memory that as many ordinary events need is not counted
	s.d.ResetPeak()
	before, _ := s.d.Memory()
	s.create(fastRate, hostilePorts, s.receiver.urls[hostile])
	s.await(`SELECT COUNT(*) FROM events WHERE last_number > 0`, 2*hostilePorts)
	_, peak := s.d.Memory()
	longest, growth := time.Duration(s.number(`SELECT MAX(last_duration) FROM events`))*time.Microsecond, peak-before
	name := fmt.Sprintf("%d concurrent hostile responses", hostilePorts)
	return []figure{
		{name + ": longest attempt", "≤ 15.5 s", fmt.Sprintf("%.2f s", longest.Seconds()), longest <= deadline+500*time.Millisecond},
		{name + ": memory", "growth < 64 MiB", mebibytes(growth), growth < 64<<20},
	}
}

// warm starts a daemon and lets it deliver some events.
func (s *setup) warm(events int) {
	s.t.Helper()
	s.start()
	s.create(fastRate, events, s.receiver.urls[accepts])
	s.receiver.await(events, time.Minute)
	s.awaitDelivered()
}

// idle measures the CPU time and memory of an idle daemon.
func idle(s *setup) []figure {
	s.warm(1)
	used := s.d.CPU()
	time.Sleep(s.idle)
	share, limit := 100*(s.d.CPU()-used).Seconds()/s.idle.Seconds(), s.targets().idle
	memory, _ := s.d.Memory()
	return []figure{
		{fmt.Sprintf("idle for %v: CPU usage", s.idle), fmt.Sprintf("< %.0f %% of one CPU", limit), fmt.Sprintf("%.2f %%", share), share < limit},
		{"idle: memory", "≤ " + mebibytes(maxIdleMemory), mebibytes(memory), memory <= maxIdleMemory},
	}
}

// projects measures the listing of a workspace with many projects, of which half are imported.
func projects(s *setup) []figure {
	u := s.users[0]
	s.seedProjects(u, s.projects/2, smallProject)
	s.seedRecords(u, s.projects-s.projects/2)
	s.start()
	s.login(u)
	s.d.ResetPeak()
	var firsts []time.Duration
	for range s.rounds {
		began := time.Now()
		response, err := s.client.Send(u.listProjects())
		check(s.t, err)
		if got := bytes.Count(response.Body, []byte(`"project_id"`)); response.Status != http.StatusOK || got != s.projects {
			s.t.Fatalf("status %d with %d projects, want %d", response.Status, got, s.projects)
		}
		firsts = append(firsts, response.At.Sub(began))
	}
	_, peak := s.d.Memory()
	first := measure.Median(firsts)
	name := fmt.Sprintf("GET /projects/v2 with %s projects", thousands(s.projects))
	return []figure{
		{name + ": time to first byte", "≤ 5 ms", milliseconds(first), first <= 5*time.Millisecond},
		{name + ": memory", "≤ " + mebibytes(maxListMemory), mebibytes(peak), peak <= maxListMemory},
	}
}

// listProjects returns a request for the projects in the workspace of the user.
func (u *user) listProjects() []byte {
	return measure.Request(http.MethodGet, "/projects/v2", u.authorization()+"X-Workspace-Id: "+u.workspace+"\r\n", "")
}
