package main

import (
	"bytes"
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"io"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"time"
)

const (
	mostLatency = 100 * time.Millisecond // of 99 % of requests
	mostDelay   = time.Second            // of every event
	drain       = 5 * time.Minute        // how long events may take after a step
	scrape      = 5 * time.Second        // of the metrics
	settled     = 10 * time.Second       // from when on memory should not grow
	tries       = 5                      // of a rate, beside others who use the machine
	little      = 0.3                    // of a processor, that others may use
)

// scene is a database, a daemon, its users and their receivers.
type scene struct {
	plan
	name      string // of the kind of database
	progress  io.Writer
	directory string
	program   string
	profile   string // a directory, or ""

	db        *database
	daemon    *daemon
	users     []*user
	receivers *receivers
	pool      *pool
}

// step is what became of some arrivals.
type step struct {
	rate      int // that was intended, a second
	requests  int
	latencies []time.Duration
	errors    int
	first     string          // of the errors
	delays    []time.Duration // of events
	usage     usage
	early     int64 // memory once it has settled
	late      int64 // and at the end
}

func (s *step) held() bool {
	return s.errors == 0 && percentile(s.latencies, 99) <= mostLatency && percentile(s.delays, 100) <= mostDelay
}

func (s *step) String() string {
	text := fmt.Sprintf("%d/s: p50 %s, p99 %s, at most %s", s.rate, milliseconds(percentile(s.latencies, 50)),
		milliseconds(percentile(s.latencies, 99)), milliseconds(percentile(s.latencies, 100)))
	if len(s.delays) > 0 {
		text += "; events at most " + milliseconds(percentile(s.delays, 100))
	}
	if s.errors > 0 {
		text += fmt.Sprintf("; %d of %d failed, the first: %s", s.errors, s.requests, s.first)
	}
	return text + "; CPU: " + s.usage.String()
}

// attempt sends one request of many; id is what it made, if it makes something.
type attempt func(ctx context.Context, i int) (id string, err error)

// hold tries a rate, and once more for as long as it is not held and others used the machine.
func (s *scene) hold(ctx context.Context, rate int, d time.Duration, do attempt) (r *step, err error) {
	for range tries {
		if err := quiet(ctx, s.patience); err != nil {
			return nil, err
		}
		r, err = s.try(ctx, rate, d, do)
		if err != nil || r.held() || r.usage.others < time.Duration(float64(r.usage.took)*little) {
			break
		}
		fmt.Fprintf(s.progress, "  beside others, %v\n", r)
	}
	return r, err
}

// try sends requests at a rate and waits until the events of all that they made have come.
func (s *scene) try(ctx context.Context, rate int, d time.Duration, do attempt) (*step, error) {
	all := arrivals(rate, d)
	r := &step{rate: rate, requests: len(all), latencies: make([]time.Duration, len(all))}
	dues, ids := make([]time.Time, len(all)), make([]string, len(all))
	var mu sync.Mutex
	s.profiling(ctx, rate, d)
	early := make(chan int64, 1)
	time.AfterFunc(settledOf(d), func() { early <- s.memory() })
	used := s.measureUsage()
	openLoop(ctx, all, func(i int, due time.Time) {
		id, err := do(ctx, i)
		r.latencies[i], dues[i], ids[i] = time.Since(due), due, id
		if err != nil {
			mu.Lock()
			defer mu.Unlock()
			if r.errors++; r.first == "" {
				r.first = err.Error()
			}
		}
	})
	r.usage, r.early, r.late = used(), <-early, s.memory()
	if ctx.Err() != nil {
		return nil, ctx.Err()
	}
	made := 0
	for _, id := range ids {
		if id != "" {
			made++
		}
	}
	arrived, err := s.receivers.all(ctx, made, drain)
	if err != nil {
		return nil, err
	}
	for i, id := range ids {
		if id == "" {
			continue
		}
		at, ok := arrived[id]
		if !ok && r.errors == 0 {
			return nil, fmt.Errorf("the event of %s is lost", id)
		}
		r.delays = append(r.delays, at.Sub(dues[i]))
	}
	s.receivers.forget()
	return r, nil
}

// create makes a lip-sync of one user after the other, each with a key and a webhook.
func (s *scene) create(ctx context.Context, i int) (id string, err error) {
	n := i % len(s.users)
	u := s.users[n]
	body := `{"title":"Greeting","video_url":"https://media.example.com/ada.mp4","audio_url":"https://media.example.com/hello.wav",` +
		`"webhook_data":{"webhook_url":"` + s.receivers.urls[n] + `"},"webhook":{"enabled":true}}`
	status, answer, err := s.pool.send(ctx, text(http.MethodPost, "/v1/lipsync/create_lipsync", u.authorization()+"Idempotency-Key: "+rand.Text()+"\r\n", body))
	if err != nil {
		return "", err
	}
	_, after, found := bytes.Cut(answer, []byte(`"inference_id":"`))
	made, _, _ := bytes.Cut(after, []byte(`"`))
	if status != http.StatusOK || !found {
		return "", fmt.Errorf("answered %d: %.200s", status, answer)
	}
	return string(made), nil
}

// list lists the projects of one user after the other at a server.
func (s *scene) list(p *pool) attempt {
	return func(ctx context.Context, i int) (string, error) {
		status, answer, err := p.send(ctx, s.listRequest(i))
		if err != nil {
			return "", err
		}
		if n := bytes.Count(answer, []byte(`"project_id"`)); status != http.StatusOK || n != projects {
			return "", fmt.Errorf("answered %d with %d projects: %.200s", status, n, answer)
		}
		return "", nil
	}
}

func (s *scene) listRequest(i int) string {
	u := s.users[i%len(s.users)]
	return text(http.MethodGet, "/projects/v2", u.authorization()+"X-Workspace-Id: "+u.workspace+"\r\n", "")
}

// measure measures everything on one kind of database.
func (s *scene) measure(ctx context.Context) (figures []figure, err error) {
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	directory, err := os.MkdirTemp(s.directory, strings.ToLower(s.name))
	if err != nil {
		return nil, err
	}
	if s.db, err = openDatabase(ctx, s.name, directory); err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, s.db.stop()) }()
	if s.users, err = s.db.addUsers(ctx, s.plan.users); err != nil {
		return nil, err
	}
	if err := quiet(ctx, s.patience); err != nil {
		return nil, err
	}
	floor, err := s.db.floor(ctx, s.floor)
	if err != nil {
		return nil, err
	}
	fmt.Fprintf(s.progress, "  floor: %.0f/s\n", floor)
	if s.daemon, err = startDaemon(ctx, s.program, s.db.dsn, directory); err != nil {
		return nil, err
	}
	defer func() {
		if err != nil {
			err = s.daemon.explain(err)
		}
		err = errors.Join(err, s.daemon.stop())
	}()
	if err := s.daemon.login(ctx, s.users); err != nil {
		return nil, err
	}
	if s.receivers, err = startReceivers(ctx, s.users); err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, s.receivers.close()) }()
	stop := s.daemon.watch(ctx, scrape)
	defer func() { err = errors.Join(err, stop()) }()
	s.pool = newPool(s.daemon.address)
	defer s.pool.close()
	creations, err := s.creating(ctx, floor)
	if err != nil {
		return nil, err
	}
	lists, err := s.listingProjects(ctx)
	return append(creations, lists...), err
}

// settledOf is when memory has settled under a load of a length.
func settledOf(d time.Duration) time.Duration { return min(settled, d/2) }

// memory is that of studiod and of the database's server.
func (s *scene) memory() int64 { return memoryOf(s.daemon.pid()) + memoryOf(s.db.postmaster) }

// profiling writes a CPU profile of the daemon for as long, if there is to be one.
func (s *scene) profiling(ctx context.Context, rate int, d time.Duration) {
	if s.profile == "" {
		return
	}
	go func() {
		data, err := s.daemon.fetch(ctx, fmt.Sprintf("/debug/pprof/profile?seconds=%d", max(1, int(d.Seconds()))))
		if err == nil {
			err = os.WriteFile(filepath.Join(s.profile, fmt.Sprintf("%s-%d.cpu", s.name, rate)), data, 0o600)
		}
		if err != nil {
			fmt.Fprintln(s.progress, "no profile:", err)
		}
	}()
}
